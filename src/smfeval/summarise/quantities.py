"""How each number of a track is computed, from what was scored of it in one space.

Every function takes the sample and its other numbers (`summarise.numbers`, the table), which are
computed when they are read, and returns a number with its interval, or None where the track has no
such number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, log
from typing import Literal

import numpy as np

from smfeval import words
from smfeval.maths import normal
from smfeval.maths.arrays import Bools, Floats, median_of
from smfeval.maths.dependence import few_changes, wanders
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.score import RULES, Residuals, RuleSettings
from smfeval.score.pit import honest_median, relative_nees
from smfeval.score.spaces import CorrelationTerms, PositionSpace, Space
from smfeval.summarise.inflation import best_scale, median_chi_squared, moment_shape
from smfeval.summarise.interval import StatisticName
from smfeval.summarise.number import SHORT, Intervals, Number, plain_statistic
from smfeval.summarise.windows import SPACE, WindowSample
from smfeval.track import AnyTrack

K_AT_95 = "k_at_95"  # k with the interval that the verdict rests on, whatever level is shown
VERDICT_LEVEL = 0.95
WANDERS = "the error wanders over the whole track: it has no mean that a track this long could show"
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

    `estimate` has the body axes in which the shape of position errors is seen; None: as they are.
    `rotation_deg` is None where a track has no orientation, `relative` where relative motion has
    no scores; both are of the position.
    """

    series: Mapping[str, Floats]
    residuals: Residuals
    settings: RuleSettings
    intervals: Intervals
    space: Space = field(default_factory=PositionSpace)
    estimate: AnyTrack | None = None
    rotation_deg: Floats | None = None
    relative: WindowSample | None = None

    @property
    def body(self) -> Residuals:
        """The residuals in body axes, where these are known."""
        if self.estimate is None or not isinstance(self.space, PositionSpace):
            return self.residuals
        return self.space.body_residuals(self.estimate, self.residuals)

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

    def number(
        self, series: Floats, statistic: StatisticName, unit: str, related: Floats | None = None
    ) -> Number:
        """A statistic of a series that the errors decide; no interval where they wander."""
        if self.error_wanders and self.intervals.method is not None:
            return Number(plain_statistic(series, statistic), unit, reason=WANDERS)
        return self.intervals.of(series, statistic, unit, related=related)

    def numbers(
        self, series: Sequence[Floats], statistic: StatisticName, units: Sequence[str]
    ) -> list[Number]:
        """The same of several series."""
        if self.error_wanders and self.intervals.method is not None:
            return [
                self.number(each, statistic, unit) for each, unit in zip(series, units, strict=True)
            ]
        return self.intervals.of_each(series, statistic, units)

    def mean(self, rule: str) -> Number | None:
        """Mean of a rule over the scans, with its interval."""
        if rule not in self.series:
            return None
        if rule not in self._means:
            names = self._means_beside(rule) if self._is_short else [rule]
            units = [RULES[name].unit_for(self.settings) for name in names]
            found = self.numbers([self.series[name] for name in names], "mean", units)
            for name, mean in zip(names, found, strict=True):
                free = name == SCALE_FREE
                self._means[name] = mean if free else self.over_regimes(mean, self.series[name])
        return self._means[rule]

    def _means_beside(self, rule: str) -> list[str]:
        """Rules whose means are wanted where that of one is."""
        brief = RULES[rule].brief
        shown = (name for name in self.series if RULES[name].title is not None or name == "ape")
        return [name for name in shown if RULES[name].brief == brief]

    @property
    def nees_median(self) -> Number:
        """Median of the NEES."""
        return self._median("nees")

    @property
    def precision_median(self) -> Number:
        """Median of -log det of the predicted covariance."""
        return self._median("precision")

    def _median(self, name: str) -> Number:
        if name not in self._medians:
            both = self._is_short and self.predicts_reported and not self.error_wanders
            names = ["nees", "precision"] if both else [name]
            series = [self._to_order(each) for each in names]
            units = [{"nees": "1", "precision": "nat"}[each] for each in names]
            self._medians.update(zip(names, self.numbers(series, "median", units), strict=True))
        return self._medians[name]

    def _to_order(self, name: str) -> Floats:
        return self.series["nees"] if name == "nees" else -self.residuals.likelihood_terms.logdet

    def coverage(self, level: float) -> Number:
        """Share of scans whose region of a level holds the reference."""
        if level not in self._coverages:
            levels = LEVELS if self._is_short else (level,)
            inside = [self.series["pit"] <= each for each in levels]
            if self.error_wanders:
                rows = [each.astype(np.float64) for each in inside]
                found = self.numbers(rows, "mean", ["1"] * len(rows))
            else:
                found = coverage_numbers(inside, self.relative_nees, self.intervals)
            self._coverages.update(zip(levels, found, strict=True))
        return self._coverages[level]

    @cached_property
    def correlation(self) -> CorrelationTerms | None:
        """How position and rotation err together."""
        return self.space.correlation_terms(self.residuals)

    @property
    def predicts_reported(self) -> bool:
        """Whether the predicted covariance is the reported one."""
        residuals = self.residuals
        return residuals.noise is None and residuals.reported is None

    @property
    def _is_short(self) -> bool:
        """Whether intervals of several series together cost less than one after the other."""
        return len(self.residuals) <= SHORT

    @cached_property
    def _means(self) -> dict[str, Number]:
        return {}

    @cached_property
    def _medians(self) -> dict[str, Number]:
        return {}

    @cached_property
    def _coverages(self) -> dict[float, Number]:
        return {}


