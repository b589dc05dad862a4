"""The fixed-lag smoother: it tracks, its covariance has the right axes, and its parts are right."""

from dataclasses import fields, replace

import numpy as np
import pytest

pytest.importorskip("gtsam", reason="gtsam is not installed")
pytest.importorskip("small_gicp", reason="small-gicp is not installed")

from lab_support import long_room, room
from smfeval.errors import OptionError
from smfeval_lab.filters import filter_named, ieskf
from smfeval_lab.filters.gtsam_smoother import Keyframes, Settings, run
from smfeval_lab.recording import Scans


@pytest.fixture(scope="module")
def recording():
    return long_room.recording(7)


@pytest.fixture(scope="module")
def finished(recording):
    return run(recording)


def without_points(recording):
    scans = recording.scans
    offset = np.zeros_like(scans.offset)
    empty = Scans(scans.start, scans.end, offset, scans.point[:0], scans.time[:0])
    return replace(recording, scans=empty)


def test_it_tracks_the_imu_at_the_ends_of_the_scans(recording, finished):
    belief = finished.belief
    assert (belief.about.body, belief.about.gauge) == ("imu", "se3")
    assert np.array_equal(belief.stamp, recording.scans.end[-len(belief) :])
    assert np.linalg.norm(long_room.errors(belief), axis=1).max() < 0.05


def test_telemetry_has_the_covariances_before_and_after_and_what_registrations_add(finished):
    told = finished.telemetry
    np.testing.assert_allclose(finished.belief.position_covariance, told.posterior, rtol=1e-6)
    seen = told.matched > 0
    assert seen[1:].all()
    assert (np.linalg.eigvalsh((told.prior - told.posterior)[seen]) > -1e-12).all()
    credit = told.normals[seen] / told.sigma_m[seen, None, None] ** 2
    most = np.linalg.inv(told.prior[seen]) + credit  # were the keyframes exact
    gained = np.linalg.slogdet(np.linalg.inv(told.posterior[seen]))[1]
    assert np.median(gained - np.linalg.slogdet(most)[1]) < 0.1
    assert 0.5 < np.median(told.residual_rms_m[seen]) / 0.02 < 2.0  # noise of a point
    assert (told.innovation_rms_m >= told.residual_rms_m).all()


def test_spheres_make_a_covariance_that_no_scan_moves(recording):
    told = filter_named("glim-like").run(recording)
    value = np.linalg.eigvalsh(told.belief.position_covariance[20:])
    assert value.max() / value.min() < 1.5  # the room is seen worst along its length
    sphere = 1e3 * (1 + np.sqrt(5)) / 2  # x = 1e3 + 1 / (1 / x + 1e-3)
    assert value.max() < 1 / sphere
    assert told.belief.cross is not None
    assert told.belief.about.algorithm == "glim-like"
    np.testing.assert_allclose(told.telemetry.normals[-1] / 1e-3, 2e3 * np.eye(3), atol=1e-6)


def test_voxels_report_more_the_more_points_are_paired_where_spheres_do_not():
    few, many = (long_room.recording(7, duration_s=2.2, count=count) for count in (1500, 6000))
    gpu, dense = (filter_named("glim-gpu").run(each) for each in (few, many))
    assert np.linalg.norm(long_room.errors(dense.belief), axis=1).max() < 0.05
    assert sigma(dense.belief) < 0.7 * sigma(gpu.belief)
    pairs, credit = dense.telemetry.matched[-1], np.trace(dense.telemetry.normals[-1])
    assert 0.5 * pairs < credit < pairs  # a normal of weight 1 / 2e-3 for each, less at edges
    cpu = [sigma(filter_named("glim-like").run(each).belief) for each in (few, many)]
    assert cpu[1] == pytest.approx(cpu[0], rel=0.05)


def test_it_is_least_certain_along_the_room_whatever_the_heading(finished):
    long_room.assert_axes(finished.belief[20:])


def test_without_points_it_predicts_as_the_filter_does():
    blind = without_points(room.recording(4, duration_s=3.0, count=30))
    sure = {"start_acceleration_bias": 1e-6, "start_m": 2e-3, "start_rad": 3e-3}
    smoothed = run(blind, Settings(**sure))
    filtered = ieskf.run(blind, ieskf.Settings(**sure)).belief
    assert "19 scans are registered to no keyframe" in " ".join(smoothed.notes)
    np.testing.assert_allclose(smoothed.belief.position, filtered.position, atol=2e-3)
    ratio = np.linalg.solve(smoothed.belief.covariance[-1], filtered.covariance[-1])
    np.testing.assert_allclose(ratio, np.eye(6), atol=0.05)


