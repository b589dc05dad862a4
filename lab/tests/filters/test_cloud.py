"""A scan made ready: undistorted to the end of the scan, and thinned."""

from collections import defaultdict

import numpy as np

from lab_support import room
from smfeval.maths import so3
from smfeval_lab.filters.ieskf.cloud import downsample, far_points, preprocess_scan, rotate_small
from smfeval_lab.filters.ieskf.inertial import densities, predict
from smfeval_lab.filters.ieskf.state import SIZE, Settings, State
from smfeval_lab.recording import ImuNoise

QUIET = ImuNoise(0.0, 0.0, 0.0, 0.0)


def swept_scan(*, settings):
    """A noise-free scan swept while the body moves, made ready; the pose at its end."""
    rng = np.random.default_rng(3)
    imu = room.imu(6.0, rng, QUIET, start_bias=(0.0, 0.0))
    scans = room.scans(6.0, rng, 0.0, count=500, sweep=True)
    scan = scans[45]  # 4.5 s: in motion
    since = (scan.start - room.START) / room.NS
    around, rotation = room.pose(since + np.array([-1e-4, 0.0, 1e-4]))
    velocity = (around[2] - around[0]) / 2e-4
    state = State(
        scan.start, around[1], so3.matrix(rotation[1]),
        velocity, np.zeros(3), np.zeros(3), np.zeros(2), np.eye(SIZE),
    )  # fmt: skip
    _, way, _ = predict(state, imu, scan.end, densities(QUIET, 1.0))
    point = preprocess_scan(scan, way, scan.start, room.MOUNTING, settings)
    position, turn = room.pose(np.array([(scan.end - room.START) / room.NS]))
    return point @ so3.matrix(turn[0]).T + position[0]


def off_the_walls(place):
    return np.abs(np.abs(place) - room.HALF).min(axis=1)


def test_points_of_a_moving_scan_lie_on_the_walls_once_undistorted():
    place = swept_scan(settings=Settings(voxel_m=0.0, map_voxel_m=0.5))
    assert off_the_walls(place).max() < 1e-4


def test_without_undistortion_they_do_not():
    place = swept_scan(settings=Settings(voxel_m=0.0, map_voxel_m=0.5, undistort=False))
    assert np.median(off_the_walls(place)) > 0.01


def test_a_small_turn_of_a_vector_is_that_of_the_exponential(rng):
    turn, vector = 0.02 * rng.normal(size=(50, 3)), 30 * rng.normal(size=(50, 3))
    exact = so3.rotate(so3.exp(turn), vector)
    np.testing.assert_allclose(rotate_small(turn, vector), exact, atol=2e-5)


def test_thinning_keeps_the_mean_of_each_voxel(rng):
    point = rng.uniform(-3, 3, size=(400, 3))
    voxels = defaultdict(list)
    for each in point:
        voxels[tuple(np.floor(each / 0.7).astype(int))].append(each)
    expected = np.array([np.mean(each, axis=0) for each in voxels.values()])
    found = downsample(point, 0.7)
    assert len(found) == len(expected)
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(expected, axis=0), atol=1e-12)


def test_points_on_the_carrier_and_points_that_are_no_numbers_are_left_out():
    point = np.array([[0.1, 0, 0], [3.0, 0, 0], [np.nan, 0, 0], [0, 0.6, 0], [np.inf, 1, 1]])
    assert far_points(point, 0.5).tolist() == [1, 3]


def test_an_empty_scan_stays_empty():
    assert downsample(np.empty((0, 3)), 0.5).shape == (0, 3)
