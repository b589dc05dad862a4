import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp
from scipy.stats import chi2

from smfeval.associate.gp import MAX_GAP_STEPS, ROUNDING, interpolate
from smfeval.associate.motion_prior import MotionPrior
from smfeval.errors import PairingError
from smfeval.io import read
from smfeval.maths import so3
from smfeval.maths.stamps import NANOSECONDS
from smfeval.score import Residuals
from smfeval.track import About, GaussianTrack, Track
from support.motion import draw, walk

START_NS = 1_700_000_000 * NANOSECONDS
SHAPE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 0.4]])


def carried(n, rng, rate_hz=20.0, **words):
    """A reference carried by somebody who walks."""
    time = np.arange(n) / rate_hz
    position, turn = walk(time, rng)
    stamp = START_NS + np.round(time * NANOSECONDS).astype(np.int64)
    return Track(stamp, position, so3.exp(turn), about=About(world="map", body="imu", **words))


def between(track, fraction=0.37):
    """One stamp in each gap of a track."""
    return track.stamp[:-1] + (fraction * np.diff(track.stamp)).astype(np.int64)


def inside(error, covariance, level=0.9):
    """How often the region of that level holds the error."""
    square = np.einsum("ni,ni->n", error, np.linalg.solve(covariance, error[..., None])[..., 0])
    return float((square <= chi2.ppf(level, error.shape[1])).mean())


def turned_covariance(found):
    """Covariance of a rotation that the reference itself would have read. (n, 3, 3)."""
    factor = found.rotation.widening(found.gap_s)[:, None, None]
    reading = factor * found.rotation.motion.noise + ROUNDING**2 * np.eye(3)
    return found.track.covariance[:, 3:, 3:] + reading


def withheld(track, kept):
    """Interpolate at the poses that were not kept: the answer, its position errors, the poses."""
    found = interpolate(track[kept], track.stamp[~kept])
    truth = track[np.flatnonzero(~kept)[found.index]]
    return found, found.track.position - truth.position, truth


def test_stamps_outside_the_reference_stay_unmatched_and_are_counted(rng):
    track = carried(200, rng)
    asked = np.concatenate([track.stamp[:1] - 5, between(track), track.stamp[-1:] + 1])
    found = interpolate(track, asked)
    assert (found.outside, found.scans, len(found)) == (2, 201, 199)
    np.testing.assert_array_equal(found.index, np.arange(1, 200))
    np.testing.assert_array_equal(found.track.stamp, asked[1:-1])
    assert found.notes == ("2 scans lie before the first or after the last reference pose",)


def test_the_stamps_of_the_first_and_last_pose_are_matched(rng):
    track = carried(200, rng)
    found = interpolate(track, track.stamp)
    assert len(found) == 200
    np.testing.assert_allclose(found.track.position, track.position, atol=1e-3)
    assert np.degrees(turned(found.track, track)).max() < 0.1


def turned(track, other):
    return np.linalg.norm(so3.log(so3.compose(so3.inverse(track.rotation), other.rotation)), axis=1)


def test_the_interpolated_track_keeps_the_words_of_the_reference(rng):
    track = carried(100, rng)
    found = interpolate(track, between(track))
    assert found.track.about == track.about
    assert found.pairs.estimate is found.index
    np.testing.assert_array_equal(found.pairs.reference, np.arange(99))


def test_slow_motion_is_linear_between_poses_and_rotation_is_slerp():
    n = 100
    time = np.arange(n) / 10
    stamp = START_NS + (time * NANOSECONDS).astype(np.int64)
    position = np.stack([time, 2 * time, np.sin(0.01 * time)], axis=1)
    turn = np.outer(0.1 * time, [0.6, 0.0, 0.8])
    track = Track(stamp, position, so3.exp(turn))
    asked = between(track)
    found = interpolate(track, asked)
    seconds = (asked - START_NS) / NANOSECONDS
    linear = np.stack([np.interp(seconds, time, axis) for axis in position.T], axis=1)
    np.testing.assert_allclose(found.track.position, linear, atol=1e-5)
    slerp = Slerp(time, Rotation.from_quat(track.rotation))(seconds)
    away = (Rotation.from_quat(found.track.rotation).inv() * slerp).magnitude()
    assert away.max() < 1e-5


def test_variance_grows_towards_the_middle_of_a_gap(rng):
    track = carried(600, rng)
    kept = np.ones(600, dtype=bool)
    kept[300:360] = False
    asked = track.stamp[299] + np.linspace(0, 61 * 50_000_000, 41).astype(np.int64)
    found = interpolate(track[kept], asked)
    sigma = np.sqrt(np.trace(found.track.position_covariance, axis1=1, axis2=2))
    assert (np.diff(sigma[:21]) > 0).all()
    assert (np.diff(sigma[20:]) < 0).all()
    assert sigma[20] > 20 * sigma[0]
    assert any("gaps of more than 10 steps (longest 3.05 s)" in note for note in found.notes)


