"""A curve in R^d under a motion prior: its posterior between the instants at which it was seen.

The curve is a Gaussian process whose m-th derivative is white noise of spectral density `density`
(d, d); it is seen at n instants, each time with independent noise of `ratio` times the density. So
one scalar smoother serves all axes: mean weights and variance are scalars, and the covariance is
that variance times the density. It is exact and O(n). Time is counted in median steps inside, so
that all numbers of a state are of one size.

The first state: the position is known from the first observation alone; the derivatives are those
of the polynomial through the first m observations, with a variance of WEAK times what one step of
motion and noise would give.

The chain of states is smoothed exactly, all instants at once: filter and smoother are prefix
sums over associative elements, so a tree of vectorised combinations replaces the loop over time:
O(n) work, O(log n) calls. The results are those of the Kalman filter and the Rauch-Tung-Striebel
smoother, without approximation (Särkkä and García-Fernández, Temporal Parallelization of Bayesian
Smoothers, 2021).
"""

from collections.abc import Callable
from dataclasses import replace
from math import comb, factorial
from typing import TypeVar

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Floats, Ints, inverse

Element = TypeVar("Element", bound=tuple[Floats, ...])


@dataclass(frozen=True)
class Chain:
    """A linear Gaussian chain and what was seen of it.

    x_0 ~ N(mean, covariance), x_(k+1) = Phi_k x_k + N(0, Q_k), y_k = x_k[:p] + N(0, R_k). Time is
    the first axis; batch axes may follow. A state may have c columns (..., s, c) that share one
    covariance, such as three axes of equal dynamics.

    Parameters
    ----------
    mean, covariance
        Of the state at the first instant, given the first observation. (..., s, c), (..., s, s).
    transition, process
        Phi and Q of each step. (n - 1, ..., s, s) each.
    observed, noise
        The first p numbers of the state, with covariance R. (n, ..., p, c), (n, ..., p, p);
        those of the first instant are in `mean` and are not used again.
    """

    mean: Floats
    covariance: Floats
    transition: Floats
    process: Floats
    observed: Floats
    noise: Floats


@dataclass(frozen=True)
class States:
    """Mean (n, ..., s, c) and covariance (n, ..., s, s) of each state."""

    mean: Floats
    covariance: Floats


@dataclass(frozen=True)
class SmoothedStates(States):
    """States given all observations; `cross` is Cov(x_k, x_(k+1)). (n - 1, ..., s, s)."""

    cross: Floats


