"""A number of a summary: its value, unit and interval, and how much the scans had to say."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError, SeriesError
from smfeval.maths.arrays import Floats
from smfeval.summarise.interval import (
    Interval,
    StatisticName,
    auto_intervals,
    interval,
    kind_of_series,
    plain_statistic,
)

SHORT = 8192  # scans: intervals of longer series cost what each scan costs, together or not
LEAST_TAIL = 1e-4  # a thousand replicates, or a few hundred scans, say nothing beyond


@dataclass(frozen=True)
class Number:
    """A value with its unit; `low` and `high` are None where there is no interval, see `reason`."""

    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    n_effective: float | None = None
    reason: str | None = None

    def __str__(self) -> str:
        return self.text()

    def __float__(self) -> float:
        return self.value

    def text(self, unit: str | None = None) -> str:
        """Value, unit and interval; `unit` "%" for a share: '1.21 cm [0.9, 1.6]', '89.3 %'."""
        return words.quantity(self.value, unit or self.unit, self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """JSON data; a value that is not finite becomes null."""
        return {
            "value": finite_or_none(self.value),
            "low": finite_or_none(self.low),
            "high": finite_or_none(self.high),
            "unit": self.unit,
            "n_effective": finite_or_none(self.n_effective),
            "reason": self.reason,
        }

    def map(self, function: Callable[[float], float], unit: str) -> "Number":
        """A growing function of the same quantity, its interval carried along."""
        low, high = (None if end is None else function(end) for end in (self.low, self.high))
        return Number(function(self.value), unit, low, high, self.n_effective, self.reason)


@dataclass(frozen=True)
class Intervals:
    """How intervals are made: the method (None: none at all), the level, and the chance."""

    method: str | None = "auto"
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise OptionError(f"a seed is a whole number from 0 on, not {self.seed}")
        if not LEAST_TAIL <= 1 - self.level <= 1 - LEAST_TAIL:
            raise OptionError(
                f"a level between {words.exact(LEAST_TAIL)} and {1 - LEAST_TAIL} is needed"
            )

    def of(
        self,
        series: Floats,
        statistic: StatisticName,
        unit: str,
        related: Floats | None = None,
    ) -> Number:
        """A statistic of a series as a number, with its interval if there can be one."""
        if self.method is None:
            return Number(plain_statistic(series, statistic), unit)
        rng = None if self.method == "auto" else np.random.default_rng(self.seed)
        try:
            found = interval(
                series, statistic, level=self.level, method=self.method, rng=rng, related=related
            )
        except SeriesError as error:
            return Number(plain_statistic(series, statistic), unit, reason=str(error))
        return _number(found, unit)

    def of_each(
        self, series: Sequence[Floats], statistic: StatisticName, units: Sequence[str]
    ) -> list[Number]:
        """A statistic of several series over the same scans; of short ones, all at once."""
        found = dict[int, Number]()
        if self.method == "auto" and len(series) > 1 and len(series[0]) <= SHORT:
            kinds = [kind_of_series(each, statistic) for each in series]
            for kind in {*kinds} - {None}:
                at = [i for i, each in enumerate(kinds) if each == kind]
                rows = np.stack([series[i] for i in at])
                every = auto_intervals(rows, statistic, self.level)
                found |= {i: _number(each, units[i]) for i, each in zip(at, every, strict=True)}
        return [
            found[i] if i in found else self.of(each, statistic, units[i])
            for i, each in enumerate(series)
        ]


def finite_or_none(value: float | None) -> float | None:
    """The value, or None where JSON has no number for it."""
    return None if value is None or not np.isfinite(value) else float(value)


def _number(found: Interval, unit: str) -> Number:
    """The interval as a number: it holds its own value, and no more scans than there are."""
    effective = None if found.n_effective is None else min(found.n_effective, float(found.n))
    low, high = finite_or_none(found.low), finite_or_none(found.high)
    if low is None or high is None:
        reason = found.reason or "an end of the interval is not finite"
        return Number(found.value, unit, None, None, effective, reason)
    ends = min(low, found.value), max(high, found.value)
    return Number(found.value, unit, *ends, effective, found.reason)
