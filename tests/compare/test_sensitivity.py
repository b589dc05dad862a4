"""Gauge and clock sensitivity, and the hypothesis of the bound.

What honest beliefs from samples have, against draws of them.
"""

import numpy as np
import pytest
from scipy.stats import chi2, wishart

from smfeval.align.fit import Alignment
from smfeval.compare import compare_pair
from smfeval.compare.hypothesis import dependence
from smfeval.compare.sensitivity import NO_PARTICLES, SWEEP_SCANS, ParticleCounts, thin_scans
from smfeval.errors import PairingError
from smfeval.evaluation import Options
from smfeval.maths import so3
from smfeval.score import Residuals
from smfeval.score.pit import honest_median
from smfeval.score.residuals import Ensemble
from smfeval.summarise.number import Intervals
from smfeval.track import Track
from support.known_errors import S, belief, normal

BARE = Options(intervals=Intervals(None))
TURN = so3.matrix(so3.exp(np.array([0.3, -0.2, 0.9])))


def test_an_open_gauge_is_absorbed_by_the_admissible_alignments_only(rng):
    turned = Alignment("se3", TURN, np.array([3.0, 4, 5]))(belief(normal(rng, 400), gauge="se3"))
    pair = compare_pair(turned, belief(normal(rng, 400)), options=BARE)
    rows = {row.gauge: row for row in pair.gauges}
    assert [row.gauge for row in pair.gauges if row.chosen] == ["se3"]
    admissible = {name for name, row in rows.items() if row.admissible}
    assert admissible == {"se3", "sim3", "first-pose"}
    assert rows["se3"].k == pair.k.value
    assert rows["sim3"].k == pytest.approx(1, abs=0.2)
    assert rows["none"].k > 1e3
    assert rows["yaw"].k > 1e3


def test_an_alignment_that_does_not_exist_has_a_reason_and_no_k(rng):
    pair = compare_pair(belief(normal(rng, 2)), belief(normal(rng, 2)), options=BARE)
    missing = next(row for row in pair.gauges if row.gauge == "se3")
    assert missing.k is None
    assert "too few for a fit" in missing.reason


@pytest.mark.parametrize("late_ms", [-30, 20])
def test_the_clock_sweep_finds_a_late_clock(rng, late_ms):
    fast = belief(0.1 * normal(rng, 400))
    velocity = np.gradient(fast.position, 0.1, axis=0)
    late = belief(0.1 * normal(rng, 400) - 1e-3 * late_ms * velocity)
    pair = compare_pair(late, fast, options=BARE)
    best = min(pair.clock, key=lambda row: row.k)
    assert best.offset_ms == -late_ms  # what must be added to the stamps of the first
    assert best.k < 0.5
    assert next(row.k for row in pair.clock if row.offset_ms == 0) == pytest.approx(pair.k.value)
    assert [row.offset_ms for row in pair.clock] == list(range(-50, 51, 10))
    assert pair.k_least <= best.k


def test_the_sweep_agrees_with_an_offset_of_the_association(rng):
    """A clock that is late by one scan: moving by one scan's time pairs the right scans."""
    honest, other = belief(normal(rng, 400)), belief(normal(rng, 400))
    late = honest.shift_stamps(100_000_000)
    right = compare_pair(late, other, options=Options(offset_s=-0.1, intervals=Intervals(None)))
    assert right.k.value == pytest.approx(1, abs=0.25)
    assert compare_pair(late, other, options=BARE).k.value > 100


def test_long_tracks_are_swept_on_evenly_spaced_scans():
    assert len(thin_scans(SWEEP_SCANS)) == SWEEP_SCANS
    assert 1 < np.diff(thin_scans(3 * SWEEP_SCANS + 1))[0] <= 4
    assert len(thin_scans(3 * SWEEP_SCANS + 1)) <= SWEEP_SCANS


def reference(n):
    made = belief(np.zeros((n, 3)))
    return Track(made.stamp, made.position, made.rotation, about=made.about)


