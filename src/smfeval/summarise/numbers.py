"""One table of numbers: everything that smfeval reports about a track, one row each.

The terminal, the page, JSON, `--fail-if`, studies and figures read names, titles, units, what an
honest belief has and which way is better from here. A rule of `score.rules` has its row by itself:
the mean over the scans. Further numbers are rows of `_DERIVED`.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from math import inf, log
from typing import Literal

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Floats
from smfeval.score import RULES, Rule
from smfeval.score.residuals import SpaceName
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Number
from smfeval.summarise.quantities import (
    K_AT_95,
    LEVELS,
    NOMINAL,
    Compute,
    Sample,
    compute_best_scale,
    compute_correlation,
    compute_factor_per_axis,
    compute_log_score,
    compute_moment_k,
    compute_nats,
    compute_nees_mean,
    compute_precision,
    compute_psi,
    compute_relative_coverage,
    compute_relative_k,
    compute_relative_mean,
    compute_reported_correlation,
    compute_rmse,
    compute_rotation,
)


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
        Whether it scores the belief, tells how errors and covariances match, or of alert limits.
    compute
        Value and interval from a sample; None where it does not exist.
    honest
        The value of an honest belief, by the number of dimensions; None where there is none.
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
    quantity
        What is computed, whatever the space: `k` of `k_rotation`; "": as the name.
    plain
        The title without the space, for where that is named already; "": the title.
    """

    name: str
    title: str
    unit: str
    group: Literal["scores", "calibration", "integrity"]
    compute: Compute
    honest: Callable[[int], float] | None = None
    better: Literal["lower", "honest"] | None = None
    metric: bool = False
    short: str = ""
    overview: bool = False
    decades: bool = False
    aliases: tuple[str, ...] = ()
    level: float | None = None
    space: SpaceName | Literal["relative"] = "position"
    quantity: str = ""
    plain: str = ""

    @property
    def heading(self) -> str:
        """What it is called where room is short."""
        return self.short or self.title

    @property
    def plain_title(self) -> str:
        """What it is called where its space is named already."""
        return self.plain or self.title

    @property
    def is_share(self) -> bool:
        """Whether it is a part of one, written in per cent."""
        return self.level is not None or self.group == "integrity"

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
    title = rule.title or rule.name
    return NumberRow(
        rule.name,
        title if rule.space in (None, "position") else f"{rule.space} {title}",
        rule.unit,
        "scores",
        compute_log_score if rule.name == "log" else lambda sample: sample.means.get(rule.name),
        better="lower" if rule.proper else None,
        metric=rule.metric,
        short=rule.short,
        overview=rule.overview,
        space=rule.space or "position",
        plain=title,
    )


def numbers_of(
    sample: Sample,
    names: Collection[str] | None = None,
    with_interval: Collection[str] | None = None,
) -> dict[str, Number]:
    """The numbers of the table that exist for a sample, by name; all, or those that are named.

    What a verdict needs is always there: `K_AT_95`, where there is a k, and one coverage. Intervals
    are made for all, or for those that are named; of particles for all, whose verdict needs them.
    """
    space = sample.space.name
    required = space_name(f"coverage_{words.exact(100 * NOMINAL)}", space)
    bare = replace(sample, intervals=replace(sample.intervals, method=None))
    every = with_interval is None or sample.residuals.ensemble is not None

    def sample_for(name: str) -> Sample:
        return sample if every or name in (with_interval or ()) else bare

    found = {
        row.name: row.compute(sample_for(row.name))
        for row in rows_of(space)
        if names is None or row.name in names or row.name == required
    }
    found[K_AT_95] = sample_for(space_name("k", space)).k_at_verdict_level
    return {name: number for name, number in found.items() if number is not None}


def rows_of(space: SpaceName) -> list[NumberRow]:
    """The rows of one space; relative motion is that of the position."""
    spaces = (space, "relative") if space == "position" else (space,)
    return [row for row in NUMBERS.values() if row.space in spaces]


