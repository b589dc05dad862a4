"""The exact energy score against formulas it does not use, and the laws it must obey.

Oracles: the integral by parts in the eigenbasis (mpmath at high precision, and float64 for many
beliefs), Kummer's function, erf, Carlson's R_G, the CRPS of scoringrules, the series for small S,
Monte Carlo.
"""

import itertools
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.stats import ortho_group

from smfeval.maths import normal_distance
from smfeval.maths.normal_distance import (
    SCANS_AT_ONCE,
    Floats,
    central_distance,
    energy_score,
    expected_distance,
)

TOLERANCE = 1e-9  # promised for the score
BETAS = (0.1, 0.5, 1.0, 1.5, 1.9)


def rotated(variances: Floats, seed: int) -> tuple[Floats, Floats]:
    """Symmetric float64 matrix near Q diag(variances) Q^T, and Q."""
    d = len(variances)
    turn = ortho_group.rvs(d, random_state=seed) if d > 1 else np.eye(1)
    matrix = (turn * variances) @ turn.T
    return (matrix + matrix.T) / 2, turn


# --- oracle 1: mpmath, integral by parts, eigenbasis of that very float64 matrix ---------------


def mp_eigenbasis(mean: Floats, covariance: Floats) -> tuple[list[mp.mpf], list[mp.mpf]]:
    """Eigenvalues, squared components of the mean along the eigenvectors."""
    values, vectors = mp.eigsy(mp.matrix(covariance.tolist()))
    along = vectors.T * mp.matrix(mean.tolist())
    return [max(mp.mpf(0), v) for v in values], [v**2 for v in along]


def mp_moment(variances: list[mp.mpf], squares: list[mp.mpf], beta: float) -> mp.mpf:
    """E|Y|^beta = 1/Gamma(1 - beta/2) Int s^(-beta/2) E[|Y|^2 exp(-s |Y|^2)] ds."""
    b, total = mp.mpf(beta) / 2, sum(variances) + sum(squares)
    pairs = [(v / total, q / total) for v, q in zip(variances, squares, strict=True)]

    def weighted(s: mp.mpf) -> mp.mpf:
        grown = [1 + 2 * s * v for v, _ in pairs]
        phi = mp.exp(-s * sum(q / g for (_, q), g in zip(pairs, grown, strict=True)))
        slope = sum(v / g + q / g**2 for (v, q), g in zip(pairs, grown, strict=True))
        return phi / mp.sqrt(mp.fprod(grown)) * slope

    split, bend = mp.mpf("0.3"), 1 / (1 - b)  # s = w^bend removes s^(-beta/2) on the left
    left = bend * mp.quad(lambda w: weighted(w**bend), [0, split ** (1 - b)])
    ends = [mp.log(split) + 2 * k for k in range(int(42 / (1 + beta)) + 3)]
    right = mp.quad(lambda u: mp.exp(u * (1 - b)) * weighted(mp.exp(u)), ends)
    return total**b * (left + right) / mp.gamma(1 - b)


def mp_energy_score(error: Floats, covariance: Floats, beta: float) -> float:
    with mp.workdps(40):
        variances, squares = mp_eigenbasis(error, covariance)
    with mp.workdps(20):
        first = mp_moment(variances, squares, beta)
        second = mp_moment(variances, [mp.mpf(0)] * len(squares), beta)
        return float(first - mp.mpf(2) ** (mp.mpf(beta) / 2 - 1) * second)


BELIEFS = {  # variances (the last d), axis of the error (None: all), its size, metres per unit
    "round, one sigma away": ((1.0, 1.0, 1.0), None, 1.0, 1.0),
    "condition 1e12, error across": ((1e-12, 1e-12, 1.0), 0, 6e-3, 1.0),
    "condition 1e12, error of the small sigma": ((1e-12, 1e-5, 1.0), 0, 1e-6, 1e6),
    "condition 1e12, error along": ((1e-12, 1e-9, 1.0), -1, 2.0, 1e-6),
    "condition 1e6, error in no axis": ((1e-6, 1e-3, 1.0), None, 0.3, 1e-6),
    "a million sigma away": ((0.01, 0.3, 1.0), None, 1e6, 1e6),
    "at the centre": ((1e-7, 1e-2, 1.0), None, 0.0, 1.0),
}


