"""A curve in R^d under a motion prior: its posterior between the instants at which it was seen.

The curve is a Gaussian process whose m-th derivative is white noise of spectral density `density`
(d, d); it is seen at n instants, each time with independent noise of `ratio` times the density. So
one scalar smoother serves all axes: mean weights and variance are scalars, and the covariance is
that variance times the density. It is exact and O(n). Time is counted in median steps inside, so
that all numbers of a state are of one size.

The first state: the position is known from the first observation alone; the derivatives are those
of the polynomial through the first m observations, with a variance of WEAK times what one step of
motion and noise would give.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from smfeval.associate.kalman import Chain, SmoothedStates, innovations, smooth_chain
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.minimum import golden_section


def transition(step: Floats, order: int) -> Floats:
    """Phi(dt): Taylor's polynomial of the state. (...) -> (..., m, m)."""
    phi = np.zeros((*np.shape(step), order, order))
    for i in range(order):
        for j in range(i, order):
            phi[..., i, j] = step ** (j - i) / factorial(j - i)
    return phi


def process_covariance(step: Floats, order: int) -> Floats:
    """Q(dt): what white noise of density one adds to the state. (...) -> (..., m, m)."""
    covariance = np.empty((*np.shape(step), order, order))
    top = order - 1
    for i in range(order):
        for j in range(order):
            power = 2 * order - 1 - i - j
            below = power * factorial(top - i) * factorial(top - j)
            covariance[..., i, j] = step**power / below
    return covariance


def bridge(before: Floats, after: Floats, order: int) -> tuple[Floats, Floats, Floats]:
    """Position between two known states: p = left . x_left + right . x_right + N(0, q rest).

    The mean is the polynomial of degree 2m-1 that meets both states (two-point Hermite), the
    variance rest = (before after)^(2m-1) / (gap^(2m-1) (2m-1) (m-1)!^2) with gap = before + after.

    Parameters
    ----------
    before, after
        Time since the left state and until the right one, not both zero. (...) each.
    order
        Number m of derivatives in the state.

    Returns
    -------
    left, right
        Weights of the two states. (..., m) each.
    rest
        Variance for density one. (...).
    """
    gap = before + after
    left = _hermite(before / gap, gap, order)
    right = _hermite(after / gap, -gap, order)
    power = 2 * order - 1
    rest = (before * (after / gap)) ** power / (power * factorial(order - 1) ** 2)
    return left, right, rest


def _hermite(fraction: Floats, gap: Floats, order: int) -> Floats:
    """Weights of the near state: gap^i u^i/i! (1-u)^m sum_(j<m-i) C(m-1+j, j) u^j. -> (..., m)."""
    weight = np.empty((*np.shape(fraction), order))
    for i in range(order):
        series = sum(comb(order - 1 + j, j) * fraction**j for j in range(order - i))
        weight[..., i] = (gap * fraction) ** i / factorial(i) * (1 - fraction) ** order * series
    return weight


WEAK = 1e6  # times the variance of one step: changes the first states by a millionth
STILL = 1e-12  # of the largest eigenvalue of the density: an axis with less does not move


@dataclass(frozen=True)
class MotionPrior:
    """Hyperparameters of a motion prior.

    Parameters
    ----------
    order
        Number m of derivatives in the state: 2 for white noise on acceleration, 3 on jerk.
    density
        Power spectral density of the m-th derivative, unit^2 / s^(2m-1). (d, d).
    ratio
        Observation noise = ratio * density, in s^(2m-1).
    """

    order: int
    density: Floats
    ratio: float

    @property
    def noise(self) -> Floats:
        """Covariance of one observation's noise. (d, d)."""
        return self.ratio * self.density


@dataclass(frozen=True)
class Instants:
    """Instants between observations: after observation `left`, by `before` s, `after` s to go."""

    left: Ints
    before: Floats
    after: Floats

    def in_units(self, unit: float) -> "Instants":
        """The same instants with time counted in units of so many seconds."""
        return Instants(self.left, self.before / unit, self.after / unit)


def interpolate_curve(
    step: Floats, observed: Floats, motion: MotionPrior, at: Instants
) -> tuple[Floats, Floats]:
    """Posterior mean and covariance of the curve at instants between its observations.

    Parameters
    ----------
    step
        Seconds between neighbouring observations, positive. (n - 1,).
    observed
        The curve as it was seen. (n, d).
    motion
        Prior and noise.
    at
        Instants. (q,).

    Returns
    -------
    mean, covariance
        (q, d), (q, d, d).
    """
    mean, variance = interpolate_separable(step, observed, motion, at)
    return mean, variance[:, None, None] * motion.density


