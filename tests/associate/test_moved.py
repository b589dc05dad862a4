import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

from smfeval.associate import gap_risk, nearest
from smfeval.associate.moved import EXPLAINED, move, move_reference
from smfeval.evaluation import Options, evaluate
from smfeval.maths import so3
from smfeval.track import GaussianTrack, Track

SIGMA = 0.02
NO_TURN = np.array([0.0, 0.0, 0.0, 1.0])


def track_of(time_s, position, rotation=None, covariance=None):
    stamp = np.round(1e9 * np.asarray(time_s)).astype(np.int64)
    if rotation is None:
        rotation = np.tile(NO_TURN, (len(stamp), 1))
    if covariance is None:
        return Track(stamp, position, rotation)
    return GaussianTrack(stamp, position, rotation, covariance)


def polynomial(time_s, *coefficients):
    """Sum of coefficients times powers of time, from the first power on. (n, 3)."""
    return sum(c * time_s[:, None] ** (i + 1) for i, c in enumerate(np.array(coefficients)))


def uneven(rng, count=40):
    return np.cumsum(rng.uniform(0.05, 0.15, count))


def inner_moves(rng, time_s):
    """Poses from the second to the last but one, each moved within its neighbouring steps."""
    index = np.arange(2, len(time_s) - 2)
    forward, back = time_s[index + 1] - time_s[index], time_s[index - 1] - time_s[index]
    return index, np.round(rng.uniform(0.5 * back, 0.5 * forward), 9)


def test_poses_without_a_gap_stay_as_they_are(rng):
    time = uneven(rng)
    track = track_of(time, rng.normal(size=(40, 3)))
    found = move(track, np.arange(3, 30), np.zeros(27))
    assert type(found.track) is Track
    np.testing.assert_array_equal(found.track.position, track.position[3:30])
    by = np.zeros(27)
    by[5] = 0.01
    some = move(track, np.arange(3, 30), by)
    stayed = np.arange(27) != 5
    np.testing.assert_array_equal(some.track.position[stayed], track.position[3:30][stayed])
    assert not some.track.covariance[stayed].any()
    assert np.flatnonzero(some.distance_m).tolist() == [5]


def test_motion_under_a_constant_acceleration_is_met_exactly(rng):
    time = uneven(rng)
    motion = ([15.0, -2.0, 0.3], [3.0, 1.0, 0.2])
    index, by = inner_moves(rng, time)
    found = move(track_of(time, polynomial(time, *motion)), index, by)
    np.testing.assert_allclose(
        found.track.position, polynomial(time[index] + by, *motion), atol=1e-7
    )
    np.testing.assert_allclose(found.open_m, 0.0, atol=1e-7)
    np.testing.assert_array_equal(
        found.track.stamp, np.round(1e9 * time).astype(np.int64)[index] + np.round(1e9 * by)
    )


def test_under_a_constant_jerk_it_is_off_by_a_third_of_what_it_leaves_open_at_most(rng):
    time = uneven(rng)
    motion = ([15.0, -2.0, 0.3], [3.0, 1.0, 0.2], [4.0, 2.0, 1.0])
    index, by = inner_moves(rng, time)
    found = move(track_of(time, polynomial(time, *motion)), index, by)
    error = np.linalg.norm(found.track.position - polynomial(time[index] + by, *motion), axis=1)
    steady = 0.1 * np.arange(9)
    track = track_of(steady, polynomial(steady, *motion))
    even = move(track, np.array([4]), np.array([0.02]))
    off = even.track.position[0] - polynomial(np.array([0.42]), *motion)[0]
    assert np.linalg.norm(off) == pytest.approx(even.open_m[0] * (1 - 2 * 0.2) / 3)
    assert (error <= 0.5 * found.open_m).all()
    assert error.max() > 1e-6


