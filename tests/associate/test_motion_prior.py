"""The motion prior and its smoother against independent, dense and high-precision answers."""

from math import factorial

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.linalg import expm

from smfeval.associate import motion_prior
from smfeval.associate.gp import Widening, widening
from smfeval.associate.motion_prior import (
    WEAK,
    Chain,
    Instants,
    MotionPrior,
    bridge,
    filter_chain,
    filter_in_turn,
    fit_prior,
    interpolate_curve,
    prefix_sums,
    process_covariance,
    separable_chain,
    smooth_chain,
    transition,
)
from support.motion import draw

ORDERS = [2, 3]
SHAPE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 0.4]])


def irregular(n, rng, middle=0.1):
    return middle * rng.uniform(0.3, 1.9, n - 1)


def random_instants(step, count, rng):
    left = np.sort(rng.integers(0, len(step), count))
    fraction = rng.uniform(0, 1, count)
    return Instants(left, fraction * step[left], (1 - fraction) * step[left])


def wiener_kernel(s, t, order):
    """Covariance of the m-fold integral of white noise from 0: int (s-u)^(m-1) (t-u)^(m-1) du."""
    low, high = np.minimum(s, t), np.maximum(s, t)
    if order == 2:
        return low**2 * (3 * high - low) / 6
    return low**3 * (10 * high**2 - 5 * low * high + low**2) / 120


precise = np.vectorize(mpmath.mpf, otypes=[object])


def solve(matrix, right):
    """Gaussian elimination with as many digits as the numbers have; (n, n) positive definite."""
    n = len(matrix)
    rows = np.concatenate([matrix, right], axis=1)
    for k in range(n):
        rows[k, k:] = rows[k, k:] / rows[k, k]
        rows[k + 1 :, k:] = rows[k + 1 :, k:] - np.outer(rows[k + 1 :, k], rows[k, k:])
    for k in range(n - 1, 0, -1):
        rows[:k, n:] = rows[:k, n:] - np.outer(rows[:k, k], rows[k, n:])
    return rows[:, n:]


def dense_posterior(step, y, order, density, noise, at):
    """A Gaussian process by one dense solve: kernel, polynomial start, all axes stacked.

    With 50 digits: a weak start makes the kernel matrix too ill-conditioned for 16.
    """
    with mpmath.workdps(50):
        found, spread = _dense(*(precise(a) for a in (step, y, density, noise)), order, at)
        return found.astype(float), spread.astype(float)


def _dense(step, y, density, noise, order, at):
    d = y.shape[1]
    time = np.concatenate([precise([0]), np.cumsum(step)])
    time_at = time[at.left] + precise(at.before)
    powers = np.stack([time[:order] ** i / factorial(i) for i in range(order)], axis=1)
    start = solve(powers, y[:order])
    scatter = step[0] ** (2 * order - 1) / ((2 * order - 1) * factorial(order - 1) ** 2) * density
    scatter = scatter + noise[0]
    prior = [noise[0]] + [WEAK * scatter / step[0] ** (2 * i) for i in range(1, order)]

    def mean(t):
        return sum(np.outer(t**i / factorial(i), start[i]) for i in range(order))

    def covariance(s, t):
        kernel = np.kron(wiener_kernel(s[:, None], t[None], order), density)
        for i, block in enumerate(prior):
            kernel = kernel + np.kron(np.outer(s**i, t**i) / factorial(i) ** 2, block)
        return kernel

    seen, cross = time[1:], covariance(time_at, time[1:])
    whole = covariance(seen, seen)
    for k, block in enumerate(noise[1:]):
        whole[k * d : k * d + d, k * d : k * d + d] += block
    gain = solve(whole, cross.T).T
    found = mean(time_at) + (gain @ (y[1:] - mean(seen)).ravel()).reshape(-1, d)
    blocks = [
        covariance(time_at[k : k + 1], time_at[k : k + 1]) - gain[own] @ cross[own].T
        for k, own in enumerate(slice(k, k + d) for k in range(0, len(gain), d))
    ]
    return found, np.array(blocks)


@pytest.mark.parametrize("order", ORDERS)
def test_closed_forms_are_those_of_the_differential_equation(order):
    drift = np.diag(np.ones(order - 1), 1)
    last = np.eye(order)[:, -1:]
    dt = 0.37
    np.testing.assert_allclose(transition(np.array(dt), order), expm(drift * dt), rtol=1e-13)

    def grown(s):
        return expm(drift * s) @ last @ last.T @ expm(drift * s).T

    expected = quad_vec(grown, 0, dt)[0]
    np.testing.assert_allclose(process_covariance(np.array(dt), order), expected, rtol=1e-10)


