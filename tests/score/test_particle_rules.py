"""Rules for weighted particles, against loops and independent implementations."""

import math
import tracemalloc
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from smfeval.score import Ensemble, Residuals, RuleSettings, scores
from smfeval.score import energy as energy_module
from smfeval.score import residuals as residuals_module
from smfeval.score.crps import crps_of_axes as crps
from smfeval.score.energy import energy
from smfeval.score.interval import interval_score_of_axes as interval_score
from smfeval.score.interval import quantiles
from smfeval.score.log import kernel_log_score
from smfeval.score.pit import honest_median, pit
from support.beliefs import covariances

BETAS = [0.5, 1.0, 1.5]


def ensemble(counts, d, rng, *, equal=False):
    m = sum(counts)
    weight = np.ones(m) if equal else rng.uniform(0.05, 1.0, size=m)
    offset = np.concatenate([[0], np.cumsum(counts)])
    total = np.repeat(np.add.reduceat(weight, offset[:-1]), counts)
    return Ensemble(offset, rng.normal(0.5, 1.0, size=(m, d)), weight / total)


def residuals(particles, noise=None):
    """Mean, weighted covariance and particles, as the evaluation makes them."""
    error, covariance = [], []
    for x, p in scans(particles):
        mean = p @ x
        error.append(mean)
        covariance.append((p[:, None] * (x - mean)).T @ (x - mean))
    return Residuals(np.array(error), np.array(covariance), noise, particles)


def scans(particles):
    for start, end in zip(particles.offset[:-1], particles.offset[1:], strict=True):
        yield particles.difference[start:end], particles.probability[start:end]


def mirrored(particles):
    return replace(particles, difference=-particles.difference)


COUNTS = (5, 9, 5, 7)


@pytest.fixture(params=[1, 2, 3])
def particles(request, rng):
    return ensemble(COUNTS, request.param, rng)


def double_loop(x, p, beta, *, unbiased):
    first = sum(a * np.linalg.norm(u) ** beta for u, a in zip(x, p, strict=True))
    pairs = [(i, j) for i, j in product(range(len(x)), repeat=2) if not (unbiased and i == j)]
    spread = sum(p[i] * p[j] * np.linalg.norm(x[i] - x[j]) ** beta for i, j in pairs)
    return first - 0.5 * spread / sum(p[i] * p[j] for i, j in pairs)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("unbiased", [False, True])
