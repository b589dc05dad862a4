"""Points of a sweep, the lines that a knob draws through them, and the slope of a line.

A slope is that of a quantity over precision, its interval from the scans of the runs. On one track
the settings of a knob share the sensor data, and their errors: what a run deviates from a line by
says little about the slope's error. The slope b = sum_j x_j y_j / sum_j x_j^2 (x, y
centred on each line) is a function of statistics of the runs, each of which is a mean over scans to
first order, so that b itself is the mean of one series over the scans,

    psi(t) = sum_j [x_j f_yj(t) + (y_j - 2 b x_j) f_xj(t)] / sum_j x_j^2,

f the influence of a scan on log10 of the mean error, of the median NEES, on the median precision.
What settings have in common cancels, and the interval of the mean of psi is one for dependent scans
(`summarise.interval`). To first order it is what a bootstrap of blocks of scans, the same blocks
for all settings, would give, in O(n).

Errors that drift without bound are not covered so: one track of a random walk shows no mean. There
settings differ by what each drifts on its own, which the scatter of the runs about their lines
tells. The interval is therefore the hull of both.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import SeriesError
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import student_reach, t_quantile
from smfeval.summarise.interval import interval
from smfeval.summarise.number import Number

KnobSettings = tuple[tuple[str, str], ...]  # knob and value, as the user wrote it, in a fixed order
Who = tuple[str, str, KnobSettings]  # estimator, track, settings
NEEDED_NUMBERS = ("precision", "nees_median", "mae")  # of a run
SPACE_NUMBERS = ("k_rotation", "k_pose")  # beside the slopes, which are of the position
RUN_NUMBERS = (*NEEDED_NUMBERS, *SPACE_NUMBERS, "credit")  # of a point
UNIT = "1/nat"  # decades per nat of precision
FEWEST_TRACKS = 2
FEWEST_SHARED = 0.5  # of the scans of a run, that all settings must have
NEAR = 0.15  # of the scans to either side of the median, where its density is read
NATS_PER_DECADE = float(np.log(10.0))
EXACT = 1e-9  # 1/nat: a slope that varies by less is one number

Quantity = Literal["log_nees", "log_error", "log_nees_per_error"]


@dataclass(frozen=True, eq=False)
class ScanSeries:
    """The scans of a run, in the order of their stamps. (n,) each."""

    stamp: Ints  # ns
    log_nees: Floats  # log10
    error: Floats  # m
    precision: Floats  # nat

    def at(self, stamps: Ints) -> "ScanSeries":
        """Some of the scans, by their stamps, all of which it has."""
        at = np.searchsorted(self.stamp, stamps)
        return ScanSeries(self.stamp[at], self.log_nees[at], self.error[at], self.precision[at])


def scan_series(stamp: Ints, nees: Floats, error: Floats, covariance: Floats) -> ScanSeries:
    """Of scans with NEES, error (m) and covariance (n, d, d); a NEES of 0 is as small as can be."""
    smallest = np.finfo(np.float64).tiny
    precision = -np.linalg.slogdet(covariance)[1]
    return ScanSeries(stamp, np.log10(np.maximum(nees, smallest)), error, precision)


@dataclass(frozen=True)
class Point:
    """One run of an estimator on a track, with all its knobs."""

    estimator: str
    track: str
    settings: KnobSettings
    precision: Number  # nat: median of -log det of the position's covariance
    nees_median: Number
    mae: Number  # m
    scored: int  # scans
    source: str
    notes: tuple[str, ...] = ()
    scans: ScanSeries | None = field(default=None, repr=False, compare=False)
    k_rotation: Number | None = None  # where the rotation was scored
    k_pose: Number | None = None
    credit: Number | None = None  # nat: what its points are credited with, from telemetry


@dataclass(frozen=True)
class Failure:
    """A run that could not be scored, and why."""

    estimator: str
    track: str
    settings: KnobSettings
    sentence: str


def point_of(
    who: Who,
    numbers: Mapping[str, Number],
    *,
    source: str,
    scored: int,
    notes: tuple[str, ...] = (),
    scans: ScanSeries | None = None,
) -> Point | Failure:
    """A point from the numbers of an evaluation, by name; a failure where one has no logarithm."""
    for name in NEEDED_NUMBERS:
        if name not in numbers:
            return Failure(*who, f"it reports no uncertainty, so it has no {name}")
        value = numbers[name].value
        if not np.isfinite(value) or (name != "precision" and value <= 0):
            why = f"its {name} is {words.exact(value)}, which has no place on a line"
            return Failure(*who, why)
    found: dict[str, Any] = {name: numbers.get(name) for name in RUN_NUMBERS}
    return Point(*who, **found, scored=scored, source=source, notes=notes, scans=scans)


def format_settings(settings: KnobSettings) -> str:
    """'Rx 0.01, voxel 0.5'."""
    return ", ".join(f"{knob} {value}" for knob, value in settings)


@dataclass(frozen=True)
class Line:
    """Runs on one track that differ in one knob alone. (n,) each."""

    precision: Floats  # nat
    log_nees: Floats  # log10
    log_error: Floats  # log10 of metres
    scans: tuple[ScanSeries | None, ...] = ()
    values: tuple[str, ...] = ()  # of the knob
    credit: Floats | None = None  # nat: of the points, where telemetry tells

    @property
    def log_nees_per_error(self) -> Floats:
        """log10 of NEES over squared error: what is left with the measured error divided out."""
        return self.log_nees - 2 * self.log_error

    def __len__(self) -> int:
        return len(self.precision)

    @property
    def reach_nats(self) -> float:
        """Difference between the sharpest and the widest belief."""
        return float(np.ptp(self.precision))


def lines_of(points: Iterable[Point], knob: str) -> tuple[Line, ...]:
    """Lines along a knob among the points of one estimator on one track.

    Points whose other knobs are alike make a line; a value alone makes none.
    """
    groups: dict[KnobSettings, list[Point]] = {}
    for point in points:
        if knob in dict(point.settings):
            others = tuple(pair for pair in point.settings if pair[0] != knob)
            groups.setdefault(others, []).append(point)
    lines = []
    for group in groups.values():
        values = tuple(dict(point.settings)[knob] for point in group)
        if len(set(values)) > 1:
            precision, nees, error_m = (
                np.array([getattr(p, name).value for p in group]) for name in NEEDED_NUMBERS
            )
            known = [point.credit.value for point in group if point.credit is not None]
            credit = np.array(known) if len(known) == len(group) else None
            scans = tuple(point.scans for point in group)
            lines.append(Line(precision, np.log10(nees), np.log10(error_m), scans, values, credit))
    return tuple(lines)


def common_slope(lines: Sequence[Line], quantity: Quantity, level: float) -> Number:
    """Slope that the lines of one track share, per nat, with its interval at a level."""
    x, y = (
        np.concatenate([part - part.mean() for part in (getattr(line, name) for line in lines)])
        for name in ("precision", quantity)
    )
    slope = float(x @ y) / float(x @ x)
    try:
        series = slope_series(x, y, [run for line in lines for run in line.scans], quantity)
        is_exact = np.ptp(series) < EXACT  # all settings have the same errors
        error = None if is_exact else interval(series - series.mean(), "mean", level=level)
    except SeriesError as reason:
        return Number(slope, UNIT, reason=str(reason))
    low, high, effective = slope, slope, None
    if error is not None:
        effective = error.n_effective
        if error.low is None or error.high is None:
            return Number(slope, UNIT, n_effective=effective, reason=error.reason)
        low, high = slope + error.low, slope + error.high

    # the hull of this interval and the one from the scatter of the runs about their lines
    reach, degrees, square = 0.0, len(x) - len(lines) - 1, float(x @ x)
    if degrees >= 1:
        left = y - slope * x
        scatter = float(np.sqrt(left @ left / degrees / square))
        reach = -t_quantile(degrees, (1 - level) / 2) * scatter
    return Number(slope, UNIT, min(slope - reach, low), max(slope + reach, high), effective)


def slope_series(
    x: Floats, y: Floats, runs: Sequence[ScanSeries | None], quantity: Quantity
) -> Floats:
    """The series psi, whose mean is the slope's error, over common scans. (m,), (m,) -> (n,)."""
    found = [run for run in runs if run is not None]
    if len(found) < len(x):
        raise SeriesError("the scans of the runs are not known")
    common = common_stamps(found)
    square = float(x @ x)
    slope = float(x @ y) / square
    psi = np.zeros(len(common))
    for run, at, value in zip(found, x.tolist(), y.tolist(), strict=True):
        kept = run.at(common)
        error = (kept.error / kept.error.mean() - 1) / NATS_PER_DECADE
        influence = error if quantity == "log_error" else median_influence(kept.log_nees)
        if quantity == "log_nees_per_error":
            influence = influence - 2 * error
        psi += at * influence
        psi += (value - 2 * slope * at) * median_influence(kept.precision)
    return psi / square