Computed = Mapping[str, Number]  # the other numbers of the sample, by what they are
Compute = Callable[[Sample, Computed], Number | None]


def is_rounding(distance: Floats, position: Floats) -> bool:
    """Whether distances are no more than rounding leaves of positions so large."""
    farthest = max(float(position.max()), -float(position.min()))
    return float(median_of(distance)) <= ROUNDING * farthest


def k_at_verdict_level(sample: Sample, computed: Computed) -> Number | None:
    """k with the 95 % interval that the verdict rests on, whatever level is shown."""
    k = computed.get("k")
    if k is None or sample.intervals.level == VERDICT_LEVEL:
        return k
    at_level = replace(sample, intervals=replace(sample.intervals, level=VERDICT_LEVEL))
    return at_level.number(sample.relative_nees, "median", "1")


def compute_mae(sample: Sample, computed: Computed) -> Number:
    """Mean distance from the reference."""
    del computed
    mae = sample.mean("ape")
    assert mae is not None  # it is always scored
    return mae


def compute_rmse(sample: Sample, computed: Computed) -> Number:
    """Its interval lies nowhere below that of the MAE."""
    ape, mae = sample.series["ape"], computed["mae"]
    rmse = sample.over_regimes(sample.number(ape, "rmse", "m"), ape**2)
    if rmse.low is None or rmse.high is None or mae.low is None or mae.high is None:
        return rmse
    return replace(rmse, low=max(rmse.low, mae.low), high=max(rmse.high, mae.high))


def compute_log_score(sample: Sample, computed: Computed) -> Number | None:
    """Its low end leaves room for a consistency of zero at least."""
    del computed
    number, sharpness = sample.mean("log"), sample.mean("log_sharpness")
    if number is None or number.low is None or sharpness is None:
        return number
    if sharpness.low is None and sample.sigma_changes:  # it could be lower, nobody knows how much
        return number
    sharpest = sharpness.value if sharpness.low is None else sharpness.low
    least = sharpest + 0.5 * sample.residuals.dimension * float(np.log(2 * np.pi))
    return replace(number, low=min(max(number.low, least), number.value))


def compute_rotation(sample: Sample, computed: Computed) -> Number | None:
    """Mean angle between estimated and reference rotation, in degrees."""
    del computed
    if sample.rotation_deg is None:
        return None
    return sample.intervals.of(sample.rotation_deg, "mean", "deg")


def compute_nees(
    sample: Sample, computed: Computed, *, statistic: Literal["median", "mean"]
) -> Number | None:
    """A statistic of the NEES."""
    del computed
    if sample.residuals.covariance is None:
        return None
    if statistic == "median":
        return sample.nees_median
    return sample.number(sample.series["nees"], statistic, "1")


def compute_k(sample: Sample, computed: Computed) -> Number | None:
    """Median NEES over that of an honest belief; of particles, by their ranks."""
    if "nees_median" not in computed:
        return None
    nees = computed["nees_median"]
    if nees.low is None or sample.residuals.ensemble is not None:
        return sample.number(sample.relative_nees, "median", "1")
    return nees.map(lambda value: value / median_chi_squared(sample.residuals.dimension), "1")


def compute_moment_k(sample: Sample, computed: Computed) -> Number | None:
    """k of particles by mean and sample covariance alone (Hotelling); None for other beliefs."""
    del computed
    if sample.residuals.ensemble is None:
        return None
    relative = sample.series["nees"] / honest_median(sample.residuals)
    return sample.number(relative, "median", "1")


def compute_factor_per_axis(sample: Sample, computed: Computed) -> Number | None:
    """Root of k: how many times too tight each axis is."""
    del sample
    if "k" not in computed:
        return None
    return computed["k"].map(lambda value: float(np.sqrt(value)), "1")


def compute_nats(sample: Sample, computed: Computed) -> Number | None:
    """d ln k; None where k is 0, and no interval where its low end is."""
    k, d = computed.get("k"), sample.residuals.dimension
    if k is None or not k.value > 0:
        return None
    if k.low is not None and not k.low > 0:
        k = replace(k, low=None, high=None, reason="the interval of k reaches 0")
    return k.map(lambda value: d * log(value) if value < inf else inf, "nat")


