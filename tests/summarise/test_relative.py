import numpy as np
import pytest
from evo.core import metrics
from evo.core.trajectory import PoseTrajectory3D
from evo.core.units import Unit

from smfeval.align.quantities import Extent, parse_extent
from smfeval.errors import OptionError
from smfeval.evaluation import Options, evaluate
from smfeval.maths import so3
from smfeval.maths.so3 import angle
from smfeval.summarise.number import Intervals
from smfeval.summarise.relative import close_pairs, horizon_pairs
from smfeval.track import Track
from support.beliefs import ABOUT, rotations, stamps

N, STEP_M = 120, 0.5


@pytest.fixture
def tracks(rng):
    """A reference in equal steps of half a metre around a circle, and a shaken estimate."""
    radius = 0.5 * STEP_M / np.sin(np.pi / 200)
    turn = 2 * np.pi * np.arange(N) / 200
    position = radius * np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    rotation = so3.exp(np.stack([0.1 * np.sin(3 * turn), 0 * turn, turn], axis=1))
    reference = Track(stamps(N), position, rotation, about=ABOUT)
    shaken = Track(
        stamps(N),
        position + 0.1 * rng.normal(size=(N, 3)),
        so3.compose(rotation, so3.exp(0.05 * rng.normal(size=(N, 3)))),
        about=ABOUT,
    )
    return shaken, reference


def as_evo(track):
    return PoseTrajectory3D(
        positions_xyz=np.array(track.position),
        orientations_quat_wxyz=np.roll(track.rotation, 1, axis=1),
        timestamps=np.arange(len(track)) / 10,
    )


def evo_errors(relation, tracks, delta, unit):
    metric = metrics.RPE(
        relation, delta, unit, rel_delta_tol=1e-6, all_pairs=True, pairs_from_reference=True
    )
    estimate, reference = tracks
    metric.process_data((as_evo(reference), as_evo(estimate)))
    return metric.error


def over(tracks, *horizons, **options):
    chosen = Options(horizons=horizons, alignment="none", intervals=Intervals(None), **options)
    return evaluate(*tracks, options=chosen).relative


@pytest.mark.parametrize(
    ("horizon", "delta", "unit"),
    [
        (Extent(1, "scans"), 1, Unit.frames),
        (Extent(17, "scans"), 17, Unit.frames),
        (Extent(1.2, "s"), 12, Unit.frames),
        (Extent(10.0, "m"), 10.0, Unit.meters),
    ],
    ids=str,
)
def test_relative_errors_are_those_of_evo(tracks, horizon, delta, unit):
    (found,) = over(tracks, horizon)
    translation = evo_errors(metrics.PoseRelation.translation_part, tracks, delta, unit)
    rotation = evo_errors(metrics.PoseRelation.rotation_angle_deg, tracks, delta, unit)
    assert found.horizon == str(horizon)
    assert found.pairs == len(translation)
    assert found.translation_mean_m == pytest.approx(translation.mean(), rel=1e-9)
    assert found.translation_rmse_m == pytest.approx(np.sqrt(np.mean(translation**2)), rel=1e-9)
    assert found.get("rotation_mean_deg") == pytest.approx(rotation.mean(), rel=1e-9)


def test_over_metres_errors_are_also_given_per_metre(tracks):
    (found,) = over(tracks, Extent(10.0, "m"))
    assert found.get("percent") == pytest.approx(100 * found.translation_mean_m / 10, rel=1e-9)
    assert found.get("deg_per_m") == pytest.approx(found.get("rotation_mean_deg") / 10, rel=1e-9)
    (scans,) = over(tracks, Extent(5, "scans"))
    assert (scans.get("percent"), scans.get("deg_per_m")) == (None, None)


def test_a_horizon_between_two_poses_is_charged_the_path_it_really_took(tracks):
    """Steps are half a metre: the first pose at least 9.8 m on is 10 m on."""
    (found,) = over(tracks, Extent(9.8, "m"))
    (ten,) = over(tracks, Extent(10.0, "m"))
    assert found.get("percent") == pytest.approx(ten.get("percent"), rel=1e-9)


def test_relative_errors_do_not_depend_on_the_alignment(tracks):
    horizon = Extent(10, "scans")
    aligned = evaluate(
        *tracks,
        options=Options(alignment="se3", horizons=(horizon,), intervals=Intervals(None)),
    ).relative[0]
    (plain,) = over(tracks, horizon)
    assert aligned.translation_mean_m == pytest.approx(plain.translation_mean_m, rel=1e-9)
    assert aligned.get("rotation_mean_deg") == pytest.approx(
        plain.get("rotation_mean_deg"), rel=1e-9
    )


