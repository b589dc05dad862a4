"""What residuals say: derivatives by differences, the algebra against dense matrices."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from lab_support import room
from lab_support.filter_states import differences, some_state
from smfeval_lab.filters.ieskf.odometry import nis, record_update
from smfeval_lab.filters.ieskf.planes import Planes
from smfeval_lab.filters.ieskf.state import POSE, SIZE, Settings
from smfeval_lab.filters.ieskf.update import (
    CAUCHY,
    GATE,
    HUBER,
    KERNELS,
    Linearisation,
    Update,
    compute_information,
    credible_matches,
    drop_weak_directions,
    inflate_by_displacement,
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
    found = compute_information(residual, H, VARIANCE, Settings())
    np.testing.assert_allclose(found.matrix, H.T @ H / VARIANCE)
    np.testing.assert_allclose(found.vector, H.T @ residual / VARIANCE)
    np.testing.assert_allclose(found.normals, H[:, :3].T @ H[:, :3])
    assert found.square == pytest.approx(residual @ residual / VARIANCE)


def test_a_shared_displacement_is_a_dense_covariance_of_the_residuals(rng):
    residual, H = some_residuals(rng)
    settings = Settings(shared_m=0.02, shared_rad=0.003)
    R = VARIANCE * np.eye(len(H)) + H @ np.diag([0.02**2] * 3 + [0.003**2] * 3) @ H.T
    found = compute_information(residual, H, VARIANCE, settings)
    np.testing.assert_allclose(found.matrix, H.T @ np.linalg.solve(R, H), rtol=1e-8)
    np.testing.assert_allclose(found.vector, H.T @ np.linalg.solve(R, residual), rtol=1e-8)
    assert found.square == pytest.approx(residual @ np.linalg.solve(R, residual))


def test_many_points_cannot_beat_a_shared_displacement(rng):
    S = np.diag([0.02**2] * 3 + [0.003**2] * 3)
    _, H = some_residuals(rng, n=5000)
    A, _, _ = inflate_by_displacement(1e6 * H.T @ H, np.zeros(6), S)
    np.testing.assert_allclose(np.linalg.inv(A), S, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize(
    "settings", [Settings(), Settings(shared_m=0.01), Settings(kernel="huber")]
)
def test_nis_is_the_innovation_over_its_covariance(rng, settings):
    residual, H = some_residuals(rng)
    state = some_state(rng)
    L = 0.01 * rng.normal(size=(SIZE, SIZE))
    prior = replace(state, covariance=L @ L.T)
    look = Linearisation(
        residual, H, np.zeros((40, 3)), compute_information(residual, H, VARIANCE, settings)
    )
    update = Update(prior, prior, look, look, residual, 40, VARIANCE, 1)

    weight = KERNELS[settings.kernel](residual / np.sqrt(VARIANCE))
    R = np.diag(VARIANCE / weight) + settings.shared_m**2 * H[:, :3] @ H[:, :3].T
    innovation = H @ prior.covariance[POSE, POSE] @ H.T + R
    expected = residual @ np.linalg.solve(innovation, residual) / 40
    assert nis(update) == pytest.approx(expected, rel=1e-8)


def tunnel(rng, n=200):
    """Residuals of walls whose normals hardly have a part along x."""
    normal = rng.normal(size=(n, 3)) * [0.02, 1, 1]
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return 0.03 * rng.normal(size=n), jacobian(5 * rng.normal(size=(n, 3)), normal, np.eye(3))


def test_a_weak_direction_gets_no_information_and_the_others_keep_theirs(rng):
    residual, H = tunnel(rng)
    A, b = H.T @ H / VARIANCE, H.T @ residual / VARIANCE
    least = 0.05 * len(H) / VARIANCE
    A_new, b_new, kept = drop_weak_directions(A, b, least)

    free = A[:3, :3] - A[:3, 3:] @ np.linalg.solve(A[3:, 3:], A[3:, :3])
    value, vector = np.linalg.eigh(free)
    assert value[0] < least < value[1]
    motion = np.concatenate([vector[:, 0], -np.linalg.solve(A[3:, 3:], A[3:, :3] @ vector[:, 0])])
    np.testing.assert_allclose(A_new @ motion, 0, atol=1e-6 * np.abs(A).max())
    assert b_new @ motion == pytest.approx(0, abs=1e-9 * np.abs(b).max() * len(b))

    # along the axes that are A-orthogonal to the motion nothing changes
    others = np.linalg.svd((A @ motion)[None])[2][1:]
    np.testing.assert_allclose(others @ A_new @ others.T, others @ A @ others.T, rtol=1e-6)
    np.testing.assert_allclose(others @ b_new, others @ b, rtol=1e-6)
    np.testing.assert_allclose(kept @ A, A_new, atol=1e-9 * np.abs(A).max())


def test_the_test_of_observability_leaves_a_room_alone(rng):
    residual, H = some_residuals(rng)
    plain, tested = (
        compute_information(residual, H, VARIANCE, Settings(observability=share))
        for share in (0.0, 0.02)
    )
    np.testing.assert_allclose(tested.matrix, plain.matrix)
    np.testing.assert_allclose(tested.vector, plain.vector)


@pytest.mark.parametrize("z", [0.3, 1.5, 4.0, 20.0])
def test_kernels_weigh_by_the_slope_of_their_loss(z):
    def huber(x):
        return 0.5 * x * x if abs(x) < HUBER else HUBER * (abs(x) - HUBER / 2)

    def cauchy(x):
        return 0.5 * CAUCHY**2 * np.log1p((x / CAUCHY) ** 2)

    for name, loss in (("huber", huber), ("cauchy", cauchy)):
        grown, _ = quad(lambda x, name=name: x * KERNELS[name](np.array([x]))[0], 0, z, limit=200)
        assert grown == pytest.approx(loss(z), rel=1e-6)
    assert KERNELS["none"](np.array([z])) == 1.0


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_leaves_the_normals_and_widens_the_noise_that_is_told(rng, kernel):
    """J = sum n n^T / sigma^2 has the trace of the information that the update really used."""
    residual, H = some_residuals(rng)
    residual[::4] *= 20
    found = compute_information(residual, H, VARIANCE, Settings(kernel=kernel))
    np.testing.assert_allclose(found.normals, H[:, :3].T @ H[:, :3])
    look = Linearisation(residual, H, H[:, :3], found)
    state = some_state(rng)
    update = Update(state, state, look, look, residual, len(residual), VARIANCE, 1)
    sigma = record_update(update, np.eye(SIZE)).telemetry["sigma_m"]
    assert np.trace(found.normals) / sigma**2 == pytest.approx(np.trace(found.matrix[:3, :3]))
    assert (sigma > np.sqrt(VARIANCE)) == (kernel != "none")
