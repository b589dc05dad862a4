"""Planes of a room whose walls are known."""

import numpy as np
import pytest

from smfeval.errors import OptionError, SeriesError
from smfeval.explain.degeneracy import downsample, plane_moments, scan_geometry, scan_normals
from smfeval.maths import so3

SIDE = np.arange(-3.75, 4, 0.5)  # 16 points, in the middle of voxels of 0.5 m


def wall(axis, at, side=SIDE):
    """A grid of points on one plane."""
    u, v = (part.ravel() for part in np.meshgrid(side, side))
    columns = [u, v]
    columns.insert(axis, np.full(len(u), at))
    return np.stack(columns, axis=1)


def floor_and_walls():
    return np.concatenate([wall(2, -20.25), wall(0, 20.25), wall(1, 20.25)])


def test_every_point_of_a_wall_has_its_normal():
    planes, moment = plane_moments(floor_and_walls())
    assert planes == 3 * 16**2
    np.testing.assert_allclose(moment, 16**2 * np.eye(3), atol=1e-9)


def test_a_wall_that_is_missing_shows_in_the_condition_number():
    few = np.concatenate([wall(2, -20.25), wall(0, 20.25), wall(1, 20.25, SIDE[:4])])
    found = scan_geometry(scan_normals([(0, few)]), None)
    assert found.condition == pytest.approx([16])
    blind = scan_normals([(1, wall(2, 1.25)), (0, few)])
    assert list(blind.stamp) == [0, 1]
    assert scan_geometry(blind, None).singular == 1


def test_turning_the_sensor_hardly_changes_the_condition_number():
    """The floor is nine times as large as each of the walls; all are seen densely."""
    rng = np.random.default_rng(5)
    floor = rng.uniform(-9, 9, size=(20000, 3)) * (1, 1, 0) - (0, 0, 4)
    side, front = (rng.uniform(-3, 3, size=(20000, 3)) for _ in range(2))
    side[:, 0], front[:, 1] = 12, 14
    cloud = np.concatenate([floor, side, front])
    turned = cloud @ so3.matrix(so3.exp(np.array([0.4, -0.2, 1.0]))).T
    conditions = scan_geometry(scan_normals([(0, cloud), (1, turned)]), None).condition
    assert conditions == pytest.approx([9, 9], rel=0.35)


def test_points_off_a_plane_are_refused():
    rng = np.random.default_rng(6)
    planes, _ = plane_moments(rng.uniform(-5, 5, size=(1000, 3)))
    flat, _ = plane_moments(wall(2, 0.25))
    assert planes < 0.7 * 1000
    assert flat == 256


def test_a_voxel_keeps_the_mean_of_its_points():
    points = np.array([[0.1, 0.1, 0.1], [0.3, 0.1, 0.1], [-0.1, 0.1, 0.1]])
    np.testing.assert_allclose(
        downsample(points, 0.5), [[-0.1, 0.1, 0.1], [0.2, 0.1, 0.1]], atol=1e-12
    )


def test_what_cannot_be_is_one_sentence():
    with pytest.raises(OptionError, match="larger than 0 m"):
        scan_normals([], voxel_m=0.0)
    with pytest.raises(SeriesError, match="there is no cloud"):
        scan_normals([])
    with pytest.raises(SeriesError, match="no cloud has planes"):
        scan_geometry(scan_normals([(0, np.zeros((2, 3)))]), None)
