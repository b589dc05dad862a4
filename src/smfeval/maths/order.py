"""Order statistics and quantiles of long series without sorting them.

A sorted sample tells between which two values a wanted place lies; counting the series below them
proves it, and only what lies between is partitioned (Floyd and Rivest, "Expected time bounds for
selection", 1975). Where the sample misleads, the whole series is partitioned.
"""

import numpy as np

from smfeval.maths.arrays import Floats

LONG = 1 << 16  # up to this a partition is as fast
SAMPLE = 1 << 13
REACH = 5.0  # standard errors of a place in the sample, to either side


def order_statistics(series: Floats, first: int, last: int) -> Floats:
    """The sorted series at the places first .. last, neighbours or nearly so. (n,)."""
    n = len(series)
    if n <= LONG:
        return np.partition(series, (first, last))[first : last + 1]
    low, high = _bracket(np.sort(series[:: n // SAMPLE]), first / n, last / n)
    below = int(np.count_nonzero(series < low))
    between = series.compress((series >= low) & (series <= high))
    if not below <= first <= last < below + len(between):
        below, between = 0, series
    places = first - below, last - below
    return np.partition(between, places)[places[0] : places[1] + 1]


def _bracket(sample: Floats, first: float, last: float) -> tuple[float, float]:
    """Two values of a sorted sample that most likely enclose two shares of the series."""
    count = len(sample)
    room = 1 + REACH * np.sqrt(count * max(first * (1 - first), last * (1 - last)))
    before, after = int(first * count - room), int(last * count + room)
    return sample[max(before, 0)], sample[min(after, count - 1)]


def quantile(series: Floats, share: float) -> Floats:
    """The value that a share of the scans does not exceed, between neighbours in proportion.

    (..., n) -> (...). Not a number where one of them is none.
    """
    if series.ndim > 1 or np.isnan(series.max()):
        return np.asarray(np.quantile(series, share, axis=-1))
    place = share * (len(series) - 1)
    first = int(place)
    if place == first:
        return order_statistics(series, first, first)[0]
    found = order_statistics(series, first, first + 1)
    return found[0] + (place - first) * (found[-1] - found[0])


def median(series: Floats) -> float:
    """The middle of one series. (n,)."""
    return float(quantile(series, 0.5))