def compute_coverage(sample: Sample, computed: Computed, *, level: float) -> Number | None:
    """Share of scans whose region of a level holds the reference."""
    del computed
    return None if sample.residuals.covariance is None else sample.coverage(level)


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
    numbers = [
        found[i] if i in found else intervals.of(each, "mean", "1", related=related)
        for i, each in enumerate(rows)
    ]
    return [_share(number) for number in numbers]


def _share(number: Number) -> Number:
    """With its ends within 0 and 1."""
    low, high = (
        None if end is None else min(max(end, 0.0), 1.0) for end in (number.low, number.high)
    )
    return replace(number, low=low, high=high)


def compute_psi(sample: Sample, computed: Computed) -> Number | None:
    """Shape penalty; None where there are too few scans to fill the space."""
    del computed
    fewest = max(FEWEST_FOR_SHAPE, sample.residuals.dimension + 1)
    if sample.residuals.covariance is None or len(sample.residuals) < fewest:
        return None
    value = moment_shape(sample.space.whitened_moment(sample.body))
    return Number(value, "1") if np.isfinite(value) else None


def compute_precision(sample: Sample, computed: Computed) -> Number | None:
    """Median of -log det of the reported covariance; None where some scan has none."""
    del computed
    residuals = sample.residuals
    if residuals.covariance is None:
        return None
    if sample.predicts_reported and not sample.error_wanders:
        return sample.precision_median
    if sample.predicts_reported:
        return sample.intervals.of(-residuals.likelihood_terms.logdet, "median", "nat")
    covariance = residuals.covariance if residuals.reported is None else residuals.reported
    error, regular = residuals.error, ~normal.is_singular(covariance)
    if not regular.all():
        if residuals.reported is None:
            return None
        error, covariance = error[regular], covariance[regular]
    reported = normal.likelihood_terms(error, covariance)
    return sample.intervals.of(-reported.logdet, "median", "nat")


def compute_best_scale(sample: Sample, computed: Computed) -> Number | None:
    """The factor on S with the least mean log score."""
    del computed
    residuals = sample.residuals
    if residuals.covariance is None:
        return None
    if residuals.noise is None:
        mean = float(np.mean(residuals.likelihood_terms.nees))
        return Number(mean / residuals.dimension, "1")
    return Number(best_scale(residuals.error, residuals.covariance, residuals.noise), "1")


def compute_claimed_correlation(sample: Sample, computed: Computed) -> Number | None:
    """Root mean square of the canonical correlations of position and rotation that are claimed."""
    del computed
    terms = sample.correlation
    return None if terms is None else Number(float(np.sqrt(np.mean(terms.claimed))), "1")


def compute_correlation(sample: Sample, computed: Computed) -> Number | None:
    """Products of position and rotation errors over those that are claimed (`CorrelationTerms`)."""
    del computed
    terms = sample.correlation
    if terms is None or float(np.mean(terms.claimed)) < LEAST_CORRELATION**2:
        return None
    scale = np.sqrt(np.mean(terms.position_nees) * np.mean(terms.rotation_nees))
    if scale == 0:  # one of the two without any error
        return None
    return Number(float(np.mean(terms.found) / np.mean(terms.claimed) / scale), "1")


def compute_relative_mean(
    sample: Sample,
    computed: Computed,
    *,
    score: Literal["energy", "log", "nees"],
    unit: str,
    overlapping: bool = False,
) -> Number | None:
    """Mean of a score over windows of relative motion."""
    del computed
    scores = _window_scores(sample, overlapping=overlapping)
    return None if scores is None else sample.intervals.of(scores[score], "mean", unit)


def _window_scores(sample: Sample, *, overlapping: bool) -> dict[str, Floats] | None:
    if sample.relative is None:
        return None
    return sample.relative.overlapping_scores if overlapping else sample.relative.scores


def compute_relative_k(
    sample: Sample, computed: Computed, *, overlapping: bool = False
) -> Number | None:
    """Mean NEES of windows over its degrees of freedom, with the interval that judges.

    Of `overlapping` windows, with the interval of a series that depends on itself.
    """
    del computed
    if sample.relative is None:
        return None
    if not overlapping:
        return sample.relative.row.number(sample.intervals)
    degrees = SPACE * sample.relative.free
    mean = sample.intervals.of(sample.relative.overlapping_scores["nees"], "mean", "1")
    return mean.map(lambda nees: nees / degrees, "1")


def compute_relative_coverage(
    sample: Sample, computed: Computed, *, overlapping: bool = False
) -> Number | None:
    """Share of windows whose region holds the relative motion."""
    del computed
    scores = _window_scores(sample, overlapping=overlapping)
    if scores is None:
        return None
    inside = scores["nees"] <= chi_squared_tail_quantile(SPACE, 1 - NOMINAL)
    return coverage_numbers([inside], scores["nees"], sample.intervals)[0]