def number_named(name: str) -> NumberRow | None:
    """A row by its name or an alias."""
    if name in NUMBERS:
        return NUMBERS[name]
    return next((row for row in NUMBERS.values() if name in row.aliases), None)


def metrics() -> dict[str, NumberRow]:
    """The rows that studies compare estimators by: scores, k, then the rest of the calibration."""
    rows = sorted(NUMBERS.values(), key=lambda row: (row.group != "scores", row.name != "k"))
    return {row.name: row for row in rows if row.metric}


def _coverage_row(level: float) -> NumberRow:
    percent = words.exact(100 * level)
    return NumberRow(
        f"coverage_{percent}",
        f"{percent} % coverage",
        "1",
        "calibration",
        lambda sample: None if sample.residuals.covariance is None else sample.coverage(level),
        honest=lambda dimension: level,
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
        better="lower",
        metric=metric,
        overview=metric,
    )


def _ape_row(name: str, title: str, unit: str, statistic: Callable[[Floats], float]) -> NumberRow:
    """A statistic of the position errors as evo has them, without an interval."""

    def compute(sample: Sample) -> Number:
        return Number(float(statistic(sample.series["ape"])), unit)

    return _error_row(name, title, unit, compute, metric=False)


_ERRORS = (
    _error_row("mae", "MAE", "m", lambda sample: sample.means["ape"], metric=True),
    _error_row("rmse", "RMSE", "m", compute_rmse, metric=True),
    _ape_row("ape_median", "median error", "m", np.median),
    _ape_row("ape_std", "std of the error", "m", np.std),
    _ape_row("ape_min", "least error", "m", np.min),
    _ape_row("ape_max", "largest error", "m", np.max),
    _ape_row("ape_sse", "SSE", "m^2", lambda ape: float(ape @ ape)),
)
_DERIVED = (
    replace(
        _error_row("rotation", "rotation", "deg", compute_rotation, metric=False),
        aliases=("rotation_error",),
    ),
)
_CALIBRATION = (
    NumberRow(
        *("nees_median", "median NEES", "1", "calibration"),
        lambda sample: None if sample.residuals.covariance is None else sample.medians["nees"],
        honest=median_chi_squared,
        metric=True,
        decades=True,
    ),
    NumberRow(
        *("nees_mean", "mean NEES", "1", "calibration"),
        compute_nees_mean,
        honest=float,
    ),
    NumberRow(
        *("k", "k", "1", "calibration"),
        lambda sample: sample.k,
        honest=lambda dimension: 1.0,
        better="honest",
        metric=True,
        overview=True,
        decades=True,
    ),
    NumberRow(
        *("factor_per_axis", "factor per axis", "1", "calibration"),
        compute_factor_per_axis,
        honest=lambda dimension: 1.0,
    ),
    NumberRow(
        *("nats_above_consistency", "nats above consistency", "nat", "calibration"),
        compute_nats,
        honest=lambda dimension: 0.0,
        metric=True,
        short="nats",
        aliases=("nats",),
    ),
    NumberRow(
        *("moment_k", "k by second moments", "1", "calibration"),
        compute_moment_k,
        honest=lambda dimension: 1.0,
        decades=True,
    ),
    *(_coverage_row(level) for level in LEVELS),
    NumberRow(
        *("psi", "psi", "1", "calibration"),
        compute_psi,
        honest=lambda dimension: 1.0,
    ),
    NumberRow(
        *("precision", "precision", "nat", "calibration"),
        compute_precision,
        metric=True,
    ),
    NumberRow(
        *("best_scale", "best scale", "1", "calibration"),
        compute_best_scale,
        honest=lambda dimension: 1.0,
    ),
)


def _relative_rows(*, overlapping: bool) -> tuple[NumberRow, ...]:
    """Scores and calibration of relative motion over windows that do not overlap, or over all."""
    mean = partial(compute_relative_mean, overlapping=overlapping)
    return *_relative_scores(mean), *_relative_calibration(mean, overlapping=overlapping)