@pytest.mark.parametrize(
    ("d", "beta"),
    [
        *((d, 1.0) for d in (1, 2, 3)),
        *((3, beta) for beta in (0.1, 1.9)),
        *(pytest.param(d, beta, marks=pytest.mark.slow) for d in (1, 2) for beta in (0.1, 1.9)),
    ],
)
@pytest.mark.parametrize("belief", BELIEFS)
def test_score_agrees_with_high_precision_quadrature_in_the_eigenbasis(
    belief: str, d: int, beta: float
) -> None:
    variances, axis, size, unit = BELIEFS[belief]
    covariance, turn = rotated(np.array(variances[-d:]), seed=d)
    direction = np.ones(d) / np.sqrt(d) if axis is None else turn[:, axis]
    error, covariance = direction * size * unit, covariance * unit**2
    exact = mp_energy_score(error, covariance, beta)
    np.testing.assert_allclose(energy_score(error, covariance, beta=beta), exact, rtol=TOLERANCE)


# --- oracle 2: the same integral in float64, for thousands of diagonal beliefs ------------------


def float_moment(variances: Floats, squares: Floats, beta: float) -> Floats:
    """Composite Gauss rule of the integral by parts: positive integrand, nothing cancels."""
    total = (variances + squares).sum(-1, keepdims=True)
    variances, squares = variances / total, squares / total

    def weighted(s: Floats) -> Floats:
        grown = 1 + 2 * s[:, None, None] * variances
        exponent = (s[:, None, None] * squares / grown + np.log(grown) / 2).sum(-1)
        return np.asarray(np.exp(-exponent) * (variances / grown + squares / grown**2).sum(-1))

    z, w = special.roots_jacobi(30, 0, -beta / 2)
    moment = (w * 0.15 ** (1 - beta / 2)) @ weighted(0.15 * (1 + z))
    z, w = np.polynomial.legendre.leggauss(20)
    for start in np.arange(np.log(0.3), 95 / (1 + beta) + 2):
        u = start + (1 + z) / 2
        moment += (w / 2 * np.exp(u * (1 - beta / 2))) @ weighted(np.exp(u))
    return np.asarray(moment / special.gamma(1 - beta / 2) * total[:, 0] ** (beta / 2))


@pytest.mark.parametrize("beta", BETAS)
def test_score_holds_its_tolerance_over_every_shape_of_belief(beta: float) -> None:
    smaller = itertools.combinations_with_replacement((0.0, 1e-12, 1e-8, 1e-4, 1e-2, 1.0), 2)
    sizes = np.concatenate([[0.0], np.geomspace(1e-13, 1e12, 40)])
    shapes = [((1.0, b, a), axis) for a, b in smaller for axis in range(3)]
    variances = np.array([v for v, _ in shapes for _ in sizes])
    squares = np.array([s * np.eye(3)[axis] for _, axis in shapes for s in sizes])

    spread = float_moment(variances, np.zeros_like(squares), beta)
    exact = float_moment(variances, squares, beta) - 2 ** (beta / 2 - 1) * spread
    covariance = variances[:, :, None] * np.eye(3)
    for order in ([0, 1, 2], [1, 2, 0], [2, 1, 0]):  # every axis may be the longest
        turned = covariance[:, order][:, :, order]
        score = energy_score(np.sqrt(squares)[:, order], turned, beta=beta)
        np.testing.assert_allclose(score, exact, rtol=2e-10)


