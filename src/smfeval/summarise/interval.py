"""The door: one series or two, one statistic, one interval."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from smfeval.errors import OptionError, SeriesError
from smfeval.maths.arrays import Floats
from smfeval.maths.blocks import SCHEMES
from smfeval.maths.symmetric import chunks
from smfeval.summarise.bootstrap import READ_ENDS, bootstrap
from smfeval.summarise.interval_ends import (
    Ends,
    Interval,
    Request,
    Statistic,
    StatisticName,
    check_level,
    check_series,
    check_varying,
    fraction_ends,
    mean_ends,
    one_sided_ends,
    parse_statistic,
    quantile_ends,
    rmse_ends,
)


def auto_interval(request: Request) -> Interval:
    """Interval by the low-frequency posterior, or a refusal with its reason."""
    series, statistic = request.series, request.statistic
    if statistic.name == "mean" and is_fraction(series) and series.min() == series.max():
        return _unanimous_interval(request)
    check_varying(series**2 if statistic.name == "rmse" else series)

    ends = auto_ends(series, statistic, request.level)
    reason = ends.reason()
    return Interval(
        value=statistic.of(series),
        low=None if reason else float(ends.low),
        high=None if reason else float(ends.high),
        level=request.level,
        n=len(series),
        n_effective=float(ends.n_effective),
        block_length=None,
        method="auto",
        reason=reason,
    )


def auto_ends(series: Floats, statistic: Statistic, level: float) -> Ends:
    """Ends for many series at once, none of them constant. (..., n) -> (...)."""
    if statistic.share is not None:
        return quantile_ends(series, statistic.share, level)
    if statistic.name == "rmse":
        return rmse_ends(series, level)
    return fraction_ends(series > 0, level) if is_fraction(series) else mean_ends(series, level)


def is_fraction(series: Floats) -> bool:
    """Whether all numbers are zero or one."""
    parts = (series[part] for part in chunks(len(series)))
    return all(((part == 0) | (part == 1)).all() for part in parts)


def _unanimous_interval(request: Request) -> Interval:
    """Fraction of a series that is all zero or all one."""
    value, n = float(request.series[0]), len(request.series)
    every = f"all {n} scans are {'inside' if value else 'outside'}"
    if request.related is None:
        reason = f"{every}: alone they do not tell how many samples they are worth"
        return Interval(value, None, None, request.level, n, None, None, "auto", reason)
    n_effective = float(mean_ends(check_varying(request.related), request.level).n_effective)
    low, high = one_sided_ends(bool(value), n_effective, request.level)
    reason = f"{every}: one-sided, for {n_effective:.1f} effective samples"
    return Interval(value, low, high, request.level, n, n_effective, None, "auto", reason)


Method = Callable[[Request], Interval]

METHODS: dict[str, Method] = {
    "auto": auto_interval,
    **{
        f"{scheme}-{ends}": partial(bootstrap, scheme=scheme, ends=ends)
        for scheme in SCHEMES
        for ends in READ_ENDS
    },
}


REPLICATES = 1000


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
        "auto", or a block bootstrap "moving", "circular" or "stationary" followed by "-percentile",
        "-basic" or "-studentised".
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
    if method not in METHODS:
        raise OptionError(f"no method {method!r}; there are {', '.join(METHODS)}")
    if method == "auto" and block_length is not None:
        raise OptionError("the method 'auto' uses no blocks, so a block length would be ignored")
    if method != "auto" and rng is None:
        raise OptionError(f"the method {method!r} draws at random and needs a generator (rng)")
    if replicates < 1:
        raise OptionError(f"{replicates} replicates; a bootstrap needs at least 1")
    request = Request(
        series=check_series(series),
        statistic=parse_statistic(statistic),
        level=check_level(level),
        rng=rng or np.random.default_rng(0),
        block_length=block_length,
        replicates=replicates,
        related=None if related is None else check_series(related),
    )
    return METHODS[method](request)


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