def interpolate_separable(
    step: Floats, observed: Floats, motion: MotionPrior, at: Instants
) -> tuple[Floats, Floats]:
    """Posterior mean, and variance in units of the density. Batch axes follow time.

    (n - 1, ...), (n, ..., d), instants (q, ...) with `left` (q,) -> (q, ..., d), (q, ...).
    """
    unit, power = float(np.median(step)), 2 * motion.order - 1
    ratio = np.array(motion.ratio / unit**power)
    chain = separable_chain(step / unit, observed, motion.order, ratio)
    mean, variance = _interpolate_between(
        smooth_chain(chain), at.in_units(unit), motion.order, np.eye(1)
    )
    return mean[..., 0, :], unit**power * variance[..., 0, 0]


def separable_chain(step: Floats, observed: Floats, order: int, ratio: Floats) -> Chain:
    """One scalar chain for all axes, in units of the density.

    Batch axes follow time: (n - 1, ...), (n, ..., d) and ratio (...).
    """
    batch = np.broadcast_shapes(step.shape[1:], np.shape(ratio))
    step = np.broadcast_to(step, (len(step), *batch))
    dimension = observed.shape[-1]
    seen = np.broadcast_to(observed, (len(observed), *batch, dimension))
    noise = np.broadcast_to(ratio, (len(observed), *batch))[..., None, None]
    return _chain(step, seen[..., None, :], order, np.eye(1), noise)


def _chain(step: Floats, seen: Floats, order: int, density: Floats, noise: Floats) -> Chain:
    """The chain of observations (n, ..., p, c) with density (p, p), noise (n, ..., p, p)."""
    axes = density.shape[-1]
    phi = _kron(transition(step, order), np.eye(axes))
    process = _kron(process_covariance(step, order), density)
    mean = _first_derivatives(step[: order - 1], seen[:order])
    reach = step[0][..., None, None]
    scatter = process[0, ..., :axes, :axes] + noise[0]
    covariance = np.zeros(phi.shape[1:])
    covariance[..., :axes, :axes] = noise[0]
    for i in range(1, order):
        block = slice(i * axes, (i + 1) * axes)
        covariance[..., block, block] = WEAK * scatter / reach ** (2 * i)
    return Chain(mean, covariance, phi, process, seen, noise)


def _first_derivatives(step: Floats, seen: Floats) -> Floats:
    """State of the polynomial through the first m observations. (m-1, ...), (m, ..., p, c)."""
    order = len(seen)
    time = np.concatenate([np.zeros((1, *step.shape[1:])), np.cumsum(step, axis=0)])
    taylor = transition(time, order)[..., 0, :]  # row k: 1, t_k, t_k^2 / 2
    values = np.moveaxis(seen, 0, -3)
    flat = values.reshape(*values.shape[:-2], -1)
    derivatives = np.linalg.solve(np.moveaxis(taylor, 0, -2), flat)
    return np.asarray(derivatives, dtype=np.float64).reshape(
        *values.shape[:-3], -1, values.shape[-1]
    )


def _interpolate_between(
    states: SmoothedStates, at: Instants, order: int, density: Floats
) -> tuple[Floats, Floats]:
    """Position between neighbouring smoothed states. -> (q, p, c), (q, p, p)."""
    eye = np.eye(len(density))
    left, right, rest = bridge(at.before, at.after, order)
    left, right = _kron(left[..., None, :], eye), _kron(right[..., None, :], eye)
    i, j = at.left, at.left + 1
    mean = left @ states.mean[i] + right @ states.mean[j]
    mixed = left @ states.cross[i] @ np.swapaxes(right, -1, -2)
    covariance = left @ states.covariance[i] @ np.swapaxes(left, -1, -2)
    covariance += right @ states.covariance[j] @ np.swapaxes(right, -1, -2)
    covariance += mixed + np.swapaxes(mixed, -1, -2) + rest[..., None, None] * density
    return mean, 0.5 * (covariance + np.swapaxes(covariance, -1, -2))