# --- closed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_isotropic_distance_is_kummers_function(d: int, beta: float) -> None:
    sigma, ratios = 0.2, (0.0, 1e-3, 0.5, 1.0, 3.0, 30.0, 1e3)
    b = mp.mpf(beta) / 2
    front = (2 * mp.mpf(sigma) ** 2) ** b * mp.gamma(mp.mpf(d) / 2 + b) / mp.gamma(mp.mpf(d) / 2)
    exact = [float(front * mp.hyp1f1(-b, mp.mpf(d) / 2, -(mp.mpf(r) ** 2) / 2)) for r in ratios]
    mean = np.array(ratios)[:, None] * sigma * np.ones(d) / np.sqrt(d)
    distance = expected_distance(mean, sigma**2 * np.eye(d), beta=beta)
    np.testing.assert_allclose(distance, exact, rtol=1e-11)


def test_one_axis_with_beta_one_is_the_crps_of_a_normal(scoringrules) -> None:
    error, sigma = np.linspace(-8, 8, 101), np.geomspace(1e-3, 1e3, 101)
    crps = scoringrules.crps_normal(0.0, error, sigma)
    score = energy_score(error[:, None], sigma[:, None, None] ** 2)
    np.testing.assert_allclose(score, crps, rtol=1e-11)


def test_isotropic_distance_in_space_is_the_erf_formula() -> None:
    r = np.geomspace(0.01, 1e6, 60)
    bell = np.sqrt(2 / np.pi) * np.exp(-(r**2) / 2)
    exact = bell + (r + 1 / r) * special.erf(r / np.sqrt(2))
    distance = expected_distance(r[:, None] * np.array([0.6, 0.0, 0.8]), np.eye(3))
    np.testing.assert_allclose(distance, exact, rtol=1e-11)


@pytest.mark.parametrize("d", [2, 3])
def test_central_distance_is_carlsons_integral(d: int) -> None:
    rng = np.random.default_rng(3)
    variances = 10.0 ** rng.uniform(-12, 0, (500, d)) * 10.0 ** rng.uniform(-12, 12, (500, 1))
    covariance = variances[:, :, None] * np.eye(d)
    padded = np.zeros((500, 3))
    padded[:, :d] = variances
    exact = 2 * np.sqrt(2 / np.pi) * special.elliprg(*padded.T)
    np.testing.assert_allclose(central_distance(covariance), exact, rtol=5e-12)
    at_centre = energy_score(np.zeros(d), covariance)
    np.testing.assert_allclose(at_centre, (1 - np.sqrt(0.5)) * exact, rtol=TOLERANCE)


@pytest.mark.parametrize("beta", BETAS)
def test_central_distance_in_the_plane_is_a_gauss_hypergeometric_function(beta: float) -> None:
    ratio, b = np.geomspace(1e-12, 1, 30), beta / 2
    exact = [2**b * special.gamma(1 + b) * float(mp.hyp2f1(-b, 0.5, 1, 1 - r)) for r in ratio]
    covariance = np.stack([ratio, np.ones_like(ratio)], -1)[:, :, None] * np.eye(2)
    np.testing.assert_allclose(central_distance(covariance, beta=beta), exact, rtol=2e-11)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_central_distance_is_the_distance_at_mean_zero(d: int, beta: float) -> None:
    covariance = np.stack([rotated(np.geomspace(1e-9, 1, d), seed)[0] for seed in range(20)])
    at_zero = expected_distance(np.zeros(d), covariance, beta=beta)
    np.testing.assert_allclose(central_distance(covariance, beta=beta), at_zero, rtol=3e-11)


# --- limits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_point_belief_scores_the_distance_itself(d: int, beta: float) -> None:
    error = np.random.default_rng(d).standard_normal((50, d)) * 1e-7
    score = energy_score(error, np.zeros((d, d)), beta=beta)
    np.testing.assert_allclose(score, np.linalg.norm(error, axis=-1) ** beta, rtol=4e-16)
    assert energy_score(np.zeros(d), np.zeros((d, d)), beta=beta) == 0


