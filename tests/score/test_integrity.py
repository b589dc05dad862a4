"""Protection levels against closed forms and chance; regions of the Stanford diagram."""

import numpy as np
import pytest
from scipy import stats

from smfeval.errors import OptionError
from smfeval.score.integrity import (
    ProtectedError,
    StanfordRegions,
    component_of,
    largest_eigenvalue,
    level_of,
    multiplier,
    protection_level,
)
from smfeval.score.residuals import Ensemble, Residuals
from support.beliefs import covariances


@pytest.mark.parametrize("risk", [0.1, 1e-2, 1e-4, 1e-7, 1e-9])
def test_the_multiplier_is_that_of_the_normal_rayleigh_and_maxwell_distributions(risk):
    quantiles = (stats.norm.isf(risk / 2), stats.rayleigh.isf(risk), stats.maxwell.isf(risk))
    for dimension, quantile in zip((1, 2, 3), quantiles, strict=True):
        assert multiplier(dimension, risk) == pytest.approx(quantile, rel=1e-9)


@pytest.mark.parametrize(
    ("dimension", "risk", "known"), [(1, 1e-7, 5.33), (1, 2e-9, 6.0), (2, 5e-9, 6.18)]
)
def test_the_multipliers_of_sbas_are_found(dimension, risk, known):
    assert multiplier(dimension, risk) == pytest.approx(known, abs=5e-3)


@pytest.mark.parametrize("risk", [0.0, -1e-4, 0.5, 1.0, 1e-13, np.nan])
def test_a_risk_that_is_no_small_probability_is_refused(risk):
    with pytest.raises(OptionError, match="write a probability like 1e-4"):
        multiplier(1, risk)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_largest_eigenvalue_is_that_of_numpy(d, rng):
    matrix = covariances(200, rng, d).reshape(20, 10, d, d)
    assert largest_eigenvalue(matrix) == pytest.approx(np.linalg.eigvalsh(matrix)[..., -1])
    assert largest_eigenvalue(np.zeros((d, d))) == 0


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_round_gaussian_leaves_its_level_as_often_as_the_risk_says(d, rng):
    draws, risk = 40_000, 0.01
    error = 0.3 * rng.normal(size=(draws, d))
    beyond = int(
        (np.linalg.norm(error, axis=1) > protection_level(0.09 * np.eye(d), risk=risk)).sum()
    )
    assert stats.binomtest(beyond, draws, risk).pvalue > 1e-3


@pytest.mark.parametrize("ratio", [1.0, 0.5, 0.1, 0.0])
def test_a_horizontal_level_is_a_bound_that_a_round_covariance_attains(ratio):
    """P(|e| > PL) of axes 1 and `ratio`, by quadrature over the angle."""
    risk = 1e-4
    level = protection_level(np.diag([1.0, ratio**2]), risk=risk)
    angle = (np.arange(20_000) + 0.5) * 2 * np.pi / 20_000
    if ratio:  # e = (r cos, ratio r sin), r Rayleigh: beyond where r > level / length
        length = np.hypot(np.cos(angle), ratio * np.sin(angle))
        beyond = np.exp(-0.5 * (level / length) ** 2).mean()
    else:
        beyond = 2 * stats.norm.sf(level)
    assert beyond <= risk * (1 + 1e-9)
    assert (beyond == pytest.approx(risk)) == (ratio == 1.0)


def test_a_turned_world_and_another_unit_leave_the_regions_alone(rng):
    covariance, error = covariances(300, rng, 2), 0.1 * rng.normal(size=(300, 2))
    c, s = np.cos(0.7), np.sin(0.7)
    turn = np.array([[c, -s], [s, c]])
    found = component_of("horizontal", 0.2, Residuals(error, covariance), 1e-2)
    turned = component_of(
        "horizontal", 0.2, Residuals(error @ turn.T, turn @ covariance @ turn.T), 1e-2
    )
    feet = component_of("horizontal", 0.2 / 0.3, Residuals(error / 0.3, covariance / 0.09), 1e-2)
    assert turned.level == pytest.approx(found.level)
    assert feet.level == pytest.approx(found.level / 0.3)
    for other in (turned, feet):
        for region in ("available", "misleading", "hazardous", "unbounded"):
            assert (
                getattr(StanfordRegions([other]), region)
                == getattr(StanfordRegions([found]), region)
            ).all()


@pytest.mark.parametrize(
    ("error", "level", "region"),
    [
        (0.2, 0.5, "nominal"),
        (0.5, 0.5, "nominal"),
        (0.6, 0.5, "misleading"),
        (1.0, 0.5, "misleading"),
        (1.1, 0.5, "hazardous"),
        (1.1, 1.0, "hazardous"),
        (0.5, 1.1, "unavailable"),
        (1.2, 1.1, "unavailable and unbounded"),
        (9.0, np.inf, "unavailable"),
    ],
)
def test_the_regions_are_those_of_the_stanford_diagram(error, level, region):
    limit = 3.0
    found = StanfordRegions(
        [ProtectedError("vertical", limit, np.array([limit * error]), np.array([limit * level]))]
    )
    assert found.misleading.item() == (region == "misleading")
    assert found.hazardous.item() == (region == "hazardous")
    assert found.available.item() == (not region.startswith("unavailable"))
    assert found.unbounded.item() == (region not in ("nominal", "unavailable"))


