"""Rules for Gaussians and plain poses: the paper's examples, its proposition, and oracles."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from smfeval.errors import OptionError
from smfeval.maths import normal
from smfeval.maths.normal_distance import central_distance
from smfeval.score import RULES, Residuals, RuleSettings, scores
from smfeval.score.crps import crps_of_axes as crps
from smfeval.score.energy import ape, energy
from smfeval.score.interval import interval_score_of_axes as interval_score
from smfeval.score.log import consistency, sharpness
from smfeval.score.log import log_score_of as log_score
from smfeval.score.pit import pit
from smfeval.score.residuals import variance_along
from smfeval.summarise.inflation import median_chi_squared, moment_shape
from support.beliefs import covariances

DIMENSIONS = [1, 2, 3]


def drawn(n, d, rng, *, noisy=False):
    error = 0.05 * rng.normal(size=(n, d))
    noise = covariances(n, rng, d) if noisy else None
    return Residuals(error, covariances(n, rng, d), noise)


def one(error, variance):
    """One scan in one dimension."""
    return Residuals(np.array([[error]]), np.array([[[variance]]]))


def scaled(residuals, factor):
    return Residuals(residuals.error, factor * residuals.covariance)


# The paper's examples, in centimetres and square centimetres.


def test_an_honest_sigma_of_two_centimetres_scores_as_the_paper_says():
    belief = one(2.0, 4.0)
    assert energy(belief)[0] == pytest.approx(1.20, abs=0.005)
    assert log_score(belief)[0] == pytest.approx(2.1, abs=0.05)
    assert consistency(belief)[0] == pytest.approx(0.5)
    assert sharpness(belief)[0] == pytest.approx(0.7, abs=0.01)


def test_an_overconfident_sigma_of_two_millimetres_scores_as_the_paper_says():
    belief = one(2.0, 0.04)
    assert energy(belief)[0] == pytest.approx(1.89, abs=0.005)
    assert log_score(belief)[0] == pytest.approx(49, abs=0.5)


@pytest.mark.parametrize(
    ("variances", "nees", "k"), [((1.0, 4.0), 80.0, 176.0), ((100.0, 400.0), 0.8, 1.8)]
)
def test_a_pair_two_centimetres_apart_is_inflated_as_the_paper_says(variances, nees, k):
    pair = one(20.0, sum(variances))  # millimetres
    assert pair.likelihood_terms.nees[0] == pytest.approx(nees)
    assert median_chi_squared(1) == pytest.approx(0.4549, abs=5e-5)
    assert pair.likelihood_terms.nees[0] / median_chi_squared(1) == pytest.approx(k, rel=0.03)


# The proposition on scaling.


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("factor", [1e-4, 0.3, 7.0])
def test_a_covariance_times_c_divides_the_nees_by_c(d, factor, rng):
    residuals = drawn(50, d, rng)
    expected = residuals.likelihood_terms.nees / factor
    np.testing.assert_allclose(
        scaled(residuals, factor).likelihood_terms.nees, expected, rtol=1e-12
    )


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_mean_log_score_is_least_where_the_mean_nees_is_d(d, rng):
    residuals = drawn(50, d, rng)
    best = residuals.likelihood_terms.nees.mean() / d
    assert scaled(residuals, best).likelihood_terms.nees.mean() == pytest.approx(d)
    least = log_score(scaled(residuals, best)).mean()
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert log_score(scaled(residuals, factor * best)).mean() > least


def shape_penalty(error, covariance):
    return moment_shape(normal.whitened_moment(error, covariance))


def test_shape_is_blind_to_scale(rng):
    error, covariance = rng.normal(size=(200, 3)), covariances(200, rng, 3)
    whole = shape_penalty(error, covariance)
    assert whole > 1
    assert shape_penalty(error, 37.0 * covariance) == pytest.approx(whole, rel=1e-12)
    assert shape_penalty(1e-3 * error, covariance) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_shape_is_one_where_second_moments_are_proportional(d, rng):
    """Errors along each column of a root of S have the second moment S / d exactly."""
    covariance = covariances(1, rng, d)[0]
    values, vectors = np.linalg.eigh(covariance)
    error = (vectors * np.sqrt(values) @ vectors.T).T * 5
    assert shape_penalty(error, np.repeat(covariance[None], d, axis=0)) == pytest.approx(
        1.0, abs=1e-9
    )


@pytest.mark.parametrize("stretch", [0.5, 3.0])
def test_shape_is_more_than_one_where_one_axis_is_off(stretch, rng):
    covariance = np.repeat(np.diag([1.0, 4.0, 9.0])[None], 3, axis=0)
    error = np.diag([1.0, 2.0, 3.0 * stretch])
    moments = np.array([1.0, 1.0, stretch**2])
    expected = moments.mean() / moments.prod() ** (1 / 3)
    assert expected > 1.05
    assert shape_penalty(error, covariance) == pytest.approx(expected, rel=1e-12)


# Oracles.


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("noisy", [False, True])
def test_log_score_is_scipys_log_density(d, noisy, rng):
    residuals = drawn(20, d, rng, noisy=noisy)
    expected = [
        -stats.multivariate_normal(np.zeros(d), c).logpdf(e)
        for e, c in zip(residuals.error, residuals.predicted_covariance, strict=True)
    ]
    np.testing.assert_allclose(log_score(residuals), expected, rtol=1e-9)
    parts = consistency(residuals) + sharpness(residuals) + d / 2 * np.log(2 * np.pi)
    np.testing.assert_allclose(parts, expected, rtol=1e-9)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("noisy", [False, True])
def test_nees_and_pit_are_mahalanobis_length_and_its_chi_squared_probability(d, noisy, rng):
    residuals = drawn(30, d, rng, noisy=noisy)
    pairs = zip(residuals.error, residuals.predicted_covariance, strict=True)
    nees = [e @ np.linalg.solve(c, e) for e, c in pairs]
    np.testing.assert_allclose(residuals.likelihood_terms.nees, nees, rtol=1e-9)
    np.testing.assert_allclose(pit(residuals, seed=0), stats.chi2(d).cdf(nees), rtol=1e-9)


@pytest.mark.parametrize("noisy", [False, True])
def test_crps_is_that_of_scoringrules(noisy, scoringrules, rng):
    residuals = drawn(40, 3, rng, noisy=noisy)
    sigma = np.sqrt(np.diagonal(residuals.predicted_covariance, axis1=1, axis2=2))
    expected = scoringrules.crps_normal(0.0, residuals.error, sigma)
    np.testing.assert_allclose(crps(residuals), expected, rtol=1e-10)


@pytest.mark.parametrize("noisy", [False, True])
def test_energy_in_one_dimension_is_the_crps(noisy, rng):
    residuals = drawn(40, 1, rng, noisy=noisy)
    np.testing.assert_allclose(energy(residuals), crps(residuals)[:, 0], rtol=1e-9)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5])
def test_energy_with_an_uncertain_reference_is_that_of_samples_of_the_prediction(d, beta, rng):
    """Both terms from draws of N(mean, S + S_ref); each draw is used in two pairs."""
    residuals = drawn(3, d, rng, noisy=True)
    z = rng.normal(size=(3, 80_000, d))
    root = np.linalg.cholesky(residuals.predicted_covariance)
    x, other = (np.einsum("nij,nkj->nki", root, part) for part in (z, z[:, ::-1]))
    first = np.linalg.norm(residuals.error[:, None] + x, axis=2) ** beta
    second = np.linalg.norm(x - other, axis=2) ** beta
    sample = first - 0.5 * second
    slack = 5 * sample.std(axis=1) / np.sqrt(40_000)
    assert (np.abs(energy(residuals, beta=beta) - sample.mean(axis=1)) < slack).all()


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("noisy", [False, True])
def test_interval_score_is_that_of_scoringrules(level, noisy, scoringrules, rng):
    residuals = drawn(60, 3, rng, noisy=noisy)
    sigma = np.sqrt(np.diagonal(residuals.predicted_covariance, axis1=1, axis2=2))
    reach = stats.norm.ppf(0.5 + level / 2) * sigma
    expected = scoringrules.interval_score(
        0.0, residuals.error - reach, residuals.error + reach, 1 - level
    )
    outside = (np.abs(residuals.error) > reach).mean()
    assert 0.05 < outside < 0.95  # both branches are in it
    np.testing.assert_allclose(interval_score(residuals, level=level), expected, rtol=1e-10)


@pytest.mark.parametrize("name", list(RULES))
def test_an_uncertain_reference_is_scored_as_a_wider_belief(name, rng):
    """Every rule scores the prediction for the reference: N(mean, S + S_ref)."""
    space = RULES[name].space or "position"
    axes = {"position": (0, 1, 2), "rotation": (3, 4, 5), "pose": tuple(range(6))}[space]
    given = drawn(30, len(axes), rng, noisy=True)
    residuals = replace(given, space=space, rows=() if space == "position" else axes)
    wider = replace(residuals, covariance=residuals.predicted_covariance, noise=None)
    settings = RuleSettings(body_size_m=0.5)
    np.testing.assert_array_equal(
        RULES[name].formula(residuals, settings), RULES[name].formula(wider, settings)
    )


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("beta", [0.5, 1.0, 1.9])
def test_energy_becomes_the_distance_as_the_covariance_vanishes(d, beta, rng):
    residuals = drawn(20, d, rng)
    unit = residuals.error / ape(residuals.error)[:, None]
    residuals = Residuals(0.05 * unit, residuals.covariance)
    distance = np.full(20, 0.05**beta)
    for tiny in (1e-4, 1e-12):  # of sigma
        near = 5 * tiny ** min(beta, 1.0)  # the second term falls as sigma^beta
        np.testing.assert_allclose(
            energy(scaled(residuals, tiny**2), beta=beta), distance, rtol=near
        )
    np.testing.assert_allclose(energy(scaled(residuals, 0.0), beta=beta), distance, rtol=1e-12)


def test_energy_of_a_perfect_mean_is_what_the_spread_costs(rng):
    covariance = covariances(10, rng, 3)
    found = energy(Residuals(np.zeros((10, 3)), covariance))
    np.testing.assert_allclose(found, (1 - 2**-0.5) * central_distance(covariance), rtol=1e-9)


# Plain poses.


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5])
def test_plain_poses_score_their_distance_and_nothing_that_needs_a_covariance(beta, rng):
    error = rng.normal(size=(9, 3))
    found = scores(Residuals(error), RuleSettings(beta=beta))
    assert set(found) == {"ape", "energy", "crps"}
    np.testing.assert_allclose(found["energy"], np.linalg.norm(error, axis=1) ** beta, rtol=1e-12)
    np.testing.assert_allclose(found["crps"], np.abs(error).mean(axis=1), rtol=1e-12)


def test_plain_poses_predict_nothing(rng):
    with pytest.raises(ValueError, match="plain poses"):
        _ = Residuals(rng.normal(size=(3, 3))).predicted_covariance


# The table.


def test_every_rule_gives_one_finite_number_per_scan(rng):
    found = scores(drawn(12, 3, rng), RuleSettings())
    assert set(found) == {name for name, rule in RULES.items() if rule.space in (None, "position")}
    for values in found.values():
        assert values.shape == (12,)
        assert np.isfinite(values).all()


def test_only_the_named_rules_are_computed(rng):
    assert set(scores(drawn(4, 3, rng), RuleSettings(), ["nees", "ape"])) == {"ape", "nees"}


def test_an_unknown_rule_is_refused_with_the_known_ones(rng):
    with pytest.raises(OptionError, match=r"'brier' is unknown; it is one of ape, energy, log"):
        scores(drawn(4, 3, rng), RuleSettings(), ["brier"])


@pytest.mark.parametrize("beta", [0.0, 2.0, -1.0, np.nan])
def test_beta_outside_its_range_is_refused(beta, rng):
    with pytest.raises(OptionError, match="between 0 and 2"):
        RuleSettings(beta=beta)
    with pytest.raises(OptionError, match="between 0 and 2"):
        energy(drawn(4, 3, rng), beta=beta)


@pytest.mark.parametrize("level", [0.0, 1.0, np.nan])
def test_an_interval_level_outside_its_range_is_refused(level):
    with pytest.raises(OptionError, match="between 0 and 1"):
        RuleSettings(interval_level=level)


def test_along_a_direction_only_the_variance_in_it_counts(rng):
    residuals = drawn(25, 3, rng, noisy=True)
    direction = rng.normal(size=(25, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    line = residuals.along(direction)
    variance = np.einsum("ni,nij,nj->n", direction, residuals.predicted_covariance, direction)
    np.testing.assert_allclose(line.predicted_covariance[:, 0, 0], variance, rtol=1e-12)
    np.testing.assert_allclose(line.error[:, 0], np.sum(direction * residuals.error, axis=1))
    upright = np.tile([0.0, 0.0, 1.0], (25, 1))
    np.testing.assert_array_equal(
        variance_along(residuals.covariance, upright)[:, 0, 0], residuals.covariance[:, 2, 2]
    )