def _relative_scores(mean: Callable[..., Number | None]) -> tuple[NumberRow, NumberRow]:
    energy = NumberRow(
        "relative_energy",
        "relative energy",
        "m",
        "scores",
        partial(mean, score="energy", unit="m"),
        better="lower",
        metric=True,
        short="rel. energy",
        space="relative",
        plain="energy",
    )
    log_score = replace(
        energy,
        name="relative_log",
        title="relative log score",
        unit="nat",
        compute=partial(mean, score="log", unit="nat"),
        short="rel. log",
        plain="log score",
    )
    return energy, log_score


def _relative_calibration(
    mean: Callable[..., Number | None], *, overlapping: bool
) -> tuple[NumberRow, ...]:
    return (
        NumberRow(
            *("relative_k", "relative k", "1", "calibration"),
            partial(compute_relative_k, overlapping=overlapping),
            honest=lambda dimension: 1.0,
            better="honest",
            metric=True,
            short="rel. k",
            decades=True,
            space="relative",
            plain="k",
        ),
        NumberRow(
            *("relative_coverage_90", "relative 90 % coverage", "1", "calibration"),
            partial(compute_relative_coverage, overlapping=overlapping),
            honest=lambda dimension: NOMINAL,
            better="honest",
            level=NOMINAL,
            space="relative",
            plain="90 % coverage",
        ),
        NumberRow(
            *("relative_nees", "relative mean NEES", "1", "calibration"),
            partial(mean, score="nees", unit="1"),
            honest=lambda dimension: 3.0,
            space="relative",
            plain="mean NEES",
        ),
    )


def _over_all_windows(row: NumberRow) -> NumberRow:
    """The row of a number over all windows, which overlap; studies do not compare it."""
    return replace(
        row,
        name=f"{row.name}_all",
        title=f"{row.title}, all windows",
        metric=False,
        short="",
    )


def space_name(quantity: str, space: SpaceName) -> str:
    """What a quantity is called in a space: `k` is `k_rotation` in that of rotations."""
    return quantity if space == "position" else f"{quantity}_{space}"


def space_row(row: NumberRow, space: SpaceName) -> NumberRow:
    """The same quantity in another space: `k` becomes `k_rotation`."""
    return replace(
        row,
        name=space_name(row.name, space),
        title=f"{space} {row.title}",
        metric=row.name in SPACE_METRICS,
        short="",
        overview=False,
        aliases=tuple(f"{alias}_{space}" for alias in (*row.aliases, *ALIASES.get(row.name, ()))),
        space=space,
        quantity=row.name,
        plain=row.title,
    )


SPACE_METRICS = ("k",)  # of the calibration in rotation and pose, what studies compare
ALIASES = {"nees_median": ("nees",)}
_CORRELATION = (
    NumberRow(
        *("correlation_reported", "reported correlation", "1", "calibration"),
        compute_reported_correlation,
        space="pose",
    ),
    NumberRow(
        *("correlation", "correlation", "1", "calibration"),
        compute_correlation,
        honest=lambda dimension: 1.0,
        space="pose",
    ),
)


def _integrity_row(name: str, title: str) -> NumberRow:
    """A share of scans under the alert limits; there is none where no limit is given.

    Nobody wins by it: who is never available is never wrong.
    """
    return NumberRow(
        name,
        title,
        "1",
        "integrity",
        lambda sample: None if sample.integrity is None else sample.integrity.shares[name],
        metric=True,
    )


_INTEGRITY = (
    _integrity_row("availability", "available"),  # protection levels within limits
    _integrity_row("mi", "MI"),  # error beyond its protection level
    _integrity_row("hmi", "HMI"),  # error beyond its alert limit, unnoticed
)

NUMBERS: dict[str, NumberRow] = {
    row.name: row
    for row in (
        *_ERRORS,
        *(rule_row(rule) for rule in RULES.values() if rule.title is not None),
        *_DERIVED,
        *_CALIBRATION,
        *_relative_rows(overlapping=False),
        *map(_over_all_windows, _relative_rows(overlapping=True)),
        *(space_row(row, "rotation") for row in _CALIBRATION),
        *(space_row(row, "pose") for row in _CALIBRATION),
        *_CORRELATION,
        *_INTEGRITY,
    )
}