def test_a_point_belief_three_four_metres_off_scores_five_exactly() -> None:
    assert energy_score([3.0, 4.0, 0.0], np.zeros((3, 3))) == 5


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("ratio", [1e-5, 1e-8, 1e-30, 1e-100])
def test_a_nearly_certain_belief_scores_its_series_in_sigma(ratio: float, beta: float) -> None:
    """E|m + Z|^b = |m|^b + b/2 |m|^(b-2) (tr S + (b - 2) u^T S u) + O(S^2), u = m / |m|."""
    shape, _ = rotated(np.array([1.0, 0.5, 1e-3]), seed=1)
    error = np.array([1.0, 2.0, 2.0])
    covariance = shape * (3 * ratio) ** 2
    bend = np.trace(covariance) + (beta - 2) * error @ covariance @ error / 9
    first = 3**beta + beta / 2 * 3 ** (beta - 2) * bend
    exact = first - 2 ** (beta / 2 - 1) * central_distance(covariance, beta=beta)
    np.testing.assert_allclose(energy_score(error, covariance, beta=beta), exact, rtol=1e-10)


@pytest.mark.parametrize("beta", BETAS)
def test_a_belief_on_a_line_or_plane_scores_as_in_that_space(beta: float) -> None:
    rng = np.random.default_rng(5)
    flat, _ = rotated(np.array([0.2, 3.0]), seed=2)
    error = rng.standard_normal((40, 2))
    solid = np.zeros((3, 3))
    solid[1:, 1:] = flat
    in_space = energy_score(np.insert(error, 0, 0.0, axis=1), solid, beta=beta)
    np.testing.assert_allclose(in_space, energy_score(error, flat, beta=beta), rtol=1e-12)

    line = energy_score(error[:, :1], np.array([[2.0]]), beta=beta)
    on_axis = energy_score(error[:, :1] * np.array([0, 1, 0]), np.diag([0, 2.0, 0]), beta=beta)
    np.testing.assert_allclose(on_axis, line, rtol=1e-12)


@pytest.mark.parametrize(("beta", "tolerance"), [(0.1, 1e-7), (1.0, TOLERANCE), (1.9, TOLERANCE)])
def test_a_singular_covariance_with_rounded_entries_is_no_trouble(
    beta: float, tolerance: float
) -> None:
    """Error along the only axis: as on a line. The last bits of S move |Y|^0.1 by about 1e-9."""
    axis = np.random.default_rng(6).standard_normal((2000, 3))
    rank_one = axis[:, :, None] * axis[:, None, :]
    sigma = np.linalg.norm(axis, axis=-1)
    exact = energy_score(1.5 * sigma[:, None], sigma[:, None, None] ** 2, beta=beta)
    score = energy_score(1.5 * axis, rank_one, beta=beta)
    np.testing.assert_allclose(score, exact, rtol=tolerance)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("variance", [0.0, 1e-30, 1e-22, 1e-18, 1e-17])
