import numpy as np
import pytest
from scipy.linalg import expm

from smfeval.maths import se3, so3
from support.beliefs import rotations


def homogeneous(pose):
    matrix = np.zeros((*pose[0].shape[:-1], 4, 4))
    matrix[..., :3, :3], matrix[..., :3, 3], matrix[..., 3, 3] = so3.matrix(pose[1]), pose[0], 1
    return matrix


@pytest.fixture
def pose(rng):
    return rng.normal(size=(5, 3)), rotations(5, rng)


def test_compose_is_the_product_of_homogeneous_matrices(pose, rng):
    other = rng.normal(size=(5, 3)), rotations(5, rng)
    product = homogeneous(pose) @ homogeneous(other)
    np.testing.assert_allclose(homogeneous(se3.compose(pose, other)), product, atol=1e-14)


def test_inverse_undoes(pose):
    identity = homogeneous(se3.compose(pose, se3.inverse(pose)))
    np.testing.assert_allclose(identity, np.broadcast_to(np.eye(4), (5, 4, 4)), atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.9e-4, 1.1e-4, 0.1, 2.0, 3.1])
def test_exp_is_the_matrix_exponential(angle, rng):
    rho, axis = rng.normal(size=(2, 3))
    phi = angle * axis / np.linalg.norm(axis)
    generator = np.zeros((4, 4))
    generator[:3, :3], generator[:3, 3] = so3.hat(phi), rho
    found = homogeneous(se3.exp(np.concatenate([rho, phi])))
    np.testing.assert_allclose(found, expm(generator), atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.9e-4, 1.1e-4, 0.1, 2.0, 3.1])
def test_log_undoes_exp(angle, rng):
    rho, axis = rng.normal(size=(2, 3))
    tangent = np.concatenate([rho, angle * axis / np.linalg.norm(axis)])
    np.testing.assert_allclose(se3.log(se3.exp(tangent)), tangent, atol=1e-9)


def test_adjoint_carries_a_tangent_vector_through_a_motion(pose, rng):
    tangent = 0.3 * rng.normal(size=(5, 6))
    left = se3.compose(se3.compose(pose, se3.exp(tangent)), se3.inverse(pose))
    right = se3.exp(np.einsum("nij,nj->ni", se3.adjoint(pose), tangent))
    np.testing.assert_allclose(homogeneous(left), homogeneous(right), atol=1e-12)