def test_energy_is_that_of_a_double_loop(beta, unbiased, particles):
    found = energy(residuals(particles), beta=beta, unbiased=unbiased)
    expected = [double_loop(x, p, beta, unbiased=unbiased) for x, p in scans(particles)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


STRIPS = [(1, 1), (10, 64), (65_536, 3), (20, 4)]  # pairs and particles at a time


@pytest.mark.parametrize(("pairs", "rows"), STRIPS)
def test_energy_does_not_depend_on_how_many_pairs_fit_in_memory(
    pairs, rows, particles, monkeypatch
):
    whole = energy(residuals(particles))
    monkeypatch.setattr(energy_module, "PAIRS_AT_ONCE", pairs)
    monkeypatch.setattr(energy_module, "ROWS_AT_ONCE", rows)
    np.testing.assert_allclose(energy(residuals(particles)), whole, rtol=1e-13)


@pytest.mark.parametrize("size", [1, 2, 7, 64, 65, 200])
@pytest.mark.parametrize(("pairs", "rows"), STRIPS)
def test_strips_hold_each_pair_once_or_both_ways_round(pairs, rows, size, monkeypatch):
    monkeypatch.setattr(energy_module, "PAIRS_AT_ONCE", pairs)
    monkeypatch.setattr(energy_module, "ROWS_AT_ONCE", rows)
    times = np.zeros((size, size), dtype=int)
    for i, j in energy_module.pair_strips(size):
        assert (i.stop - i.start) * (j.stop - j.start) <= max(pairs, size)
        times[i, j] += 1
        times[i.stop :, i] += times[i, i.stop :].T
    np.testing.assert_array_equal(times, 1)


def hard_cloud(kind, m, rng):
    """Clouds whose pairs are near beside their distance from the mean: there squares cancel."""
    x = rng.normal(size=(m, 3))
    return {
        "round": x,
        "far from the reference": 0.05 * x + [300.0, -2e4, 10.0],
        "two modes": 1e-4 * x + 100.0 * (np.arange(m)[:, None] % 3 == 0),
        "one outlier": np.where(np.arange(m)[:, None] == 5, 1e3, 1e-4 * x),
        "heavy tails": x / rng.random((m, 1)) ** 2,
        "a line": x[:, :1] * [1.0, 2.0, -1.0] + 1e-6 * x,
        "copies": x[np.arange(m) // 3],
        "few places": np.round(x),
        "one place": np.repeat(x[:1], m, axis=0),
    }[kind]


HARD = (
    "round",
    "far from the reference",
    "two modes",
    "one outlier",
    "heavy tails",
    "a line",
    "copies",
    "few places",
    "one place",
)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("kind", HARD)
def test_distances_between_particles_keep_twelve_digits_in_any_cloud(kind, beta, rng):
    """Against sums of pairs that are rounded once (`math.fsum`)."""
    m = 150
    x, p = hard_cloud(kind, m, rng), rng.dirichlet(np.ones(m))
    expected = math.fsum(
        p[i] * p[j] * math.dist(x[i], x[j]) ** beta for i, j in product(range(m), repeat=2)
    )
    point = ensemble((m,), 3, rng)
    point = Ensemble(point.offset, x, p)
    first = math.fsum(p[i] * math.hypot(*x[i]) ** beta for i in range(m))
    spread = 2 * (first - energy(residuals(point), beta=beta)[0])
    assert spread == pytest.approx(expected, rel=1e-12, abs=4e-15 * first)


@pytest.mark.parametrize(("kind", "most"), [("round", 0.001), ("two modes", 1.0)])
def test_near_pairs_are_few_in_a_round_cloud_and_many_in_two_modes(kind, most, rng, monkeypatch):
    """The Gram identity does the work where it may; all pairs are measured where it may not."""
    measure, shares = energy_module._measure, []

    def counted(square, near, *points):
        shares.append(near.mean())
        measure(square, near, *points)

    monkeypatch.setattr(energy_module, "_measure", counted)
    energy(
        residuals(Ensemble(np.array([0, 900]), hard_cloud(kind, 900, rng), np.full(900, 1 / 900)))
    )
    assert max(shares) < most
    assert (max(shares) > energy_module.FEW) == (kind == "two modes")


@pytest.mark.parametrize("unbiased", [False, True])
def test_blocks_change_no_energy_with_an_uncertain_reference(particles, unbiased, monkeypatch):
    d = particles.difference.shape[1]
    noisy = residuals(particles, np.repeat(0.3 * np.eye(d)[None], len(COUNTS), axis=0))
    whole = energy(noisy, unbiased=unbiased)
    monkeypatch.setattr(energy_module, "PAIRS_AT_ONCE", 10)
    np.testing.assert_allclose(energy(noisy, unbiased=unbiased), whole, rtol=1e-13)


MANY = 8_000
PAIRS = 20_000  # at a time in the second test: 8 bytes for each and for each axis


def peak_bytes(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_scores_of_many_particles_need_no_matrix_of_their_pairs(rng):
    """All pairs at once would be 512 MB for the distances alone."""
    found = residuals(ensemble((MANY,), 3, rng))
    assert peak_bytes(lambda: scores(found, RuleSettings())) < 100e6


@pytest.mark.parametrize("d", [1, 2, 3])
def test_blocks_bound_the_memory_with_an_uncertain_reference_too(d, rng, monkeypatch):
    monkeypatch.setattr(energy_module, "PAIRS_AT_ONCE", PAIRS)
    noise = 0.1 * np.eye(d)[None]
    few, many = (residuals(ensemble((m,), d, rng), noise) for m in (200, 800))
    energy(few)  # tables of the quadrature are made once
    assert peak_bytes(lambda: energy(many)) < 2 * peak_bytes(lambda: energy(few))


@pytest.mark.parametrize("equal", [False, True])
def test_energy_is_that_of_scoringrules(equal, scoringrules, rng):
    particles = ensemble((30, 12), 3, rng, equal=equal)
    expected = [
        scoringrules.es_ensemble(np.zeros(3), x, ens_w=p, estimator="nrg")
        for x, p in scans(particles)
    ]
    np.testing.assert_allclose(energy(residuals(particles)), expected, rtol=1e-10)


def test_unbiased_energy_of_equal_particles_is_the_fair_one_of_scoringrules(scoringrules, rng):
    particles = ensemble((30, 12), 3, rng, equal=True)
    expected = [
        scoringrules.es_ensemble(np.zeros(3), x, estimator="fair") for x, _ in scans(particles)
    ]
    np.testing.assert_allclose(energy(residuals(particles), unbiased=True), expected, rtol=1e-10)


def test_unbiased_energy_of_a_small_sample_is_that_of_the_belief_on_average(rng):
    """Five draws of N(m, I): the unbiased form averages to the Gaussian's, the plain one not."""
    n, k, mean = 40_000, 5, np.array([1.0, -0.5, 0.3])
    particles = Ensemble(
        np.arange(n + 1) * k, mean + rng.normal(size=(n * k, 3)), np.full(n * k, 1 / k)
    )
    exact = energy(Residuals(mean[None], np.eye(3)[None]))[0]
    for unbiased, close in [(True, True), (False, False)]:
        found = energy(Residuals(np.zeros((n, 3)), None, None, particles), unbiased=unbiased)
        assert (abs(found.mean() - exact) < 4 * found.std() / np.sqrt(n)) == close


@pytest.mark.parametrize("noisy", [False, True])
def test_unbiased_energy_is_finite_when_one_particle_holds_all_weight(noisy, rng):
    """A filter before resampling: the limit of the double loop as the other weights vanish."""
    x = rng.normal(size=(3, 3))
    noise = np.eye(3)[None] if noisy else None
    found, near = (
        energy(
            residuals(Ensemble(np.array([0, 3]), x, np.array([1 - 2 * w, w, w])), noise),
            unbiased=True,
        )[0]
        for w in (1e-20, 1e-9)
    )
    assert found == pytest.approx(near, rel=1e-6)


def test_unbiased_energy_with_an_uncertain_reference_leaves_out_the_pairs_of_one(rng):
    """Few draws with kernels N(0, S_ref) average to the Gaussian N(m, I + S_ref)."""
    n, k, mean = 20_000, 4, np.array([1.0, -0.5])
    particles = Ensemble(
        np.arange(n + 1) * k, mean + rng.normal(size=(n * k, 2)), np.full(n * k, 1 / k)
    )
    noise = np.diag([0.5, 2.0])
    exact = energy(Residuals(mean[None], np.eye(2)[None] + noise))[0]
    noises = np.repeat(noise[None], n, axis=0)
    found = energy(Residuals(np.zeros((n, 2)), None, noises, particles), unbiased=True)
    assert abs(found.mean() - exact) < 4 * found.std() / np.sqrt(n)


@pytest.mark.parametrize("beta", BETAS)
def test_energy_with_an_uncertain_reference_is_that_of_the_mixture(beta, rng):
    """Each particle with a kernel N(0, S_ref), in both terms; by sampling."""
    particles, noise = ensemble((6, 4), 3, rng), covariances(2, rng, 3, scale=0.3)
    found = energy(residuals(particles, noise), beta=beta)
    draws = 400_000
    for i, (x, p) in enumerate(scans(particles)):
        one, other = (
            x[rng.choice(len(x), size=draws, p=p)]
            + rng.multivariate_normal(np.zeros(3), noise[i], size=draws)
            for _ in range(2)
        )
        sample = np.linalg.norm(one, axis=1) ** beta
        sample = sample - 0.5 * np.linalg.norm(one - other, axis=1) ** beta
        assert abs(found[i] - sample.mean()) < 4.5 * sample.std() / np.sqrt(draws)


def test_vanishing_kernels_change_no_score(particles):
    d = particles.difference.shape[1]
    noise = np.repeat(1e-20 * np.eye(d)[None], len(COUNTS), axis=0)
    exact, noisy = residuals(particles), residuals(particles, noise)
    np.testing.assert_allclose(energy(noisy), energy(exact), rtol=1e-8)
    np.testing.assert_allclose(crps(noisy), crps(exact), rtol=1e-8)


@pytest.mark.parametrize("equal", [False, True])
def test_crps_is_that_of_scoringrules(equal, scoringrules, rng):
    particles = ensemble((40, 7, 40), 3, rng, equal=equal)
    expected = [
        [scoringrules.crps_ensemble(0.0, x[:, axis], ens_w=p, estimator="nrg") for axis in range(3)]
        for x, p in scans(particles)
    ]
    np.testing.assert_allclose(crps(residuals(particles)), expected, rtol=1e-9)


def test_crps_is_energy_along_each_axis(particles):
    found = crps(residuals(particles))
    for axis in range(found.shape[1]):
        line = Ensemble(
            particles.offset, particles.difference[:, axis : axis + 1], particles.probability
        )
        np.testing.assert_allclose(found[:, axis], energy(residuals(line)), rtol=1e-11)


def test_crps_with_an_uncertain_reference_is_energy_of_the_mixture_along_each_axis(rng):
    particles, noise = ensemble((6, 4), 2, rng), covariances(2, rng, 2, scale=0.3)
    found = crps(residuals(particles, noise))
    for axis in range(2):
        line = Ensemble(
            particles.offset, particles.difference[:, axis : axis + 1], particles.probability
        )
        alone = residuals(line, noise[:, axis : axis + 1, axis : axis + 1])
        np.testing.assert_allclose(found[:, axis], energy(alone), rtol=1e-11)


@pytest.mark.parametrize("first", ["own", "shared"])
def test_copies_are_one_particle_with_the_sum_of_their_weights(first, rng):
    """Also where all particles agree in their first coordinate."""
    particles = ensemble((6, 3, 8), 2, rng)
    x = particles.difference[particles.offset[:-1].repeat(particles.count) + np.arange(17) % 3]
    if first == "shared":
        x[:, 0] = 0.5
    found = replace(particles, difference=x).distinct
    expected = {}
    for scan, (rows, p) in enumerate(scans(replace(particles, difference=x))):
        for row, weight in zip(rows, p, strict=True):
            expected[(scan, *row)] = expected.get((scan, *row), 0.0) + weight
    points = [(scan, *row) for scan, (rows, _) in enumerate(scans(found)) for row in rows]
    assert dict(zip(points, found.probability, strict=True)) == pytest.approx(expected)


def test_an_ensemble_without_copies_is_its_own(particles):
    assert particles.distinct is particles


def slow_quantile(x, p, probability):
    total = 0.0
    for value, weight in sorted(zip(x, p, strict=True)):
        total += weight
        if total >= probability - 1e-9:
            return value
    raise AssertionError


@pytest.mark.parametrize("probability", [0.05, 0.25, 0.5, 0.9, 1.0])
def test_quantiles_are_those_of_counting_up_the_weights(probability, particles):
    expected = [[slow_quantile(c, p, probability) for c in x.T] for x, p in scans(particles)]
    np.testing.assert_array_equal(quantiles(particles, probability), expected)


@pytest.mark.parametrize("probability", [0.05, 0.25, 0.5, 0.9, 1.0])
def test_quantiles_from_above_are_those_of_the_mirror_image(probability, particles):
    mirror = -quantiles(mirrored(particles), probability)
    np.testing.assert_array_equal(quantiles(particles, probability, from_above=True), mirror)


@pytest.mark.parametrize("most", [1, 12, 1_000_000])
def test_rows_are_sorted_within_each_scan(most, rng, monkeypatch):
    monkeypatch.setattr(residuals_module, "SORTED_AT_ONCE", most)
    many = ensemble((5, 9, 5, 1, 7, 9), 2, rng)
    for x, order in zip(many.difference.T, many.ascending_by_axis, strict=True):
        parts = zip(many.offset[:-1], many.offset[1:], strict=True)
        expected = [start + np.argsort(x[start:end], kind="stable") for start, end in parts]
        np.testing.assert_array_equal(order, np.concatenate(expected))


def test_quantiles_of_many_equal_particles_do_not_depend_on_the_scans_before(rng):
    """Five of 100 equal weights are just 5 %; the sum over 6,000 scans is off by 1e-13."""
    many = ensemble([100] * 6_000, 1, rng, equal=True)
    rows = many.difference[:, 0].reshape(-1, 100)
    np.testing.assert_array_equal(quantiles(many, 0.05)[:, 0], np.sort(rows, axis=1)[:, 4])


def test_interval_score_is_that_of_scoringrules_between_weighted_quantiles(particles, scoringrules):
    found = interval_score(residuals(particles), level=0.6)
    for row, (x, p) in zip(found, scans(particles), strict=True):
        low = np.array([slow_quantile(c, p, 0.2) for c in x.T])
        high = np.array([-slow_quantile(-c, p, 0.2) for c in x.T])
        np.testing.assert_allclose(row, scoringrules.interval_score(0.0, low, high, 0.4), rtol=1e-9)


@pytest.mark.parametrize("equal", [False, True])
def test_interval_score_sees_no_difference_in_a_mirror(equal, rng):
    particles = ensemble((20, 40), 3, rng, equal=equal)
    np.testing.assert_allclose(
        interval_score(residuals(particles)), interval_score(residuals(mirrored(particles)))
    )


def test_interval_score_with_an_uncertain_reference_uses_both_variances(rng):
    particles, noise = ensemble((6, 4), 3, rng), covariances(2, rng, 3)
    both = residuals(particles, noise)
    gaussian = Residuals(both.error, both.covariance + noise)
    np.testing.assert_array_equal(interval_score(both), interval_score(gaussian))


@pytest.mark.parametrize(("k", "noisy"), [(5, False), (10, False), (200, False), (200, True)])
def test_pit_of_honest_particles_is_uniform_however_few_they_are(k, noisy, rng):
    n, d = 1500, 2
    truth = rng.normal(size=(n, d)) + (3 * rng.normal(size=(n, d)) if noisy else 0)
    difference = rng.normal(size=(n, k, d)) - truth[:, None]
    particles = Ensemble(np.arange(n + 1) * k, difference.reshape(-1, d), np.full(n * k, 1 / k))
    noise = np.repeat(9 * np.eye(d)[None], n, axis=0) if noisy else None
    found = pit(residuals(particles, noise), seed=0)
    assert stats.kstest(found, "uniform").pvalue > 0.01
    if not noisy:
        belief = residuals(particles)
        assert np.median(belief.likelihood_terms.nees / honest_median(belief)) == pytest.approx(
            1, abs=0.12
        )


def test_kernel_density_log_score_is_that_of_scipy(particles):
    """SciPy divides the weighted covariance by 1 - sum p^2; the bandwidth makes up for it."""
    found = kernel_log_score(residuals(particles))
    expected = []
    for x, p in scans(particles):
        d, effective = x.shape[1], 1 / np.sum(p**2)
        silverman = (4 / ((d + 2) * effective)) ** (1 / (d + 4))
        factor = silverman * np.sqrt(1 - np.sum(p**2))
        density = stats.gaussian_kde(x.T, bw_method=factor, weights=p)
        expected.append(-density.logpdf(np.zeros(d))[0])
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_kernel_density_with_an_uncertain_reference_has_wider_kernels(rng):
    particles, noise = ensemble((6,), 3, rng), covariances(1, rng, 3, scale=0.3)
    belief = residuals(particles, noise)
    p, x = particles.probability, particles.difference
    h = (4 * np.sum(p**2) / 5) ** (1 / 7)
    kernel = h**2 * belief.covariance[0] + noise[0]
    density = sum(
        w * stats.multivariate_normal(c, kernel).pdf(np.zeros(3)) for w, c in zip(p, x, strict=True)
    )
    assert kernel_log_score(belief)[0] == pytest.approx(-np.log(density), rel=1e-10)


def test_a_particle_without_weight_changes_no_density(rng):
    particles = ensemble((6,), 2, rng)
    more = Ensemble(
        np.array([0, 7]),
        np.concatenate([particles.difference, [[50.0, 50.0]]]),
        np.append(particles.probability, 0.0),
    )
    found = kernel_log_score(residuals(more))
    np.testing.assert_allclose(found, kernel_log_score(residuals(particles)), rtol=1e-12)


def test_far_particles_have_a_finite_kernel_density_log_score(rng):
    far = ensemble((6,), 2, rng)
    far = Ensemble(far.offset, far.difference + 1e4, far.probability)
    assert 1e6 < kernel_log_score(residuals(far))[0] < np.inf


def test_particles_have_a_log_score_only_where_a_kernel_density_is_asked_for(particles):
    plain = scores(residuals(particles), RuleSettings())
    dense = scores(residuals(particles), RuleSettings(kernel_density=True))
    assert set(plain) == {"ape", "energy", "crps", "interval", "nees", "pit"}
    assert set(dense) - set(plain) == {"log"}
    np.testing.assert_array_equal(dense["log"], kernel_log_score(residuals(particles)))


def test_a_kernel_density_needs_particles(rng):
    with pytest.raises(ValueError, match="particles"):
        kernel_log_score(Residuals(rng.normal(size=(2, 3)), covariances(2, rng, 3)))


def test_particles_along_a_direction_are_scored_there(rng):
    particles = ensemble((6, 4), 3, rng)
    direction = np.tile([0.0, 1.0, 0.0], (2, 1))
    line = residuals(particles).along(direction)
    np.testing.assert_allclose(crps(line)[:, 0], crps(residuals(particles))[:, 1], rtol=1e-12)


def test_settings_reach_the_rules(particles):
    belief = residuals(particles)
    chosen = RuleSettings(beta=0.7, unbiased=True, interval_level=0.4)
    found = scores(belief, chosen)
    np.testing.assert_array_equal(found["energy"], energy(belief, beta=0.7, unbiased=True))
    expected = interval_score(belief, level=0.4).mean(axis=1)
    np.testing.assert_array_equal(found["interval"], expected)
    assert not np.allclose(expected, scores(belief, RuleSettings())["interval"])
