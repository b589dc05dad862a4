"""What a sweep found, as frozen parts and as strict JSON data."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from smfeval import words
from smfeval.compare.across import median_number
from smfeval.compare.slopes import common_slope, slope_over_tracks
from smfeval.compare.sweep_points import (
    Failure,
    KnobSettings,
    Line,
    Point,
    format_settings,
    lines_of,
)
from smfeval.errors import SeriesError
from smfeval.results import Result
from smfeval.summarise.number import Number

EARNED_SLOPE = 0.0  # slope of log10 NEES per nat; of log10 |e| where errors stay as they are
MOVES_NATS = 0.5  # less moves NEES by at most 18 %, which running a filter again may do as well


def unearned_slope(dimension: int = 3) -> float:
    """Slope of log10 NEES per nat if errors do not change: log10(e) / d, 0.1448 in space."""
    return float(np.log10(np.e)) / dimension


def earned_error_slope(dimension: int = 3) -> float:
    """Slope of log10 |e| per nat if errors shrink as reported: -log10(e) / 2d, -0.0724 in space."""
    return -unearned_slope(dimension) / 2


Label = Literal["unmoved", "better", "earned", "between", "unearned", "worse", "undecided"]

SAME = 5e-4  # 1/nat: slopes closer than this are shown alike

SENTENCES: dict[Label, str] = {
    "unmoved": (
        f"the precision moves by less than {words.exact(MOVES_NATS)} nat, so there is no slope"
    ),
    "better": "errors shrink faster than the belief",
    "earned": "errors shrink with the belief; errors that stay are excluded",
    "between": "errors shrink, and less than the belief; both predictions are excluded",
    "unearned": "errors stay while the belief sharpens; errors that shrink along are excluded",
    "worse": "errors grow while the belief sharpens",
    "undecided": "too few runs, or too far from a line, to tell earned from unearned",
}


def judge_slopes(nees: Number | None, error: Number | None, dimension: int) -> Label:
    """Which prediction the interval of the slope of log10 NEES holds, if any.

    For `earned` a slope that may be 0 is not enough, since it may be far from 0 as well: the slope
    of log10 |e| has to agree.
    """
    if nees is None:
        return "unmoved"
    if nees.low is None or nees.high is None:
        return "undecided"
    low, high, unearned = nees.low - SAME, nees.high + SAME, unearned_slope(dimension)
    if high < EARNED_SLOPE:
        return "better"
    if low > unearned:
        return "worse"
    if low > EARNED_SLOPE:
        return "unearned" if high >= unearned else "between"
    return "undecided" if high >= unearned else _judge_errors(error, dimension)


def _judge_errors(error: Number | None, dimension: int) -> Label:
    """Earned if errors shrink, and as much as the belief; between if they shrink by less."""
    if error is None or error.low is None or error.high is None or error.high + SAME >= 0:
        return "undecided"
    low, high, earned = error.low - SAME, error.high + SAME, earned_error_slope(dimension)
    if low <= earned <= high:
        return "earned"
    return "between" if low > earned else "undecided"


SCHEMA = "smfeval.sweep/1"
SPACE_NUMBERS = ("k_rotation", "k_pose")  # beside the slopes, which are of the position
SLOPES = ("nees_slope", "error_slope", "divided_slope")


@dataclass(frozen=True)
class TrackEffect:
    """A knob of an estimator on one track; no slope where it hardly moves the precision."""

    track: str
    runs: int  # on lines along the knob
    lines: int  # runs whose other knobs are alike
    lowest_nats: float  # precision of the widest belief
    highest_nats: float  # and of the sharpest
    reach_nats: float  # the largest difference on one line
    nees_slope: Number | None  # log10 of median NEES per nat
    error_slope: Number | None  # log10 of MAE per nat
    divided_slope: Number | None  # log10 of median NEES over MAE^2: the measured error divided out
    label: Label


@dataclass(frozen=True)
class KnobEffect:
    """A knob of an estimator over all tracks."""

    estimator: str
    knob: str
    tracks: tuple[TrackEffect, ...]
    nees_slope: Number | None  # None: no track on which the knob moves the precision
    error_slope: Number | None
    divided_slope: Number | None
    label: Label

    @property
    def sentence(self) -> str:
        """What it means."""
        return f"{self.label}: {SENTENCES[self.label]}"

    def counts(self, slope: str, prediction: float) -> tuple[int, int]:
        """(tracks whose interval of a slope holds a prediction, tracks with an interval)."""
        found = [getattr(track, slope) for track in self.tracks]
        whole = [each for each in found if each is not None and each.low is not None]
        held = sum(each.low - SAME <= prediction <= each.high + SAME for each in whole)
        return held, len(whole)

    @property
    def reach_nats(self) -> float:
        """The largest range of precision on any track."""
        return max(track.reach_nats for track in self.tracks)


@dataclass(frozen=True)
class SettingRow:
    """One setting of an estimator over tracks: medians, intervals from resampling tracks."""

    estimator: str
    settings: KnobSettings
    tracks: int
    precision: Number
    nees_median: Number
    mae: Number
    k_rotation: Number | None = None  # where the rotation of every run was scored
    k_pose: Number | None = None


@dataclass(frozen=True, repr=False)
class Sweep(Result):
    """A finished sweep."""

    name: str
    dimension: int
    level: float
    points: tuple[Point, ...]
    failures: tuple[Failure, ...]
    effects: tuple[KnobEffect, ...]
    rows: tuple[SettingRow, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(f"{each.estimator}, {each.knob}: {each.sentence}" for each in self.effects)

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data (schema `smfeval.sweep/1`)."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "dimension": self.dimension,
            "level": self.level,
            "moves_nats": MOVES_NATS,
            "predictions": self._predictions(),
            "effects": [_effect(each, self.dimension) for each in self.effects],
            "settings": [_row(each) for each in self.rows],
            "points": [_point(each) for each in self.points],
            "failures": [
                asdict(each) | {"settings": dict(each.settings)} for each in self.failures
            ],
            "notes": list(self.notes),
        }

    def _predictions(self) -> dict[str, dict[str, float]]:
        unearned = unearned_slope(self.dimension)
        return {
            "nees_slope": {"earned": EARNED_SLOPE, "unearned": unearned},
            "error_slope": {"earned": earned_error_slope(self.dimension), "unearned": 0.0},
        }


def _effect(effect: KnobEffect, dimension: int) -> dict[str, Any]:
    unearned = unearned_slope(dimension)
    return {
        "estimator": effect.estimator,
        "knob": effect.knob,
        "label": effect.label,
        "sentence": effect.sentence,
        "reach_nats": effect.reach_nats,
        **_slopes(effect),
        "holds_unearned": {
            slope: dict(zip(("tracks", "of"), effect.counts(slope, unearned), strict=True))
            for slope in ("nees_slope", "divided_slope")
        },
        "tracks": [asdict(each) | _slopes(each) for each in effect.tracks],
    }


def _slopes(effect: KnobEffect | TrackEffect) -> dict[str, Any]:
    named = {name: getattr(effect, name) for name in SLOPES}
    return {name: None if slope is None else slope.to_dict() for name, slope in named.items()}


def _row(row: SettingRow) -> dict[str, Any]:
    return {
        "estimator": row.estimator,
        "settings": dict(row.settings),
        "tracks": row.tracks,
        **_numbers(row),
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "estimator": point.estimator,
        "track": point.track,
        "settings": dict(point.settings),
        "source": point.source,
        "scored": point.scored,
        **_numbers(point),
        "notes": list(point.notes),
    }


def _numbers(of: SettingRow | Point) -> dict[str, Any]:
    spaces = {name: getattr(of, name) for name in SPACE_NUMBERS}
    return {name: getattr(of, name).to_dict() for name in ("precision", "nees_median", "mae")} | {
        name: None if number is None else number.to_dict() for name, number in spaces.items()
    }


def setting_rows(points: Sequence[Point], level: float) -> tuple[SettingRow, ...]:
    """One row for each estimator and setting, in the order of the points."""
    groups: dict[tuple[str, KnobSettings], list[Point]] = {}
    for point in points:
        groups.setdefault((point.estimator, point.settings), []).append(point)
    return tuple(_setting_row(*key, group, level) for key, group in groups.items())


def _setting_row(
    estimator: str, settings: KnobSettings, points: list[Point], level: float
) -> SettingRow:
    def median(name: str) -> Number:
        return _median(points, name, level)

    tracks = len({point.track for point in points})
    spaces = {
        name: median(name)
        for name in SPACE_NUMBERS
        if all(getattr(point, name) is not None for point in points)
    }
    return SettingRow(
        estimator,
        settings,
        tracks,
        median("precision"),
        median("nees_median"),
        median("mae"),
        **spaces,
    )


def _median(points: list[Point], name: str, level: float) -> Number:
    """Median over tracks, each the median of its repeats; a single run has its own number."""
    if len(points) == 1:
        return getattr(points[0], name)
    by_track: dict[str, list[float]] = {}
    for point in points:
        by_track.setdefault(point.track, []).append(getattr(point, name).value)
    values = np.array([np.median(each) for each in by_track.values()])
    return median_number(values, getattr(points[0], name).unit, level)


LOST_M = 5.0  # a run with a larger mean error has lost its track, and says so
SCANS_NOTE = (
    "the interval of a slope on one track is the hull of two: from its scans, taken as dependent "
    "and jointly over the settings, and from the scatter of the runs about the line"
)
TRACKS_NOTE = "a slope over tracks is their mean; its interval is Student's t over tracks"


def sweep_of(
    points: Sequence[Point],
    *,
    name: str = "sweep",
    failures: Sequence[Failure] = (),
    dimension: int = 3,
    level: float = 0.95,
    notes: tuple[str, ...] = (),
) -> Sweep:
    """Effects of all knobs; raises where no knob has two values to compare."""
    effects = [
        effect
        for estimator in _unique(point.estimator for point in points)
        for effect in _effects([p for p in points if p.estimator == estimator], dimension, level)
    ]
    if not effects:
        raise SeriesError(
            f"runs that were scored: {len(points)}; no two of them differ in one knob alone"
        )
    return Sweep(
        name=name,
        dimension=dimension,
        level=level,
        points=tuple(points),
        failures=tuple(failures),
        effects=tuple(effects),
        rows=setting_rows(points, level),
        notes=(*notes, *_notes(points, effects)),
    )


def _effects(points: list[Point], dimension: int, level: float) -> list[KnobEffect]:
    """Of one estimator, in the order in which its knobs come up."""
    knobs = _unique(knob for point in points for knob, _ in point.settings)
    found = []
    for knob in knobs:
        tracks = tuple(
            _track_effect(track, lines, dimension, level)
            for track in _unique(point.track for point in points)
            if (lines := lines_of([p for p in points if p.track == track], knob))
        )
        if tracks:
            found.append(_knob_effect(points[0].estimator, knob, tracks, dimension, level))
    return found


def _track_effect(track: str, lines: tuple[Line, ...], dimension: int, level: float) -> TrackEffect:
    precision = np.concatenate([line.precision for line in lines])
    reach = max(line.reach_nats for line in lines)
    moved = reach >= MOVES_NATS
    nees = common_slope(lines, "log_nees", level) if moved else None
    error = common_slope(lines, "log_error", level) if moved else None
    divided = common_slope(lines, "log_nees_per_error", level) if moved else None
    return TrackEffect(
        track=track,
        runs=len(precision),
        lines=len(lines),
        lowest_nats=float(precision.min()),
        highest_nats=float(precision.max()),
        reach_nats=reach,
        nees_slope=nees,
        error_slope=error,
        divided_slope=divided,
        label=judge_slopes(nees, error, dimension),
    )


def _knob_effect(
    estimator: str, knob: str, tracks: tuple[TrackEffect, ...], dimension: int, level: float
) -> KnobEffect:
    nees = _overall_slope([track.nees_slope for track in tracks], level)
    error = _overall_slope([track.error_slope for track in tracks], level)
    divided = _overall_slope([track.divided_slope for track in tracks], level)
    label = judge_slopes(nees, error, dimension)
    return KnobEffect(estimator, knob, tracks, nees, error, divided, label)


def _overall_slope(slopes: Sequence[Number | None], level: float) -> Number | None:
    """That of the only track, or over tracks; tracks without a slope are left out."""
    found = [slope for slope in slopes if slope is not None]
    if len(found) < 2:
        return found[0] if found else None
    return slope_over_tracks([slope.value for slope in found], level)


def _notes(points: Sequence[Point], effects: Sequence[KnobEffect]) -> tuple[str, ...]:
    lost = [point for point in points if point.mae.value > LOST_M]
    still = [
        f"{each.estimator}, {each.knob}: no slope on {len(idle)} of {len(each.tracks)} tracks, "
        f"where the precision moves by less than {words.exact(MOVES_NATS)} nat ({', '.join(idle)})"
        for each in effects
        if each.nees_slope is not None
        and (idle := [track.track for track in each.tracks if track.nees_slope is None])
    ]
    several = any(len(each.tracks) > 1 for each in effects)
    return (
        SCANS_NOTE,
        *((TRACKS_NOTE,) if several else ()),
        *still,
        *(
            f"{point.estimator} {format_settings(point.settings)} lost track {point.track} "
            f"(mean error {words.length(point.mae.value)}); slopes count it"
            for point in lost
        ),
    )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
