"""A quantile: all values v for which the fraction of scans at or below v may be the wanted share.

The test of each v asks the indicator series 1{x <= v}, so nothing is assumed about the density of
x, and the memory is that of being below v, which may differ from the memory of x itself. An end at
the first or last value seen counts only if so many independent samples would hardly all have
missed what lies beyond.
"""

from collections.abc import Callable

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.mean_posterior import mean_posterior
from smfeval.summarise.interval.ends import Ends
from smfeval.summarise.interval.fraction_ends import fraction_samples, members, probability_below


def quantile_ends(series: Floats, share: float, level: float) -> Ends:
    """Interval of the value that a share of the scans does not exceed. (..., n) -> (...)."""
    ordered = np.sort(series, axis=-1)
    tail = (1 - level) / 2

    def at(place: Ints) -> Floats:
        return np.take_along_axis(ordered, place[..., None], axis=-1)[..., 0]

    def below(place: Ints) -> Floats:
        return probability_below(share, series <= at(place)[..., None])

    size = np.full(series.shape[:-1], series.shape[-1])
    low = at(_first(lambda place: below(place) <= 1 - tail, size))
    high = at(_first(lambda place: below(place) < tail, size))

    n_effective = _samples(series, at(_place(share, size)))
    broad = np.minimum(n_effective, _samples(series, at(_place(0.5, size))))
    first, last = low == ordered[..., 0], high == ordered[..., -1]
    beyond = (first & ((1 - share) ** broad > tail)) | (last & (share**broad > tail))
    return Ends(low, high, n_effective, broad * min(share, 1 - share), beyond)


def _place(share: float, size: Ints) -> Ints:
    """Place of a quantile among the sorted values."""
    return np.ceil(share * size).astype(np.int64) - 1


def _samples(series: Floats, value: Floats) -> Floats:
    """Effective samples of being at most a value. (..., n), (...) -> (...)."""
    member = members(series, value[..., None])
    return fraction_samples(member.mean(axis=-1), mean_posterior(member))[0]


def _first(holds: Callable[[Ints], Bools], size: Ints) -> Ints:
    """Smallest place at which a condition holds that, once it holds, holds on. (...) -> (...).

    It is taken to hold at the last place without asking.
    """
    low, high = np.zeros_like(size), size - 1
    while (low < high).any():
        middle = (low + high) // 2
        here = holds(middle)
        low, high = np.where(here, low, np.minimum(middle + 1, high)), np.where(here, middle, high)
    return high
