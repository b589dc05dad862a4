"""The slow part of a series and what it says about the mean."""

import numpy as np
import pytest
from scipy.fft import dct
from scipy.stats import t as student

from smfeval.maths.dependence import (
    MEMORY_MIN,
    NOISE,
    cosines,
    effective_samples,
    few_changes,
    mean_posterior,
    neighbour_sums,
    skew_rate,
    spectra,
    stretch_offset,
    stretch_width,
)


def test_cosines_are_a_discrete_cosine_transform():
    series = np.random.default_rng(0).standard_normal((4, 500))
    expected = dct(series, norm="ortho", axis=-1)[:, 1:25]
    np.testing.assert_allclose(cosines(series, 24), expected, atol=1e-12)


def test_cosines_of_a_long_series_lose_nothing_that_matters():
    series = np.random.default_rng(1).standard_normal(100_003).cumsum()
    expected = dct(series, norm="ortho")[1:25]
    np.testing.assert_allclose(cosines(series, 24), expected, rtol=1e-4)


def test_cosines_do_not_see_the_mean():
    series = np.random.default_rng(2).standard_normal(20_001)
    np.testing.assert_allclose(cosines(series + 1000, 24), cosines(series, 24), atol=1e-8)


def ornstein_uhlenbeck(c, count, points=2000):
    """Covariance of the mean and the cosines, numerically."""
    time = (np.arange(points) + 0.5) / points
    basis = np.sqrt(2) * np.cos(np.pi * np.outer(np.arange(count + 1), time))
    basis[0] = 1
    return basis @ np.exp(-c * np.abs(time[:, None] - time)) @ basis.T / points**2


@pytest.mark.parametrize("noise", [0, 3])
def test_the_likelihood_of_a_fading_memory_is_exact(noise):
    count, models = 8, spectra(8)
    covariance = ornstein_uhlenbeck(MEMORY_MIN, count) + NOISE[noise] * 2 / MEMORY_MIN * np.eye(9)
    inner, cross = covariance[1:, 1:], covariance[0, 1:]
    y = np.random.default_rng(3).standard_normal(count)

    square = y**2 @ models.precision[noise]
    square += sum(models.gain[p, noise] * (y @ models.pull[p, noise]) ** 2 for p in (0, 1))
    np.testing.assert_allclose(square, y @ np.linalg.solve(inner, y), rtol=2e-3)
    determinant = np.linalg.slogdet(inner)[1]
    np.testing.assert_allclose(models.log_determinant[noise], determinant, atol=5e-3)

    regression = np.linalg.solve(inner, cross)
    np.testing.assert_allclose(models.regression[noise], regression, atol=2e-3)
    residual = covariance[0, 0] - cross @ regression
    np.testing.assert_allclose(models.residual[noise], residual, rtol=2e-3)
    np.testing.assert_allclose(models.variance[noise], covariance[0, 0], rtol=2e-3)


@pytest.mark.parametrize("count", [5, 24])
def test_the_weights_of_all_spectra_sum_to_one(count):
    np.testing.assert_allclose(np.exp(spectra(count).log_weight).sum(), 1)


def test_quantile_undoes_the_cdf():
    series = np.random.default_rng(4).standard_normal((5, 300)).cumsum(axis=-1)
    posterior = mean_posterior(series)
    for probability in (0.0005, 0.025, 0.4, 0.975):
        found = posterior.cdf(posterior.quantile(probability))
        np.testing.assert_allclose(found, probability, rtol=1e-9)


def test_density_is_the_slope_of_the_cdf():
    posterior = mean_posterior(np.random.default_rng(5).standard_normal((3, 300)))
    at, step = np.array([-0.05, 0.0, 0.1]), 1e-6
    slope = (posterior.cdf(at + step) - posterior.cdf(at - step)) / (2 * step)
    np.testing.assert_allclose(posterior.density(at), slope, rtol=1e-5)


def test_independent_scans_get_less_than_a_third_on_top_of_the_t_interval():
    series = np.random.default_rng(6).standard_normal((400, 1000))
    half = np.median(mean_posterior(series).quantile(0.975))
    usual = student.ppf(0.975, 24) / np.sqrt(1000)
    assert 1.0 < half / usual < 4 / 3


