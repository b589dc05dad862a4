"""The clock offset that the errors ask for, its interval, and what evaluate does with it."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import smfeval
from smfeval.associate import nearest_pairs
from smfeval.errors import OptionError, PairingError
from smfeval.evaluation import Options, evaluate
from smfeval.io import read
from smfeval.maths import so3
from smfeval.summarise.number import Intervals
from smfeval.track import ParticleTrack, Track
from support.clocks import SIGMA_M, START_NS, believed, find_offset, noisy, seen, walked

BARE = Options(intervals=Intervals(None))
AUTO = replace(BARE, offset_s="auto")


@pytest.fixture(scope="module")
def motion():
    return walked(60, np.random.default_rng(4))


def off_ms(found, late_s):
    return 1e3 * abs(found.offset_s - late_s)


@pytest.mark.parametrize("late_s", [0.0, 0.037, -3.3337])
@pytest.mark.parametrize("rate_hz", [100, 20, 1])
def test_a_known_offset_is_found(motion, rate_hz, late_s, rng):
    estimate = noisy(seen(motion, 10, late_s=late_s, first_s=0.033), rng, 0.98)
    found = find_offset(estimate, seen(motion, rate_hz), BARE)
    assert off_ms(found, late_s) < (0.5 if rate_hz > 1 else 5)
    width = found.high_s - found.low_s  # how often it covers is counted in tests/power
    assert found.low_s - width / 2 <= late_s <= found.high_s + width / 2
    assert found.how == "speed, angular rate and error"
    assert found.scans <= found.of == (60 * min(rate_hz, 10) if rate_hz < 10 else len(estimate))


def test_exact_tracks_give_the_exact_offset(motion):
    exact = seen(motion, 10, late_s=0.0421, first_s=0.03)
    assert off_ms(find_offset(exact, seen(motion, 100), BARE), 0.0421) < 1e-3


@pytest.mark.parametrize("alignment", ["none", "yaw", "se3", "sim3", "first-pose"])
def test_every_alignment_leaves_the_offset_to_be_found(motion, alignment, rng):
    estimate = noisy(seen(motion, 10, late_s=0.05), rng, 0.9)
    found = find_offset(estimate, seen(motion, 50), replace(BARE, alignment=alignment))
    assert off_ms(found, 0.05) < 1
    assert len(found.curve) == 11


def test_worlds_that_differ_change_no_offset(motion, rng):
    reference = seen(motion, 50)
    plain = noisy(seen(motion, 10, late_s=0.05), rng)
    turn = so3.exp(np.array([0.4, 0.2, 2.0]))
    moved = plain.with_arrays(
        {
            "position": so3.rotate_all(so3.matrix(turn), plain.position) - 30,
            "rotation": so3.compose(turn, plain.rotation),
        }
    )
    one, other = (find_offset(track, reference, BARE) for track in (plain, moved))
    assert other.offset_s == pytest.approx(one.offset_s, abs=1e-8)
    assert [row.k for row in other.curve] == pytest.approx([row.k for row in one.curve])


def test_a_random_walk_of_the_errors_is_not_taken_for_an_offset(motion, rng):
    plain = seen(motion, 10, late_s=0.2)
    drift = 0.01 * np.cumsum(rng.normal(size=(len(plain), 3)), axis=0)
    found = find_offset(believed(plain, drift, 0 * drift), seen(motion, 100), BARE)
    assert off_ms(found, 0.2) < 1
    least = min(found.curve, key=lambda row: row.rmse_m)
    assert abs(least.offset_s - 0.2) >= 0.01  # as the least mean square would have it


def test_a_lever_arm_between_the_bodies_is_not_taken_for_an_offset(motion, rng):
    plain = noisy(seen(motion, 10, late_s=0.02), rng)
    ahead = so3.rotate(plain.rotation, np.tile([0.5, 0.1, -0.2], (len(plain), 1)))
    lever = plain.with_arrays({"position": plain.position + ahead})
    assert off_ms(find_offset(lever, seen(motion, 100), BARE), 0.02) < 2


def test_positions_alone_are_enough(motion, rng):
    estimate = noisy(seen(motion, 10, late_s=2.5, oriented=False), rng, 0.98)
    found = find_offset(estimate, seen(motion, 20, oriented=False), BARE)
    assert off_ms(found, 2.5) < 3
    assert found.low_s <= 2.5 <= found.high_s
    assert found.how == "speed and error"


def test_nothing_is_read_across_gaps_of_the_reference(motion, rng):
    estimate, reference = noisy(seen(motion, 10, late_s=0.3), rng), seen(motion, 100)
    hole = (np.arange(len(reference)) % 1000) >= 800
    wrong = reference.position + 50 * (np.arange(len(reference)) // 1000 % 2)[:, None]
    torn = reference.with_arrays({"position": reference.position})[~hole]
    found = find_offset(estimate, torn, BARE)
    assert off_ms(found, 0.3) < 2
    assert found.scans == pytest.approx(0.8 * len(estimate), abs=20)
    jumping = reference.with_arrays({"position": wrong})[~hole]
    assert off_ms(find_offset(estimate, jumping, replace(BARE, alignment="se3")), 0.3) < 20


def test_a_noisy_reference_does_not_pull_the_offset_to_the_middle_of_its_steps(motion):
    """Between noisy poses the interpolated noise is least; a least square would go there."""
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        reference = seen(motion, 20)
        rough = reference.with_arrays(
            {"position": reference.position + 0.02 * rng.normal(size=reference.position.shape)}
        )
        estimate = noisy(seen(motion, 10, late_s=0.01), rng)
        found.append(find_offset(estimate, rough, BARE))
    offset = np.array([each.offset_s for each in found])
    assert abs(offset.mean() - 0.01) < 4 * offset.std() / np.sqrt(len(offset))
    assert offset.std() < 1e-3
    assert sum(each.low_s <= 0.01 <= each.high_s for each in found) >= 7


def straight(late_s, rng, speed=(1.0, 2.0, 0.5)):
    time = np.arange(0, 60, 0.1)
    stamp = START_NS + np.round((time - late_s) * 1e9).astype(np.int64)
    plain = Track(stamp, np.outer(time, speed), np.tile([0, 0, 0, 1.0], (len(time), 1)))
    return noisy(plain, rng)


@pytest.mark.parametrize("speed", [(1.0, 2.0, 0.5), (0.0, 0.0, 0.0)])
@pytest.mark.parametrize("reach_s", [0.05, 10.0])
def test_motion_that_says_nothing_about_the_clock_is_refused(rng, speed, reach_s):
    with pytest.raises(PairingError, match="says nothing about the time offset"):
        find_offset(straight(0.02, rng, speed), straight(0.0, rng, speed), BARE, reach_s=reach_s)


def test_a_short_reach_finds_what_is_in_it_and_refuses_what_is_not(motion, rng):
    reference = seen(motion, 100)
    near, far = (noisy(seen(motion, 10, late_s=late), rng) for late in (0.03, 0.2))
    assert off_ms(find_offset(near, reference, BARE, reach_s=0.05), 0.03) < 1
    with pytest.raises(PairingError, match=r"the edge of the offsets searched|beyond the 0\.05 s"):
        find_offset(far, reference, BARE, reach_s=0.05)
    with pytest.raises(OptionError, match="within a positive time, not 0 s"):
        find_offset(near, reference, BARE, reach_s=0.0)


def repeating(late_s):
    time = np.arange(0, 60, 0.1)
    way = time + 0.3 * np.sin(2 * np.pi * time / 3)
    stamp = START_NS + np.round((time - late_s) * 1e9).astype(np.int64)
    return Track(stamp, np.outer(way, [1.0, 0, 0]), np.tile([0, 0, 0, 1.0], (len(time), 1)))


def test_two_offsets_that_explain_the_motion_alike_are_refused():
    with pytest.raises(PairingError, match=r"two time offsets .* about equally: .* s and .* s"):
        find_offset(repeating(0.3), repeating(0.0), BARE)
    assert off_ms(find_offset(repeating(0.3), repeating(0.0), BARE, reach_s=1), 0.3) < 1


def test_rates_that_repeat_are_told_apart_by_the_way(rng):
    """The gait of 60 s goes in step at many lags; only one of them meets the bends of the path."""
    found = []
    for seed in range(8):
        own = np.random.default_rng(seed)
        short = walked(60, own, rate_hz=50)
        estimate = noisy(seen(short, 10, late_s=0.1, oriented=False), own)
        found.append(off_ms(find_offset(estimate, seen(short, 20, oriented=False), BARE), 0.1))
    assert max(found) < 5


UNRELATED = "says nothing about the time offset|two time offsets|no time offset|do not move alike"


@pytest.mark.parametrize("seed", [59, 70, 94])
def test_walks_of_two_people_in_step_are_not_taken_for_one(seed):
    own = np.random.default_rng(seed)  # of a hundred walks, those that go in step best
    one, other = (walked(40, own, rate_hz=50) for _ in range(2))
    with pytest.raises(PairingError, match=UNRELATED):
        find_offset(noisy(seen(one, 10), own), seen(other, 20), BARE)


def test_a_lost_track_does_not_tell_the_clock(shared_data):
    folder = shared_data / "campaign" / "hard" / "field_1"
    reference = read(folder / "reference_lidar.tum.gz")
    with pytest.raises(PairingError, match=UNRELATED):
        find_offset(read(folder / "i2ekf.txt.gz"), reference, BARE)


def test_few_poses_between_gaps_are_refused(motion, rng):
    estimate, reference = noisy(seen(motion, 10), rng), seen(motion, 100)
    scattered = estimate[(np.arange(len(estimate)) % 20) < 2]
    with pytest.raises(
        PairingError, match=r"\d+ neighbouring poses match .* a time offset needs 30"
    ):
        find_offset(scattered[:29], reference, BARE)


def test_the_table_turns_about_the_offset(motion, rng):
    found = find_offset(noisy(seen(motion, 10, late_s=0.1), rng), seen(motion, 100), BARE)
    aside = [row.offset_s - found.offset_s for row in found.curve]
    assert aside == pytest.approx(np.arange(-0.05, 0.051, 0.01))
    assert min(found.curve, key=lambda row: row.k) is found.curve[5]
    assert min(found.curve, key=lambda row: row.rmse_m) is found.curve[5]
    assert found.curve[5].k == pytest.approx(1, abs=0.15)
    assert found.curve[0].k > 2
    assert found.curve[5].rmse_m == pytest.approx(np.sqrt(3) * SIGMA_M, rel=0.1)
    assert found.curve[5].median_nees == pytest.approx(2.366 * found.curve[5].k, rel=1e-3)


@pytest.mark.parametrize("rate_hz", [100, 5])
def test_the_middle_of_the_table_is_the_score_of_the_evaluation(motion, rate_hz, rng):
    estimate = noisy(seen(motion, 10), rng)
    result = evaluate(estimate, seen(motion, rate_hz), options=AUTO)
    assert result.clock.curve[5].k == pytest.approx(result["k"].value, rel=0.1)
    assert result.clock.curve[5].rmse_m == pytest.approx(result["rmse"].value, rel=0.05)


def test_plain_poses_have_a_table_without_k(motion):
    found = find_offset(seen(motion, 10, late_s=0.1), seen(motion, 100), BARE)
    assert {(row.k, row.median_nees) for row in found.curve} == {(None, None)}


def test_particles_have_an_offset_and_the_table_of_their_moments(motion, rng):
    belief = noisy(seen(motion, 10, late_s=0.1), rng)
    n, count = len(belief), 40
    spread = SIGMA_M * rng.normal(size=(n, count, 3))
    cloud = ParticleTrack(
        belief.stamp,
        count * np.arange(n + 1),
        (belief.position[:, None] + spread).reshape(-1, 3),
        np.repeat(belief.rotation, count, axis=0),
        np.ones(n * count),
    )
    found = find_offset(cloud, seen(motion, 100), BARE)
    assert off_ms(found, 0.1) < 1
    assert found.curve[5].k == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("association", ["nearest", "gp"])
def test_the_offset_found_restores_the_score_without_one(motion, association, rng):
    reference, true = seen(motion, 20), noisy(seen(motion, 10), rng, 0.9)
    options = replace(BARE, association=association)
    honest = evaluate(true, reference, options=options)
    late = true.shift_stamps(-150_000_000)  # three poses of the reference
    spoilt = evaluate(late, reference, options=options)
    restored = evaluate(late, reference, options=replace(options, offset_s="auto"))
    assert spoilt["k"].value > 5 * honest["k"].value
    assert restored["k"].value == pytest.approx(honest["k"].value, rel=0.05)
    assert restored["rmse"].value == pytest.approx(honest["rmse"].value, rel=0.01)
    assert restored.pairs.offset_s == restored.options.offset_s == restored.clock.offset_s


def test_moving_both_clocks_changes_nothing(motion, rng):
    estimate, reference = noisy(seen(motion, 10, late_s=0.4), rng), seen(motion, 100)
    one = find_offset(estimate, reference, BARE)
    shift = 86_400 * 10**9 + 123_456_789
    other = find_offset(estimate.shift_stamps(shift), reference.shift_stamps(shift), BARE)
    assert other == one


def test_moving_the_clock_of_the_estimate_moves_the_offset_by_as_much(motion, rng):
    estimate, reference = noisy(seen(motion, 10), rng), seen(motion, 100)
    one = find_offset(estimate, reference, BARE)
    other = find_offset(estimate.shift_stamps(-730_000_000), reference, BARE)
    assert other.offset_s - one.offset_s == pytest.approx(0.73, abs=1e-6)
    assert other.low_s - one.low_s == pytest.approx(0.73, abs=1e-5)


def test_the_offset_is_noted_and_in_the_document(motion, rng):
    estimate = noisy(seen(motion, 10, late_s=0.0123), rng)
    result = evaluate(estimate, seen(motion, 100), options=AUTO)
    note = next(note for note in result.notes if note.startswith("time offset 12."))
    assert " ms [1" in note
    assert "added to the estimate's stamps (found from speed, angular rate and error on " in note
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    schema = json.loads((Path(smfeval.__file__).parent / "schemas" / "score.json").read_text())
    jsonschema.validate(document, schema)
    association = document["association"]
    assert (
        association["offset_s"] == association["time_offset"]["offset_s"] == result.clock.offset_s
    )
    assert association["time_offset"]["low_s"] < 0.0123 < association["time_offset"]["high_s"]
    assert len(association["time_offset"]["curve"]) == 11
    given = evaluate(estimate, seen(motion, 100), options=replace(BARE, offset_s=0.01))
    assert given.clock is None
    assert given.to_dict()["association"]["time_offset"] is None


@pytest.mark.parametrize(("rate_hz", "late_s"), [(20, 0.005), (20, 0.01), (20, 0.03)])
def test_an_offset_smaller_than_the_step_of_the_reference_is_applied(motion, rate_hz, late_s, rng):
    """On equal stamps the nearest pose stays the same, or is lost, whatever the offset."""
    ahead = seen(motion, rate_hz, first_s=late_s).shift_stamps(-round(late_s * 1e9))
    result = evaluate(noisy(ahead, rng), seen(motion, rate_hz), options=AUTO)
    assert result.options.association == "gp"
    assert result.to_dict()["association"]["method"] == "gp"
    assert result["k"].value == pytest.approx(1, abs=0.2)


def test_nearest_poses_are_kept_where_they_follow_the_offset(motion, rng):
    result = evaluate(noisy(seen(motion, 10), rng), seen(motion, 5), options=AUTO)
    assert result.options.association == "interpolated"


def test_stamps_that_never_meet_are_read_from_the_motion(motion, rng):
    reference, estimate = seen(motion, 5), noisy(seen(motion, 10, first_s=0.05), rng)
    assert evaluate(estimate, reference, options=AUTO).options.association == "gp"


def test_words_that_are_no_offset_are_refused(motion, rng):
    with pytest.raises(OptionError, match="offset 'soon' is neither a time in seconds nor auto"):
        Options(offset_s="soon")
    estimate, reference = noisy(seen(motion, 10), rng), seen(motion, 100)
    with pytest.raises(OptionError, match="found by scoring one estimate against a reference"):
        nearest_pairs(estimate, reference, AUTO)
    pairs = nearest_pairs(estimate, reference, BARE)
    with pytest.raises(OptionError, match="already paired"):
        evaluate(estimate, reference, options=AUTO, pairs=pairs)


def test_a_long_track_is_told_from_stretches_and_says_so(rng):
    long = walked(4000, rng, rate_hz=20)
    estimate = noisy(seen(long, 10, late_s=0.2), rng)
    found = find_offset(estimate, seen(long, 10), BARE)
    assert off_ms(found, 0.2) < 2
    assert found.of == len(estimate) == 40_000
    assert 8_000 < found.scans < 12_000


EASY = [
    (track, filter_)
    for track in ("college_1", "college_2", "college_3")
    for filter_ in ("fastlio2", "fasterlio", "pointlio")
]


@pytest.mark.parametrize(("track", "filter_"), EASY)
def test_37_ms_are_found_on_real_filters(shared_data, track, filter_):
    folder = shared_data / "campaign" / "easy" / track
    reference = read(folder / "reference.tum.gz")
    estimate = read(folder / f"{filter_}.txt.gz")
    base = find_offset(estimate, reference, BARE)
    late = find_offset(estimate.shift_stamps(-37_000_000), reference, BARE)
    assert late.offset_s - base.offset_s == pytest.approx(0.037, abs=1e-4)
    assert 0 < base.offset_s < 3e-3  # its LiDAR clock is late by 1 to 3 ms, says its README
    late_s = {"college_1": 2.7e-3, "college_2": 1.1e-3, "college_3": 2.5e-3}[track]
    assert base.offset_s == pytest.approx(
        late_s, abs=1.2e-3
    )  # a filter with an IMU follows in part


def test_without_a_clock_error_real_filters_show_none(shared_data):
    folder = shared_data / "campaign" / "control" / "explore_nosys"
    reference = read(folder / "reference.tum.gz")
    for name in ("fastlio2", "pointlio"):
        found = find_offset(read(folder / f"{name}.txt.gz"), reference, BARE)
        assert abs(found.offset_s) < 5e-4
