"""The block bootstraps of the paper: three ways to cut blocks, three ways to read the replicates.

percentile
    [t*_low, t*_high], the order statistics of the replicates;
basic
    [2 t - t*_high, 2 t - t*_low], mirrored at the statistic;
studentised
    t - (quantiles of (t* - t) / error*) * error, for means; a quantile is read off the series at
    the shares that the studentised interval of its indicator fraction gives (Woodruff 1952).
"""

from collections.abc import Callable

import numpy as np

from smfeval.errors import OptionError, SeriesError
from smfeval.maths.arrays import Floats
from smfeval.maths.autocovariance import block_length
from smfeval.maths.blocks import (
    BootstrapPlan,
    plan_bootstrap,
    replicate_errors,
    replicate_means,
    replicate_quantile_ends,
)
from smfeval.maths.dependence import effective_samples, mean_posterior
from smfeval.summarise.interval_ends import Interval, Request, Statistic, check_varying, members

LowHigh = tuple[float, float]
ReadEnds = Callable[[Request, BootstrapPlan], LowHigh]


def percentile_ends(request: Request, plan: BootstrapPlan) -> LowHigh:
    """Order statistics of the replicates, the outer of two where the level falls between."""
    rank = max(1, int(np.floor(request.tail * plan.replicates)))
    ranks = (rank, plan.replicates + 1 - rank)
    if request.statistic.share is not None:
        low, high = replicate_quantile_ends(request.series, request.statistic.share, plan, ranks)
    else:
        mean = np.sort(replicate_means(averaged_series(request), plan))
        low, high = statistic_of_means(request.statistic, mean[[rank - 1 for rank in ranks]])
    return float(low), float(high)


def basic_ends(request: Request, plan: BootstrapPlan) -> LowHigh:
    """Percentile ends, mirrored at the statistic."""
    value = request.statistic.of(request.series)
    low, high = percentile_ends(request, plan)
    return 2 * value - high, 2 * value - low


def studentised_ends(request: Request, plan: BootstrapPlan) -> LowHigh:
    """Ends from the replicates in units of their own standard errors."""
    series, share = request.series, request.statistic.share
    if share is None:
        ends = np.array(_studentised_mean(averaged_series(request), request.tail, plan))
        low, high = statistic_of_means(
            request.statistic, np.maximum(ends, 0) if _is_rmse(request) else ends
        )
        return float(low), float(high)
    value = np.quantile(series, [share], method="inverted_cdf")
    member = members(series, value).astype(float)
    low, high = _studentised_mean(member, request.tail, plan)
    shares = np.clip([share - (high - member.mean()), share + (member.mean() - low)], 0, 1)
    low, high = np.quantile(series, shares, method="inverted_cdf")
    return float(low), float(high)


def _studentised_mean(series: Floats, tail: float, plan: BootstrapPlan) -> LowHigh:
    mean = float(series.mean())
    replicates = replicate_means(series, plan)
    errors = replicate_errors(series, replicates, plan)
    usable = errors > 0
    if not usable.any():
        raise SeriesError("every replicate is a single block; studentised ends need shorter blocks")
    score = (replicates[usable] - mean) / errors[usable]
    low, high = np.quantile(score, [tail, 1 - tail])
    error = float(replicates.std())
    return mean - high * error, mean - low * error


def averaged_series(request: Request) -> Floats:
    """Return the series whose mean the statistic is a function of."""
    return request.series**2 if _is_rmse(request) else request.series


def statistic_of_means(statistic: Statistic, mean: Floats) -> Floats:
    """Return the statistic of given means of `averaged`."""
    return np.sqrt(mean) if statistic.name == "rmse" else mean


def _is_rmse(request: Request) -> bool:
    return request.statistic.name == "rmse"


def bootstrap(request: Request, *, scheme: str, ends: str) -> Interval:
    """Interval by one of the block bootstraps."""
    series = check_varying(averaged_series(request))
    n, length = len(series), choose_length(request, scheme)
    replicates = plan_bootstrap(
        n, length, scheme=scheme, replicates=request.replicates, rng=request.rng
    )
    low, high = READ_ENDS[ends](request, replicates)
    n_effective = effective_samples(series.var(), mean_posterior(series).variance)
    return Interval(
        value=request.statistic.of(request.series),
        low=low,
        high=high,
        level=request.level,
        n=n,
        n_effective=float(n_effective),
        block_length=length,
        method=f"{scheme}-{ends}",
    )


def choose_length(request: Request, scheme: str) -> float:
    """Block length in scans: as asked, or after Politis and White."""
    n, asked = len(request.series), request.block_length
    if asked is None:
        best = block_length(averaged_series(request))
        return max(1.0, best.geometric if scheme == "stationary" else np.ceil(best.fixed))
    if asked > n:
        raise SeriesError(f"a block of {asked:g} scans is longer than the series of {n}")
    if asked < 1 or (scheme != "stationary" and asked != int(asked)):
        raise OptionError(f"a block of {asked:g} scans; {scheme} blocks need a whole number from 1")
    return float(asked)


READ_ENDS: dict[str, ReadEnds] = {
    "percentile": percentile_ends,
    "basic": basic_ends,
    "studentised": studentised_ends,
}