def test_without_points_its_cross_covariances_are_those_of_the_filter():
    blind = without_points(room.recording(4, duration_s=3.0, count=30))
    sure = {"start_acceleration_bias": 1e-6, "start_m": 2e-3, "start_rad": 3e-3, "cross_lags": 4}
    smoothed = run(blind, Settings(**sure)).belief
    filtered = ieskf.run(blind, ieskf.Settings(**sure)).belief
    np.testing.assert_array_equal(smoothed.cross.pairs, filtered.cross.pairs)
    i, j = filtered.cross.pairs.T
    sigma = np.sqrt(np.einsum("nii->ni", filtered.covariance))
    scale = sigma[i][:, :, None] * sigma[j][:, None, :]
    difference = (smoothed.cross.block - filtered.cross.block) / scale
    assert np.abs(difference).max() < 0.05
    assert np.abs(filtered.cross.block / scale).max() > 0.9


def test_cross_covariances_reach_as_far_as_told_and_as_the_window():
    recording = long_room.recording(7, duration_s=4.0, count=1500)
    belief = run(recording, Settings(cross_lags=3)).belief
    assert belief.cross.lags == (1, 3)
    assert len(belief.cross) == sum(len(belief) - lag for lag in (1, 2, 3))
    assert belief.provenance.dropped == ()
    short = run(recording, Settings(cross_lags=60, lag_s=2.0)).belief
    assert short.cross.lags[1] <= 21 < len(short) - 1


def test_a_registration_informs_as_its_normals_say():
    """H is sum J^T n n^T J / variance: at rest, sum n n^T / variance for the translation."""
    rng = np.random.default_rng(3)
    keyframes = Keyframes(Settings(point_variance=4e-3, voxel_m=0.4))
    side = rng.uniform(-4, 4, size=(3, 4000, 2))
    point = np.concatenate([np.insert(side[axis], axis, 4.5, axis=1) for axis in range(3)])
    cloud = keyframes.preprocess(point)
    keyframes.cloud[1], keyframes.pose[1] = cloud, np.eye(4)
    (found,) = keyframes.register(cloud, np.eye(4), {1})
    normal = cloud.points.normals()[:, :3]
    expected = normal.T @ normal / 4e-3
    np.testing.assert_allclose(found.pose, np.eye(4), atol=1e-6)
    np.testing.assert_allclose(
        found.information[3:, 3:], expected, rtol=0.01, atol=0.01 * expected.max()
    )
    place = cloud.points.points()[:, :3]
    lever = np.cross(place, normal)  # a turn phi moves a point by phi x p
    turning = lever.T @ lever / 4e-3
    np.testing.assert_allclose(
        found.information[:3, :3], turning, rtol=0.02, atol=0.02 * turning.max()
    )


def test_a_smaller_variance_claims_more():
    brief = long_room.recording(7, duration_s=4.0, count=1500)
    usual, bold = (run(brief, Settings(point_variance=variance)) for variance in (1e-3, 1e-5))
    assert sigma(usual.belief) > 3 * sigma(bold.belief)


@pytest.mark.slow
def test_keyframes_that_left_the_window_hold_the_belief_if_they_are_taken_as_exact(recording):
    held, free = (
        run(recording, Settings(lag_s=2.0, old_keyframes=old)) for old in ("fixed", "none")
    )
    assert sigma(free.belief) > 1.2 * sigma(held.belief)
    assert np.linalg.norm(long_room.errors(free.belief), axis=1).max() < 0.1


def test_standing_longer_than_the_window_is_still_registered():
    still = long_room.recording(1, duration_s=room.STANDING_S)
    done = run(still, Settings(lag_s=1.0, standing_s=0.3, old_keyframes="none"))
    assert not any("registered to no keyframe" in note for note in done.notes)
    assert len(done.belief) >= 16


def sigma(belief):
    """Of the last positions, m."""
    return np.sqrt(np.trace(belief.position_covariance[-20:].mean(axis=0)))


NUMBERS = [each.name for each in fields(Settings) if each.type in (int, float)]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [-1, np.inf, np.nan])
def test_settings_that_make_no_sense_are_refused(name, value):
    with pytest.raises(OptionError, match=f"setting {name} must be .*from .* to .*, not {value}"):
        Settings(**{name: value})


def test_a_window_is_some_seconds_long_and_a_scan_has_a_match():
    with pytest.raises(OptionError, match="lag_s must be from 1 to"):
        Settings(lag_s=0.3)
    with pytest.raises(OptionError, match="matches must be from 1 to"):
        Settings(matches=0)