def test_positions_are_those_of_a_hermite_spline(rng):
    time, position = uneven(rng), np.cumsum(rng.normal(size=(40, 3)), axis=0)
    index, by = inner_moves(rng, time)
    stamped = np.round(1e9 * time) / 1e9
    slope = np.gradient(position, stamped, axis=0)
    expected = CubicHermiteSpline(stamped, position, slope)(stamped[index] + by)
    found = move(track_of(time, position), index, by)
    np.testing.assert_allclose(found.track.position, expected, atol=1e-9)


def test_a_steady_turn_is_slerp(rng):
    time = uneven(rng)
    turn = Rotation.from_rotvec(time[:, None] * np.array([0.1, -0.3, 0.8]))
    track = track_of(time, np.zeros((40, 3)), turn.as_quat())
    index, by = inner_moves(rng, time)
    found = move(track, index, by).track
    expected = Slerp(time, turn)(time[index] + by).as_quat()
    np.testing.assert_allclose(so3.angle_between(found.rotation, expected), 0.0, atol=1e-7)
    np.testing.assert_allclose(found.covariance[:, 3:, 3:], 0.0, atol=1e-12)


def test_a_turn_that_changes_is_within_what_is_left_open(rng):
    time = 0.1 * np.arange(200)

    def turned(at):
        return so3.exp(np.stack([0.2 * np.sin(at), 0.1 * np.cos(2 * at), 0.8 * np.sin(at)], -1))

    index = np.arange(5, 195)
    by = rng.uniform(-0.05, 0.05, len(index))
    found = move(track_of(time, np.zeros((200, 3)), turned(time)), index, by).track
    error = so3.angle_between(found.rotation, turned(time[index] + np.round(by, 9)))
    assert np.quantile(error / np.sqrt(found.covariance[:, 3, 3]), 0.9) < 1
    assert error.max() < 1e-4


def test_a_reported_covariance_is_interpolated_and_not_averaged_down(rng):
    time = 0.1 * np.arange(20)
    size = np.linspace(1e-4, 4e-4, 20)
    covariance = size[:, None, None] * np.eye(6)
    track = track_of(time, polynomial(time, [5.0, 0.0, 0.0]), None, covariance)
    found = move(track, np.array([4, 9]), np.array([0.03, -0.04]))
    expected = [0.7 * size[4] + 0.3 * size[5], 0.6 * size[9] + 0.4 * size[8]]
    np.testing.assert_allclose(found.track.covariance, np.multiply.outer(expected, np.eye(6)))


def test_noise_that_is_reported_is_granted_once(rng):
    count, sigma = 4000, 0.03
    time = 0.1 * np.arange(count)
    noise = sigma * rng.normal(size=(count, 3))
    covariance = np.tile(sigma**2 * np.eye(6), (count, 1, 1))
    index, by = np.arange(2, count - 2), np.full(count - 4, 0.04)
    told = move(track_of(time, noise, None, covariance), index, by)
    silent = move(track_of(time, noise), index, by)
    beyond = np.einsum("nii->n", told.track.covariance[:, :3, :3]) / 3 > sigma**2 * 1.0001
    assert beyond.mean() == pytest.approx(0.05, abs=0.02)
    np.testing.assert_allclose(told.open_m[~beyond], sigma * np.sqrt(2 * 0.4 * 0.6))
    mean = (silent.open_m**2).mean()
    quantile = np.quantile(silent.open_m**2, 0.95)
    assert quantile / mean == pytest.approx(EXPLAINED, rel=0.05)


def test_what_has_no_neighbours_is_not_moved():
    two = track_of([0.0, 0.1], np.array([[0.0, 0, 0], [1.0, 0, 0]]))
    found = move(two, np.array([0, 1]), np.array([0.01, 0.0]))
    assert np.isnan(found.open_m).tolist() == [True, False]
    np.testing.assert_array_equal(found.track.position, two.position)
    time = 0.1 * np.arange(9)
    track = track_of(time, polynomial(time, [5.0, 0.0, 0.0]))
    found = move(track, np.array([0, 8]), np.array([-0.09, 0.11]))
    np.testing.assert_allclose(found.track.position[0], [-0.45, 0, 0], atol=1e-12)
    np.testing.assert_array_equal(found.track.position[1], track.position[8])
    assert np.isnan(found.open_m).tolist() == [False, True]


