"""The public formulas over plain arrays: any leading axes, and other people's values."""

import numpy as np
import pytest
from scipy import stats

import smfeval

SHAPES = [(), (1,), (7,), (2, 5), (2, 0), (3, 1, 2)]


def beliefs(batch, d, rng):
    """Errors and covariances with the leading axes `batch`."""
    root = rng.normal(size=(*batch, d, d))
    return rng.normal(size=(*batch, d)), root @ root.swapaxes(-1, -2) + 0.1 * np.eye(d)


def one_by_one(formula, error, covariance):
    """The formula of each scan alone."""
    batch = error.shape[:-1]
    out = [formula(error[i], covariance[i]) for i in np.ndindex(batch)]
    return np.reshape(np.array(out, dtype=np.float64), batch)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("batch", SHAPES)
@pytest.mark.parametrize("name", ["nees", "log_score", "energy_score"])
def test_leading_axes_change_nothing(name, batch, d, rng):
    formula, (error, covariance) = getattr(smfeval, name), beliefs(batch, d, rng)
    found = formula(error, covariance)
    assert np.shape(found) == batch
    np.testing.assert_allclose(found, one_by_one(formula, error, covariance), rtol=1e-12)


@pytest.mark.parametrize("name", ["nees", "log_score", "energy_score"])
def test_one_covariance_serves_many_errors(name, rng):
    formula, (error, covariance) = getattr(smfeval, name), beliefs((6,), 3, rng)
    alone = [formula(each, covariance[0]) for each in error]
    np.testing.assert_allclose(formula(error, covariance[0]), alone, rtol=1e-12)


@pytest.mark.parametrize("name", ["crps", "interval_score"])
@pytest.mark.parametrize("batch", SHAPES)
def test_scores_of_a_line_take_any_shape(name, batch, rng):
    formula = getattr(smfeval, name)
    error, sigma = rng.normal(size=batch), rng.uniform(0.1, 2, size=batch)
    found = formula(error, sigma)
    assert np.shape(found) == batch
    flat = [formula(e, s) for e, s in zip(np.ravel(error), np.ravel(sigma), strict=True)]
    np.testing.assert_allclose(np.ravel(found), flat, rtol=1e-12)


def test_log_score_is_minus_the_log_density_of_scipy(rng):
    error, covariance = beliefs((), 3, rng)
    expected = -stats.multivariate_normal(np.zeros(3), covariance).logpdf(error)
    assert smfeval.log_score(error, covariance) == pytest.approx(expected, rel=1e-12)


def test_crps_and_interval_score_are_those_of_scoringrules(scoringrules, rng):
    error, sigma = rng.normal(size=50), rng.uniform(0.1, 2, size=50)
    theirs = scoringrules.crps_normal(np.zeros(50), error, sigma)
    np.testing.assert_allclose(smfeval.crps(error, sigma), theirs, rtol=1e-9)
    half = stats.norm.isf(0.05) * sigma
    theirs = scoringrules.interval_score(np.zeros(50), error - half, error + half, 0.1)
    np.testing.assert_allclose(smfeval.interval_score(error, sigma, level=0.9), theirs, rtol=1e-9)


def test_inflation_and_coverage_of_honest_beliefs(rng):
    covariance = np.broadcast_to(np.diag([1.0, 4.0, 0.25]), (4, 20_000, 3, 3))
    error = rng.normal(size=(4, 20_000, 3)) * np.array([1.0, 2.0, 0.5])
    k, held = smfeval.inflation(error, covariance), smfeval.coverage(error, covariance, level=0.68)
    assert k.shape == held.shape == (4,)
    np.testing.assert_allclose(k, 1.0, atol=0.05)
    np.testing.assert_allclose(held, 0.68, atol=0.015)
    np.testing.assert_allclose(smfeval.inflation(3 * error, covariance), 9 * k, rtol=1e-12)


def test_one_scan_has_its_own_inflation():
    k = smfeval.inflation([2.0, 0.0, 0.0], np.eye(3))
    assert k == pytest.approx(4 / stats.chi2(3).median())
    assert smfeval.coverage([2.0, 0.0, 0.0], np.eye(3), level=0.9) == 1.0


@pytest.mark.parametrize("shapes", [((3,), (2, 2)), ((7,), (7, 7)), ((2, 3), (3, 3, 3)), ((), ())])
@pytest.mark.parametrize("name", ["nees", "log_score", "energy_score", "inflation", "coverage"])
def test_shapes_that_do_not_fit_are_refused(name, shapes):
    with pytest.raises((ValueError, IndexError)):
        getattr(smfeval, name)(np.ones(shapes[0]), np.ones(shapes[1]))