def test_all_components_have_to_be_available_and_one_is_enough_to_mislead():
    wide = ProtectedError("horizontal", 1.0, np.array([0.1, 0.1, 2.0]), np.array([0.5, 2.0, 0.5]))
    tight = ProtectedError("vertical", 0.5, np.array([0.3, 0.6, 0.1]), np.array([0.2, 0.2, 0.2]))
    found = StanfordRegions([wide, tight])
    assert found.available.tolist() == [True, False, True]
    assert found.misleading.tolist() == [True, False, False]
    assert found.hazardous.tolist() == [False, False, True]


@pytest.mark.parametrize("risk", [1e-4, 0.01, 0.1])
def test_the_least_factor_leaves_the_risk_and_a_smaller_one_does_not(risk, rng):
    error, level = rng.exponential(1.0, 500), rng.uniform(0.05, 1.2, 500)

    def regions(factor):
        return StanfordRegions([ProtectedError("horizontal", 1.0, error, factor * level)])

    def hazardous(factor):
        return StanfordRegions(
            [ProtectedError("horizontal", 1.0, error, factor * level)]
        ).hazardous.mean()

    factor = StanfordRegions([ProtectedError("horizontal", 1.0, error, level)]).least_factor(risk)
    assert factor > 1
    assert hazardous(factor) <= risk < hazardous(factor * (1 - 1e-6))


def test_no_factor_is_asked_for_where_the_risk_is_kept(rng):
    kept = ProtectedError("horizontal", 1.0, rng.uniform(0, 1, 50), np.full(50, 0.5))
    assert StanfordRegions([kept]).least_factor(1e-4) == 1


def test_a_level_of_zero_is_helped_by_no_factor():
    stuck = ProtectedError("horizontal", 1.0, np.array([2.0, 2.0]), np.array([0.0, 0.5]))
    assert StanfordRegions([stuck]).least_factor(1e-4) == np.inf
    assert StanfordRegions([stuck]).least_factor(0.49) == np.inf  # one of two is more than that


def test_many_particles_have_the_quantile_of_their_distances(rng):
    particles, risk = 4000, 0.01
    x = rng.uniform(-1, 1, size=(particles, 1)) + 5.0  # seen from the reference
    p = np.full(particles, 1 / particles)
    residuals = Residuals(
        x.mean(axis=0)[None], np.array([[[1 / 3]]]), None, Ensemble(np.array([0, particles]), x, p)
    )
    level = level_of(residuals, risk)
    assert level == pytest.approx(np.quantile(np.abs(x - x.mean()), 1 - risk), rel=2e-3)
    assert level < protection_level(residuals.covariance, risk=risk)  # a box has no tails


def cloud(x):
    """Residuals of equal particles seen from the reference, scan by scan. (n, m, d)."""
    n, m, d = x.shape
    away = x - x.mean(axis=1, keepdims=True)
    covariance = np.einsum("nmi,nmj->nij", away, away) / m
    ensemble = Ensemble(m * np.arange(n + 1), x.reshape(-1, d), np.full(n * m, 1 / m))
    return Residuals(x.mean(axis=1), covariance, None, ensemble)


def test_few_particles_have_the_level_of_hotelling_or_of_the_farthest(rng):
    x, risk, m = rng.normal(size=(1, 50, 2)), 1e-4, 50
    sigma = np.sqrt(np.linalg.eigvalsh(np.cov(x[0].T, ddof=0))[-1])
    quantile = (m + 1) * 2 / (m - 2) * stats.f.isf(risk, 2, m - 2)
    assert level_of(cloud(x), risk) == pytest.approx(np.sqrt(quantile) * sigma)
    x[0, 0] = [90.0, 0.0]
    distance = np.linalg.norm(x[0] - x[0].mean(axis=0), axis=1).max()
    assert level_of(cloud(x), 0.019).item() == pytest.approx(distance / (1 - 1 / m))


@pytest.mark.parametrize(("m", "risk"), [(60, 0.02), (30, 0.02), (120, 0.1)])
@pytest.mark.parametrize("apart", [0.0, 4.0])
def test_consistent_clouds_leave_their_level_no_more_often_than_the_risk(m, risk, apart, rng):
    """One mode or two: the reference is one more particle."""
    scans = 1500
    x = rng.normal(size=(scans, m + 1, 2))
    x[..., 0] += apart * np.sign(rng.uniform(-1, 1, size=(scans, m + 1)))
    residuals = cloud(x[:, 1:] - x[:, :1])
    beyond = int((np.linalg.norm(residuals.error, axis=1) > level_of(residuals, risk)).sum())
    assert stats.binomtest(beyond, scans, risk, alternative="greater").pvalue > 1e-3


def test_own_levels_are_taken_as_they_are_and_none_is_unavailable(rng):
    residuals = Residuals(rng.normal(size=(3, 2)))
    found = component_of("horizontal", 1.0, residuals, 1e-4, np.array([0.5, np.nan, 2.0]))
    assert found.own
    assert found.level.tolist() == [0.5, np.inf, 2.0]
    assert StanfordRegions([found]).available.tolist() == [True, False, False]