def test_posterior_scales_with_the_series_and_ignores_its_mean():
    series = np.random.default_rng(7).standard_normal((3, 200)).cumsum(axis=-1)
    moved = mean_posterior(4 * series + 7).quantile(0.9)
    np.testing.assert_allclose(moved, 4 * mean_posterior(series).quantile(0.9), rtol=1e-9)


def test_batches_change_nothing():
    series = np.random.default_rng(8).standard_normal((2, 3, 100))
    whole = mean_posterior(series).quantile(0.1)
    each = [[mean_posterior(x).quantile(0.1) for x in row] for row in series]
    np.testing.assert_allclose(whole, each, rtol=1e-12)


def test_effective_samples_add_back_what_the_sample_variance_misses():
    # n = 4 independent: E[sample variance] = 3/4 of the variance, mean_variance = 1/4 of it
    assert effective_samples(np.array(0.75), np.array(0.25)) == 4


def test_skew_rate_of_a_shifted_log_normal_is_one_over_its_excess_mean():
    series = 10 + np.exp(0.8 * np.random.default_rng(9).standard_normal(400_000))
    np.testing.assert_allclose(skew_rate(series), 1 / (series.mean() - 10), rtol=0.03)
    np.testing.assert_allclose(skew_rate(-series), -skew_rate(series), rtol=1e-9)


def test_a_scale_that_does_not_bend_moves_nothing():
    offset = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_array_equal(stretch_offset(offset, np.zeros(3)), offset)
    np.testing.assert_allclose(stretch_offset(offset, np.full(3, 0.5)), 2 * np.expm1(offset / 2))


@pytest.mark.parametrize("n", [9, 500, 8192, 8193, 100_003, 3_000_017])
def test_neighbour_sums_are_those_of_a_loop(n):
    series = np.random.default_rng(6).standard_normal(n) + 1000
    member, width = series > 999, stretch_width(n)
    expected = [np.sum(member[i : i + width]) for i in range(0, n, width)]
    np.testing.assert_array_equal(neighbour_sums(member), expected)
    about = series - series.mean()
    expected = [np.sum(about[i : i + width]) for i in range(0, n, width)]
    np.testing.assert_allclose(neighbour_sums(series), expected, atol=1e-9)


def test_quantiles_found_together_are_those_found_alone():
    posterior = mean_posterior(np.random.default_rng(7).standard_normal((2, 3, 300)).cumsum(-1))
    low, high = posterior.quantiles(0.025, 0.975)
    np.testing.assert_allclose(low, posterior.quantile(0.025), rtol=1e-12)
    np.testing.assert_allclose(high, posterior.quantile(0.975), rtol=1e-12)
    np.testing.assert_allclose(posterior.cdf(high), 0.975, rtol=1e-12)


def two_levels(changes, n=600, first=0.25):
    """Log sigma, 0 or log 3, that changes so often; first after a share of the scans."""
    edges = np.linspace(first, 1, changes + 1)[:-1] * n
    return np.log(3) * (np.searchsorted(edges, np.arange(n), side="right") % 2)


@pytest.mark.parametrize("changes", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("sign", [1, -1])
def test_few_changes_between_levels_are_counted_through_a_ripple(changes, sign, rng):
    ripple = 0.05 * rng.normal(size=600)
    assert few_changes(sign * two_levels(changes) + ripple) == changes


def test_a_sigma_that_grows_all_the_way_changes_once():
    assert few_changes(0.5 * np.log(np.arange(1, 601))) == 1


@pytest.mark.parametrize(
    "log_sigma",
    [
        pytest.param(two_levels(6), id="often"),
        pytest.param(np.zeros(600), id="never"),
        pytest.param(0.05 * two_levels(2), id="hardly"),
        pytest.param(two_levels(1, first=0.005), id="at the start alone"),
        pytest.param(two_levels(2, n=40), id="too few scans"),
        pytest.param(np.where(np.arange(600) < 300, -np.inf, 0.0), id="some singular"),
        pytest.param(np.full(600, -np.inf), id="all singular"),
    ],
)
def test_other_sigmas_have_no_few_regimes(log_sigma):
    assert few_changes(log_sigma) == 0
