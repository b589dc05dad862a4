"""What honest beliefs from samples have, against draws of them."""

import numpy as np
import pytest

from smfeval.compare.sensitivity import NO_PARTICLES, ParticleCounts
from smfeval.score import Residuals
from smfeval.score.pit import honest_median
from smfeval.score.residuals import Ensemble

N = 40_000


def drawn(particles, d, rng):
    """Mean minus a draw of truth, and biased sample covariance, of K standard normal particles."""
    cloud = rng.normal(size=(N, particles, d))
    mean = cloud.mean(axis=1)
    away = cloud - mean[:, None]
    return mean, np.einsum("nki,nkj->nij", away, away) / particles


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize(("first", "second"), [(8, 8), (10, 30), (6, 200), (50, 50)])
def test_two_honest_clouds_have_k_one(first, second, d, rng):
    mean_a, a = drawn(first, d, rng)
    mean_b, b = drawn(second, d, rng)
    # Each mean is off by the cloud's own error and by that of the belief it was drawn from.
    difference = (mean_a + rng.normal(size=(N, d))) - (mean_b + rng.normal(size=(N, d)))
    counts = ParticleCounts(np.full(N, float(first)), np.full(N, float(second)))
    residuals = Residuals(difference, a, b)
    assert counts.inflation(residuals) == pytest.approx(1, abs=0.06)
    assert NO_PARTICLES.inflation(residuals) > counts.inflation(residuals)


def test_a_cloud_beside_a_gaussian_has_k_one(rng):
    mean, a = drawn(12, 3, rng)
    difference = mean + rng.normal(size=(N, 3)) + rng.normal(size=(N, 3))
    residuals = Residuals(difference, a, np.tile(np.eye(3), (N, 1, 1)))
    assert ParticleCounts(np.full(N, 12.0), None).inflation(residuals) == pytest.approx(1, abs=0.05)


def test_one_cloud_against_an_exact_one_is_the_law_of_score(rng):
    k, n = 9, 50
    cloud = rng.normal(size=(n * k, 3))
    ensemble = Ensemble(np.arange(0, n * k + 1, k), cloud, np.full(n * k, 1 / k))
    own = Residuals(np.zeros((n, 3)), np.tile(np.eye(3), (n, 1, 1)), None, ensemble)
    pair = Residuals(own.error, own.covariance, np.zeros((n, 3, 3)))
    found = ParticleCounts(np.full(n, float(k)), None).honest_median(pair)
    np.testing.assert_allclose(found, honest_median(own), rtol=1e-12)


def test_two_gaussians_are_chi_squared(rng):
    residuals = Residuals(np.zeros((4, 3)), np.tile(np.eye(3), (4, 1, 1)), None)
    np.testing.assert_allclose(NO_PARTICLES.honest_median(residuals), 2.366, rtol=1e-3)
