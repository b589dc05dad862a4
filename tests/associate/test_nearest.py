import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfeval.associate import gap_risk, nearest
from smfeval.associate.nearest import RISK_LIMIT, speeds
from smfeval.errors import PairingError
from smfeval.maths.stamps import NANOSECONDS
from support.beliefs import stamps

MS = 1_000_000
EPOCH_NS = 1_700_000_000 * NANOSECONDS


def brute_force(estimate, reference, tolerance, offset=0):
    """Every scan against every pose; the earlier of two equally near; the closest scan keeps it."""
    wanted = {}
    for i, stamp in enumerate(estimate):
        gaps = [abs(int(pose) - int(stamp) - offset) for pose in reference]
        j = gaps.index(min(gaps))
        if gaps[j] <= tolerance and (j not in wanted or gaps[j] < wanted[j][0]):
            wanted[j] = gaps[j], i
    return sorted((i, j) for j, (_, i) in wanted.items())


def found(estimate, reference, **options):
    """The pairs as a list; nothing at all where too few meet."""
    try:
        pairs = nearest(np.array(estimate), np.array(reference), **options)
    except PairingError:
        return []
    return list(zip(pairs.estimate.tolist(), pairs.reference.tolist(), strict=True))


def message(estimate, reference, **options):
    with pytest.raises(PairingError) as refused:
        nearest(np.asarray(estimate), np.asarray(reference), **options)
    return str(refused.value)


# On a grid of a few ns, equal gaps, shared nearest poses and gaps of just the tolerance abound.
series = st.lists(st.integers(0, 60), min_size=1, max_size=25, unique=True).map(sorted)


@given(series, series, st.integers(0, 8), st.integers(-10, 10))
def test_pairs_are_those_of_comparing_all_with_all(estimate, reference, tolerance, offset):
    expected = brute_force(estimate, reference, tolerance, offset)
    assert (
        found(estimate, reference, tolerance_s=tolerance * 1e-9, offset_s=offset * 1e-9) == expected
    )


@given(series, series)
def test_no_pose_serves_two_scans_and_time_runs_forward(estimate, reference):
    pairs = found(estimate, reference, tolerance_s=5e-9)
    for side in zip(*pairs, strict=True):
        assert (np.diff(side) > 0).all()


def test_dense_series_of_real_length_pair_as_by_brute_force(rng):
    estimate = EPOCH_NS + np.sort(rng.choice(3_000, 300, replace=False)) * MS
    reference = EPOCH_NS + np.sort(rng.choice(3_000, 500, replace=False)) * MS
    pairs = nearest(estimate, reference)
    expected = brute_force(estimate, reference, 5 * MS)
    assert 100 < len(expected) < 300
    assert list(zip(pairs.estimate, pairs.reference, strict=True)) == expected


def test_a_gap_of_exactly_the_tolerance_is_a_match_and_one_nanosecond_more_is_none():
    reference = stamps(10)
    assert len(nearest(reference + 5 * MS, reference)) == 10
    assert "0 of 10" in message(reference + 5 * MS + 1, reference)


def test_on_a_tie_the_earlier_pose_is_taken():
    assert found([50], [48, 52], tolerance_s=1e-8) == [(0, 0)]


def test_of_two_scans_with_one_nearest_pose_the_closer_keeps_it():
    assert found([47, 51], [50], tolerance_s=1e-8) == [(1, 0)]
    assert found([48, 52], [50], tolerance_s=1e-8) == [(0, 0)]


def test_counts_tolerance_offset_and_gaps_are_reported():
    reference = stamps(40)
    estimate = reference[5:25] - 2 * NANOSECONDS + 3 * MS
    pairs = nearest(estimate, reference, tolerance_s=0.004, offset_s=2.0)
    assert (len(pairs), pairs.scans, pairs.poses) == (20, 20, 40)
    assert (pairs.tolerance_s, pairs.offset_s) == (0.004, 2.0)
    np.testing.assert_array_equal(pairs.reference, np.arange(5, 25))
    np.testing.assert_array_equal(pairs.gap_s, np.full(20, -0.003))


def test_one_scan_and_one_pose_can_meet():
    assert found([7], [9], tolerance_s=2e-9) == [(0, 0)]


def test_just_two_percent_of_the_shorter_track_is_enough():
    reference = stamps(1000)
    estimate = reference[:100] + 50 * MS
    estimate[:2] -= 50 * MS
    assert len(nearest(estimate, reference)) == 2
    estimate[1] += 50 * MS
    assert "1 of 100 scans" in message(estimate, reference)


@pytest.mark.parametrize("offset", [np.nan, np.inf, 1.7e18, -8e9])
def test_an_offset_that_is_no_time_is_refused(offset):
    assert "at most 100 years" in message(stamps(5), stamps(5), offset_s=offset)


@pytest.mark.parametrize("tolerance", [-0.001, np.nan, np.inf])
def test_a_tolerance_that_is_no_time_is_refused(tolerance):
    assert f"tolerance {tolerance} s" in message(stamps(5), stamps(5), tolerance_s=tolerance)


def test_tracks_that_do_not_meet_are_named_with_both_spans():
    text = message(stamps(11, start_s=1000), stamps(21, start_s=2000))
    assert "0 of 11 scans meet a reference pose within 5 ms" in text
    assert "estimate 1000.000000000 to 1001.000000000 s" in text
    assert "reference 2000.000000000 to 2002.000000000 s" in text