def test_two_sessions_hours_apart_do_not_meet(rng):
    track = carried(400, rng)
    late = np.where(np.arange(400) < 200, 0, int(3 * MAX_GAP_STEPS * 50_000_000))
    apart = track.with_arrays({"stamp": track.stamp + late})
    middle = apart.stamp[199:200] + 10**9
    asked = np.concatenate([apart.stamp[:200], middle, apart.stamp[200:]])
    found = interpolate(apart, asked)
    assert found.in_long_gaps == 1
    assert "1 scans lie in reference gaps too long to bridge" in found.notes
    np.testing.assert_array_equal(found.index, np.delete(np.arange(401), 200))
    np.testing.assert_allclose(found.track.position, apart.position, atol=2e-3)


def test_moving_the_world_moves_the_answer_and_nothing_else(rng):
    track = carried(500, rng)
    turn, shift = so3.exp(np.array([0.4, -0.8, 1.9])), np.array([100.0, -50.0, 7.0])
    moved = track.with_arrays(
        {
            "position": so3.rotate_all(so3.matrix(turn), track.position) + shift,
            "rotation": so3.compose(turn, track.rotation),
        }
    )
    here, there = (interpolate(t, between(t)).track for t in (track, moved))
    expected = so3.rotate_all(so3.matrix(turn), here.position) + shift
    np.testing.assert_allclose(there.position, expected, atol=1e-7)
    np.testing.assert_allclose(there.covariance, here.covariance, rtol=1e-3, atol=1e-14)
    back = so3.compose(so3.inverse(turn), there.rotation)
    assert turned(here.with_arrays({"rotation": back}), here).max() < 1e-7


def test_shifting_all_clocks_changes_nothing(rng):
    track = carried(300, rng)
    here = interpolate(track, between(track))
    later = track.shift_stamps(123_456_789_012_345)
    for there in (
        interpolate(later, between(later)),
        interpolate(later, between(track), offset_s=123456.789012345),
    ):
        np.testing.assert_array_equal(there.track.position, here.track.position)
        np.testing.assert_array_equal(there.track.covariance, here.track.covariance)


@pytest.mark.parametrize("order", [2, 3])
def test_auto_takes_the_prior_that_made_the_motion(order, rng):
    step = np.full(1999, 0.05)
    position = draw(step, MotionPrior(order, SHAPE, 1e-3 * 0.05 ** (2 * order - 1)), rng)
    stamp = START_NS + 50_000_000 * np.arange(2000)
    track = Track(stamp, position, np.tile([0.0, 0.0, 0.0, 1.0], (2000, 1)))
    found = interpolate(track, between(track))
    assert found.position.prior == {2: "acceleration", 3: "jerk"}[order]
    assert found.position.motion.order == order


def reporting(track, position, sigma):
    covariance = np.tile(np.diag([sigma**2] * 3 + [1e-6] * 3), (len(track), 1, 1))
    return GaussianTrack(track.stamp, position, track.rotation, covariance)


def test_on_a_pose_the_reference_is_what_it_reports(rng):
    plain = carried(300, rng)
    growing = np.linspace(1.0, 4.0, 300)[:, None, None] * np.diag([1e-4, 2e-4, 3e-4] + [1e-6] * 3)
    track = GaussianTrack(plain.stamp, plain.position, plain.rotation, growing)
    found = interpolate(track, track.stamp)
    np.testing.assert_allclose(found.track.position, plain.position, atol=1e-5)
    np.testing.assert_allclose(found.track.covariance, growing, rtol=1e-3, atol=1e-9)


def test_between_poses_a_reported_covariance_is_interpolated_and_the_motion_added(rng):
    plain = carried(300, rng)
    bare = interpolate(plain, between(plain))
    told = interpolate(reporting(plain, plain.position, 0.05), between(plain))
    added = told.track.position_covariance - 0.05**2 * np.eye(3)
    np.testing.assert_allclose(added, bare.track.position_covariance, rtol=0.05, atol=1e-9)