def prefix_sums(
    combine: Callable[[Element, Element], Element],
    elements: Element,
    onto: Callable[[Element, Element], Element] | None = None,
) -> Element:
    """e_0, e_0 * e_1, e_0 * e_1 * e_2, ... of an associative product, by a balanced tree.

    `onto` may be a cheaper product for a left factor that is itself such a sum.
    """
    onto, count = onto or combine, len(elements[0])
    if count == 1:
        return elements
    even, odd = _every_other(elements, 0, count - count % 2), _every_other(elements, 1, count)
    pairs = prefix_sums(combine, combine(even, odd), onto)
    sums = tuple(np.empty_like(part) for part in elements)
    later = onto(_every_other(pairs, 0, (count - 1) // 2, 1), _every_other(elements, 2, count))
    for total, part, pair, rest in zip(sums, elements, pairs, later, strict=True):
        total[0], total[1::2], total[2::2] = part[0], pair, rest
    return sums  # type: ignore[return-value]


def _every_other(elements: Element, start: int, stop: int, step: int = 2) -> Element:
    return tuple(part[start:stop:step] for part in elements)  # type: ignore[return-value]


def filter_chain(chain: Chain) -> States:
    """Each state given the observations up to its own instant: the Kalman filter."""
    elements = _filter_elements(chain)
    _, mean, covariance, _, _ = prefix_sums(_filter_product, elements, _filter_update)
    return States(mean, covariance)


def smooth_chain(chain: Chain) -> SmoothedStates:
    """Each state given all observations: the Rauch-Tung-Striebel smoother."""
    states = filter_chain(chain)
    gain, mean, covariance = _smoother_elements(chain, states)
    backwards = (gain[::-1], mean[::-1], covariance[::-1])
    _, mean, covariance = prefix_sums(_smoother_product, backwards)
    mean, covariance = mean[::-1], covariance[::-1]
    return SmoothedStates(mean, covariance, gain[:-1] @ covariance[1:])


@dataclass(frozen=True)
class Filtered:
    """What a Kalman filter meets on its way, and the states where it ends.

    `innovation` y_k - E[y_k | past] (n - 1, ..., 1, c) has the variance `variance` (n - 1, ...).
    """

    innovation: Floats
    variance: Floats
    last: States  # one instant, the last. (1, ..., s, c), (1, ..., s, s)


def filter_in_turn(chain: Chain) -> Filtered:
    """The Kalman filter one instant after the other: the least work for many short chains.

    The batch is the last axis inside, where numpy is fast. One number is seen, p = 1.
    """
    phi, process, noise, observed = (
        _batch_last(part) for part in (chain.transition, chain.process, chain.noise, chain.observed)
    )
    mean, spread = (_batch_last(part[None])[0] for part in (chain.mean, chain.covariance))
    spread = np.broadcast_to(spread, (*spread.shape[:2], mean.shape[-1]))
    innovation, variance = np.empty_like(observed[1:]), np.empty((len(phi), mean.shape[-1]))
    for k in range(len(phi)):
        mean = np.einsum("ijb,jcb->icb", phi[k], mean)
        moved = np.einsum("ijb,jkb->ikb", phi[k], spread)
        spread = np.einsum("ikb,jkb->ijb", moved, phi[k]) + process[k]
        doubt = noise[k + 1, 0, 0]
        variance[k] = spread[0, 0] + doubt
        innovation[k] = observed[k + 1] - mean[:1]
        gain = spread[0] / variance[k]
        mean = mean + gain[:, None] * innovation[k]
        # (I - K H) P (I - K H)^T + R K K^T, with 1 - K_0 = R / S: nothing cancels
        half = spread - gain[:, None] * spread[0]
        half[0] = doubt / variance[k] * spread[0]
        spread = half - half[:, :1] * gain
        spread[:, 0] = half[:, 0] * (doubt / variance[k])
        spread += (doubt * gain)[:, None] * gain
    batch = chain.mean.shape[:-2]
    last = States(_batch_first(mean[None], batch), _batch_first(spread[None], batch))
    return Filtered(_batch_first(innovation, batch), variance.reshape(-1, *batch), last)


def _batch_last(array: Floats) -> Floats:
    """(n, ..., i, j) -> (n, i, j, b), the batch axes as one."""
    flat = array.reshape(len(array), -1, *array.shape[-2:])
    return np.ascontiguousarray(np.moveaxis(flat, 1, -1))


def _batch_first(array: Floats, batch: tuple[int, ...]) -> Floats:
    return np.moveaxis(array, -1, 1).reshape(len(array), *batch, *array.shape[1:3])


FilterElement = tuple[Floats, Floats, Floats, Floats, Floats]
SmootherElement = tuple[Floats, Floats, Floats]


def _filter_elements(chain: Chain) -> FilterElement:
    """(A, b, C, eta, J) of each instant: p(x_k | x_(k-1), y_k) and p(y_k | x_(k-1))."""
    phi, process, seen = chain.transition, chain.process, chain.observed.shape[-2]
    observed, size = chain.observed[1:], phi.shape[-1]
    noise = chain.noise[1:]
    back = inverse(process[..., :seen, :seen] + noise)
    gain = process[..., :, :seen] @ back
    kept = np.zeros((*gain.shape[:-1], size)) + np.eye(size)
    kept[..., :seen] -= gain
    kept[..., :seen, :seen] = noise @ back  # I - Q S^-1 = R S^-1, without cancellation
    information = _transpose(phi[..., :seen, :]) @ back
    later = (
        kept @ phi,
        gain @ observed,
        _sandwich(kept, process) + _sandwich(gain, noise),
        information @ observed,
        information @ phi[..., :seen, :],
    )
    nothing = np.zeros_like(chain.covariance)
    first = (nothing, chain.mean, chain.covariance, np.zeros_like(chain.mean), nothing)
    return tuple(_stack_in_time(a[None], b) for a, b in zip(first, later, strict=True))  # type: ignore[return-value]


def _filter_product(i: FilterElement, j: FilterElement) -> FilterElement:
    """First i, then j (lemma 8 of the source, with one inverse: M = I + C_i J_j)."""
    (a_i, b_i, c_i, eta_i, j_i), (a_j, b_j, c_j, eta_j, j_j) = i, j
    between = inverse(np.eye(c_i.shape[-1]) + c_i @ j_j)
    transition = between @ a_i
    mean = between @ (b_i + c_i @ eta_j)
    spread = a_j @ (between @ c_i) @ _transpose(a_j) + c_j
    back = _transpose(a_i)
    information = back @ j_j @ transition + j_i
    return (
        a_j @ transition,
        a_j @ mean + b_j,
        0.5 * (spread + _transpose(spread)),
        back @ (eta_j - j_j @ mean) + eta_i,
        0.5 * (information + _transpose(information)),
    )


def _filter_update(i: FilterElement, j: FilterElement) -> FilterElement:
    """As the product, for an i that starts at the first instant: only mean and covariance count."""
    (a_i, b_i, c_i, eta_i, j_i), (a_j, b_j, c_j, eta_j, j_j) = i, j
    forward = a_j @ inverse(np.eye(c_i.shape[-1]) + c_i @ j_j)
    spread = forward @ c_i @ _transpose(a_j) + c_j
    mean = forward @ (b_i + c_i @ eta_j) + b_j
    return a_i, mean, 0.5 * (spread + _transpose(spread)), eta_i, j_i


def _smoother_elements(chain: Chain, states: States) -> SmootherElement:
    """(E, g, L) of each instant: x_k = E x_(k+1) + g + N(0, L), given the past."""
    phi, process = chain.transition, chain.process
    mean, covariance = states.mean[:-1], states.covariance[:-1]
    moved = phi @ covariance
    predicted = moved @ _transpose(phi) + process
    gain = _transpose(np.asarray(np.linalg.solve(predicted, moved), dtype=np.float64))
    kept = np.eye(phi.shape[-1]) - gain @ phi
    spread = _sandwich(kept, covariance) + _sandwich(gain, process)
    return (
        _stack_in_time(gain, np.zeros_like(states.covariance[-1:])),
        _stack_in_time(kept @ mean, states.mean[-1:]),
        _stack_in_time(spread, states.covariance[-1:]),
    )


def _smoother_product(later: SmootherElement, earlier: SmootherElement) -> SmootherElement:
    """The earlier state as a function of what the later one depends on."""
    gain, mean, covariance = earlier
    return gain @ later[0], gain @ later[1] + mean, _sandwich(gain, later[2]) + covariance


def _sandwich(matrix: Floats, covariance: Floats) -> Floats:
    product = matrix @ covariance @ _transpose(matrix)
    return 0.5 * (product + _transpose(product))


def _transpose(matrix: Floats) -> Floats:
    return np.swapaxes(matrix, -1, -2)


def _stack_in_time(first: Floats, second: Floats) -> Floats:
    """Along time, batch axes broadcast."""
    batch = np.broadcast_shapes(first.shape[1:], second.shape[1:])
    parts = [np.broadcast_to(part, (len(part), *batch)) for part in (first, second)]
    return np.concatenate(parts)


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
    states = _states_around(SeenCurve(step / unit, observed, motion.order, ratio), at.left)
    early, late = (States(states.mean[k], states.covariance[k]) for k in (0, 1))

    left, right, rest = bridge(at.before / unit, at.after / unit, motion.order)
    left, right = left[..., None, :], right[..., None, :]
    mean = left @ early.mean + right @ late.mean
    mixed = left @ states.cross[0] @ _transpose(right)
    variance = left @ early.covariance @ _transpose(left)
    variance += right @ late.covariance @ _transpose(right)
    variance += mixed + _transpose(mixed) + rest[..., None, None]
    return mean[..., 0, :], unit**power * variance[..., 0, 0]


FIRST_REACH = 32  # observations: without noise a filter has forgotten its start by then
NEARBY_COST = 0.2  # of an observation nearby, beside one of a track that is smoothed as a whole
FORGOTTEN = 1e-12  # of the variance of a state: so little of it may come from the start


@dataclass(frozen=True)
class SeenCurve:
    """What `separable_chain` is made of."""

    step: Floats
    observed: Floats
    order: int
    ratio: Floats

    def __len__(self) -> int:
        return len(self.observed)

    def __getitem__(self, part: slice) -> "SeenCurve":
        """Neighbouring observations."""
        seen = self.observed[part]
        step = self.step[part.start : (part.start or 0) + len(seen) - 1]
        return SeenCurve(step, seen, self.order, self.ratio)

    @property
    def chain(self) -> Chain:
        """The chain of its states."""
        return separable_chain(self.step, self.observed, self.order, self.ratio)


def _states_around(curve: SeenCurve, left: Ints) -> SmoothedStates:
    """States at the observations `left` and at those after them. (2, q, ..., m, c).

    Where few are asked of one long track, by the observations nearby that are not forgotten.
    """
    reach = FIRST_REACH
    while curve.step.ndim == 1 and max(4.0, NEARBY_COST * len(left)) * reach < len(curve):
        found = _states_nearby(curve, left, reach)
        if found is not None:
            return found
        reach *= 2
    return _states_of_all(curve, left)


def _states_of_all(curve: SeenCurve, left: Ints) -> SmoothedStates:
    states, both = smooth_chain(curve.chain), np.stack([left, left + 1])
    return SmoothedStates(states.mean[both], states.covariance[both], states.cross[left][None])


def _states_nearby(curve: SeenCurve, left: Ints, reach: int) -> SmoothedStates | None:
    """By `reach` observations on either side; None where a filter has not forgotten its start.

    One filter comes up to `left`, another back in time to `left` + 1, and the step between them
    is a chain of two. At the ends of the track all states are smoothed.
    """
    step, order, at_end = curve.step, curve.order, 2 * reach + 3
    first, last = left < reach, left > len(step) - 1 - reach
    between = left[~(first | last)]
    back, ahead = np.arange(-reach, 1)[:, None], np.arange(reach + 1, 0, -1)[:, None]
    way = np.concatenate([back + between, ahead + between], axis=1)
    steps = np.concatenate([step[(back + between)[:-1]], step[(ahead + between)[1:]]], axis=1)
    ends = _forgetful_ends(SeenCurve(steps, curve.observed[way], order, curve.ratio).chain)
    if ends is None:
        return None
    past, future = slice(0, len(between)), slice(len(between), None)
    mirror = (-1.0) ** np.arange(order)  # odd derivatives, seen back in time
    seen = mirror[:, None] * ends.mean[:, future]
    doubt = np.outer(mirror, mirror) * ends.covariance[:, future]
    middle = Chain(
        ends.mean[0, past],
        ends.covariance[0, past],
        transition(step[between], order)[None],
        process_covariance(step[between], order)[None],
        np.concatenate([seen, seen]),
        np.concatenate([doubt, doubt]),
    )
    offset = len(curve) - at_end
    parts = (
        _states_of_all(curve[:at_end], left[first]),
        smooth_chain(middle),
        _states_of_all(curve[offset:], left[last] - offset),
    )
    names = "mean", "covariance", "cross"
    joined = (np.concatenate([getattr(part, name) for part in parts], axis=1) for name in names)
    return SmoothedStates(*joined)


def _forgetful_ends(chain: Chain) -> States | None:
    """The states where filters end; None where their starts are still seen there.

    Columns that start at the unit vectors and see zeros are what is left of a start.
    """
    columns, size = chain.mean.shape[-1], chain.mean.shape[-2]
    units = np.broadcast_to(np.eye(size), chain.covariance.shape)
    nothing = np.zeros((*chain.observed.shape[:-1], size))
    both = replace(
        chain,
        mean=np.concatenate([chain.mean, units], axis=-1),
        observed=np.concatenate([chain.observed, nothing], axis=-1),
    )
    last = filter_in_turn(both).last
    kept = np.einsum("...ii->...i", _sandwich(last.mean[..., columns:], chain.covariance))
    own = np.einsum("...ii->...i", last.covariance)
    return None if (kept > FORGOTTEN * own).any() else replace(last, mean=last.mean[..., :columns])


def separable_chain(step: Floats, observed: Floats, order: int, ratio: Floats) -> Chain:
    """One scalar chain for all axes, in units of the density.

    Batch axes follow time: (n - 1, ...), (n, ..., d) and ratio (...).
    """
    batch = np.broadcast_shapes(step.shape[1:], np.shape(ratio))
    step = np.broadcast_to(step, (len(step), *batch))
    seen = np.broadcast_to(observed, (len(observed), *batch, observed.shape[-1]))[..., None, :]
    noise = np.broadcast_to(ratio, (len(observed), *batch))
    phi, process = transition(step, order), process_covariance(step, order)
    covariance = np.zeros(phi.shape[1:])
    covariance[..., 0, 0] = noise[0]
    for i in range(1, order):
        covariance[..., i, i] = WEAK * (process[0, ..., 0, 0] + noise[0]) / step[0] ** (2 * i)
    # the state of the polynomial through the first m observations
    time = np.concatenate([np.zeros((1, *batch)), np.cumsum(step[: order - 1], axis=0)])
    taylor = transition(time, order)[..., 0, :]  # row k: 1, t_k, t_k^2 / 2
    values = np.moveaxis(seen[:order, ..., 0, :], 0, -2)
    mean = np.asarray(np.linalg.solve(np.moveaxis(taylor, 0, -2), values), dtype=np.float64)
    return Chain(mean, covariance, phi, process, seen, noise[..., None, None])


def principal_axes(density: Floats) -> tuple[Floats, Floats]:
    """Orthonormal axes that move and axes that do not. (d, d) -> (d, r), (d, d - r)."""
    variance, axes = np.linalg.eigh(density)
    moves = variance > STILL * variance[-1]
    return axes[:, moves], axes[:, ~moves]


WINDOWS = 16
WINDOW = 129  # observations; 16 windows of it are filtered in some 10 ms
SKIPPED = 3  # innovations that the weak prior of the first state dominates, for any order
LEAST_OBSERVATIONS = 12  # fewer cannot tell motion from noise

# Noise over the motion of one step, both as variances: below the lowest, noise does not show;
# above the highest, hundreds of observations are averaged and motion does not show.
LOG10_RATIOS = np.arange(-8.0, 10.1, 2.0)
NARROWINGS, FINER = 4, 9  # to 0.01 in log10, less than the error of it from 2000 observations


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

    grid = LOG10_RATIOS  # one likelihood of several ratios takes hardly longer than of one
    for _ in range(NARROWINGS):
        best = int(np.argmin(cost(grid)))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], FINER)
    ratio = 10.0 ** grid[[np.argmin(cost(grid))]]
    least, density = _profile(steps, seen @ axes, order, ratio)
    power = 2 * order - 1
    whole = axes @ density[0] @ axes.T / unit**power
    motion = MotionPrior(order, 0.5 * (whole + whole.T), float(ratio[0]) * unit**power)
    return PriorFit(motion, -0.5 * float(least[0]))


def moving_axes(seen: Floats) -> Floats:
    """Orthonormal axes along which the curve moves at all. (..., d) -> (d, r)."""
    away = np.diff(seen, axis=0).reshape(-1, seen.shape[-1])
    return principal_axes(away.T @ away)[0] if away.any() else np.empty((seen.shape[-1], 0))


def _profile(step: Floats, seen: Floats, order: int, ratio: Floats) -> tuple[Floats, Floats]:
    """-2 log likelihood per observation at the best density, and that density. (g,), (g, r, r)."""
    chain = separable_chain(step[..., None], seen[..., None, :], order, ratio)
    found = filter_in_turn(chain)
    innovation, variance = found.innovation[SKIPPED - 1 :, ..., 0, :], found.variance[SKIPPED - 1 :]
    whitened = innovation / np.sqrt(variance)[..., None]
    count, axes = whitened.shape[0] * whitened.shape[1], seen.shape[-1]
    density = np.einsum("nwgi,nwgj->gij", whitened, whitened) / count
    logarithm = np.log(variance).mean(axis=(0, 1))
    size = np.linalg.slogdet(density)[1]
    return axes * (logarithm + 1 + np.log(2 * np.pi)) + size, density
