"""The door: one series or two, one statistic, one interval."""

import numpy as np
from numpy.typing import ArrayLike

from smfeval.errors import OptionError, SeriesError
from smfeval.summarise.interval.methods import METHODS
from smfeval.summarise.interval.request import (
    Request,
    StatisticName,
    checked_level,
    checked_series,
    parsed,
)
from smfeval.summarise.interval.result import Interval

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
        series=checked_series(series),
        statistic=parsed(statistic),
        level=checked_level(level),
        rng=rng or np.random.default_rng(0),
        block_length=block_length,
        replicates=replicates,
        related=None if related is None else checked_series(related),
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
    one, other = checked_series(first), checked_series(second)
    if len(one) != len(other):
        raise SeriesError(f"{len(one)} and {len(other)} scans; a pair needs common scans")
    return interval(one - other, statistic, level=level, method=method, rng=rng)
