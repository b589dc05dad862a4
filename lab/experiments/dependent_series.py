"""Dependent series whose answer is known: what the intervals are judged on.

`rho` is the memory: the lag-one correlation of the AR(1) inside, the modulus of the AR(2) roots,
the second eigenvalue of the regime chain. Series come as rows, (replications, n).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri
from scipy.stats import chi2

from smfeval.maths.arrays import Floats

Simulate = Callable[[int, int, float, np.random.Generator], Floats]


@dataclass(frozen=True)
class Family:
    """A kind of series: how to draw it and what is true of it."""

    name: str
    simulate: Simulate
    mean: float
    rms: float
    quantile: Callable[[float], float]


def ar1(rows: int, n: int, rho: float, rng: np.random.Generator) -> Floats:
    """Stationary AR(1) with unit variance."""
    shock = rng.standard_normal((rows, n))
    shock[:, 1:] *= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], shock, axis=-1)


def ar2(first: complex, second: complex) -> Simulate:
    """AR(2) with unit variance whose roots are rho * first and second (rho * second if complex)."""

    def simulate(rows: int, n: int, rho: float, rng: np.random.Generator) -> Floats:
        other = second if second.imag == 0 else rho * second
        a, b = (rho * first + other).real, -(rho * first * other).real
        burn = int(min(5 / (1 - rho), 3000))
        shock = rng.standard_normal((rows, n + burn))
        variance = (1 - b) / ((1 + b) * ((1 - b) ** 2 - a**2))
        return lfilter([1.0], [1.0, -a, -b], shock, axis=-1)[:, burn:] / np.sqrt(variance)

    return simulate


def oscillation(period: int) -> Simulate:
    """AR(2) that swings with a period in scans and fades with rho per scan."""
    root = np.exp(2j * np.pi / period)
    return ar2(root, root.conjugate())


def nees(rows: int, n: int, rho: float, rng: np.random.Generator) -> Floats:
    """Sum of the squares of three AR(1): chi2 with three degrees of freedom."""
    return np.sum([ar1(rows, n, rho, rng) ** 2 for _ in range(3)], axis=0)


def noisy(noise: float) -> Simulate:
    """AR(1) plus white noise of a given standard deviation."""

    def simulate(rows: int, n: int, rho: float, rng: np.random.Generator) -> Floats:
        return ar1(rows, n, rho, rng) + noise * rng.standard_normal((rows, n))

    return simulate


def regimes(share: float) -> Simulate:
    """White noise whose mean is 2 for a share of the time, 0 otherwise; stays with memory rho."""

    def simulate(rows: int, n: int, rho: float, rng: np.random.Generator) -> Floats:
        renewed = rng.random((rows, n)) >= rho
        renewed[:, 0] = True
        since = np.maximum.accumulate(np.where(renewed, np.arange(n), 0), axis=-1)
        state = np.take_along_axis(rng.random((rows, n)) < share, since, axis=-1)
        return 2.0 * state + rng.standard_normal((rows, n))

    return simulate


def _normal(scale: float) -> Callable[[float], float]:
    return lambda p: scale * float(ndtri(p))


def _two_regimes(share: float) -> Callable[[float], float]:
    def excess(x: float, p: float) -> float:
        return (1 - share) * float(ndtr(x)) + share * float(ndtr(x - 2)) - p

    return lambda p: brentq(excess, -9, 9, args=(p,))


FAMILIES = {
    family.name: family
    for family in (
        Family("AR(1)", ar1, 0, 1, _normal(1)),
        Family("NEES-like", nees, 3, np.sqrt(15), lambda p: float(chi2.ppf(p, 3))),
        Family(
            "log-normal",
            lambda *how: np.exp(ar1(*how)),
            np.exp(0.5),
            np.e,
            lambda p: float(np.exp(ndtri(p))),
        ),
        Family("AR(1) + noise 4:1", noisy(0.5), 0, np.sqrt(1.25), _normal(np.sqrt(1.25))),
        Family("AR(1) + noise 1:1", noisy(1.0), 0, np.sqrt(2), _normal(np.sqrt(2))),
        Family("AR(2), roots rho and 0.5", ar2(1, 0.5 + 0j), 0, 1, _normal(1)),
        Family("AR(2), period 20", oscillation(20), 0, 1, _normal(1)),
        Family("AR(2), period 100", oscillation(100), 0, 1, _normal(1)),
        Family("two regimes, 50 %", regimes(0.5), 1.0, np.sqrt(3.0), _two_regimes(0.5)),
        Family("two regimes, 30 %", regimes(0.3), 0.6, np.sqrt(2.2), _two_regimes(0.3)),
    )
}


def batches(
    family: Family, size: tuple[int, int], rho: float, rng: np.random.Generator
) -> list[Floats]:
    """Rows of a family in pieces of at most two million numbers; size is (replications, n)."""
    rows, n = size
    edges = np.append(np.arange(0, rows, max(1, 2_000_000 // n)), rows)
    return [family.simulate(b - a, n, rho, rng) for a, b in pairwise(edges.tolist())]
