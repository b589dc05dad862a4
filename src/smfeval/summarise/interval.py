"""How sure is a number? The interval of a statistic of a dependent series.

The default method, "auto", compares the lowest cosine sums of the series with a grid of spectra
(`maths.dependence`): each spectrum gives a t distribution for the mean and counts by its
likelihood, so that the doubt about the memory is in the interval. From it come

mean
    the quantiles of the mixture, the end on the side of a long tail moved out;
root mean square
    the root of the interval of the mean square;
fraction (a series of zeros and ones)
    the same as for a mean, on the logit scale;
median, quantile
    all values v for which the fraction of scans up to v may be the wanted share.

A series too short for its dependence gets no interval and a reason. The other methods are block
bootstraps (`summarise.bootstrap`): that of the paper and that of its authors' program.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError, SeriesError
from smfeval.maths.arrays import Bools, Floats, Ints, quantile_of, read_only
from smfeval.maths.dependence import (
    effective_samples,
    mean_posterior,
    neighbour_sums,
    posterior_of_sums,
    skew_rate,
    stretch_offset,
)
from smfeval.maths.special import normal_quantile
from smfeval.maths.symmetric import chunks
from smfeval.schema import INTERVAL_METHODS

REPLICATES = 1000

SHORTEST = 10  # scans; below this even independent ones say too little about their own spread
LARGEST = 1e30  # fourth powers of the numbers, which the methods need, are still finite
SMALLEST = 1e-30  # and not yet zero
HIGHEST_LEVEL = 1 - 1e-9  # above it the tails have no digits left
ROUNDING = 1e-10  # relative: what rounding makes of equal numbers
FEWEST_SAMPLES = 3.0  # effective samples
FEWEST_RARE = 1.0  # effective samples on the rarer side of a fraction or a quantile

StatisticName = Literal["mean", "median", "rmse"] | tuple[Literal["quantile"], float]


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
    block_length
        Mean block length in scans, for the block bootstraps.
    method
        One of INTERVAL_METHODS.
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

    def scale(self, factor: float) -> Interval:
        """Return the interval of factor * statistic, factor > 0: k is a scaled median NEES."""
        low, high = (None if end is None else factor * end for end in (self.low, self.high))
        return replace(self, value=factor * self.value, low=low, high=high)


def interval(
    series: ArrayLike,
    statistic: StatisticName = "mean",
    *,
    level: float = 0.95,
    method: str = "auto",
    rng: np.random.Generator | None = None,
    block_length: float | None = None,
    replicates: int = REPLICATES,
    related: ArrayLike | None = None,
) -> Interval:
    """Interval of a statistic of a dependent series.

    Parameters
    ----------
    series
        One number per scan, in the order of the scans, (n,). Zeros and ones are taken as a
        coverage: their mean is a fraction.
    statistic
        "mean", "median", "rmse" or ("quantile", q).
    level
        Wanted probability that the interval holds the truth.
    method
        "auto", or a block bootstrap: "circular-percentile" (the paper's) or "stationary-percentile"
        (that of the authors' program).
    rng
        Chance for the bootstraps, which need it; "auto" uses none.
    block_length, replicates
        For the bootstraps. A block length of None is chosen after Politis and White.
    related
        The series that a 0/1 series was cut from (NEES for a coverage). Used where the fraction is
        0 or 1, for then only the related series can tell how many samples there really are.

    Returns
    -------
    Interval
        With low and high None, and a reason, where the series is too short for its dependence.
    """
    if method not in INTERVAL_METHODS:
        raise OptionError(f"no method {method!r}; there are {', '.join(INTERVAL_METHODS)}")
    if method == "auto" and block_length is not None:
        raise OptionError("the method 'auto' uses no blocks, so a block length would be ignored")
    if replicates < 1:
        raise OptionError(f"{replicates} replicates; a bootstrap needs at least 1")
    numbers = check_series(series)
    share_of(statistic)  # refuses what is no statistic
    if not 0 < level < 1:
        raise SeriesError(f"a level of {level} is not between 0 and 1")
    if level > HIGHEST_LEVEL:
        raise SeriesError(f"a level of {level} is too near to 1; it may be {HIGHEST_LEVEL} at most")

    if method == "auto":
        memory = None if related is None else check_series(related)
        return auto_interval(numbers, statistic, level, related=memory)
    if rng is None:
        raise OptionError(f"the method {method!r} draws at random and needs a generator (rng)")
    return bootstrap_interval(
        numbers,
        statistic,
        level,
        method=method,
        block_length=block_length,
        replicates=replicates,
        rng=rng,
    )


def paired_interval(
    first: ArrayLike,
    second: ArrayLike,
    statistic: StatisticName = "mean",
    *,
    level: float = 0.95,
    method: str = "auto",
    rng: np.random.Generator | None = None,
) -> Interval:
    """Interval of the mean or median of first - second, two series on common scans, (n,) and (n,).

    What makes a scan hard for both estimators cancels, so the interval is narrower than those of
    the two.
    """
    one, other = check_series(first), check_series(second)
    if len(one) != len(other):
        raise SeriesError(f"{len(one)} and {len(other)} scans; a pair needs common scans")
    return interval(one - other, statistic, level=level, method=method, rng=rng)


def share_of(statistic: StatisticName) -> float | None:
    """The share of scans that a median or quantile is not below; None of means."""
    match statistic:
        case "mean" | "rmse":
            return None
        case "median":
            return 0.5
        case ("quantile", float(share)) if 0 < share < 1:
            return share
    known = "'mean', 'median', 'rmse' and ('quantile', q) with 0 < q < 1"
    raise OptionError(f"{statistic!r} is no statistic; there are {known}")


def plain_statistic(series: Floats, statistic: StatisticName) -> float:
    """The statistic alone."""
    share = share_of(statistic)
    if share is not None:
        return float(quantile_of(series, share))
    return float(np.sqrt(np.mean(series**2)) if statistic == "rmse" else np.mean(series))


def check_series(series: ArrayLike) -> Floats:
    """Return a read-only array of at least ten finite numbers, or say what is wrong."""
    array = np.asarray(series, dtype=np.float64)
    if array.ndim != 1:
        raise SeriesError(f"a series has one axis, not {array.ndim}")
    if len(array) < SHORTEST:
        raise SeriesError(f"{len(array)} scans; an interval needs at least {SHORTEST}")
    if not -LARGEST <= array.min() <= array.max() <= LARGEST:  # nor if one of them is not a number
        finite = np.isfinite(array)
        if not finite.all():
            row, bad = int(np.argmin(finite)), np.sum(~finite)
            raise SeriesError(f"row {row} is {array[row]}, and {bad} rows are not finite")
        row = int(np.argmax(np.abs(array)))
        raise SeriesError(
            f"row {row} is {words.exact(array[row])}; numbers beyond {words.exact(LARGEST)} are no "
            "scores"
        )
    return read_only(array)


def check_varying(series: Floats, statistic: StatisticName = "mean") -> Floats:
    """What a statistic averages, squares for the rmse, where it is not constant."""
    series = series**2 if statistic == "rmse" else series
    least, most = float(series.min()), float(series.max())
    size = max(SMALLEST, ROUNDING * max(-least, most))
    if most - least < size:  # they print alike, or are as good as zero
        raise SeriesError(
            f"all {len(series)} values are {words.exact(series[0])}: no spread, no interval"
        )
    return series


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
    n_rare: Floats | float = np.inf
    beyond: Bools | bool = False

    def __getitem__(self, row: int) -> Ends:
        """Ends of one of the series."""
        parts = np.broadcast_arrays(self.low, self.high, self.n_effective, self.n_rare, self.beyond)
        return Ends(*(part[row] for part in parts))

    def interval(self, series: Floats, statistic: StatisticName, level: float) -> Interval:
        """The ends of one series as its interval; refused where it is too short for its memory."""
        reason = None
        if self.n_effective < FEWEST_SAMPLES:
            few = words.number(float(self.n_effective))
            reason = f"effective samples: {few}, too few for an interval"
        elif self.n_rare < FEWEST_RARE:
            few = words.number(float(self.n_rare))
            reason = f"effective samples on the rarer side: {few}, too few for an interval"
        elif self.beyond:
            reason = "the interval reaches beyond the values of the series"
        return Interval(
            value=plain_statistic(series, statistic),
            low=None if reason else float(self.low),
            high=None if reason else float(self.high),
            level=level,
            n=len(series),
            n_effective=float(self.n_effective),
            block_length=None,
            method="auto",
            reason=reason,
        )


def auto_interval(
    series: Floats, statistic: StatisticName, level: float, *, related: Floats | None = None
) -> Interval:
    """Interval by the low-frequency posterior, or a refusal with its reason."""
    if statistic == "mean" and is_fraction(series) and series.min() == series.max():
        return _unanimous_interval(series, level, related)
    check_varying(series, statistic)
    return _auto_ends(series, statistic, level).interval(series, statistic, level)


def auto_intervals(rows: Floats, statistic: StatisticName, level: float) -> list[Interval]:
    """Intervals of series over the same scans, at once; all of one `kind_of_series`. (m, n)."""
    ends = _auto_ends(rows, statistic, level)
    return [ends[i].interval(row, statistic, level) for i, row in enumerate(rows)]


def _auto_ends(series: Floats, statistic: StatisticName, level: float) -> Ends:
    """Ends for many series at once, none of them constant. (..., n) -> (...)."""
    share = share_of(statistic)
    if share is not None:
        return quantile_ends(series, share, level)
    if statistic == "rmse":
        square = mean_ends(series**2, level)
        return Ends(np.sqrt(square.low), np.sqrt(square.high), square.n_effective)
    return fraction_ends(series > 0, level) if is_fraction(series) else mean_ends(series, level)


def kind_of_series(
    series: Floats, statistic: StatisticName
) -> Literal["numbers", "fraction"] | None:
    """What `auto_intervals` can do together; None: `interval` has something to say about it."""
    try:
        check_varying(check_series(series), statistic)
    except SeriesError:
        return None
    return "fraction" if statistic == "mean" and is_fraction(series) else "numbers"


def is_fraction(series: Floats) -> bool:
    """Whether all numbers are zero or one."""
    parts = (series[part] for part in chunks(len(series)))
    return all(((part == 0) | (part == 1)).all() for part in parts)


def _unanimous_interval(series: Floats, level: float, related: Floats | None) -> Interval:
    """Fraction of a series that is all zero or all one: one-sided, if a related series varies."""
    value, n = float(series[0]), len(series)
    every = f"all {n} scans are {'inside' if value else 'outside'}"
    if related is None:
        reason = f"{every}: alone they do not tell how many samples they are worth"
        return Interval(value, None, None, level, n, None, None, "auto", reason)
    n_effective = float(mean_ends(check_varying(related), level).n_effective)
    low, high = one_sided_ends(bool(value), n_effective, level)
    reason = f"{every}: one-sided, for {words.number(n_effective)} effective samples"
    return Interval(value, low, high, level, n, n_effective, None, "auto", reason)


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
    safe = np.where(mean > 0, mean, 1.0)
    step = safe * -np.expm1(-down / safe)  # down on the logarithmic scale: never below zero
    low = mean - np.where(positive, step, stretch_offset(down, np.maximum(-rate, 0)))
    return Ends(low, high, effective_samples(variance, posterior.variance))


def fraction_ends(member: Bools, level: float) -> Ends:
    """Interval of the fraction of members; not all scans may be alike. (..., n) -> (...)."""
    n = member.shape[-1]
    sums = neighbour_sums(member)
    fraction, posterior = sums.sum(axis=-1) / n, posterior_of_sums(sums, n)
    spread = fraction * (1 - fraction)
    down, up = posterior.quantiles((1 - level) / 2, (1 + level) / 2)
    down, up = np.minimum(down, 0) / spread, np.maximum(up, 0) / spread

    centre = np.log(fraction / (1 - fraction))
    # the logistic function without overflow
    low, high = (np.exp(-np.logaddexp(0, -(centre + step))) for step in (down, up))
    n_effective = effective_samples(spread, posterior.variance)
    return Ends(low, high, n_effective, n_effective * np.minimum(fraction, 1 - fraction))


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


def quantile_ends(series: Floats, share: float, level: float) -> Ends:
    """Interval of the value that a share of the scans does not exceed. (..., n) -> (...)."""
    tail = (1 - level) / 2
    low, high = _search_ends(series, share, tail)

    n_effective = _quantile_samples(series, share)
    broad = n_effective if share == 0.5 else np.minimum(n_effective, _quantile_samples(series, 0.5))
    first, last = low == series.min(axis=-1), high == series.max(axis=-1)
    beyond = (first & ((1 - share) ** broad > tail)) | (last & (share**broad > tail))
    return Ends(low, high, n_effective, broad * min(share, 1 - share), beyond)


def _search_ends(series: Floats, share: float, tail: float) -> Floats:
    """Low and high ends, by halving the sorted values of all series at once. (..., n) -> (2, ...).

    They are the first values at which the fraction of scans up to them is below the share with a
    probability of at most 1 - tail, and of less than the tail.
    """
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


def _quantile_samples(series: Floats, share: float) -> Floats:
    """Effective samples of being at most a quantile of the series. (..., n) -> (...)."""
    n = series.shape[-1]
    place = int(np.ceil(share * n)) - 1
    value = np.partition(series, place, axis=-1)[..., place : place + 1]
    at_most = series <= value
    some = np.where(at_most.all(axis=-1, keepdims=True), series < value, at_most)
    sums = neighbour_sums(some)
    fraction = sums.sum(axis=-1) / n
    return effective_samples(fraction * (1 - fraction), posterior_of_sums(sums, n).variance)


def bootstrap_interval(
    series: Floats,
    statistic: StatisticName,
    level: float,
    *,
    method: str,
    block_length: float | None,
    replicates: int,
    rng: np.random.Generator,
) -> Interval:
    """Interval by the percentiles of a block bootstrap."""
    from smfeval.summarise.bootstrap import (  # noqa: PLC0415  only where asked for
        choose_block_length,
        percentile_ends,
        plan_bootstrap,
    )

    averaged = check_varying(series, statistic)
    scheme = method.removesuffix("-percentile")
    length = choose_block_length(averaged, block_length, scheme)
    plan = plan_bootstrap(len(series), length, scheme=scheme, replicates=replicates, rng=rng)
    low, high = percentile_ends(averaged, share_of(statistic), level, plan)
    if statistic == "rmse":
        low, high = np.sqrt(low), np.sqrt(high)
    n_effective = effective_samples(averaged.var(), mean_posterior(averaged).variance)
    return Interval(
        value=plain_statistic(series, statistic),
        low=float(low),
        high=float(high),
        level=level,
        n=len(series),
        n_effective=float(n_effective),
        block_length=length,
        method=method,
    )
