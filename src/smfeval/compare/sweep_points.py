"""Points of a sweep, and the lines that a knob draws through them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from smfeval import words
from smfeval.maths.arrays import Floats, Ints
from smfeval.summarise.number import Number

KnobSettings = tuple[tuple[str, str], ...]  # knob and value, as the user wrote it, in a fixed order


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


@dataclass(frozen=True)
class Failure:
    """A run that could not be scored, and why."""

    estimator: str
    track: str
    settings: KnobSettings
    sentence: str


@dataclass(frozen=True)
class Origin:
    """Which run it is, and where its belief comes from."""

    estimator: str
    track: str
    settings: KnobSettings
    source: str


def point_of(
    origin: Origin,
    numbers: Mapping[str, Number],
    *,
    scored: int,
    notes: tuple[str, ...] = (),
    scans: ScanSeries | None = None,
) -> Point | Failure:
    """A point from the numbers of an evaluation, by name; a failure where one has no logarithm."""
    for name in ("precision", "nees_median", "mae"):
        value = numbers[name].value if name in numbers else None
        if value is None:
            return failure_of(origin, f"it reports no uncertainty, so it has no {name}")
        if not np.isfinite(value) or (name != "precision" and value <= 0):
            return failure_of(
                origin, f"its {name} is {words.exact(value)}, which has no place on a line"
            )
    return Point(
        origin.estimator,
        origin.track,
        origin.settings,
        numbers["precision"],
        numbers["nees_median"],
        numbers["mae"],
        scored,
        origin.source,
        notes,
        scans,
        numbers.get("k_rotation"),
        numbers.get("k_pose"),
    )


def failure_of(origin: Origin, sentence: str) -> Failure:
    """A run that could not be scored."""
    return Failure(origin.estimator, origin.track, origin.settings, sentence)


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
    return tuple(_line(group, knob) for group in groups.values() if len(_values(group, knob)) > 1)


def _values(points: Iterable[Point], knob: str) -> set[str]:
    return {dict(point.settings)[knob] for point in points}


def _line(points: list[Point], knob: str) -> Line:
    return Line(
        np.array([point.precision.value for point in points]),
        np.log10([point.nees_median.value for point in points]),
        np.log10([point.mae.value for point in points]),
        tuple(point.scans for point in points),
        tuple(dict(point.settings)[knob] for point in points),
    )