def driven(rng, gap_s, *, count=600, reference_step=0.1, factor=1.0):
    """An estimate at 15 m/s, honest to 2 cm, whose stamps are off from the reference's."""
    time = reference_step * np.arange(count)
    at = time + gap_s

    def truth(t):
        return np.stack([60 * np.sin(0.25 * t), 60 * np.cos(0.25 * t), np.zeros(len(t))], -1)

    covariance = np.tile(factor * SIGMA**2 * np.eye(6), (count, 1, 1))
    estimate = track_of(at, truth(at) + SIGMA * rng.normal(size=(count, 3)), None, covariance)
    return estimate, track_of(time, truth(time)).with_about(oriented=False)


def scored(rng, gap_s, association, **more):
    estimate, reference = driven(rng, gap_s, **more)
    options = Options(alignment="none", association=association)
    return evaluate(estimate, reference, options=options)


def test_a_gap_does_not_convict_an_honest_estimate(rng):
    gap = rng.choice([-0.003, 0.003], 600)
    stayed = scored(rng, gap, "nearest")
    assert stayed["k"].value > 1.5
    assert stayed.verdict.label == "cannot tell"
    assert stayed.verdict.reason == "gaps"
    assert "but the stamps of the two tracks are too far apart" in stayed.verdict.sentence
    moved = scored(rng, gap, "moved")
    assert moved["k"].value == pytest.approx(1, abs=0.15)
    assert moved.verdict.label == "consistent"
    assert moved.pairs.moves.largest_m == pytest.approx(0.045, abs=0.002)


def test_a_belief_that_is_too_tight_is_convicted_over_a_gap(rng):
    gap = rng.choice([-0.003, 0.003], 600)
    assert scored(rng, gap, "moved", factor=0.25).verdict.label == "overconfident"


def test_what_no_gap_explains_is_convicted_by_nearest_poses_too(rng):
    found = scored(rng, rng.choice([-2e-4, 2e-4], 600), "nearest", factor=1e-3)
    assert found.gap_risk.may_convict
    assert found.verdict.at_least > found.gap_risk.factor
    assert found.verdict.label == "overconfident"


def test_common_stamps_give_the_numbers_of_nearest_poses(rng):
    seeds = np.random.default_rng(3), np.random.default_rng(3)
    one, other = (scored(s, 0.0, how) for s, how in zip(seeds, ("moved", "nearest"), strict=True))
    np.testing.assert_array_equal(one.position.series["energy"], other.position.series["energy"])
    assert one.pairs.moves is None
    assert one.verdict.to_dict() == other.verdict.to_dict()


def test_what_is_granted_acquits_nobody(rng):
    coarse = scored(rng, np.full(40, 0.004), "moved", count=40, reference_step=3.0, factor=4.0)
    assert coarse.gap_risk.may_acquit
    assert coarse.verdict.label == "cannot tell"


def test_gap_risk_counts_what_was_not_bridged():
    one = np.ones(4)
    risk = gap_risk(one, 0.5 * one, one, one, open_m=np.array([np.nan, np.nan, 0.5, 0.1]))
    assert (risk.above_limit, risk.not_interpolated) == (0.75, 0.5)
    assert risk.may_convict
    assert risk.may_acquit
    assert risk.factor == pytest.approx(1.5**2)
    left = np.array([0.5, 0.5, 0.1, 0.1])
    kept = gap_risk(one, 0.0 * one, one, one, open_m=left, granted=False)
    assert (kept.may_convict, kept.may_acquit) == (True, False)


def test_an_offset_of_the_clock_is_part_of_the_gap(rng):
    estimate, reference = driven(rng, 0.002)
    pairs = nearest(estimate.stamp, reference.stamp, offset_s=-0.002)
    track, found = move_reference(reference, pairs)
    np.testing.assert_array_equal(track.position, reference.position)
    assert found.moves is None
