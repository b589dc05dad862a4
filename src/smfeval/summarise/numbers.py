"""One table of numbers: everything that smfeval reports about a track, one row each.

The terminal, the page, JSON, `--fail-if`, studies and figures read names, titles, units, what an
honest belief has and which way is better from here. A rule of `score.rules` has its row by itself:
the mean over the scans. Further numbers are rows of `_DERIVED`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf, log
from typing import Literal

import numpy as np

from smfeval import words
from smfeval.maths import normal
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.dependence import wanders
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.score import RULES, Residuals, Rule, RuleSettings
from smfeval.score.pit import honest_median, relative_nees
from smfeval.score.residuals import SpaceName
from smfeval.score.spaces import CorrelationTerms, PositionSpace, Space
from smfeval.summarise.inflation import best_scale, median_chi_squared, moment_shape
from smfeval.summarise.interval import StatisticName
from smfeval.summarise.number import Intervals, Number, plain_statistic
from smfeval.summarise.windows import WindowSample

VERDICT_LEVEL = 0.95
WANDERS = "the error wanders over the whole track: it has no mean that a track this long could show"
ROUNDING = 1e-9  # errors this small beside the positions are what rounding leaves of zero
LEVELS = (0.5, 0.68, 0.9, 0.95, 0.99)
NOMINAL = 0.9  # the coverage that tables show
FEWEST_FOR_SHAPE = 4  # scans: fewer than d + 1 errors always lie in a plane
LEAST_CORRELATION = 0.05  # claimed: less of it cannot be told from none


@dataclass(frozen=True)
class Sample:
    """What the numbers of a track are computed from, in one space.

    `body` holds the residuals in body axes, for the shape; `rotation_deg` is None where a track
    has no orientation, `relative` where relative motion has no scores; both are of the position.
    """

    series: Mapping[str, Floats]
    residuals: Residuals
    body: Residuals
    rotation_deg: Floats | None
    settings: RuleSettings
    intervals: Intervals
    relative: WindowSample | None = None
    space: Space = field(default_factory=PositionSpace)

    @cached_property
    def relative_nees(self) -> Floats:
        """NEES over the median of an honest belief; of particles, by their ranks. (n,)."""
        return relative_nees(self.residuals, self.series["nees"], self.series["pit"])

    @cached_property
    def error_wanders(self) -> bool:
        """Whether the error is a random walk or slower over the whole track."""
        return wanders(self.residuals.error)

    def number(
        self, series: Floats, statistic: StatisticName, unit: str, related: Floats | None = None
    ) -> Number:
        """A statistic of a series that the errors decide; no interval where they wander."""
        if self.error_wanders and self.intervals.method is not None:
            return Number(plain_statistic(series, statistic), unit, reason=WANDERS)
        return self.intervals.of(series, statistic, unit, related=related)

    def mean(self, rule: str) -> Number | None:
        """Mean of a rule over the scans, with its interval; computed once."""
        if rule not in self.series:
            return None
        if rule not in self._means:
            unit = RULES[rule].unit_for(self.settings)
            self._means[rule] = self.number(self.series[rule], "mean", unit)
        return self._means[rule]

    @cached_property
    def correlation(self) -> CorrelationTerms | None:
        """How position and rotation err together."""
        return self.space.correlation_terms(self.residuals)

    @cached_property
    def _means(self) -> dict[str, Number]:
        return {}


Computed = dict[str, Number]  # the numbers of the rows before
Compute = Callable[[Sample, Computed], Number | None]


@dataclass(frozen=True)
class NumberRow:
    """A reported number.

    Attributes
    ----------
    name
        Its key in JSON, `--fail-if` and studies.
    title
        What people call it.
    unit
        Unit of the value; "1" for none.
    group
        Whether it scores the belief or tells how errors and covariances match.
    compute
        Value and interval from a sample and the numbers before; None where it does not exist.
    label
        The line of the text that shows it; rows of one label share a line, None is not shown.
    honest
        The value of an honest belief, by the number of dimensions; None where there is none.
    compare
        What to compare the value with, in words; `{honest}` and `{if_honest}` are filled in.
    better
        "lower", or "honest": the nearer to that value the better; None: nobody wins by it.
    metric
        Whether studies have it as a column.
    short
        What it is called where room is short; "": its title.
    overview
        Whether it is a column of the table of several estimates.
    decades
        It spans decades: studies show powers of ten, and distances from honest are ratios.
    aliases
        Further names that `--fail-if` takes.
    level
        Of a coverage, its nominal level.
    space
        Position, rotation, pose, or relative motion over windows.
    on_page
        Whether the page's table has it.
    quantity
        What is computed, whatever the space: `k` of `k_rotation`; "": as the name.
    """

    name: str
    title: str
    unit: str
    group: Literal["scores", "calibration"]
    compute: Compute
    label: str | None = None
    honest: Callable[[int], float] | None = None
    compare: str = ""
    better: Literal["lower", "honest"] | None = None
    metric: bool = False
    short: str = ""
    overview: bool = False
    decades: bool = False
    aliases: tuple[str, ...] = ()
    level: float | None = None
    space: SpaceName | Literal["relative"] = "position"
    on_page: bool = True
    quantity: str = ""

    def comparison(self, dimension: int, *, gaussian: bool = True) -> str:
        """What to compare the value with, for a belief in so many dimensions."""
        if_honest = "if honest" if gaussian else "if Gaussian and honest"
        honest = "" if self.honest is None else f"{self.honest(dimension):.3g}"
        return self.compare.format(honest=honest, if_honest=if_honest)

    @property
    def heading(self) -> str:
        """What it is called where room is short."""
        return self.short or self.title

    @property
    def counts_scans(self) -> bool:
        """Whether reports tell how many independent scans it rests on."""
        of_scans = self.metric and self.space == "position"
        return of_scans and self.better is not None and self.level is None

    @property
    def loss(self) -> Callable[[float], float] | None:
        """What tests between estimators compare, lower is better; None: nobody wins by it."""
        if self.better is None or self.honest is None:
            return None if self.better is None else float
        distance = _decades_apart if self.decades else _distance_apart
        return partial(distance, self.honest(1))


def _decades_apart(honest: float, value: float) -> float:
    """Distance in decades: too tight and too wide count alike."""
    return abs(log(value / honest, 10)) if value > 0 else inf


def _distance_apart(honest: float, value: float) -> float:
    return abs(value - honest)


def rule_row(rule: Rule) -> NumberRow:
    """The row of a rule: its mean over the scans."""

    def mean(sample: Sample, computed: Computed) -> Number | None:
        del computed
        return sample.mean(rule.name)

    return NumberRow(
        rule.name,
        rule.title or rule.name,
        rule.unit,
        "scores",
        _log_score if rule.name == "log" else mean,
        label=rule.label,
        compare="lower is better",
        better="lower",
        metric=rule.metric,
        on_page=rule.label is not None,
        short=rule.short,
        overview=rule.overview,
        space=rule.space or "position",
    )


def compute_numbers(sample: Sample, quantities: Collection[str] | None = None) -> dict[str, Number]:
    """Every number of the table that exists for a sample in its space, by name; or some."""
    computed: Computed = {}
    found: dict[str, Number] = {}
    for row in rows_of(sample.space.name):
        if quantities is not None and (row.quantity or row.name) not in quantities:
            continue
        number = row.compute(sample, computed)
        if number is not None:
            computed[row.quantity or row.name] = found[row.name] = number
    return found


def rows_of(space: SpaceName) -> list[NumberRow]:
    """The rows of one space; relative motion is that of the position."""
    spaces = (space, "relative") if space == "position" else (space,)
    return [row for row in NUMBERS.values() if row.space in spaces]


def by_quantity(numbers: Mapping[str, Number]) -> dict[str, Number]:
    """Numbers of one space by what they are, whatever the space: `k` for `k_rotation`."""
    return {
        (NUMBERS[name].quantity or name) if name in NUMBERS else name: number
        for name, number in numbers.items()
    }


def number_named(name: str) -> NumberRow | None:
    """A row by its name or an alias."""
    if name in NUMBERS:
        return NUMBERS[name]
    return next((row for row in NUMBERS.values() if name in row.aliases), None)


def metrics() -> dict[str, NumberRow]:
    """The rows that studies compare estimators by: scores, k, then the rest of the calibration."""
    rows = sorted(NUMBERS.values(), key=lambda row: (row.group != "scores", row.name != "k"))
    return {row.name: row for row in rows if row.metric}


def is_rounding(distance: Floats, position: Floats) -> bool:
    """Whether distances are no more than rounding leaves of positions so large."""
    farthest = max(float(position.max()), -float(position.min()))
    return float(np.median(distance)) <= ROUNDING * farthest


def k_at_verdict_level(sample: Sample, k: Number) -> Number:
    """k with the 95 % interval that the verdict rests on, whatever level is shown."""
    if sample.intervals.level == VERDICT_LEVEL:
        return k
    at_level = replace(sample, intervals=replace(sample.intervals, level=VERDICT_LEVEL))
    return at_level.number(sample.relative_nees, "median", "1")


def _mae(sample: Sample, computed: Computed) -> Number:
    del computed
    return sample.number(sample.series["ape"], "mean", "m")


def _rmse(sample: Sample, computed: Computed) -> Number:
    """Its interval lies nowhere below that of the MAE."""
    rmse, mae = sample.number(sample.series["ape"], "rmse", "m"), computed["mae"]
    if rmse.low is None or rmse.high is None or mae.low is None or mae.high is None:
        return rmse
    return replace(rmse, low=max(rmse.low, mae.low), high=max(rmse.high, mae.high))


def _log_score(sample: Sample, computed: Computed) -> Number | None:
    """Its low end leaves room for a consistency of zero at least."""
    del computed
    number, sharpness = sample.mean("log"), sample.mean("log_sharpness")
    if number is None or number.low is None or sharpness is None:
        return number
    sharpest = sharpness.value if sharpness.low is None else sharpness.low
    least = sharpest + 0.5 * sample.residuals.dimension * float(np.log(2 * np.pi))
    return replace(number, low=min(max(number.low, least), number.value))


def _rotation(sample: Sample, computed: Computed) -> Number | None:
    del computed
    if sample.rotation_deg is None:
        return None
    return sample.intervals.of(sample.rotation_deg, "mean", "deg")


def _nees(
    sample: Sample, computed: Computed, *, statistic: Literal["median", "mean"]
) -> Number | None:
    del computed
    if sample.residuals.covariance is None:
        return None
    return sample.number(sample.series["nees"], statistic, "1")


def _k(sample: Sample, computed: Computed) -> Number | None:
    """Median NEES over that of an honest belief; of particles, by their ranks."""
    if "nees_median" not in computed:
        return None
    nees = computed["nees_median"]
    if nees.low is None or sample.residuals.ensemble is not None:
        return sample.number(sample.relative_nees, "median", "1")
    return nees.map(lambda value: value / median_chi_squared(sample.residuals.dimension), "1")


def _moment_k(sample: Sample, computed: Computed) -> Number | None:
    """k of particles by mean and sample covariance alone (Hotelling); None for other beliefs."""
    del computed
    if sample.residuals.ensemble is None:
        return None
    relative = sample.series["nees"] / honest_median(sample.residuals)
    return sample.number(relative, "median", "1")


def _factor_per_axis(sample: Sample, computed: Computed) -> Number | None:
    del sample
    if "k" not in computed:
        return None
    return computed["k"].map(lambda value: float(np.sqrt(value)), "1")


def _nats(sample: Sample, computed: Computed) -> Number | None:
    """d ln k; None where k is 0, and no interval where its low end is."""
    k, d = computed.get("k"), sample.residuals.dimension
    if k is None or not k.value > 0:
        return None
    if k.low is not None and not k.low > 0:
        k = replace(k, low=None, high=None, reason="the interval of k reaches 0")
    return k.map(lambda value: d * log(value) if value < inf else inf, "nat")


def _coverage(sample: Sample, computed: Computed, *, level: float) -> Number | None:
    del computed
    if sample.residuals.covariance is None:
        return None
    inside = sample.series["pit"] <= level
    if sample.error_wanders:
        return sample.number(inside.astype(np.float64), "mean", "1")
    return coverage_number(inside, sample.relative_nees, sample.intervals)


def coverage_number(inside: Bools, relative_nees: Floats, intervals: Intervals) -> Number:
    """A coverage: a share whose memory is that of the NEES, its ends within 0 and 1."""
    related = None
    if inside.all() or not inside.any():
        related = np.log(np.maximum(relative_nees, np.finfo(np.float64).tiny))
    number = intervals.of(inside.astype(np.float64), "mean", "1", related=related)
    low, high = (
        None if end is None else min(max(end, 0.0), 1.0) for end in (number.low, number.high)
    )
    return replace(number, low=low, high=high)


def _psi(sample: Sample, computed: Computed) -> Number | None:
    """Shape penalty; None where there are too few scans to fill the space."""
    del computed
    fewest = max(FEWEST_FOR_SHAPE, sample.body.dimension + 1)
    if sample.residuals.covariance is None or len(sample.body) < fewest:
        return None
    value = moment_shape(sample.space.whitened_moment(sample.body))
    return Number(value, "1") if np.isfinite(value) else None


def _precision(sample: Sample, computed: Computed) -> Number | None:
    """Median of -log det of the reported covariance; None where some scan has none."""
    del computed
    residuals = sample.residuals
    if residuals.covariance is None:
        return None
    if residuals.noise is None and residuals.reported is None:
        return sample.intervals.of(-residuals.likelihood_terms.logdet, "median", "nat")
    covariance = residuals.covariance if residuals.reported is None else residuals.reported
    regular = ~normal.is_singular(covariance)
    if not regular.all() and residuals.reported is None:
        return None
    reported = normal.likelihood_terms(residuals.error[regular], covariance[regular])
    return sample.intervals.of(-reported.logdet, "median", "nat")


def _best_scale(sample: Sample, computed: Computed) -> Number | None:
    """The factor on S with the least mean log score."""
    del computed
    residuals = sample.residuals
    if residuals.covariance is None:
        return None
    if residuals.noise is None:
        mean = float(np.mean(residuals.likelihood_terms.nees))
        return Number(mean / residuals.dimension, "1")
    return Number(best_scale(residuals.error, residuals.covariance, residuals.noise), "1")


def _claimed_correlation(sample: Sample, computed: Computed) -> Number | None:
    """Root mean square of the canonical correlations of position and rotation that are claimed."""
    del computed
    terms = sample.correlation
    return None if terms is None else Number(float(np.sqrt(np.mean(terms.claimed))), "1")


def _correlation(sample: Sample, computed: Computed) -> Number | None:
    """Products of position and rotation errors over those that are claimed (`CorrelationTerms`)."""
    del computed
    terms = sample.correlation
    if terms is None or float(np.mean(terms.claimed)) < LEAST_CORRELATION**2:
        return None
    scale = np.sqrt(np.mean(terms.position_nees) * np.mean(terms.rotation_nees))
    if scale == 0:  # one of the two without any error
        return None
    return Number(float(np.mean(terms.found) / np.mean(terms.claimed) / scale), "1")


def _relative_mean(
    sample: Sample, computed: Computed, *, score: Literal["energy", "log"], unit: str
) -> Number | None:
    del computed
    if sample.relative is None:
        return None
    return sample.intervals.of(sample.relative.scores[score], "mean", unit)


def _relative_k(sample: Sample, computed: Computed) -> Number | None:
    """Mean NEES of windows over its degrees of freedom, with the interval that judges."""
    del computed
    if sample.relative is None:
        return None
    return sample.relative.row.number(sample.intervals)


def _relative_coverage(sample: Sample, computed: Computed) -> Number | None:
    del computed
    if sample.relative is None:
        return None
    nees = sample.relative.scores["nees"]
    inside = nees <= chi_squared_tail_quantile(3, 1 - NOMINAL)
    return coverage_number(inside, nees, sample.intervals)


def _coverage_row(level: float) -> NumberRow:
    percent = words.exact(100 * level)
    return NumberRow(
        f"coverage_{percent}",
        f"{percent} % coverage",
        "1",
        "calibration",
        partial(_coverage, level=level),
        label="coverage",
        honest=lambda dimension: level,
        compare=f"{percent} % if honest",
        better="honest",
        metric=level == NOMINAL,
        short=f"{percent} %",
        overview=level == NOMINAL,
        aliases=(f"coverage{percent}", *(("coverage",) if level == NOMINAL else ())),
        level=level,
    )


def _error_row(name: str, title: str, unit: str, compute: Compute, *, metric: bool) -> NumberRow:
    return NumberRow(
        name,
        title,
        unit,
        "scores",
        compute,
        label=title,
        compare="lower is better",
        better="lower",
        metric=metric,
        overview=metric,
    )


_ERRORS = (
    _error_row("mae", "MAE", "m", _mae, metric=True),
    _error_row("rmse", "RMSE", "m", _rmse, metric=True),
)
_DERIVED = (
    replace(
        _error_row("rotation", "rotation", "deg", _rotation, metric=False),
        label=None,  # it stands beside the scores of the rotation
        aliases=("rotation_error",),
    ),
)
_CALIBRATION = (
    NumberRow(
        "nees_median",
        "median NEES",
        "1",
        "calibration",
        partial(_nees, statistic="median"),
        "NEES",
        honest=median_chi_squared,
        compare="{honest} {if_honest}",
        metric=True,
        decades=True,
    ),
    NumberRow(
        "nees_mean",
        "mean NEES",
        "1",
        "calibration",
        partial(_nees, statistic="mean"),
        "NEES",
        honest=float,
        compare="{honest} {if_honest}; a few scans can dominate it",
    ),
    NumberRow(
        "k",
        "k",
        "1",
        "calibration",
        _k,
        "k",
        honest=lambda dimension: 1.0,
        compare="1 if honest, above 1 overconfident",
        better="honest",
        metric=True,
        overview=True,
        decades=True,
    ),
    NumberRow(
        "factor_per_axis",
        "factor per axis",
        "1",
        "calibration",
        _factor_per_axis,
        honest=lambda dimension: 1.0,
        compare="1 if honest",
    ),
    NumberRow(
        "nats_above_consistency",
        "nats above consistency",
        "nat",
        "calibration",
        _nats,
        honest=lambda dimension: 0.0,
        compare="0 if honest; d ln k, above 0 overconfident",
        metric=True,
        short="nats",
        aliases=("nats",),
    ),
    NumberRow(
        "moment_k",
        "k by second moments",
        "1",
        "calibration",
        _moment_k,
        "k",
        honest=lambda dimension: 1.0,
        compare="1 if honest and the cloud is Gaussian",
        decades=True,
    ),
    *(_coverage_row(level) for level in LEVELS),
    NumberRow(
        "psi",
        "psi",
        "1",
        "calibration",
        _psi,
        "shape",
        honest=lambda dimension: 1.0,
        compare="1 if errors have the covariance's shape",
    ),
    NumberRow(
        "precision",
        "precision",
        "nat",
        "calibration",
        _precision,
        "precision",
        compare="higher claims more",
        metric=True,
    ),
    NumberRow(
        "best_scale",
        "best scale",
        "1",
        "calibration",
        _best_scale,
        honest=lambda dimension: 1.0,
        compare="1 if honest; the factor on the covariance with the least log score",
        on_page=False,
    ),
)
_RELATIVE = (
    NumberRow(
        "relative_energy",
        "relative energy",
        "m",
        "scores",
        partial(_relative_mean, score="energy", unit="m"),
        "relative scores",
        compare="lower is better",
        better="lower",
        metric=True,
        short="rel. energy",
        space="relative",
    ),
    NumberRow(
        "relative_log",
        "relative log score",
        "nat",
        "scores",
        partial(_relative_mean, score="log", unit="nat"),
        "relative scores",
        compare="lower is better",
        better="lower",
        metric=True,
        short="rel. log",
        space="relative",
    ),
    NumberRow(
        "relative_k",
        "relative k",
        "1",
        "calibration",
        _relative_k,
        honest=lambda dimension: 1.0,
        compare="1 if honest, above 1 overconfident",
        better="honest",
        metric=True,
        short="rel. k",
        decades=True,
        space="relative",
    ),
    NumberRow(
        "relative_coverage_90",
        "relative 90 % coverage",
        "1",
        "calibration",
        _relative_coverage,
        "relative scores",
        honest=lambda dimension: NOMINAL,
        compare="90 % if honest",
        better="honest",
        level=NOMINAL,
        space="relative",
    ),
)


def space_row(row: NumberRow, space: SpaceName) -> NumberRow:
    """The same quantity in another space: `k` becomes `k_rotation`."""
    return replace(
        row,
        name=f"{row.name}_{space}",
        title=f"{space} {row.title}",
        label=None,
        metric=row.name in SPACE_METRICS,
        short="",
        overview=False,
        aliases=tuple(f"{alias}_{space}" for alias in (*row.aliases, *ALIASES.get(row.name, ()))),
        space=space,
        quantity=row.name,
    )


SPACE_METRICS = ("k",)  # of the calibration in rotation and pose, what studies compare
ALIASES = {"nees_median": ("nees",)}
_CORRELATION = (
    NumberRow(
        "correlation_claimed",
        "claimed correlation",
        "1",
        "calibration",
        _claimed_correlation,
        compare="0: position and rotation are claimed to be independent",
        space="pose",
    ),
    NumberRow(
        "correlation",
        "correlation",
        "1",
        "calibration",
        _correlation,
        honest=lambda dimension: 1.0,
        compare="1 if position and rotation err together as claimed, 0 if not at all",
        space="pose",
    ),
)

NUMBERS: dict[str, NumberRow] = {
    row.name: row
    for row in (
        *_ERRORS,
        *(rule_row(rule) for rule in RULES.values() if rule.title is not None),
        *_DERIVED,
        *_CALIBRATION,
        *_RELATIVE,
        *(space_row(row, "rotation") for row in _CALIBRATION),
        *(space_row(row, "pose") for row in _CALIBRATION),
        *_CORRELATION,
    )
}
