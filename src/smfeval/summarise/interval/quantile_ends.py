"""A quantile: all values v for which the fraction of scans at or below v may be the wanted share.

The test of each v asks the indicator series 1{x <= v}, so nothing is assumed about the density of
x, and the memory is that of being below v, which may differ from the memory of x itself. An end at
the first or last value seen counts only if so many independent samples would hardly all have
missed what lies beyond.
"""

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.cosines import neighbour_sums
from smfeval.maths.mean_posterior import posterior_of_sums
from smfeval.maths.order import order_statistics
from smfeval.summarise.interval.crossing import MANY, first_values
from smfeval.summarise.interval.ends import Ends
from smfeval.summarise.interval.fraction_ends import fraction_samples, members, probability_below


def quantile_ends(series: Floats, share: float, level: float) -> Ends:
    """Interval of the value that a share of the scans does not exceed. (..., n) -> (...)."""
    tail, n = (1 - level) / 2, series.shape[-1]
    search = _long_ends if series.ndim == 1 and n > MANY else _short_ends
    low, high = search(series, share, tail)

    n_effective = _samples(series, share)
    broad = n_effective if share == 0.5 else np.minimum(n_effective, _samples(series, 0.5))
    first, last = low == series.min(axis=-1), high == series.max(axis=-1)
    beyond = (first & ((1 - share) ** broad > tail)) | (last & (share**broad > tail))
    return Ends(low, high, n_effective, broad * min(share, 1 - share), beyond)


def _long_ends(series: Floats, share: float, tail: float) -> Floats:
    """Low and high end of one long series. (n,) -> (2,)."""
    n = len(series)
    conditions = (
        lambda sums: bool(probability_below(share, sums, n) <= 1 - tail),
        lambda sums: bool(probability_below(share, sums, n) < tail),
    )
    return np.array(first_values(series, conditions))


def _short_ends(series: Floats, share: float, tail: float) -> Floats:
    """Low and high ends of many series, all halved at once. (..., n) -> (2, ...)."""
    ordered, n = np.sort(series, axis=-1), series.shape[-1]

    def at(place: Ints) -> Floats:
        return np.take_along_axis(ordered[None], place[..., None], axis=-1)[..., 0]

    low = np.zeros((2, *series.shape[:-1]), dtype=np.int64)
    high = np.full_like(low, n - 1)
    while (low < high).any():
        middle = (low + high) // 2
        below = probability_below(share, neighbour_sums(series <= at(middle)[..., None]), n)
        here = np.stack([below[0] <= 1 - tail, below[1] < tail])
        low, high = np.where(here, low, np.minimum(middle + 1, high)), np.where(here, middle, high)
    return at(high)


def _samples(series: Floats, share: float) -> Floats:
    """Effective samples of being at most a quantile of the series. (..., n) -> (...)."""
    n = series.shape[-1]
    place = int(np.ceil(share * n)) - 1
    if series.ndim == 1:
        value = order_statistics(series, place, place)
    else:
        value = np.partition(series, place, axis=-1)[..., place : place + 1]
    sums = neighbour_sums(members(series, value))
    return fraction_samples(sums.sum(axis=-1) / n, posterior_of_sums(sums, n))[0]