def common_stamps(runs: Sequence[ScanSeries]) -> Ints:
    """Stamps that all runs have; raises where they share too few."""
    common = runs[0].stamp
    for run in runs[1:]:
        common = np.intersect1d(common, run.stamp, assume_unique=True)
    least = min(len(run.stamp) for run in runs)
    if len(common) < FEWEST_SHARED * least:
        raise SeriesError(
            f"the settings share {words.count_of(len(common), least, 'scan')}; an interval needs "
            "half of them"
        )
    return common


def median_influence(series: Floats) -> Floats:
    """What each value does to n times the median: (1/2 - [v <= m]) / density. (n,)."""
    low, middle, high = np.quantile(series, [0.5 - NEAR, 0.5, 0.5 + NEAR])
    return (high - low) / (2 * NEAR) * (0.5 - (series <= middle))


def slope_over_tracks(slopes: Sequence[float], level: float) -> Number:
    """Mean slope of the tracks, its interval from how much they differ."""
    count, mean = len(slopes), float(np.mean(slopes))
    if count < FEWEST_TRACKS:
        return Number(mean, UNIT, reason=f"tracks: {count}; an interval needs {FEWEST_TRACKS}")
    reach = student_reach(np.array(slopes), (1 - level) / 2)
    return Number(mean, UNIT, mean - reach, mean + reach)
