import numpy as np
import pytest

from smfeval.io.convention import CONVENTIONS, from_deviations, from_right, to_right
from smfeval.maths import se3, so3
from smfeval.schema import ORDERS
from support.beliefs import covariances, rotations

SAMPLES = 2000  # in pairs; their second moments are those of the belief, to the last digit


def errors_of(covariance, rng):
    """Small errors with just this covariance: odd moments vanish, and the rest is of order 4."""
    half = rng.normal(size=(SAMPLES // 2, 6))
    draws = np.concatenate([half, -half])
    white = draws @ np.linalg.inv(np.linalg.cholesky(np.cov(draws.T))).T
    return white @ np.linalg.cholesky(covariance).T


def sampled(convention, mean, error):
    """Poses drawn by the source's own sampling equation."""
    position, rotation = mean
    if convention == "right":
        return se3.compose(mean, se3.exp(error))
    if convention == "left":
        return se3.compose(se3.exp(error), mean)
    turned = so3.exp(error[:, 3:])
    if convention == "world-position":
        return position + error[:, :3], so3.compose(rotation, turned)
    return position + error[:, :3], so3.compose(turned, rotation)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_converted_covariance_is_that_of_drawn_poses(convention, order, rng):
    covariance = 1e-5 * covariances(1, rng)[0]
    mean = rng.normal(size=3), rotations(1, rng)[0]
    drawn = sampled(convention, mean, errors_of(covariance, rng))
    found = np.cov(se3.log(se3.compose(se3.inverse(mean), drawn)).T)

    written = covariance if order == "translation-first" else np.roll(covariance, 3, axis=(0, 1))
    pose = mean[0][None], mean[1][None]
    converted = to_right(written[None], pose, CONVENTIONS[convention], order)[0]
    scale = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    np.testing.assert_allclose(converted / scale, found / scale, atol=1e-6)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_writing_undoes_reading(convention, order, rng):
    covariance = covariances(20, rng)
    pose = rng.normal(size=(20, 3)), rotations(20, rng)
    there = from_right(covariance, pose, CONVENTIONS[convention], order)
    back = to_right(there, pose, CONVENTIONS[convention], order)
    np.testing.assert_allclose(back, covariance, atol=1e-12 * np.abs(covariance).max())


@pytest.mark.parametrize("convention", ["world-position", "ros"])
def test_position_block_of_world_conventions_is_the_world_covariance(convention, rng):
    covariance = covariances(5, rng)
    pose = rng.normal(size=(5, 3)), rotations(5, rng)
    right = to_right(covariance, pose, CONVENTIONS[convention], "translation-first")
    rotation = so3.matrix(pose[1])
    world = rotation @ right[:, :3, :3] @ rotation.swapaxes(1, 2)
    np.testing.assert_allclose(world, covariance[:, :3, :3], atol=1e-16)


def test_deviations_make_a_diagonal():
    np.testing.assert_array_equal(
        from_deviations(np.array([[1.0, 2.0]])), [[[1.0, 0.0], [0.0, 4.0]]]
    )