def test_a_variance_lost_in_rounding_is_no_pivot(variance: float, order: tuple[int, ...]) -> None:
    """A line tilted by 1e-9: the short axes have variance 1e-18, and rounding may say anything."""
    axis, error = np.array([1e-9, 0.8e-9, 1.0]), np.array([1.0, 0.5, 2.0])
    covariance = np.outer(axis, axis)
    covariance[[0, 1], [0, 1]] = variance
    exchanged = covariance[np.ix_(order, order)]
    score = energy_score(error[list(order)], exchanged)
    exact = energy_score(error, np.diag([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(score, exact, rtol=TOLERANCE)


# --- laws ---------------------------------------------------------------------------------------

exponents = st.lists(st.floats(-12, 0), min_size=3, max_size=3)
betas = st.floats(0.1, 1.9)
seeds = st.integers(0, 2**32 - 1)


def belief(powers: list[float], seed: int) -> tuple[Floats, Floats]:
    """Random axes; an error between 1e-7 and 1e4 of the largest sigma, along an axis or not."""
    rng = np.random.default_rng(seed)
    covariance, turn = rotated(10.0 ** np.array(powers), seed)
    direction = turn[:, rng.integers(3)] if rng.random() < 0.5 else rng.standard_normal(3)
    return direction * 10.0 ** rng.uniform(-7, 4), covariance


@given(exponents, betas, seeds)
@settings(max_examples=60, deadline=None)
def test_turning_the_axes_changes_no_score(powers: list[float], beta: float, seed: int) -> None:
    error, covariance = belief(powers, seed)
    turn = ortho_group.rvs(3, random_state=seed + 1 if seed < 2**32 - 1 else 0)
    turned = turn @ covariance @ turn.T
    score = energy_score(turn @ error, (turned + turned.T) / 2, beta=beta)
    np.testing.assert_allclose(score, energy_score(error, covariance, beta=beta), rtol=TOLERANCE)


@given(exponents, betas, seeds, st.floats(-100, 100))
@settings(max_examples=60, deadline=None)
def test_the_unit_of_length_only_scales_the_score(
    powers: list[float], beta: float, seed: int, decades: float
) -> None:
    error, covariance = belief(powers, seed)
    unit = 10.0**decades
    score = energy_score(unit * error, unit**2 * covariance, beta=beta)
    exact = unit**beta * energy_score(error, covariance, beta=beta)
    np.testing.assert_allclose(score, exact, rtol=1e-10)


@given(exponents, betas, seeds)
@settings(max_examples=60, deadline=None)
def test_score_lies_between_its_bounds(powers: list[float], beta: float, seed: int) -> None:
    """(1 - 2^(b/2-1)) E|Z|^b <= ES <= E|Y|^b, since the distance grows with |m| (Anderson)."""
    error, covariance = belief(powers, seed)
    score = energy_score(error, covariance, beta=beta)
    floor = (1 - 2 ** (beta / 2 - 1)) * central_distance(covariance, beta=beta)
    assert floor * (1 - TOLERANCE) <= score <= expected_distance(error, covariance, beta=beta)


@given(exponents, betas, seeds)
@settings(max_examples=50, deadline=None)
def test_distance_grows_with_the_mean_and_with_the_covariance(
    powers: list[float], beta: float, seed: int
) -> None:
    mean, covariance = belief(powers, seed)
    further = expected_distance(mean * np.array([[1], [1.5], [4]]), covariance, beta=beta)
    assert np.all(np.diff(further) >= -1e-10 * further[1:])
    steps = np.array([0, 0.3, 2])[:, None, None] * np.outer(mean, mean)
    wider = central_distance(covariance + steps, beta=beta)
    assert np.all(np.diff(wider) >= -1e-10 * wider[1:])
    convex = expected_distance(mean, covariance + steps, beta=max(1.0, beta))
    assert np.all(np.diff(convex) >= -1e-10 * convex[1:])


# --- chance: Monte Carlo, propriety, uncertain reference -----------------------------------------


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5])
def test_score_agrees_with_sampling(beta: float) -> None:
    rng = np.random.default_rng(7)
    covariance, _ = rotated(np.array([0.1, 0.5, 2.0]), seed=4)
    reference, _ = rotated(np.array([0.3, 0.2, 0.1]), seed=5)
    error = np.array([0.4, -0.3, 1.1])
    draw = rng.multivariate_normal(error, covariance, 400_000)
    other = rng.multivariate_normal(error, covariance, 400_000)
    noise = rng.multivariate_normal(np.zeros(3), reference, 400_000)

    own = np.linalg.norm(draw - other, axis=-1) ** beta / 2
    plain = np.linalg.norm(draw, axis=-1) ** beta - own
    noisy = np.linalg.norm(draw - noise, axis=-1) ** beta - own
    for sample, matrix in ((plain, None), (noisy, reference)):
        score = energy_score(error, covariance, beta=beta, reference_covariance=matrix)
        assert abs(score - sample.mean()) < 4 * sample.std() / np.sqrt(len(sample))


WRONG: dict[str, Callable[[Floats, Floats], tuple[Floats, Floats]]] = {
    "overconfident": lambda e, s: (e, s / 4),
    "underconfident": lambda e, s: (e, s * 4),
    "shifted": lambda e, s: (e + np.array([0.3, 0.0, 0.0]), s),
    "turned": lambda e, s: (e, s[::-1, ::-1]),
    "round": lambda e, s: (e, np.eye(3) * np.trace(s) / 3),
}


TRUTH = np.diag([0.05, 0.3, 2.0])  # covariance of mean - t
REFERENCE = np.diag([0.04, 0.2, 0.1])
# How the reference r came to be: covariance of mean - r, what is added to S, what is S_ref
REFERENCES: dict[str, tuple[Floats, Floats, Floats | None]] = {
    "r is the truth": (TRUTH, 0 * TRUTH, None),
    "r is a measurement of t: t + noise": (TRUTH + REFERENCE, REFERENCE, None),
    "r is a belief of t that knows all: t is r + noise": (TRUTH - REFERENCE, 0 * TRUTH, REFERENCE),
}


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("wrong", WRONG)
def test_the_true_belief_scores_lower_on_average(wrong: str, beta: float, reference: str) -> None:
    spread, added, stated = REFERENCES[reference]
    error = np.random.default_rng(8).multivariate_normal(np.zeros(3), spread, 40_000)
    moved, other = WRONG[wrong](error, TRUTH)
    honest = energy_score(error, TRUTH + added, beta=beta, reference_covariance=stated)
    loss = energy_score(moved, other + added, beta=beta, reference_covariance=stated) - honest
    assert loss.mean() > 3 * loss.std() / np.sqrt(len(loss))


@pytest.mark.parametrize("beta", BETAS)
def test_noise_of_a_measured_reference_in_the_first_term_only_favours_an_inflated_belief(
    beta: float,
) -> None:
    """Averaged over r = t + noise, the first-term-only score is least at S + 2 S_ref, not at S."""

    def average(stated: Floats) -> Floats:  # E|N(0, spread of mean - r) + N(0, S + S_ref)|^b - ...
        first = central_distance(TRUTH + REFERENCE + stated + REFERENCE, beta=beta)
        return first - 2 ** (beta / 2 - 1) * central_distance(stated, beta=beta)

    inflated = average(TRUTH + 2 * REFERENCE)
    assert inflated < average(TRUTH + REFERENCE) < average(TRUTH)
    assert inflated < average(TRUTH + 3 * REFERENCE)


def test_forgetting_the_reference_noise_favours_an_inflated_belief() -> None:
    error = np.random.default_rng(9).multivariate_normal(np.zeros(3), TRUTH + REFERENCE, 40_000)
    gain = energy_score(error, TRUTH) - energy_score(error, TRUTH + REFERENCE)
    assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))


