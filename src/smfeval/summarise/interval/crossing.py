"""Where, among the values of a long series, does a condition begin to hold? Without sorting it all.

The condition is about the indicator series 1{x <= v}, of which the sums over neighbours are enough.
Halving by places comes first, on the whole series; the values that are then left are sorted alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.cosines import neighbour_sums, stretch_width
from smfeval.maths.order import order_statistics

MANY = 1 << 16  # values; to sort fewer costs less than to halve them once more

Condition = Callable[[Floats], bool]


def first_values(series: Floats, conditions: Sequence[Condition]) -> list[float]:
    """Smallest value at which each condition holds that, once it holds, holds on. (n,)."""

    @cache
    def sums_at(place: int) -> Floats:
        return neighbour_sums(series <= order_statistics(series, place, place)[0])

    ends = []
    for holds in conditions:
        low, high = _halved(sums_at, holds, 0, len(series) - 1, MANY)
        left = _between(series, low, high)
        place, _ = _halved(left.sums_at, holds, low, high, 0)
        ends.append(left.value_at(place))
    return ends


def _halved(
    sums_at: Callable[[int], Floats], holds: Condition, low: int, high: int, enough: int
) -> tuple[int, int]:
    """First and last place that may be the wanted one, once they are near enough.

    The condition is taken to hold at the last place without asking.
    """
    while high - low > enough:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(sums_at(middle)) else (middle + 1, high)
    return low, high


@dataclass(frozen=True)
class Between:
    """The values at some neighbouring places, sorted, with the stretch that each stands in."""

    first: int  # place of the smallest
    value: Floats
    stretch: Ints
    below: Floats  # scans of each stretch that are below all of them

    def value_at(self, place: int) -> float:
        """The value at a place among all."""
        return float(self.value[place - self.first])

    def sums_at(self, place: int) -> Floats:
        """Scans of each stretch that are at most the value at a place. (m,)."""
        count = np.searchsorted(self.value, self.value_at(place), side="right")
        return self.below + np.bincount(self.stretch[:count], minlength=len(self.below))


def _between(series: Floats, low: int, high: int) -> Between:
    smallest, largest = (order_statistics(series, place, place)[0] for place in (low, high))
    inside = np.flatnonzero((series >= smallest) & (series <= largest))
    inside = inside[np.argsort(series[inside])]
    below = series < smallest
    return Between(
        int(np.count_nonzero(below)),
        series[inside],
        inside // stretch_width(len(series)),
        neighbour_sums(below),
    )