def test_without_orientation_displacements_are_compared(tracks):
    estimate, reference = tracks
    (found,) = over((estimate, reference.with_about(oriented=False)), Extent(3, "scans"))
    off = estimate.position - reference.position
    length = np.linalg.norm(off[3:] - off[:-3], axis=1)
    assert found.translation_mean_m == pytest.approx(length.mean(), rel=1e-9)
    assert (found.get("rotation_mean_deg"), found.pairs) == (None, N - 3)


def test_equal_tracks_have_no_relative_error(tracks):
    _, reference = tracks
    (found,) = over((reference, reference), Extent(2.0, "s"))
    assert found.translation_rmse_m < 1e-13
    assert found.get("rotation_mean_deg") < 1e-6


def test_a_horizon_longer_than_the_track_is_refused(tracks):
    with pytest.raises(OptionError, match="no two scans are 100 m apart"):
        over(tracks, Extent(100.0, "m"))


def test_each_scan_meets_the_first_that_is_far_enough(rng):
    progress = np.cumsum(rng.integers(0, 4, size=200)).astype(float)
    i, j = horizon_pairs(progress, 5.0)
    expected = [
        (a, next(b for b in range(200) if progress[b] - progress[a] >= 5.0))
        for a in range(200)
        if progress[-1] - progress[a] >= 5.0
    ]
    assert list(zip(i, j, strict=True)) == expected


def test_ten_steps_of_a_tenth_of_a_second_are_one_second():
    i, j = horizon_pairs(np.cumsum(np.full(100, 0.1)), 1.0)
    np.testing.assert_array_equal(j - i, 10)


def test_a_pair_across_a_gap_is_left_out_and_counted(rng):
    """A gap of 40 s within a horizon of 1 s would be charged to it."""
    steps = np.full(200, 0.1)
    steps[100] = 40.0
    progress = np.cumsum(steps)
    i, j, dropped = close_pairs(progress, 1.0)
    span = progress[j] - progress[i]
    assert (span.min(), span.max()) == (pytest.approx(1.0), pytest.approx(1.0))
    assert dropped == 10
    assert len(i) + dropped == len(horizon_pairs(progress, 1.0)[0])


def test_a_gap_does_not_raise_the_error_over_a_second(rng):
    n = 400
    second = 0.1 * np.arange(n) + 40.0 * (np.arange(n) >= n // 2)
    position = np.stack([second, 0 * second, 0 * second], axis=1)
    drifted = position + np.stack([0 * second, 0.02 * second, 0 * second], axis=1)
    still = so3.exp(np.zeros((n, 3)))
    stamp = np.round(second * 1e9).astype(np.int64)
    pair = [Track(stamp, each, still, about=ABOUT) for each in (drifted, position)]
    (found,) = over(pair, Extent(1.0, "s"))
    assert found.translation_rmse_m == pytest.approx(0.02, rel=1e-6)
    assert found.dropped == 10
    assert found.to_dict()["dropped_pairs"] == 10


def test_a_horizon_that_every_pair_exceeds_is_refused(tracks):
    with pytest.raises(OptionError, match=r"119 pairs span more than 1\.25 times that"):
        over(tracks, Extent(0.3, "m"))


def test_relative_errors_have_intervals_that_know_of_dependence(tracks):
    chosen = Options(horizons=(Extent(10, "scans"),), alignment="none")
    (found,) = evaluate(*tracks, options=chosen).relative
    for name in ("translation_rmse_m", "translation_mean_m", "rotation_mean_deg"):
        number = found.numbers[name]
        assert number.low < number.value < number.high, name
        assert found.to_dict()["intervals"][name] == [number.low, number.high]
    (bare,) = over(tracks, Extent(10, "scans"))
    assert set(bare.to_dict()["intervals"].values()) == {None}


def test_the_angle_of_a_rotation_is_the_same_for_both_signs_of_its_quaternion(rng):
    q = rotations(50, rng)
    np.testing.assert_allclose(angle(q), angle(-q), rtol=1e-12)
    expected = 2 * np.arccos(np.abs(q[:, 3]))
    np.testing.assert_allclose(angle(q), expected, rtol=1e-7)
    assert (angle(q) <= np.pi).all()


@pytest.mark.parametrize(
    ("text", "size", "unit"),
    [("100", 100, "scans"), ("7scans", 7, "scans"), ("1.5s", 1.5, "s"), ("30 m", 30, "m")],
)
def test_extents_are_read_in_their_units(text, size, unit):
    assert parse_extent(text) == Extent(size, unit)


@pytest.mark.parametrize("text", ["", "m", "3km", "-2s", "0", "1.5scans"])
def test_what_is_no_extent_is_refused(text):
    with pytest.raises(OptionError):
        parse_extent(text)