def principal_axes(density: Floats) -> tuple[Floats, Floats]:
    """Orthonormal axes that move and axes that do not. (d, d) -> (d, r), (d, d - r)."""
    variance, axes = np.linalg.eigh(density)
    moves = variance > STILL * variance[-1]
    return axes[:, moves], axes[:, ~moves]


def _kron(matrix: Floats, block: Floats) -> Floats:
    """Kronecker product over leading axes. (..., a, b), (p, p) -> (..., a p, b p)."""
    if block.shape == (1, 1):
        return matrix * block[0, 0]
    product = matrix[..., :, None, :, None] * block[:, None, :]
    rows, columns = matrix.shape[-2] * block.shape[0], matrix.shape[-1] * block.shape[1]
    return product.reshape(*matrix.shape[:-2], rows, columns)


WINDOWS = 16
WINDOW = 129  # observations; 16 windows of it are filtered in some 10 ms
SKIPPED = 3  # innovations that the weak prior of the first state dominates, for any order
LEAST_OBSERVATIONS = 12  # fewer cannot tell motion from noise

# Noise over the motion of one step, both as variances: below the lowest, noise does not show;
# above the highest, hundreds of observations are averaged and motion does not show.
LOG10_RATIOS = np.arange(-8.0, 10.1, 2.0)
TRIES = 12  # to 0.02 in log10 of the ratio, less than its error from 2000 observations


@dataclass(frozen=True)
class PriorFit:
    """A motion prior, its log likelihood per observation (0 for a curve that does not move)."""

    motion: MotionPrior
    log_likelihood: float


def windows(count: int, most: int = WINDOWS) -> Ints:
    """Index of the observations in windows spread over a curve. -> (length, windows)."""
    length = min(count, WINDOW)
    many = min(most, max(1, count // length))
    start = np.linspace(0, count - length, many).round().astype(np.int64)
    return np.arange(length)[:, None] + start


def fit_prior(step: Floats, observed: Floats, order: int) -> PriorFit:
    """Density and noise ratio of a curve. (n - 1,), (n, d)."""
    index = windows(len(observed))
    unit = float(np.median(step))  # time in steps, so that numbers are near one
    steps, seen = step[index[:-1]] / unit, observed[index]
    axes = moving_axes(seen)
    if axes.shape[1] == 0:
        return PriorFit(MotionPrior(order, np.zeros((observed.shape[1],) * 2), 0.0), 0.0)

    def cost(log10_ratio: Floats) -> Floats:
        return _profile(steps, seen @ axes, order, 10.0**log10_ratio)[0]

    ratio = 10.0 ** _minimise(cost, LOG10_RATIOS)
    least, density = _profile(steps, seen @ axes, order, np.array([ratio]))
    power = 2 * order - 1
    whole = axes @ density[0] @ axes.T / unit**power
    motion = MotionPrior(order, 0.5 * (whole + whole.T), ratio * unit**power)
    return PriorFit(motion, -0.5 * float(least[0]))


def moving_axes(seen: Floats) -> Floats:
    """Orthonormal axes along which the curve moves at all. (..., d) -> (d, r)."""
    away = np.diff(seen, axis=0).reshape(-1, seen.shape[-1])
    return principal_axes(away.T @ away)[0] if away.any() else np.empty((seen.shape[-1], 0))


def _profile(step: Floats, seen: Floats, order: int, ratio: Floats) -> tuple[Floats, Floats]:
    """-2 log likelihood per observation at the best density, and that density. (g,), (g, r, r)."""
    chain = separable_chain(step[..., None], seen[..., None, :], order, ratio)
    innovation, variance = innovations(chain)
    whitened = innovation[SKIPPED - 1 :, ..., 0, :] / np.sqrt(variance[SKIPPED - 1 :, ..., 0, :])
    count, axes = whitened.shape[0] * whitened.shape[1], seen.shape[-1]
    density = np.einsum("nwgi,nwgj->gij", whitened, whitened) / count
    logarithm = np.log(variance[SKIPPED - 1 :, ..., 0, 0]).mean(axis=(0, 1))
    size = np.linalg.slogdet(density)[1]
    return axes * (logarithm + 1 + np.log(2 * np.pi)) + size, density


def _minimise(cost: Callable[[Floats], Floats], grid: Floats) -> float:
    """Where a function of one number is least: the best of a grid, refined between neighbours."""
    best = int(np.argmin(cost(grid)))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    return golden_section(lambda x: float(cost(np.array([x]))[0]), low, high, TRIES)
