"""A track in numbers: mean scores, calibration, and their intervals."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from smfeval import words
from smfeval.maths import normal
from smfeval.maths.arrays import Bools, Floats
from smfeval.score import Residuals, RuleSettings
from smfeval.score.pit import honest_median
from smfeval.summarise.inflation import best_scale, shape_penalty
from smfeval.summarise.number import Intervals, Number

VERDICT_LEVEL = 0.95
ROUNDING = 1e-9  # errors this small beside the positions are what rounding leaves of zero
LEVELS = (0.5, 0.68, 0.9, 0.95, 0.99)
FEWEST_FOR_SHAPE = 4  # scans: fewer than d + 1 errors always lie in a plane


@dataclass(frozen=True)
class Scores:
    """Means over the scans; None where a rule was not chosen or does not exist for the belief."""

    mae: Number
    rmse: Number
    energy: Number | None
    log: Number | None
    log_consistency: Number | None
    log_sharpness: Number | None
    crps: Number | None
    crps_by_axis: dict[str, Number]
    interval: Number | None
    rotation_mean_deg: Number | None


@dataclass(frozen=True)
class Calibration:
    """Whether errors and covariances match; only for beliefs with uncertainty."""

    nees_median: Number
    nees_mean: Number
    k: Number
    factor_per_axis: Number  # sqrt(k): how many times each axis is too tight
    coverage: dict[float, Number]
    psi: Number | None
    precision: Number | None  # median of -log det S, as reported
    best_scale: Number  # the factor on S with the least mean log score
    k_at_95: Number  # k with the interval that the verdict rests on, whatever level is shown
    negligible: bool  # the errors are rounding: estimate and reference are the same numbers


def summarise_scores(
    series: Mapping[str, Floats],
    crps_by_axis: Mapping[str, Floats],
    rotation_deg: Floats | None,
    *,
    settings: RuleSettings,
    intervals: Intervals,
    dimension: int,
) -> Scores:
    """Mean of every rule, and of the CRPS along each named direction."""

    def mean(name: str, unit: str) -> Number | None:
        return intervals.of(series[name], "mean", unit) if name in series else None

    mae = intervals.of(series["ape"], "mean", "m")
    rmse = floor_interval(intervals.of(series["ape"], "rmse", "m"), mae)
    log, sharpness = mean("log", "nat"), mean("log_sharpness", "nat")
    if log is not None and sharpness is not None:
        log = _floor_log_interval(log, sharpness, dimension)
    power = "m" if settings.beta == 1 else f"m^{words.exact(settings.beta)}"
    return Scores(
        mae=mae,
        rmse=rmse,
        energy=mean("energy", power),
        log=log,
        log_consistency=mean("log_consistency", "nat"),
        log_sharpness=sharpness,
        crps=mean("crps", "m"),
        crps_by_axis={
            name: Number(float(values.mean()), "m") for name, values in crps_by_axis.items()
        },
        interval=mean("interval", "m"),
        rotation_mean_deg=(
            None if rotation_deg is None else intervals.of(rotation_deg, "mean", "deg")
        ),
    )


def floor_interval(number: Number, floor: Number) -> Number:
    """The same number with an interval that lies nowhere below another's (RMSE and MAE)."""
    ends = (number.low, number.high, floor.low, floor.high)
    if None in ends:
        return number
    low, high, floor_low, floor_high = (float(end) for end in ends if end is not None)
    return replace(number, low=max(low, floor_low), high=max(high, floor_high))


def _floor_log_interval(log: Number, sharpness: Number, dimension: int) -> Number:
    """The log score with a low end that leaves room for a consistency of zero at least."""
    if log.low is None:
        return log
    sharpest = sharpness.value if sharpness.low is None else sharpness.low
    least = sharpest + 0.5 * dimension * float(np.log(2 * np.pi))
    return replace(log, low=min(max(log.low, least), log.value))


def summarise_calibration(
    series: Mapping[str, Floats],
    residuals: Residuals,
    body: Residuals,
    *,
    intervals: Intervals,
    position: Floats,
) -> Calibration | None:
    """NEES, k, coverage, shape. `body` is `residuals` in body axes (for the shape).

    NEES is put relative to what an honest belief of its kind has (`honest_median`), so that k is 1
    for honest particles too, however few. `position` is the reference's.
    """
    if residuals.covariance is None:
        return None
    nees, pit, honest = series["nees"], series["pit"], honest_median(residuals)
    relative = nees / honest
    nees_median = intervals.of(nees, "median", "1")
    k = _relative_median(nees_median, relative, honest, intervals)
    at_95 = (
        k
        if intervals.level == VERDICT_LEVEL
        else replace(intervals, level=VERDICT_LEVEL).of(relative, "median", "1")
    )
    return Calibration(
        nees_median=nees_median,
        nees_mean=intervals.of(nees, "mean", "1"),
        k=k,
        factor_per_axis=k.map(lambda value: float(np.sqrt(value)), "1"),
        coverage={level: _fraction(pit <= level, relative, intervals) for level in LEVELS},
        psi=_psi(body),
        precision=_precision(residuals, intervals),
        best_scale=Number(_best_scale(residuals), "1"),
        k_at_95=at_95,
        negligible=is_rounding(series["ape"], position),
    )


def _relative_median(
    nees_median: Number, relative: Floats, honest: Floats, intervals: Intervals
) -> Number:
    """Median of NEES / honest: where that is one number for all scans, only the scale differs."""
    if nees_median.low is None or (honest != honest[0]).any():
        return intervals.of(relative, "median", "1")
    return nees_median.map(lambda value: value / float(honest[0]), "1")


def _best_scale(residuals: Residuals) -> float:
    """`best_scale`, from the NEES that is known where the reference is exact."""
    if residuals.covariance is None or residuals.noise is None:
        return float(np.mean(residuals.likelihood_terms.nees)) / residuals.dimension
    return best_scale(residuals.error, residuals.covariance, residuals.noise)


def is_rounding(distance: Floats, position: Floats) -> bool:
    """Whether distances are no more than rounding leaves of positions so large."""
    farthest = max(float(position.max()), -float(position.min()))
    return bool(np.median(distance) <= ROUNDING * farthest)


def _fraction(inside: Bools, relative: Floats, intervals: Intervals) -> Number:
    """A coverage: a fraction whose memory is that of the NEES, its ends within 0 and 1."""
    related = None
    if inside.all() or not inside.any():
        related = np.log(np.maximum(relative, np.finfo(np.float64).tiny))
    number = intervals.of(inside.astype(np.float64), "mean", "1", related=related)
    low, high = (
        None if end is None else min(max(end, 0.0), 1.0) for end in (number.low, number.high)
    )
    return replace(number, low=low, high=high)


def _psi(body: Residuals) -> Number | None:
    """Shape penalty; None where there are too few scans to fill the space."""
    if len(body) < FEWEST_FOR_SHAPE:
        return None
    value = shape_penalty(body.error, body.predicted_covariance)
    return Number(value, "1") if np.isfinite(value) else None


def _precision(residuals: Residuals, intervals: Intervals) -> Number | None:
    """Median of -log det of the reported covariance; None where some scan has none."""
    if residuals.noise is None:
        return intervals.of(-residuals.likelihood_terms.logdet, "median", "nat")
    if residuals.covariance is None or normal.is_singular(residuals.covariance).any():
        return None
    reported = normal.likelihood_terms(residuals.error, residuals.covariance)
    return intervals.of(-reported.logdet, "median", "nat")
