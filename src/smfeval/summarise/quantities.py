"""How each number of a track is computed, from what was scored of it in one space.

Every function takes the sample and returns a number with its interval, or None where the track has
no such number; `summarise.numbers` is the table of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import inf, log
from typing import TYPE_CHECKING, Literal

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Bools, Floats, median_of
from smfeval.maths.dependence import few_changes, wanders
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.score import RULES, Residuals, RuleSettings
from smfeval.score.crps import crps_of_axes
from smfeval.score.pit import honest_median, relative_nees
from smfeval.score.spaces import CorrelationTerms, PositionSpace, Space, path_axes
from smfeval.summarise.inflation import best_scale, median_chi_squared, moment_shape
from smfeval.summarise.interval import StatisticName, plain_statistic
from smfeval.summarise.number import SHORT, Intervals, Number
from smfeval.summarise.windows import SPACE, WindowSample, path_length
from smfeval.track import AnyTrack, Track

if TYPE_CHECKING:
    from smfeval.summarise.integrity import Integrity

K_AT_95 = "k_at_95"  # k with the interval that the verdict rests on, whatever level is shown
VERDICT_LEVEL = 0.95
WANDERS = "errors are autocorrelated over the whole track: a track this long cannot show their mean"
FEW_REGIMES = (
    "the reported sigma changes only {times} in the track: a mean over so few regimes has no "
    "interval"
)
REGIMES_COUNTED = 3.5  # effective samples: an interval that takes few regimes for more is too sure
SCALE_FREE = "log_consistency"  # half the NEES, whatever sigma is
ROUNDING = 1e-9  # errors this small beside the positions are what rounding leaves of zero
LEVELS = (0.5, 0.68, 0.9, 0.95, 0.99)
NOMINAL = 0.9  # the coverage that tables show
FEWEST_FOR_SHAPE = 4  # scans: fewer than d + 1 errors always lie in a plane
LEAST_CORRELATION = 0.05  # claimed: less of it cannot be told from none


@dataclass(frozen=True)
class Sample:
    """What the numbers of a track are computed from, in one space.

    The tracks have the body axes in which the shape of position errors is seen, and their angles;
    None: errors as they are. `relative` is None where relative motion has no scores.
    """

    series: Mapping[str, Floats]
    residuals: Residuals
    settings: RuleSettings
    intervals: Intervals
    space: Space = field(default_factory=PositionSpace)
    estimate: AnyTrack | None = None
    reference: Track | None = None
    relative: WindowSample | None = None
    integrity: "Integrity | None" = None  # None where no alert limit is given

    @cached_property
    def relative_nees(self) -> Floats:
        """NEES over the median of an honest belief; of particles, by their ranks. (n,)."""
        return relative_nees(self.residuals, self.series["nees"], self.series["pit"])

    @cached_property
    def error_wanders(self) -> bool:
        """Whether the error is a random walk or slower over the whole track."""
        return wanders(self.residuals.error)

    @cached_property
    def sigma_changes(self) -> int:
        """How often the predicted sigma changes between two levels, if seldom; 0 otherwise."""
        residuals = self.residuals
        if residuals.covariance is None:
            return 0
        return few_changes(residuals.likelihood_terms.logdet / (2 * residuals.dimension))

    def over_regimes(self, mean: Number, series: Floats) -> Number:
        """The mean of a series; without its interval where sigma has few regimes and they matter.

        The interval takes them for n_effective r^2 samples, r the correlation of the series with
        log sigma. Where they are few they are worth less.
        """
        if mean.low is None or mean.n_effective is None or not self.sigma_changes:
            return mean
        share = float(np.corrcoef(series, self.residuals.likelihood_terms.logdet)[0, 1] ** 2)
        if mean.n_effective * share <= REGIMES_COUNTED:
            return mean
        times = "once" if self.sigma_changes == 1 else words.count(self.sigma_changes, "time")
        return Number(mean.value, mean.unit, reason=FEW_REGIMES.format(times=times))

    def number(self, series: Floats, statistic: StatisticName, unit: str) -> Number:
        """A statistic of a series that the errors decide; no interval where they wander."""
        return self.numbers([series], statistic, [unit])[0]

    def numbers(
        self, series: Sequence[Floats], statistic: StatisticName, units: Sequence[str]
    ) -> list[Number]:
        """A statistic of several series that the errors decide."""
        if self.intervals.method is None or not self.error_wanders:
            return self.intervals.of_each(series, statistic, units)
        return [
            Number(plain_statistic(each, statistic), unit, reason=WANDERS)
            for each, unit in zip(series, units, strict=True)
        ]

    @cached_property
    def means(self) -> dict[str, Number]:
        """Mean of each rule over the scans; of short series, those of one report together."""
        names = [name for name in self.series if RULES[name].title is not None or name == "ape"]
        groups = [[name] for name in names]
        if self.is_short:
            groups = [[n for n in names if RULES[n].brief == brief] for brief in (True, False)]
        found: dict[str, Number] = {}
        for group in filter(None, groups):
            units = [RULES[name].unit_for(self.settings) for name in group]
            means = self.numbers([self.series[name] for name in group], "mean", units)
            found |= dict(zip(group, means, strict=True))
        return {
            name: mean if name == SCALE_FREE else self.over_regimes(mean, self.series[name])
            for name, mean in found.items()
        }

    @cached_property
    def medians(self) -> dict[str, Number]:
        """Medians of the NEES and, of short series, of -log det of the predicted covariance."""
        series, units = {"nees": self.series["nees"]}, {"nees": "1", "precision": "nat"}
        if self.is_short and self.predicts_reported and not self.error_wanders:
            series["precision"] = -self.residuals.likelihood_terms.logdet
        found = self.numbers(list(series.values()), "median", [units[name] for name in series])
        return dict(zip(series, found, strict=True))

    @cached_property
    def k(self) -> Number | None:
        """Median NEES over that of an honest belief; of particles, by their ranks."""
        if self.residuals.covariance is None:
            return None
        nees = self.medians["nees"]
        if nees.low is None or self.residuals.ensemble is not None:
            return self.number(self.relative_nees, "median", "1")
        return nees.map(lambda value: value / median_chi_squared(self.residuals.dimension), "1")

    @cached_property
    def k_at_verdict_level(self) -> Number | None:
        """k with the 95 % interval that the verdict rests on, whatever level is shown."""
        if self.k is None or self.intervals.level == VERDICT_LEVEL:
            return self.k
        at_level = replace(self, intervals=replace(self.intervals, level=VERDICT_LEVEL))
        return at_level.number(self.relative_nees, "median", "1")

    def coverage(self, level: float) -> Number:
        """Share of scans whose region of a level holds the reference."""
        return self.coverages[level] if self.is_short else self._coverages((level,))[level]

    @cached_property
    def coverages(self) -> dict[float, Number]:
        """Coverage of every level, together."""
        return self._coverages(LEVELS)

    def _coverages(self, levels: tuple[float, ...]) -> dict[float, Number]:
        inside = [self.series["pit"] <= level for level in levels]
        if self.intervals.method is not None and self.error_wanders:
            rows = [each.astype(np.float64) for each in inside]
            found = self.numbers(rows, "mean", ["1"] * len(rows))
        else:
            found = coverage_numbers(inside, self.relative_nees, self.intervals)
        return dict(zip(levels, found, strict=True))

    @cached_property
    def correlation(self) -> CorrelationTerms | None:
        """How position and rotation err together."""
        return self.space.correlation_terms(self.residuals)

    @property
    def predicts_reported(self) -> bool:
        """Whether the predicted covariance is the reported one."""
        return self.residuals.noise is None and self.residuals.reported is None

    @property
    def is_short(self) -> bool:
        """Whether intervals of several series together cost less than one after the other."""
        return len(self.residuals) <= SHORT


Compute = Callable[[Sample], Number | None]


def is_rounding(distance: Floats, position: Floats) -> bool:
    """Whether distances are no more than rounding leaves of positions so large."""
    farthest = max(float(position.max()), -float(position.min()))
    return float(median_of(distance)) <= ROUNDING * farthest


def compute_rmse(sample: Sample) -> Number:
    """Its interval lies nowhere below that of the MAE."""
    ape, mae = sample.series["ape"], sample.means["ape"]
    rmse = sample.over_regimes(sample.number(ape, "rmse", "m"), ape**2)
    if rmse.low is None or rmse.high is None or mae.low is None or mae.high is None:
        return rmse
    return replace(rmse, low=max(rmse.low, mae.low), high=max(rmse.high, mae.high))


def compute_log_score(sample: Sample) -> Number | None:
    """Its low end leaves room for a consistency of zero at least."""
    number, sharpness = sample.means.get("log"), sample.means.get("log_sharpness")
    if number is None or number.low is None or sharpness is None:
        return number
    if sharpness.low is None and sample.sigma_changes:  # it could be lower, nobody knows how much
        return number
    sharpest = sharpness.value if sharpness.low is None else sharpness.low
    least = sharpest + 0.5 * sample.residuals.dimension * float(np.log(2 * np.pi))
    return replace(number, low=min(max(number.low, least), number.value))


def compute_rotation(sample: Sample) -> Number | None:
    """Mean angle between estimated and reference rotation, in degrees."""
    estimate, reference = sample.estimate, sample.reference
    if estimate is None or reference is None:
        return None
    if not (estimate.about.oriented and reference.about.oriented):
        return None
    off = so3.angle_between(reference.rotation, estimate.rotation)
    return sample.intervals.of(np.degrees(off, out=off), "mean", "deg")


def compute_nees_mean(sample: Sample) -> Number | None:
    """Mean NEES, which a few scans can dominate."""
    if sample.residuals.covariance is None:
        return None
    return sample.number(sample.series["nees"], "mean", "1")


def compute_moment_k(sample: Sample) -> Number | None:
    """k of particles by mean and sample covariance alone (Hotelling); None for other beliefs."""
    if sample.residuals.ensemble is None:
        return None
    relative = sample.series["nees"] / honest_median(sample.residuals)
    return sample.number(relative, "median", "1")


def compute_factor_per_axis(sample: Sample) -> Number | None:
    """Root of k: how many times too tight each axis is."""
    return None if sample.k is None else sample.k.map(lambda value: float(np.sqrt(value)), "1")


def compute_nats(sample: Sample) -> Number | None:
    """d ln k; None where k is 0, and no interval where its low end is."""
    k, d = sample.k, sample.residuals.dimension
    if k is None or not k.value > 0:
        return None
    if k.low is not None and not k.low > 0:
        k = replace(k, low=None, high=None, reason="the interval of k reaches 0")
    return k.map(lambda value: d * log(value) if value < inf else inf, "nat")


def coverage_numbers(
    inside: Sequence[Bools], relative_nees: Floats, intervals: Intervals
) -> list[Number]:
    """Coverages: shares whose memory is that of the NEES, their ends within 0 and 1. (n,) each."""
    rows = [each.astype(np.float64) for each in inside]
    mixed = [i for i, each in enumerate(inside) if each.any() and not each.all()]
    units = ["1"] * len(mixed)
    several = intervals.of_each([rows[i] for i in mixed], "mean", units) if mixed else []
    found = dict(zip(mixed, several, strict=True))
    related = np.log(np.maximum(relative_nees, np.finfo(np.float64).tiny))
    numbers = []
    for i, each in enumerate(rows):
        share = found[i] if i in found else intervals.of(each, "mean", "1", related=related)
        low, high = (
            None if end is None else min(max(end, 0.0), 1.0) for end in (share.low, share.high)
        )
        numbers.append(replace(share, low=low, high=high))
    return numbers


def compute_psi(sample: Sample) -> Number | None:
    """Shape penalty, of positions in body axes; None where too few scans fill the space."""
    residuals, space = sample.residuals, sample.space
    fewest = max(FEWEST_FOR_SHAPE, residuals.dimension + 1)
    if residuals.covariance is None or len(residuals) < fewest:
        return None
    if sample.estimate is not None and isinstance(space, PositionSpace):
        residuals = space.body_residuals(sample.estimate, residuals)
    value = moment_shape(space.whitened_moment(residuals))
    return Number(value, "1") if np.isfinite(value) else None


def compute_precision(sample: Sample) -> Number | None:
    """Median of -log det of the reported covariance; None where some scan has none."""
    residuals = sample.residuals
    if residuals.covariance is None:
        return None
    if sample.predicts_reported:
        precision = -residuals.likelihood_terms.logdet
        known = sample.medians.get("precision")
        return known or sample.intervals.of(precision, "median", "nat")
    covariance = residuals.covariance if residuals.reported is None else residuals.reported
    error, regular = residuals.error, ~normal.is_singular(covariance)
    if not regular.all():
        if residuals.reported is None:
            return None
        error, covariance = error[regular], covariance[regular]
    reported = normal.likelihood_terms(error, covariance)
    return sample.intervals.of(-reported.logdet, "median", "nat")


def compute_best_scale(sample: Sample) -> Number | None:
    """The factor on S with the least mean log score."""
    residuals = sample.residuals
    if residuals.covariance is None:
        return None
    if residuals.noise is None:
        mean = float(np.mean(residuals.likelihood_terms.nees))
        return Number(mean / residuals.dimension, "1")
    return Number(best_scale(residuals.error, residuals.covariance, residuals.noise), "1")


def compute_reported_correlation(sample: Sample) -> Number | None:
    """Root mean square of the canonical correlations of position and rotation that are claimed."""
    terms = sample.correlation
    return None if terms is None else Number(float(np.sqrt(np.mean(terms.claimed))), "1")


def compute_correlation(sample: Sample) -> Number | None:
    """Products of position and rotation errors over those that are claimed (`CorrelationTerms`)."""
    terms = sample.correlation
    if terms is None or float(np.mean(terms.claimed)) < LEAST_CORRELATION**2:
        return None
    scale = np.sqrt(np.mean(terms.position_nees) * np.mean(terms.rotation_nees))
    if scale == 0:  # one of the two without any error
        return None
    return Number(float(np.mean(terms.found) / np.mean(terms.claimed) / scale), "1")


def compute_relative_mean(
    sample: Sample,
    *,
    score: Literal["energy", "log", "nees"],
    unit: str,
    overlapping: bool = False,
) -> Number | None:
    """Mean of a score over windows of relative motion."""
    scores = _window_scores(sample, overlapping=overlapping)
    return None if scores is None else sample.intervals.of(scores[score], "mean", unit)


def _window_scores(sample: Sample, *, overlapping: bool) -> dict[str, Floats] | None:
    if sample.relative is None:
        return None
    return sample.relative.overlapping_scores if overlapping else sample.relative.scores


def compute_relative_k(sample: Sample, *, overlapping: bool = False) -> Number | None:
    """Mean NEES of windows over its degrees of freedom, with the interval that judges.

    Of `overlapping` windows, with the interval of a series that depends on itself.
    """
    if sample.relative is None:
        return None
    if not overlapping:
        return sample.relative.row.number(sample.intervals)
    mean = compute_relative_mean(sample, score="nees", unit="1", overlapping=True)
    degrees = SPACE * sample.relative.free
    return None if mean is None else mean.map(lambda nees: nees / degrees, "1")


def compute_relative_coverage(sample: Sample, *, overlapping: bool = False) -> Number | None:
    """Share of windows whose region holds the relative motion."""
    scores = _window_scores(sample, overlapping=overlapping)
    if scores is None:
        return None
    inside = scores["nees"] <= chi_squared_tail_quantile(SPACE, 1 - NOMINAL)
    return coverage_numbers([inside], scores["nees"], sample.intervals)[0]


def crps_by_axis(sample: Sample) -> dict[str, Number]:
    """Mean CRPS along each axis of the position; along the path, too, where all are scored."""
    if "crps" not in sample.series:
        return {}
    space, residuals = sample.space, sample.residuals
    by_axis = dict(zip(space.axis_names, crps_of_axes(residuals).T, strict=True))
    whole = isinstance(space, PositionSpace) and space.is_whole
    if whole and sample.reference is not None:
        for name, direction in path_axes(sample.reference).items():
            by_axis[name] = crps_of_axes(residuals.along(direction))[:, 0]
        by_axis["vertical"] = by_axis["z"]
    return {name: Number(float(values.mean()), "m") for name, values in by_axis.items()}


@dataclass(frozen=True)
class PathK:
    """k over the start of a track: does it belong to the filter or to the length of the track?"""

    part: float  # of the path
    metres: float
    scans: int
    k: Number


PATH_PARTS = (1 / 8, 1 / 4, 1 / 2)


def k_over_path(sample: Sample) -> tuple[PathK, ...]:
    """k of the residuals over the first eighth, quarter and half of the path, and all of it."""
    if sample.k is None or sample.reference is None:
        return ()
    path_m = path_length(sample.reference.position)
    intervals = sample.intervals
    if sample.error_wanders:
        intervals = replace(intervals, method=None)
    rows = []
    for part in PATH_PARTS:
        scans = int(np.searchsorted(path_m, part * path_m[-1], side="right"))
        k = intervals.of(sample.relative_nees[:scans], "median", "1")
        rows.append(PathK(part, float(path_m[scans - 1]), scans, k))
    return (*rows, PathK(1.0, float(path_m[-1]), len(path_m), sample.k))