def test_reference_noise_enters_the_first_term_only() -> None:
    """One axis, beta = 1: E|N(e, v + r)| by erf, minus sqrt(v / pi)."""
    e, v, r = 0.7, 0.4, 1.3
    root = np.sqrt(2 * (v + r))
    first = root / np.sqrt(np.pi) * np.exp(-((e / root) ** 2)) + e * special.erf(e / root)
    score = energy_score([e], [[v]], reference_covariance=[[r]])
    np.testing.assert_allclose(score, first - np.sqrt(v / np.pi), rtol=1e-12)


# --- arrays -------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
def test_many_scans_score_as_each_alone_across_the_edges_of_chunks(d: int) -> None:
    rng = np.random.default_rng(10)
    n = 2 * SCANS_AT_ONCE + 3
    root = rng.standard_normal((n, d, d))
    error, covariance = rng.standard_normal((n, d)), root @ root.swapaxes(1, 2)
    score = energy_score(error, covariance)
    edges = [0, SCANS_AT_ONCE - 1, SCANS_AT_ONCE, 2 * SCANS_AT_ONCE, n - 1]
    alone = [energy_score(error[i], covariance[i]) for i in edges]
    np.testing.assert_allclose(score[edges], alone, rtol=1e-13)


def test_leading_axes_broadcast() -> None:
    rng = np.random.default_rng(11)
    error, covariance = rng.standard_normal((4, 1, 3)), np.stack([np.eye(3), 2 * np.eye(3)])
    reference = np.diag([0.1, 0.2, 0.3])
    score = energy_score(error, covariance, reference_covariance=reference)
    assert score.shape == (4, 2)
    single = energy_score(error[2, 0], covariance[1], reference_covariance=reference)
    assert single.shape == ()
    np.testing.assert_allclose(score[2, 1], single, rtol=1e-13)
    assert expected_distance(error, covariance).shape == (4, 2)
    assert central_distance(np.ones((5, 0, 3, 3))).shape == (5, 0)
    assert energy_score(np.zeros((0, 2)), np.eye(2)).shape == (0,)


