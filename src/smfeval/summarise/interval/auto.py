"""The default: intervals that were chosen because they cover, see docs/coverage.md.

==========  ==============================================================================
mean        posterior of the mean from the low cosines, ends moved out on the side of a tail
fraction    the same for a 0/1 series, on the logit scale
quantile    the values whose indicator fraction may be the wanted share
rmse        the mean of the squares, rooted
==========  ==============================================================================
"""

from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import chunks
from smfeval.summarise.interval.ends import Ends
from smfeval.summarise.interval.fraction_ends import fraction_ends, one_sided_ends
from smfeval.summarise.interval.mean_ends import mean_ends, rmse_ends
from smfeval.summarise.interval.quantile_ends import quantile_ends
from smfeval.summarise.interval.request import Request, Statistic, varying
from smfeval.summarise.interval.result import Interval


def auto(request: Request) -> Interval:
    """Interval by the low-frequency posterior, or a refusal with its reason."""
    series, statistic = request.series, request.statistic
    if statistic.name == "mean" and is_fraction(series) and series.min() == series.max():
        return _unanimous(request)
    varying(series**2 if statistic.name == "rmse" else series)

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


def _unanimous(request: Request) -> Interval:
    """Fraction of a series that is all zero or all one."""
    value, n = float(request.series[0]), len(request.series)
    every = f"all {n} scans are {'inside' if value else 'outside'}"
    if request.related is None:
        reason = f"{every}: alone they do not tell how many samples they are worth"
        return Interval(value, None, None, request.level, n, None, None, "auto", reason)
    n_effective = float(mean_ends(varying(request.related), request.level).n_effective)
    low, high = one_sided_ends(bool(value), n_effective, request.level)
    reason = f"{every}: one-sided, for {n_effective:.1f} effective samples"
    return Interval(value, low, high, request.level, n, n_effective, None, "auto", reason)