@pytest.mark.parametrize("memory", [0.0, 0.99])
def test_errors_that_neighbours_share_are_covered_by_what_is_reported(memory, rng):
    count, sigma = 3000, 0.05
    plain = carried(count, rng)
    error = rng.normal(size=(count, 3))
    for k in range(1, count):
        error[k] = memory * error[k - 1] + np.sqrt(1 - memory**2) * error[k]
    track = reporting(plain, plain.position + sigma * error, sigma)
    found = interpolate(track[::2], plain.stamp[1::2][:-1]).track
    held = inside(found.position - plain.position[1::2][:-1], found.position_covariance)
    assert held >= 0.85


def test_a_reference_in_a_plane_or_at_rest_is_interpolated(rng):
    track = carried(300, rng)
    flat = track.with_arrays({"position": track.position * [1.0, 1.0, 0.0]})
    found = interpolate(flat, between(flat)).track
    np.testing.assert_array_equal(found.position[:, 2], 0.0)
    np.testing.assert_allclose(found.position_covariance[:, 2, 2], ROUNDING**2, rtol=1e-6)
    resting = track.with_arrays({"position": np.ones((300, 3))})
    found = interpolate(resting, between(resting)).track
    np.testing.assert_array_equal(found.position, 1.0)
    np.testing.assert_allclose(
        found.position_covariance, [ROUNDING**2 * np.eye(3)] * 299, atol=1e-20
    )


def test_a_reference_of_positions_only_gets_no_rotation(rng):
    track = carried(300, rng, oriented=False)
    found = interpolate(track, between(track))
    assert found.rotation is None
    assert not found.track.covariance[:, 3:, 3:].any()


def test_the_covariance_can_be_the_noise_of_residuals(rng):
    track = carried(200, rng)
    found = interpolate(track, between(track))
    noise = found.track.position_covariance
    residuals = Residuals(np.zeros((199, 3)), 0.01 * np.repeat(np.eye(3)[None], 199, 0), noise)
    np.testing.assert_allclose(residuals.predicted_covariance, 0.01 * np.eye(3) + noise)


def test_what_cannot_be_interpolated_is_refused_in_words(rng):
    track = carried(100, rng)
    with pytest.raises(PairingError, match="has 5 poses; a motion prior needs at least 12"):
        interpolate(track[:5], between(track))
    with pytest.raises(PairingError, match="0 of 99 scans meet"):
        interpolate(track, between(track) + 10**12)


def test_withheld_poses_of_a_walk_are_held_as_often_as_promised(rng):
    track = carried(6000, rng)
    kept = rng.random(6000) > 0.15
    kept[[0, -1]] = True
    found, error, truth = withheld(track, kept)
    assert 0.88 <= inside(error, found.observation_covariance) <= 0.92
    angle = so3.log(so3.compose(so3.inverse(found.track.rotation), truth.rotation))
    assert 0.87 <= inside(angle, turned_covariance(found)) <= 0.93


@pytest.mark.parametrize("name", ["easy/college_1", "hard/tunnel_1", "hard/field_1"])
def test_a_campaign_reference_thinned_to_10_hz_predicts_the_other_poses(shared_data, name):
    track = read(shared_data / "campaign" / name / "reference.tum.gz")
    found, error, _ = withheld(track, np.arange(len(track)) % 10 == 0)
    assert inside(error, found.observation_covariance) >= 0.88
    sigma = np.sqrt(np.trace(found.track.position_covariance, axis1=1, axis2=2))
    assert np.sqrt((error**2).sum(axis=1).mean()) < 1e-4
    assert np.median(sigma) < 5e-4


@pytest.mark.parametrize("name", ["fast_lio2_ref.tum", "faster_lio_ref.tum"])
def test_spires_references_predict_poses_left_out(shared_data, name, rng):
    track = read(shared_data / "spires" / name)
    held = []
    for _ in range(4):
        kept = rng.random(len(track)) > 0.1
        kept[[0, -1]] = True
        found, error, _ = withheld(track, kept)
        held.append(inside(error, found.observation_covariance))
    assert 0.85 <= np.mean(held) <= 0.95


def test_spaced_scans_of_a_long_track_have_the_poses_that_all_would_give(rng):
    reference = carried(9000, rng)
    stamps = np.sort(np.concatenate([between(reference), reference.stamp[:1] - 1000]))
    whole, some = (
        interpolate(reference, stamps),
        interpolate(reference, stamps, choose=lambda count: np.arange(0, count, 225)),
    )
    assert len(some) == 40
    assert (some.scans, some.outside) == (whole.scans, whole.outside)
    row = np.flatnonzero(np.isin(whole.index, some.index))
    assert (np.diff(row) > 200).all()
    for name in ("position", "rotation"):
        expected = getattr(whole.track, name)[row]
        np.testing.assert_allclose(getattr(some.track, name), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(some.track.covariance, whole.track.covariance[row], rtol=1e-6)
