import numpy as np
import pytest

from smfeval.maths.normal import columns, factor_covariance
from smfeval.maths.symmetric import smallest_pivot
from support.beliefs import covariances


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_the_factors_multiply_to_the_covariance(d, rng):
    covariance = covariances(20, rng, d)
    found = factor_covariance(covariance)
    lower = np.tile(np.eye(d), (20, 1, 1))
    for i, row in enumerate(found.factor):
        for j, entry in enumerate(row):
            lower[:, i, j] = entry
    product = np.einsum("nij,jn,nkj->nik", lower, np.array(found.pivot), lower)
    np.testing.assert_allclose(product, covariance, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_squares_and_solutions_are_those_of_linear_algebra(d, rng):
    covariance, error = covariances(20, rng, d), rng.normal(size=(20, d))
    found, solved = (
        factor_covariance(covariance),
        np.linalg.solve(covariance, error[..., None])[..., 0],
    )
    np.testing.assert_allclose(np.array(found.solve(columns(error))).T, solved, rtol=1e-8)
    expected = np.sum(error * solved, axis=1)
    np.testing.assert_allclose(found.squared_distance(columns(error)), expected, rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_the_smallest_pivot_is_that_of_the_correlation_matrix(d, rng):
    covariance = covariances(20, rng, d)
    found = factor_covariance(covariance).smallest_pivot()
    np.testing.assert_allclose(found, smallest_pivot(covariance), rtol=1e-9)
    sigma = np.exp(rng.normal(size=d))
    rescaled = factor_covariance(covariance * np.outer(sigma, sigma)).smallest_pivot()
    np.testing.assert_allclose(rescaled, found, rtol=1e-9)


def test_the_sum_of_minors_is_that_of_products_of_eigenvalues(rng):
    covariance = covariances(20, rng, 3)
    a, b, c = np.linalg.eigvalsh(covariance).T
    np.testing.assert_allclose(
        factor_covariance(covariance).minors(), a * b + b * c + c * a, rtol=1e-9
    )