def test_arguments_stay_as_they_were() -> None:
    error, covariance, reference = np.array([3.0, 1, 2]), np.diag([2.0, 5, 3]), np.eye(3)
    for array in (error, covariance, reference):
        array.flags.writeable = False
    first = energy_score(error, covariance, reference_covariance=reference)
    assert energy_score(error, covariance, reference_covariance=reference) == first


def test_only_the_lower_triangle_is_read() -> None:
    for d in (2, 3):
        covariance, _ = rotated(np.geomspace(0.1, 2, d), seed=d)
        torn = np.tril(covariance) + np.triu(np.full((d, d), 9.0), 1)
        assert energy_score(np.ones(d), torn) == energy_score(np.ones(d), covariance)
        assert central_distance(torn) == central_distance(covariance)


def test_a_scan_that_is_not_a_number_spoils_only_itself() -> None:
    error, covariance = np.ones((5, 3)), np.tile(np.eye(3), (5, 1, 1))
    error[1, 2] = covariance[3, 0, 0] = np.nan
    score = energy_score(error, covariance)
    assert np.isnan(score).tolist() == [False, True, False, True, False]
    alone = energy_score(np.ones((1, 3)), np.eye(3)[None])[0]
    np.testing.assert_allclose(score[[0, 2, 4]], alone, rtol=1e-13)


@pytest.mark.parametrize("beta", [0.0, -1.0, 2.0, 3.0, np.nan])
def test_a_power_outside_zero_to_two_is_refused(beta: float) -> None:
    for call in (energy_score, expected_distance):
        with pytest.raises(ValueError, match="0 < beta < 2"):
            call(np.zeros(3), np.eye(3), beta=beta)
    with pytest.raises(ValueError, match="0 < beta < 2"):
        central_distance(np.eye(1), beta=beta)


@pytest.mark.parametrize(
    ("error", "covariance"), [(4, (4, 4)), (3, (2, 2)), (3, (3, 2)), (3, (3,)), (0, (0, 0))]
)
def test_shapes_that_do_not_fit_are_refused(error: int, covariance: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="d = 1, 2 or 3"):
        energy_score(np.zeros(error), np.ones(covariance))


def test_nodes_left_out_matter_to_no_belief(monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest phi at E|Y|^2 = 1 belongs to a centred belief on a line."""
    long, across = np.diag([1.0, 0, 0]), np.geomspace(1e-12, 1, 50)[:, None] * np.eye(3)[1]
    pruned = expected_distance(across, long)
    monkeypatch.setattr(normal_distance, "NEGLIGIBLE", 0.0)
    normal_distance.distance_rule.cache_clear()
    full = expected_distance(across, long)
    normal_distance.distance_rule.cache_clear()
    np.testing.assert_allclose(pruned, full, rtol=2e-13)
