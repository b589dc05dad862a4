"""What residuals say: derivatives by differences, the algebra against dense matrices."""

from dataclasses import replace

import numpy as np
import pytest

from lab_support import room
from lab_support.filter_states import differences, some_state
from smfeval_lab.filters.ieskf.odometry import nis
from smfeval_lab.filters.ieskf.planes import Planes
from smfeval_lab.filters.ieskf.state import POSE, SIZE
from smfeval_lab.filters.ieskf.update import (
    GATE,
    Linearisation,
    Update,
    compute_information,
    credible_matches,
    jacobian,
    linearise,
    match_planes,
    orient_normals,
    residuals,
    to_world,
)

VARIANCE = 0.03**2


def some_residuals(rng, n=40):
    normal = rng.normal(size=(n, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    H = jacobian(5 * rng.normal(size=(n, 3)), normal, np.eye(3))
    return 0.03 * rng.normal(size=n), H


def test_jacobian_is_the_derivative_of_the_residuals(rng):
    state, point = some_state(rng), 5 * rng.normal(size=(20, 3))
    normal = rng.normal(size=(20, 3))
    planes = Planes(normal, rng.normal(size=20), np.ones(20, dtype=bool))

    def moved(pose):
        error = np.concatenate([pose, np.zeros(SIZE - 6)])
        return residuals(to_world(point, state.plus(error)), planes)

    np.testing.assert_allclose(
        jacobian(point, normal, state.rotation), differences(moved, 6), atol=1e-7
    )


def test_points_at_the_true_pose_have_no_residual():
    scans = room.scans(1.0, np.random.default_rng(1), 0.0)
    position, rotation = room.pose(np.array([0.5]))
    state = replace(
        some_state(np.random.default_rng(2)),
        position=position[0] + [0.01, 0, 0],
        rotation=np.eye(3),
    )
    assert np.allclose(rotation[0], [0, 0, 0, 1], atol=1e-12)
    turned = scans[4].point @ np.array(_matrix(room.MOUNTING[1])).T + room.MOUNTING[0]
    residual, H, place, _ = linearise(turned, state, match_planes(turned, state, room.Walls()))
    expected = 0.01 * H[:, 0]
    np.testing.assert_allclose(residual, expected, atol=1e-9)
    assert len(place) == len(residual) == len(turned)


def _matrix(quaternion):
    from scipy.spatial.transform import Rotation  # noqa: PLC0415  the oracle

    return Rotation.from_quat(quaternion).as_matrix()


def test_a_point_before_its_plane_has_a_positive_residual_whichever_way_the_normal_was():
    place = np.array([[0.9, 0.0, 0.0], [-0.9, 0.0, 0.0], [0.0, 1.1, 0.0]])
    normal = np.array([[1.0, 0, 0], [1.0, 0, 0], [0, -1.0, 0]])
    planes = Planes(normal, np.array([-1.0, 1.0, 1.0]), np.ones(3, dtype=bool))
    faced = orient_normals(planes, place, np.zeros(3))
    np.testing.assert_allclose(residuals(place, faced), [0.1, 0.1, -0.1])
    np.testing.assert_allclose(faced.normal, [[-1, 0, 0], [1, 0, 0], [0, -1, 0]])


def test_far_points_may_miss_their_plane_by_more():
    point = np.array([[1.0, 0, 0], [100.0, 0, 0], [100.0, 0, 0], [100.0, 0, 0]])
    residual = np.array([1.01 * GATE, 9.9 * GATE, -10.1 * GATE, 0.0])
    good = np.array([True, True, True, False])
    assert credible_matches(residual, point, good).tolist() == [False, True, False, False]


def test_information_is_that_of_equal_and_independent_errors(rng):
    residual, H = some_residuals(rng)
    found = compute_information(residual, H, VARIANCE)
    np.testing.assert_allclose(found.matrix, H.T @ H / VARIANCE)
    np.testing.assert_allclose(found.vector, H.T @ residual / VARIANCE)
    np.testing.assert_allclose(found.normals, H[:, :3].T @ H[:, :3])
    assert found.square == pytest.approx(residual @ residual / VARIANCE)


def test_nis_is_the_innovation_over_its_covariance(rng):
    residual, H = some_residuals(rng)
    state = some_state(rng)
    L = 0.01 * rng.normal(size=(SIZE, SIZE))
    prior = replace(state, covariance=L @ L.T)
    look = Linearisation(residual, H, np.zeros((40, 3)), compute_information(residual, H, VARIANCE))
    update = Update(prior, prior, look, look, residual, 40, VARIANCE, 1)

    innovation = H @ prior.covariance[POSE, POSE] @ H.T + VARIANCE * np.eye(40)
    expected = residual @ np.linalg.solve(innovation, residual) / 40
    assert nis(update) == pytest.approx(expected, rel=1e-8)
