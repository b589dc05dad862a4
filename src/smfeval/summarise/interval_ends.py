"""Ends of intervals, many series at a time, and when not to believe them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from smfeval.errors import OptionError, SeriesError
from smfeval.maths.arrays import Bools, Floats, Ints, read_only
from smfeval.maths.dependence import (
    MeanPosterior,
    effective_samples,
    mean_posterior,
    neighbour_sums,
    posterior_of_sums,
    skew_rate,
    stretch_offset,
    stretch_width,
)
from smfeval.maths.order import order_statistics, quantile
from smfeval.maths.special import normal_quantile

FEWEST_SAMPLES = 3.0  # effective samples
FEWEST_RARE = 1.0  # effective samples on the rarer side of a fraction or a quantile


@dataclass(frozen=True)
class Ends:
    """Ends of the intervals of some series, (...).

    Attributes
    ----------
    low, high
        Ends, to be believed only where the series are not refused.
    n_effective
        Effective samples.
    n_rare
        Effective samples on the rarer side; infinite where there are no sides.
    beyond
        Whether an end lies beyond the values seen.
    """

    low: Floats
    high: Floats
    n_effective: Floats
    n_rare: Floats
    beyond: Bools

    @property
    def is_refused(self) -> Bools:
        """Whether a series is too short for its dependence."""
        return (self.n_effective < FEWEST_SAMPLES) | (self.n_rare < FEWEST_RARE) | self.beyond

    def reason(self) -> str | None:
        """Say why one series is refused; None if it is not."""
        if self.n_effective < FEWEST_SAMPLES:
            return f"effective samples: {self.n_effective:.1f}, too few for an interval"
        if self.n_rare < FEWEST_RARE:
            return (
                f"effective samples on the rarer side: {self.n_rare:.1f}, too few for an interval"
            )
        return "the interval reaches beyond the values of the series" if self.beyond else None


def two_sided(low: Floats, high: Floats, n_effective: Floats) -> Ends:
    """Ends that no rare side or edge of the sample limits."""
    free = np.full_like(n_effective, np.inf)
    return Ends(low, high, n_effective, free, np.zeros(np.shape(low), dtype=bool))


SHORTEST = 10  # scans; below this even independent ones say too little about their own spread
LARGEST = 1e30  # fourth powers of the numbers, which the methods need, are still finite
SMALLEST = 1e-30  # and not yet zero
HIGHEST_LEVEL = 1 - 1e-9  # above it the tails have no digits left
ROUNDING = 1e-10  # relative: what rounding makes of equal numbers

StatisticName = Literal["mean", "median", "rmse"] | tuple[Literal["quantile"], float]


@dataclass(frozen=True)
class Statistic:
    """A mean, a root mean square, or the value that a share of the scans does not exceed."""

    name: str
    share: float | None = None

    def of(self, series: Floats) -> float:
        """Return the statistic of a series."""
        if self.share is not None:
            return float(quantile(series, self.share))
        return float(np.sqrt(np.mean(series**2)) if self.name == "rmse" else np.mean(series))


@dataclass(frozen=True)
class Request:
    """A checked series with what is wanted of it.

    Attributes
    ----------
    series
        Scores in the order of the scans, (n,), finite.
    statistic, level
        What to summarise, and how sure to be.
    rng
        Chance for the methods that resample.
    block_length, replicates
        For the block bootstraps; a length of None is chosen after Politis and White.
    related
        For a fraction that is 0 or 1: the series whose memory the fraction shares.
    """

    series: Floats
    statistic: Statistic
    level: float
    rng: np.random.Generator
    block_length: float | None
    replicates: int
    related: Floats | None = None

    @property
    def tail(self) -> float:
        """Probability left out on each side."""
        return (1 - self.level) / 2


def parse_statistic(statistic: StatisticName | str | tuple[str, float]) -> Statistic:
    """Turn the public spelling of a statistic into a Statistic."""
    match statistic:
        case "mean" | "rmse":
            return Statistic(statistic)
        case "median":
            return Statistic("median", 0.5)
        case ("quantile", float(share)) if 0 < share < 1:
            return Statistic("quantile", share)
    known = "'mean', 'median', 'rmse' and ('quantile', q) with 0 < q < 1"
    raise OptionError(f"{statistic!r} is no statistic; there are {known}")


def check_series(series: ArrayLike) -> Floats:
    """Return a read-only array of at least ten finite numbers, or say what is wrong."""
    array = np.asarray(series, dtype=np.float64)
    if array.ndim != 1:
        raise SeriesError(f"a series has one axis, not {array.ndim}")
    if len(array) < SHORTEST:
        raise SeriesError(f"{len(array)} scans; an interval needs at least {SHORTEST}")
    if not -LARGEST <= array.min() <= array.max() <= LARGEST:  # nor if one of them is not a number
        raise _invalid_number(array)
    return read_only(array)


def _invalid_number(array: Floats) -> SeriesError:
    """Say which number is none, or too large."""
    finite = np.isfinite(array)
    if not finite.all():
        row = int(np.argmin(finite))
        return SeriesError(f"row {row} is {array[row]}, and {np.sum(~finite)} rows are not finite")
    row = int(np.argmax(np.abs(array)))
    return SeriesError(f"row {row} is {array[row]:g}; numbers beyond {LARGEST:g} are no scores")


def check_level(level: float) -> float:
    """Return a level between 0 and 1."""
    if not 0 < level < 1:
        raise SeriesError(f"a level of {level} is not between 0 and 1")
    if level > HIGHEST_LEVEL:
        raise SeriesError(f"a level of {level} is too near to 1; it may be {HIGHEST_LEVEL} at most")
    return level


def check_varying(series: Floats) -> Floats:
    """Return a series that is not constant."""
    least, most = float(series.min()), float(series.max())
    size = max(SMALLEST, ROUNDING * max(-least, most))
    if most - least < size:  # they print alike, or are as good as zero
        raise SeriesError(f"all {len(series)} values are {series[0]:g}: no spread, no interval")
    return series


@dataclass(frozen=True)
class Interval:
    """A statistic of a series with its interval.

    Attributes
    ----------
    value
        The statistic of the series as it is.
    low, high
        Ends of the interval; None where the series is too short for its dependence, see `reason`.
    level
        Probability with which the interval is meant to hold the truth.
    n
        Scans in the series.
    n_effective
        Independent samples that would determine the statistic as well; None where nobody can tell.
    correlation_length
        Scans per effective sample, n / n_effective.
    block_length
        Mean block length in scans, for the block bootstraps.
    method
        Name in the table of methods.
    reason
        Why there is no interval, or why it is one-sided; None otherwise.
    """

    value: float
    low: float | None
    high: float | None
    level: float
    n: int
    n_effective: float | None
    block_length: float | None
    method: str
    reason: str | None = None

    @property
    def correlation_length(self) -> float | None:
        """Scans per effective sample."""
        return None if self.n_effective is None else self.n / self.n_effective

    def scale(self, factor: float) -> "Interval":
        """Return the interval of factor * statistic, factor > 0: k is a scaled median NEES."""
        low, high = (None if end is None else factor * end for end in (self.low, self.high))
        return replace(self, value=factor * self.value, low=low, high=high)


def members(series: Floats, value: Floats) -> Bools:
    """Scans at most a value, or below it where that would be all of them.

    (..., n), (..., 1) -> (..., n).
    """
    at_most = series <= value
    return np.where(at_most.all(axis=-1, keepdims=True), series < value, at_most)


def fraction_ends(member: Bools, level: float) -> Ends:
    """Interval of the fraction of members; not all scans may be alike. (..., n) -> (...)."""
    n = member.shape[-1]
    sums = neighbour_sums(member)
    fraction, posterior = sums.sum(axis=-1) / n, posterior_of_sums(sums, n)
    spread = fraction * (1 - fraction)
    down, up = posterior.quantiles((1 - level) / 2, (1 + level) / 2)
    down, up = np.minimum(down, 0) / spread, np.maximum(up, 0) / spread

    centre = np.log(fraction / (1 - fraction))
    n_effective, n_rare = fraction_samples(fraction, posterior)
    beyond = np.zeros(np.shape(fraction), dtype=bool)
    return Ends(_logistic(centre + down), _logistic(centre + up), n_effective, n_rare, beyond)


def _logistic(logit: Floats) -> Floats:
    """1 / (1 + exp(-logit)), without overflow."""
    return np.exp(-np.logaddexp(0, -logit))


def fraction_samples(fraction: Floats, posterior: MeanPosterior) -> tuple[Floats, Floats]:
    """Effective samples in all, and on the rarer side. (...) -> (...), (...)."""
    n_effective = effective_samples(fraction * (1 - fraction), posterior.variance)
    return n_effective, n_effective * np.minimum(fraction, 1 - fraction)


def probability_below(share: float, sums: Floats, n: int) -> Floats:
    """Posterior probability that the true fraction is below a share. (..., m) -> (...).

    `sums` counts the members among neighbours, n scans in all. On the probit scale, which is as
    safe as the logit scale for a test and gives quantiles a tenth less width. Zero where all scans
    are members, one where none is.
    """
    fraction = sums.sum(axis=-1) / n
    mixed = (fraction > 0) & (fraction < 1)
    z = normal_quantile(np.where(mixed, fraction, 0.5))
    offset = (normal_quantile(share) - z) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.where(mixed, posterior_of_sums(sums, n).cdf(offset), fraction == 0)


def one_sided_ends(all_members: bool, n_effective: float, level: float) -> tuple[float, float]:
    """Clopper-Pearson bound for a fraction that was 0 or 1 in n_effective independent samples."""
    bound = float((1 - level) ** (1 / n_effective))  # quantile of Beta(n_effective, 1)
    return (bound, 1.0) if all_members else (0.0, 1 - bound)


def mean_ends(series: Floats, level: float) -> Ends:
    """Interval of the mean. (..., n) -> (...).

    Short dependent series with a long tail have seldom seen enough of it: their mean is too low and
    so is their spread. The end on the side of the tail moves out as it would on the logarithmic
    scale of a shifted log-normal of the same shape. Of a series without negative numbers, both ends
    are at least as skew as on its own logarithmic scale, and positive.
    """
    mean, variance = series.mean(axis=-1), series.var(axis=-1)
    posterior = mean_posterior(series)
    down, up = posterior.quantiles((1 - level) / 2, (1 + level) / 2)
    down, up = np.maximum(-down, 0), np.maximum(up, 0)

    rate = skew_rate(series, np.sqrt(variance))
    positive = series.min(axis=-1) >= 0
    own = np.where(positive, 1 / np.where(positive, mean, 1.0), 0.0)
    high = mean + stretch_offset(up, np.maximum(np.maximum(rate, 0), own))
    low = mean - np.where(
        positive, _step_down(down, mean), stretch_offset(down, np.maximum(-rate, 0))
    )
    return two_sided(low, high, effective_samples(variance, posterior.variance))


def _step_down(down: Floats, mean: Floats) -> Floats:
    """Step down from a positive mean on the logarithmic scale: never below zero."""
    safe = np.where(mean > 0, mean, 1.0)
    return safe * -np.expm1(-down / safe)


def rmse_ends(series: Floats, level: float) -> Ends:
    """Interval of the root mean square: that of the mean square, rooted. (..., n) -> (...)."""
    square = mean_ends(series**2, level)
    return two_sided(np.sqrt(square.low), np.sqrt(square.high), square.n_effective)


LONG_SERIES = 1 << 16  # values; to sort fewer costs less than to halve them once more

Condition = Callable[[Floats], bool]


def first_values(series: Floats, conditions: Sequence[Condition]) -> list[float]:
    """Smallest value at which each condition holds that, once it holds, holds on. (n,)."""

    @cache
    def sums_at(place: int) -> Floats:
        return neighbour_sums(series <= order_statistics(series, place, place)[0])

    ends = []
    for holds in conditions:
        low, high = _bisect(sums_at, holds, 0, len(series) - 1, LONG_SERIES)
        left = _sorted_slice(series, low, high)
        place, _ = _bisect(left.sums_at, holds, low, high, 0)
        ends.append(left.value_at(place))
    return ends


def _bisect(
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
class SortedSlice:
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


def _sorted_slice(series: Floats, low: int, high: int) -> SortedSlice:
    smallest, largest = (order_statistics(series, place, place)[0] for place in (low, high))
    inside = np.flatnonzero((series >= smallest) & (series <= largest))
    inside = inside[np.argsort(series[inside])]
    below = series < smallest
    return SortedSlice(
        int(np.count_nonzero(below)),
        series[inside],
        inside // stretch_width(len(series)),
        neighbour_sums(below),
    )


def quantile_ends(series: Floats, share: float, level: float) -> Ends:
    """Interval of the value that a share of the scans does not exceed. (..., n) -> (...)."""
    tail, n = (1 - level) / 2, series.shape[-1]
    search = _long_ends if series.ndim == 1 and n > LONG_SERIES else _short_ends
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
