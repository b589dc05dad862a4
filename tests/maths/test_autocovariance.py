"""Politis-White block lengths, and the autocovariances they are made of."""

import numpy as np
import pytest
from arch.bootstrap import optimal_block_length
from scipy.signal import lfilter

from smfeval.maths.autocovariance import autocovariance, block_length


def random_series(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 3000))
    shock = rng.standard_normal(n) if seed % 2 else rng.exponential(size=n)
    noise = rng.uniform(0, 1) * rng.standard_normal(n)
    return lfilter([1.0], [1.0, -rng.uniform(-0.6, 0.99)], shock) + noise


@pytest.mark.parametrize("seed", range(200))
def test_block_length_is_that_of_arch(seed):
    series = random_series(seed)
    expected = optimal_block_length(series).iloc[0]
    found = block_length(series)
    np.testing.assert_allclose(found.fixed, expected["circular"], rtol=1e-9)
    np.testing.assert_allclose(found.geometric, expected["stationary"], rtol=1e-9)


def test_a_slower_series_needs_longer_blocks():
    shock = np.random.default_rng(0).standard_normal(3000)
    lengths = [block_length(lfilter([1.0], [1.0, -rho], shock)).fixed for rho in (0.2, 0.6, 0.9)]
    assert lengths == sorted(lengths)


def test_shortest_series_has_a_finite_block_length():
    found = block_length(np.random.default_rng(1).standard_normal(10))
    assert 0 <= found.fixed <= np.ceil(10 / 3)


def test_autocovariance_is_the_sum_of_products():
    series = np.random.default_rng(2).standard_normal((3, 50))
    centred = series - series.mean(axis=-1, keepdims=True)
    expected = [np.sum(centred[:, k:] * centred[:, : 50 - k], axis=-1) / 50 for k in range(20)]
    np.testing.assert_allclose(autocovariance(series, 19), np.stack(expected, axis=-1), atol=1e-14)
