"""Exact Gaussian smoothing of a chain of states, all instants at once.

    x_0 ~ N(mean, covariance),  x_(k+1) = Phi_k x_k + N(0, Q_k),  y_k = x_k[:p] + N(0, R_k)

The filter and the smoother are prefix sums over associative elements, so a tree of vectorised
combinations replaces the loop over time: O(n) work, O(log n) calls. The results are those of the
Kalman filter and the Rauch-Tung-Striebel smoother, without approximation.

Time is the first axis; batch axes may follow. A state may have c columns (…, s, c) that share one
covariance, such as three axes of equal dynamics.

Source: Särkkä and García-Fernández, Temporal Parallelization of Bayesian Smoothers, 2021.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from smfeval.maths.arrays import Floats

Element = TypeVar("Element", bound=tuple[Floats, ...])


@dataclass(frozen=True)
class Chain:
    """A linear Gaussian chain and what was seen of it.

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


def innovations(chain: Chain) -> tuple[Floats, Floats]:
    """What each observation after the first adds to the prediction from the past, and how far.

    Returns
    -------
    innovation, covariance
        y_k - E[y_k | past], (n - 1, ..., p, c), and its covariance, (n - 1, ..., p, p).
    """
    past, seen = filter_chain(chain), chain.observed.shape[-2]
    predicted = chain.transition @ past.mean[:-1]
    spread = _sandwich(chain.transition, past.covariance[:-1]) + chain.process
    innovation = chain.observed[1:] - predicted[..., :seen, :]
    return innovation, spread[..., :seen, :seen] + chain.noise[1:]


FilterElement = tuple[Floats, Floats, Floats, Floats, Floats]
SmootherElement = tuple[Floats, Floats, Floats]


def _filter_elements(chain: Chain) -> FilterElement:
    """(A, b, C, eta, J) of each instant: p(x_k | x_(k-1), y_k) and p(y_k | x_(k-1))."""
    phi, process, seen = chain.transition, chain.process, chain.observed.shape[-2]
    observed, size = chain.observed[1:], phi.shape[-1]
    noise = chain.noise[1:]
    inverse = np.linalg.inv(process[..., :seen, :seen] + noise)
    gain = process[..., :, :seen] @ inverse
    kept = np.eye(size) - _pad_columns(gain, size)
    kept[..., :seen, :seen] = noise @ inverse  # I - Q S^-1 = R S^-1, without cancellation
    information = _transpose(phi[..., :seen, :]) @ inverse
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
    inverse = np.linalg.inv(np.eye(c_i.shape[-1]) + c_i @ j_j)
    transition = inverse @ a_i
    mean = inverse @ (b_i + c_i @ eta_j)
    spread = a_j @ (inverse @ c_i) @ _transpose(a_j) + c_j
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
    forward = a_j @ np.linalg.inv(np.eye(c_i.shape[-1]) + c_i @ j_j)
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


def _pad_columns(matrix: Floats, columns: int) -> Floats:
    """Zero columns on the right, up to a square. (..., s, p) -> (..., s, s)."""
    missing = np.zeros((*matrix.shape[:-1], columns - matrix.shape[-1]))
    return np.concatenate([matrix, missing], axis=-1)


def _stack_in_time(first: Floats, second: Floats) -> Floats:
    """Along time, batch axes broadcast."""
    batch = np.broadcast_shapes(first.shape[1:], second.shape[1:])
    parts = [np.broadcast_to(part, (len(part), *batch)) for part in (first, second)]
    return np.concatenate(parts)
