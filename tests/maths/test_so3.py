import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from smfeval.maths import so3
from support.beliefs import rotations


def test_matrix_agrees_with_scipy(rng):
    q = rotations(100, rng)
    np.testing.assert_allclose(so3.matrix(q), Rotation.from_quat(q).as_matrix(), atol=1e-15)


def test_product_of_quaternions_is_product_of_matrices(rng):
    p, q = rotations(50, rng), rotations(50, rng)
    np.testing.assert_allclose(
        so3.matrix(so3.compose(p, q)), so3.matrix(p) @ so3.matrix(q), atol=1e-14
    )


def test_hat_is_the_cross_product(rng):
    a, b = rng.normal(size=(2, 7, 3))
    np.testing.assert_allclose(np.einsum("nij,nj->ni", so3.hat(a), b), np.cross(a, b), atol=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 1.0, 3.0, np.pi - 1e-6])
def test_log_undoes_exp_at_every_angle(angle, rng):
    axis = rng.normal(size=3)
    vector = angle * axis / np.linalg.norm(axis)
    np.testing.assert_allclose(so3.log(so3.exp(vector)), vector, rtol=1e-9, atol=1e-300)


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_exp_agrees_with_scipy(vector):
    expected = Rotation.from_rotvec(vector).as_quat()
    found = so3.exp(np.array(vector))
    assert min(abs(found - expected).max(), abs(found + expected).max()) < 1e-14


def test_quaternion_undoes_matrix(rng):
    q = rotations(100, rng)
    back = so3.quaternion(so3.matrix(q))
    np.testing.assert_allclose(np.abs(np.sum(q * back, axis=1)), 1, atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1.0, np.pi - 1e-9, np.pi])
def test_quaternion_of_a_matrix_is_that_of_scipy_at_every_angle(angle, rng):
    axis = rng.normal(size=(20, 3))
    vector = angle * axis / np.linalg.norm(axis, axis=1, keepdims=True)
    rotation = Rotation.from_rotvec(vector)
    found = so3.quaternion(rotation.as_matrix())
    np.testing.assert_allclose(np.abs(np.sum(found * rotation.as_quat(), axis=1)), 1, atol=1e-15)
    np.testing.assert_allclose(so3.matrix(found), rotation.as_matrix(), atol=1e-15)
    assert so3.quaternion(np.eye(3)).tolist() == [0, 0, 0, 1]


def test_mean_of_rotations_agrees_with_scipy(rng):
    q, w = rotations(6, rng), rng.uniform(size=6)
    moment = np.einsum("m,mi,mj->ij", w, q, q)
    expected = Rotation.from_quat(q).mean(weights=w).as_quat()
    assert abs(np.dot(so3.mean(moment), expected)) == pytest.approx(1, abs=1e-12)


def test_rotating_back_undoes_rotating(rng):
    q, vector = rotations(9000, rng), rng.normal(size=(9000, 3))
    expected = np.einsum("nji,nj->ni", so3.matrix(q), vector)
    np.testing.assert_allclose(so3.rotate_back(q, vector), expected, atol=1e-14)
    np.testing.assert_allclose(so3.rotate_back(q, so3.rotate(q, vector)), vector, atol=1e-14)


def test_the_angle_between_rotations_is_that_of_scipy(rng):
    p, q = rotations(9000, rng), rotations(9000, rng)
    expected = (Rotation.from_quat(p).inv() * Rotation.from_quat(q)).magnitude()
    np.testing.assert_allclose(so3.angle_between(p, q), expected, atol=1e-13)
    np.testing.assert_allclose(so3.angle_between(p, -q), expected, atol=1e-13)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 1.0, 3.0, np.pi - 1e-6])
def test_the_angle_of_an_exponential_is_its_length(angle, rng):
    axis = rng.normal(size=3)
    q = so3.exp(angle * axis / np.linalg.norm(axis))
    assert so3.angle(q) == pytest.approx(angle, rel=1e-9, abs=1e-300)
    assert so3.angle(-q) == so3.angle(q)


def test_products_of_many_and_of_one_agree(rng):
    p, q = rotations(9000, rng), rotations(9000, rng)
    whole = so3.compose(p, q)
    for i in (0, 4095, 4096, 8999):
        np.testing.assert_array_equal(so3.compose(p[i], q[i]), whole[i])
    np.testing.assert_array_equal(so3.compose(p[5], q)[4096], so3.compose(p[5], q[4096]))
    np.testing.assert_array_equal(
        so3.compose(p.reshape(9, 1000, 4), q[:1000])[3, 7], so3.compose(p[3007], q[7])
    )