@pytest.mark.parametrize(
    ("part", "eigenvalue", "factor"), [(-1.0, -0.5, 2.0), (0.0, 0.0, 1.0), (1.0, 0.5, 1.0)]
)
def test_a_reference_tells_opposed_from_shared_errors(rng, part, eigenvalue, factor):
    n = 5000
    error = normal(rng, n)
    second = part * error + np.sqrt(1 - part**2) * normal(rng, n)
    found = compare_pair(
        belief(error), belief(second), options=BARE, reference=reference(n)
    ).hypothesis
    assert found.scans == n
    assert found.eigenvalues == pytest.approx([eigenvalue] * 3, abs=0.03)
    assert found.factor == pytest.approx(factor, abs=0.06)
    assert found.holds == (found.eigenvalues[0] >= 0)
    assert (found.k_a, found.k_b) == pytest.approx((1, 1), abs=0.1)
    assert found.is_refuted == (part < 0)


def wandering(rng, n, memory):
    """Errors of unit variance that remember; memory 1: a random walk about its mean. (n, 3)."""
    error = np.zeros((n, 3))
    for i, noise in enumerate(normal(rng, n)):
        error[i] = memory * error[i - 1] + noise
    return (error - error.mean(axis=0)) / error.std(axis=0)


@pytest.mark.parametrize("memory", [0.0, 0.9, 0.97, 0.99, 1.0])
def test_independent_errors_are_rarely_opposed_beyond_chance(memory, rng):
    """Most have an eigenvalue below 0; opposed ones are found if memory leaves samples."""
    unit = np.broadcast_to(np.eye(3), (400, 3, 3))

    def refuted(part):
        error, other = (wandering(rng, 400, memory) for _ in range(2))
        second = part * error + np.sqrt(1 - part**2) * other
        found = dependence(Residuals(error, unit), Residuals(second, unit))
        return found.is_refuted, found.holds

    honest = np.array([refuted(0.0) for _ in range(60)])
    assert honest[:, 0].mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)
    assert honest[:, 1].mean() < 0.5
    if memory < 0.97:  # else they wander, and nothing is said
        assert np.mean([refuted(-0.5)[0] for _ in range(20)]) >= 0.9


def test_moves_in_time_are_counted_one_by_one(rng):
    """The share by Fourier transform against rolled errors."""
    unit = np.broadcast_to(np.eye(3), (50, 3, 3))
    u, v = normal(rng, 50), normal(rng, 50)
    least = [
        dependence(Residuals(u, unit), Residuals(np.roll(v, -move, axis=0), unit)).eigenvalues[0]
        for move in range(50)
    ]
    p = dependence(Residuals(u, unit), Residuals(v, unit)).p
    assert p == pytest.approx(np.mean(np.array(least) <= least[0] + 1e-12))


def test_the_factor_bounds_what_opposed_errors_do_to_k(rng):
    n = 20_000
    error = normal(rng, n)
    second = -0.6 * error + 0.8 * normal(rng, n)
    pair = compare_pair(belief(error), belief(second), options=BARE, reference=reference(n))
    assert pair.k.value == pytest.approx(1.6, rel=0.04)
    assert pair.k.value <= 1.03 * pair.hypothesis.factor


def test_a_reference_of_a_few_scans_is_refused(rng):
    a, b = (belief(normal(rng, 100)) for _ in range(2))
    with pytest.raises(PairingError, match="5 scans of the pair match the reference; 10 are"):
        compare_pair(a, b, reference=reference(100)[:5])


def test_the_hypothesis_does_not_depend_on_the_size_of_the_covariances(rng):
    errors = normal(rng, 500), normal(rng, 500)
    found = [
        compare_pair(
            *(belief(e, scale * S) for e in errors), options=BARE, reference=reference(500)
        ).hypothesis.eigenvalues
        for scale in (1, 100)
    ]
    assert found[0] == pytest.approx(found[1])


N = 40_000


def drawn(particles, d, rng):
    """Means and biased sample covariances of clouds of K standard normal particles.

    The mean is N(0, I / K), K times the covariance is Wishart with K - 1 degrees of freedom.
    """
    scatter = wishart.rvs(particles - 1, np.eye(d), size=N, random_state=rng)
    mean = rng.normal(size=(N, d)) / np.sqrt(particles)
    return mean, scatter.reshape(N, d, d) / particles


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


def test_a_single_particle_beside_a_gaussian_leaves_the_law_of_the_gaussian():
    """Its covariance is zero, and so is its share; the number was NaN."""
    errors = np.zeros((2, 3))
    residuals = Residuals(errors, np.zeros((2, 3, 3)), noise=np.broadcast_to(np.eye(3), (2, 3, 3)))
    counts = ParticleCounts(np.array([1.0, 1.0 + 1e-15]), None)
    np.testing.assert_allclose(counts.honest_median(residuals), chi2(3).median(), rtol=1e-8)