@pytest.mark.parametrize("order", ORDERS)
def test_bridge_is_the_gaussian_conditional_of_both_states(order, rng):
    before, after = rng.uniform(0.1, 2.0, (2, 20))
    left, right, rest = bridge(before, after, order)
    phi, q = transition(before, order), process_covariance(before, order)
    on, whole = transition(after, order), process_covariance(before + after, order)
    gain = q @ on.swapaxes(1, 2) @ np.linalg.inv(whole)
    np.testing.assert_allclose(right, gain[:, 0], rtol=1e-8)
    expected = (phi - gain @ transition(before + after, order))[:, 0]
    np.testing.assert_allclose(left, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(rest, (q - gain @ on @ q)[:, 0, 0], rtol=1e-6)


def test_prefix_sums_are_those_of_a_loop(rng):
    for count in (1, 2, 3, 7, 8, 33):
        matrices = rng.normal(size=(count, 2, 2))
        (found,) = prefix_sums(lambda a, b: (a[0] @ b[0],), (matrices,))
        expected = [matrices[0]]
        for matrix in matrices[1:]:
            expected.append(expected[-1] @ matrix)
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("noise", [1e-6, 1e-3, 1.0])
def test_posterior_is_that_of_a_dense_process(order, noise, rng):
    step = irregular(30, rng)
    motion = MotionPrior(order, SHAPE, noise * 0.1 ** (2 * order - 1))
    y = draw(step, motion, rng)
    at = random_instants(step, 30, rng)
    mean, covariance = interpolate_curve(step, y, motion, at)

    every = np.full((30, 1, 1), motion.ratio)
    for axis in (0, 2):
        seen = y[:, axis : axis + 1]
        dense_mean, dense = dense_posterior(step, seen, order, np.eye(1), every, at)
        np.testing.assert_allclose(mean[:, axis : axis + 1], dense_mean, rtol=0, atol=1e-8)
        np.testing.assert_allclose(covariance, dense * SHAPE, rtol=1e-8)


def mp_matrix(array):
    return mpmath.matrix(array.tolist())


def exact_smoother(chain):
    """Rauch-Tung-Striebel with 60 digits, one observed number. Means and variances of position."""

    with mpmath.workdps(60):
        m, P = mp_matrix(chain.mean), mp_matrix(chain.covariance)
        states = [(m, P)]
        for phi, q, r, y in zip(
            chain.transition, chain.process, chain.noise[1:], chain.observed[1:], strict=True
        ):
            m, P = mp_matrix(phi) * m, mp_matrix(phi) * P * mp_matrix(phi).T + mp_matrix(q)
            total = P[0, 0] + mpmath.mpf(float(r[0, 0]))
            gain = P[:, 0] / total
            m, P = m + gain * (mp_matrix(y) - m[0, :]), P - gain * gain.T * total
            states.append((m, P))
        found = [states[-1]]
        for k in range(len(chain.transition) - 1, -1, -1):
            phi, (m, P) = mp_matrix(chain.transition[k]), states[k]
            ahead = phi * P * phi.T + mp_matrix(chain.process[k])
            gain = P * phi.T * ahead**-1
            later = found[-1]
            found.append((m + gain * (later[0] - phi * m), P + gain * (later[1] - ahead) * gain.T))
        return np.array([[float(m[0, 0]), float(P[0, 0])] for m, P in found[::-1]]).T


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ratio", [1e-10, 1e-3, 1e3, 1e10])
@pytest.mark.parametrize("gap", [1.0, 1e3])
def test_smoother_keeps_its_digits_whatever_the_noise_and_the_gap(order, ratio, gap, rng):
    n = 50
    step = irregular(n, rng, 1.0)
    step[20] = gap
    start = np.diag([ratio] + [1e6 * (1 + ratio)] * (order - 1))
    observed = np.cumsum(rng.normal(size=(n, 1, 1)), axis=0)
    chain = Chain(
        np.zeros((order, 1)),
        start,
        transition(step, order),
        process_covariance(step, order),
        observed,
        np.full((n, 1, 1), ratio),
    )
    states = smooth_chain(chain)
    mean, variance = exact_smoother(chain)
    np.testing.assert_allclose(states.mean[:, 0, 0], mean, atol=1e-6)
    np.testing.assert_allclose(states.covariance[:, 0, 0], variance, rtol=1e-6)


def test_innovations_of_draws_are_white_and_of_the_predicted_size(rng):
    step = irregular(4000, rng)
    motion = MotionPrior(2, np.eye(3), 1e-3)
    y = draw(step, motion, rng)
    every = np.full((4000, 1, 1), motion.ratio)
    start = np.diag([motion.ratio, 1e3])
    first = np.zeros((2, 3))
    first[0] = y[0]
    phi, q = transition(step, 2), process_covariance(step, 2)
    found = filter_in_turn(Chain(first, start, phi, q, y[:, None, :], every))
    white = found.innovation[10:, 0] / np.sqrt(found.variance[10:, None])
    assert white.var() == pytest.approx(1.0, abs=0.05)
    assert abs(np.mean(white[1:] * white[:-1])) < 0.03


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ratio", [1e-6, 1.0, 1e6])
def test_the_filter_in_turn_ends_where_the_tree_does(order, ratio, rng):
    step = irregular(40, rng, 1.0)[:, None] * [1.0, 2.0, 3.0]
    seen = rng.normal(size=(40, 3, 2)).cumsum(axis=0)
    chain = separable_chain(step, seen, order, np.array(ratio))
    last, states = filter_in_turn(chain).last, filter_chain(chain)
    np.testing.assert_allclose(last.mean[0], states.mean[-1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(last.covariance[0], states.covariance[-1], rtol=1e-6)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ratio", [1e-8, 1e-2, 1.0, 1e3, 1e5])
def test_a_few_instants_of_a_long_track_are_answered_nearby(order, ratio, rng, monkeypatch):
    step = irregular(20_000, rng)
    step[7000] = 300.0
    motion = MotionPrior(order, SHAPE, ratio * 0.1 ** (2 * order - 1))
    time = np.concatenate([[0.0], np.cumsum(step)])[:, None]
    y = 10 * np.sin(time * [0.3, 0.7, 1.1]) + 0.01 * rng.normal(size=(len(time), 3))
    left = np.unique([0, 3, 40, *rng.integers(0, len(step), 20), 6990, 7000, 7003, len(step) - 1])
    at = Instants(left, 0.3 * step[left], 0.7 * step[left])
    smoothed = []

    def smooth(chain):
        smoothed.append(len(chain.observed))
        return smooth_chain(chain)

    monkeypatch.setattr(motion_prior, "smooth_chain", smooth)
    mean, covariance = interpolate_curve(step, y, motion, at)
    assert max(smoothed) < 5000
    monkeypatch.setattr(motion_prior, "_states_around", motion_prior._states_of_all)
    whole, spread = interpolate_curve(step, y, motion, at)
    assert smoothed[-1] == len(y)
    sigma = np.sqrt(np.einsum("nii->ni", spread))
    np.testing.assert_allclose(mean / sigma, whole / sigma, rtol=0, atol=1e-5)
    np.testing.assert_allclose(covariance, spread, rtol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_without_noise_the_curve_meets_its_observations_and_is_straight_where_they_are(order):
    step = np.full(19, 0.1)
    time = 0.1 * np.arange(20)
    y = np.outer(time, [1.0, -2.0, 0.5]) + 3.0
    at = Instants(np.arange(19), np.full(19, 0.03), np.full(19, 0.07))
    mean, _ = interpolate_curve(step, y, MotionPrior(order, np.eye(3), 1e-12), at)
    np.testing.assert_allclose(mean, y[:-1] + 0.3 * np.diff(y, axis=0), atol=1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_hyperparameters_of_draws_are_recovered(order, rng):
    step = irregular(2000, rng)
    truth = MotionPrior(order, SHAPE, 0.1 ** (2 * order - 1))
    y = draw(step, truth, rng)
    found = fit_prior(step, y, order)
    np.testing.assert_allclose(np.diag(found.motion.noise), np.diag(truth.noise), rtol=0.25)
    scale = np.trace(found.motion.density) / np.trace(SHAPE)
    assert 0.6 < scale < 1.6
    np.testing.assert_allclose(found.motion.density / scale, SHAPE, atol=0.25)


@pytest.mark.parametrize("order", ORDERS)
def test_the_prior_that_made_a_curve_is_the_more_likely_one(order, rng):
    step = irregular(2000, rng)
    y = draw(step, MotionPrior(order, SHAPE, 1e-3 * 0.1 ** (2 * order - 1)), rng)
    likelihood = {m: fit_prior(step, y, m).log_likelihood for m in ORDERS}
    assert max(likelihood, key=likelihood.get) == order


def test_a_curve_in_a_plane_or_at_rest_has_no_density_across(rng):
    step = irregular(300, rng)
    y = draw(step, MotionPrior(2, SHAPE, 1e-3), rng) * [1.0, 1.0, 0.0]
    flat = fit_prior(step, y, 2).motion
    assert np.abs(flat.density[2]).max() < 1e-12
    assert flat.density[0, 0] > 0.5
    resting = fit_prior(step, np.zeros((300, 3)), 2).motion
    assert not resting.density.any()


def test_the_factor_of_draws_is_one_at_every_gap(rng):
    step = irregular(20_000, rng)
    motion = MotionPrior(2, SHAPE, 1e-4)
    y = draw(step, motion, rng)
    found = widening(step, y, motion)
    assert len(found.gap_s) == 5
    assert (np.abs(np.log(found.factor[:3])) < 0.25).all()
    assert (np.abs(np.log(found.factor)) < 0.7).all()  # 32 gaps of 32 steps hold few numbers


def test_a_prior_with_a_quarter_of_the_density_is_widened_by_four(rng):
    step = irregular(20_000, rng)
    y = draw(step, MotionPrior(2, SHAPE, 1e-4), rng)
    found = widening(step, y, MotionPrior(2, SHAPE / 4, 1e-4))
    assert found.factor[0] == pytest.approx(4.0, rel=0.25)


def test_factors_are_kept_beyond_the_gaps_that_were_measured():
    found = Widening(np.array([0.2, 0.4]), np.array([1.0, 4.0]))
    np.testing.assert_allclose(found(np.array([0.01, 0.2 * np.sqrt(2), 9.0])), [1.0, 2.0, 4.0])
