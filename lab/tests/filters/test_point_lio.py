"""Updates at the time of each point: against derivatives, and against one batch by textbook."""

from dataclasses import replace

import numpy as np
import pytest

from lab_support import room
from smfeval_lab.filters import run_filter
from smfeval_lab.filters.ieskf.maps import VoxelMap
from smfeval_lab.filters.ieskf.rotations import log
from smfeval_lab.filters.point_lio import Settings, first_covariance, noise_of, run, thin_scan
from smfeval_lab.filters.point_updates import (
    ImuSamples,
    PointBelief,
    TimedPoints,
    advance,
    follow_scan,
    move,
    transition,
    weigh_points,
)
from smfeval_lab.recording import Scan, Scans

DENSE = Settings(every=1, voxel_m=0.25, cross_lags=3)


@pytest.fixture(scope="module")
def recording():
    return room.recording(5, sweep=True, duration_s=4.0, count=900)


@pytest.fixture(scope="module")
def finished(recording):
    return run(recording, DENSE)


def some_mean(rng):
    mean = standing()
    move(mean, rng.normal(size=24))
    return mean


def standing():
    return PointBelief(np.zeros(2), np.eye(3), np.zeros((7, 3)), first_covariance())


def copied(mean):
    return PointBelief(*(each.copy() for each in mean))


def apart(mean, other):
    """The error state that leads from the other mean to this one."""
    difference = (mean.vector - other.vector).ravel()
    turn = log(other.rotation.T @ mean.rotation)
    return np.concatenate([difference[:3], turn, difference[3:]])


def test_it_tracks_a_room_and_says_how(finished):
    error = room.errors(finished)
    assert np.linalg.norm(error - error[0], axis=1).max() < 0.1
    telemetry = finished.telemetry
    assert (telemetry.matched[1:] > 100).all()
    np.testing.assert_allclose(
        np.trace(telemetry.normals, axis1=1, axis2=2), telemetry.matched, rtol=1e-9
    )
    np.testing.assert_allclose(
        finished.belief.position_covariance, telemetry.posterior, rtol=1e-6, atol=1e-15
    )
    assert finished.belief.cross is not None


def test_points_sharpen_what_the_imu_alone_would_leave(finished):
    prior, posterior = finished.telemetry.prior[1:], finished.telemetry.posterior[1:]
    assert (np.linalg.eigvalsh(prior - posterior) > 0).all()


def test_the_transition_is_the_derivative_of_the_prediction(rng):
    mean, h, small = some_mean(rng), 1e-3, 1e-6
    F = transition(mean, h)
    ahead = copied(mean)
    advance(ahead, h)
    for i in range(24):
        moved = copied(mean)
        move(moved, small * np.eye(24)[i])
        advance(moved, h)
        np.testing.assert_allclose(apart(moved, ahead) / small, F[:, i], atol=2e-3 * h + 1e-6)


def textbook(P, H, residual, variance):
    """Step, covariance and I - K H of the update by all rows at once."""
    wide = np.zeros((len(H), 24))
    wide[:, :6] = H
    K = P @ wide.T @ np.linalg.inv(wide @ P @ wide.T + variance * np.eye(len(H)))
    return -K @ residual, P - K @ wide @ P, np.eye(24) - K @ wide


@pytest.mark.parametrize(
    ("rows", "many", "variance"),
    [(5, "multiply", 0.01), (40, "divide", 0.01), (40, "multiply", 100.0)],
)
def test_rows_one_by_one_are_the_update_by_all_at_once(rng, rows, many, variance):
    H, residual = rng.normal(size=(rows, 6)), 0.01 * rng.normal(size=rows)
    root = rng.normal(size=(24, 24))
    mean = some_mean(rng)
    P = mean.covariance
    P[:] = root @ root.T
    before = copied(mean)
    tally = empty_tally()
    step, posterior, contraction = textbook(P, H, residual, variance)
    weigh_points(mean, H, residual, noise_of(Settings(many_rows=many)), tally)
    np.testing.assert_allclose(P, posterior, atol=1e-8)
    np.testing.assert_allclose(apart(mean, before), step, atol=1e-9)
    np.testing.assert_allclose(tally.step, contraction, atol=1e-8)


def empty_tally():
    nothing = TimedPoints(np.empty((0, 3)), np.empty(0))
    samples = ImuSamples(np.empty(0), np.empty((0, 6)))
    return follow_scan(standing(), samples, nothing, VoxelMap(0.5).search, noise_of(Settings()))


def test_a_voxel_has_the_mean_of_its_points_and_of_their_times():
    point = np.array([[1.1, 1, 1], [1.3, 1, 1], [3.1, 1, 1]], dtype=np.float32)
    scan = Scan(0, 100, point, np.array([60, 40, 10]))
    here = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    mean, time = thin_scan(scan, 0, here, Settings(every=1, voxel_m=0.5))
    np.testing.assert_allclose(mean, [[3.1, 1, 1], [1.2, 1, 1]], atol=1e-6)
    np.testing.assert_allclose(time, [10e-9, 50e-9])


def test_points_without_times_make_one_update_which_the_shipped_branch_all_but_ignores(recording):
    still = recording.scans
    times = np.full_like(still.time, int(still.end[0] - still.start[0]))
    short = slice(0, still.offset[20])
    flat = Scans(
        still.start[:20], still.end[:20], still.offset[:21], still.point[short], times[short]
    )
    flat = replace(recording, scans=flat)
    shipped, right = (
        run_filter("point-lio", flat, ("every=1", "voxel_m=0.25", f"many_rows={many}"))
        for many in ("multiply", "divide")
    )
    assert shipped.sigma_m > 3 * right.sigma_m
