"""A quantile: all values v for which the fraction of scans at or below v may be the wanted share.

The test of each v asks the indicator series 1{x <= v}, so nothing is assumed about the density of x,
and the memory is that of being below v, which may differ from the memory of x itself. Values so far
out that hardly any effective sample lies beyond them cannot be tested: an interval that reaches them
is refused.
"""

from collections.abc import Callable

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.mean_posterior import mean_posterior
from smfeval.summarise.interval.ends import FEWEST_RARE, Ends
from smfeval.summarise.interval.fraction_ends import fraction_samples, probability_below


def quantile_ends(series: Floats, share: float, level: float) -> Ends:
    """Interval of the value that a share of the scans does not exceed. (..., n) -> (...)."""
    ordered = np.sort(series, axis=-1)
    tail, n = (1 - level) / 2, series.shape[-1]

    def at(place: Ints) -> Floats:
        return np.take_along_axis(ordered, place[..., None], axis=-1)[..., 0]

    def test(place: Ints) -> tuple[Floats, Floats]:
        return probability_below(share, series <= at(place)[..., None])

    def kept_below(place: Ints) -> Bools:
        below, n_rare = test(place)
        return (below <= 1 - tail) & (n_rare >= FEWEST_RARE)

    def left_above(place: Ints) -> Bools:
        below, n_rare = test(place)
        return (below < tail) | (n_rare < FEWEST_RARE)

    middle = np.full(series.shape[:-1], int(np.ceil(share * n)) - 1)
    low = _first(kept_below, np.zeros_like(middle), middle)
    high = _first(left_above, middle, np.full_like(middle, n - 1))
    outer = np.minimum(test(np.maximum(low - 1, 0))[1], test(high)[1])

    member = series <= at(middle)[..., None]
    samples = fraction_samples(member.mean(axis=-1), mean_posterior(member))
    return Ends(at(low), at(high), *samples, beyond=(outer < FEWEST_RARE) | (low == 0))


def _first(holds: Callable[[Ints], Bools], low: Ints, high: Ints) -> Ints:
    """Smallest place in [low, high] from which on a condition holds. (...) -> (...).

    It is taken to hold at the last place without asking.
    """
    while (low < high).any():
        middle = (low + high) // 2
        here = holds(middle)
        low, high = np.where(here, low, np.minimum(middle + 1, high)), np.where(here, middle, high)
    return high