def test_spans_are_shown_as_they_are_after_the_offset():
    text = message(stamps(11, start_s=1000), stamps(21, start_s=2000), offset_s=500)
    assert "estimate 1500.000000000 to 1501.000000000 s" in text


def test_a_difference_in_whole_seconds_is_guessed_with_the_offset_that_mends_it():
    estimate, reference = stamps(50), stamps(50) + 37 * NANOSECONDS
    text = message(estimate, reference)
    assert "start -37.000 s apart" in text
    assert "offset of 37.000 s" in text
    assert len(nearest(estimate, reference, offset_s=37.0)) == 50


@pytest.mark.parametrize("hours", [-7, 2])
def test_a_time_zone_is_guessed(hours):
    estimate = stamps(50) + hours * 3600 * NANOSECONDS
    text = message(estimate, stamps(50))
    assert f"about {hours} h apart" in text
    assert f"offset of {-3600 * hours:.3f} s" in text


def test_a_different_epoch_is_guessed():
    text = message(stamps(50, start_s=12), stamps(50))
    assert "one counts from its start, the other from 1970" in text
    assert "offset of 1699999988.000 s" in text


def test_spans_that_overlap_are_told_apart_from_spans_that_do_not():
    text = message(stamps(50) + 50 * MS, stamps(50))
    assert "the spans overlap" in text


@pytest.mark.parametrize(
    ("unit", "divisor"), [("microseconds", 10**3), ("milliseconds", 10**6), ("seconds", 10**9)]
)
def test_stamps_in_another_unit_are_guessed(unit, divisor):
    """Arrays of whole micro- or milliseconds given as nanoseconds; files are judged at the door."""
    text = message(np.unique(stamps(50, rate_hz=0.5) // divisor), stamps(50, rate_hz=0.5))
    assert f"seems to be in {unit}" in text


@pytest.mark.parametrize(("unit", "factor"), [("milliseconds", 10**3), ("microseconds", 10**6)])
@pytest.mark.parametrize("whose", ["estimate", "reference"])
def test_a_unit_of_stamps_from_zero_is_guessed_by_the_durations(unit, factor, whose):
    """0, 100, 200 ... ms read as seconds, against 0, 0.1, 0.2 ... s; the spans overlap."""
    right, wrong = stamps(400, start_s=0), stamps(500, start_s=0) * factor
    text = message(wrong, right) if whose == "estimate" else message(right, wrong)
    assert f"the {whose} is" in text
    assert f"its stamps seem to be in {unit}, not in seconds" in text


def test_a_unit_is_guessed_beside_another_epoch_and_after_an_offset():
    wrong, right = stamps(400, start_s=0) * 1000, stamps(400)
    text = message(wrong, right)
    assert "its stamps seem to be in milliseconds, not in seconds" in text
    assert "one counts from its start, the other from 1970" in text
    assert "milliseconds" in message(wrong + right[0], right)  # as if the offset had been given
    assert "milliseconds" not in message(stamps(400, rate_hz=0.4) + 50 * MS, stamps(10**3)[:2])


def test_two_estimates_are_called_by_their_names():
    text = message(stamps(50, start_s=12), stamps(50), names=("a.square", "b.square"))
    assert "0 of 50 scans meet one of b.square within 5 ms: a.square 12." in text
    wrong = message(1000 * stamps(50, start_s=0), stamps(50), names=("a.square", "b.square"))
    assert "; a.square is 1,000 times as long" in wrong
    assert "reference" not in text + wrong


def test_a_track_a_hundred_times_as_long_is_in_no_other_unit():
    text = message(stamps(50, start_s=0, rate_hz=0.1) + 50 * MS, stamps(50, start_s=0))
    assert "seem to be in" not in text


def test_gap_risk_is_speed_times_gap_in_sigmas():
    speed, sigma = np.array([2.0, 2.0, 1.0, 2.0]), np.array([0.1, 0.1, 0.1, 0.2])
    risk = gap_risk(speed, np.array([0.0, -0.01, 0.01, 0.08]), sigma, sigma / 2)
    # distances within the gaps: 0, 2, 1 and 16 cm, so 0, 0.2, 0.1 and 0.8 sigma
    assert risk.median == pytest.approx(0.15)
    assert risk.p95 == pytest.approx(0.2 + 0.85 * 0.6)
    assert risk.largest == pytest.approx(0.8)
    assert RISK_LIMIT == 0.3
    assert risk.above_limit == 0.25


def test_speed_on_a_straight_path_is_that_of_the_path_at_every_pose(rng):
    stamp = EPOCH_NS + np.cumsum(rng.integers(10 * MS, 200 * MS, size=50))
    seconds = (stamp - stamp[0]) / NANOSECONDS
    position = np.array([1.0, 2.0, 3.0]) + seconds[:, None] * np.array([3.0, 0.0, 4.0])
    np.testing.assert_allclose(speeds(stamp, position), 5.0, rtol=1e-9)


def test_one_pose_has_no_speed():
    np.testing.assert_array_equal(speeds(stamps(1), np.ones((1, 3))), [0.0])


def test_some_of_the_pairs_keep_all_that_is_known_of_them():
    pairs = nearest(10 * np.arange(9) * MS, 10 * np.arange(9) * MS + MS)
    some = pairs[np.array([2, 5])]
    assert some.estimate.tolist() == some.reference.tolist() == [2, 5]
    assert some.gap_s == pytest.approx([1e-3, 1e-3])
    assert (some.scans, some.poses, some.moved_m) == (9, 9, None)
