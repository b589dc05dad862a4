"""What a sweep found, as frozen parts and as strict JSON data."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

import numpy as np

from smfeval import words
from smfeval.compare.across import median_over_tracks
from smfeval.compare.slopes import (
    NEEDED_NUMBERS,
    RUN_NUMBERS,
    SPACE_NUMBERS,
    Failure,
    KnobSettings,
    Line,
    Point,
    Quantity,
    common_slope,
    format_settings,
    lines_of,
    slope_over_tracks,
)
from smfeval.dataclass import dataclass
from smfeval.errors import SeriesError
from smfeval.results import Result
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Number

EARNED_SLOPE = 0.0  # slope of log10 NEES per nat; of log10 |e| where errors stay as they are
MOVES_NATS = 0.5  # less moves NEES by at most 18 %, which running a filter again may do as well


def unearned_slope(dimension: int = 3) -> float:
    """Slope of log10 NEES per nat if errors do not change: log10(e) / d, 0.1448 in space."""
    return float(np.log10(np.e)) / dimension


def earned_error_slope(dimension: int = 3) -> float:
    """Slope of log10 |e| per nat if errors shrink as reported: -log10(e) / 2d, -0.0724 in space."""
    return -unearned_slope(dimension) / 2


Label = Literal[
    "unmoved", "better", "more accurate", "between", "not more accurate", "worse", "undecided"
]

Sharper = Literal["smaller", "larger"]

SAME = 5e-4  # 1/nat: slopes closer than this are shown alike

SENTENCES: dict[Label, str] = {
    "unmoved": (
        f"the precision moves by less than {words.exact(MOVES_NATS)} nat, so there is no slope"
    ),
    "better": "errors shrink faster than the covariance",
    "more accurate": "errors shrink with the covariance",
    "between": "errors shrink, but less than the covariance",
    "not more accurate": "errors stay while the covariance shrinks",
    "worse": "errors grow while the covariance shrinks",
    "undecided": "too few runs, or too far from a line, to decide",
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
        return "not more accurate" if high >= unearned else "between"
    return "undecided" if high >= unearned else _judge_errors(error, dimension)


def _judge_errors(error: Number | None, dimension: int) -> Label:
    """Earned if errors shrink, and as much as the belief; between if they shrink by less."""
    if error is None or error.low is None or error.high is None or error.high + SAME >= 0:
        return "undecided"
    low, high, earned = error.low - SAME, error.high + SAME, earned_error_slope(dimension)
    if low <= earned <= high:
        return "more accurate"
    return "between" if low > earned else "undecided"


SCHEMA = "smfeval.sweep/1"
SETTING_NUMBERS = (*NEEDED_NUMBERS, *SPACE_NUMBERS)
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


class HeldIntervals(NamedTuple):
    """Tracks whose interval of a slope holds a prediction, of so many, and those too wide."""

    tracks: int
    of: int
    too_wide: int


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
    sharper: Sharper | None  # which values have the higher precision, on all tracks alike
    best: str  # the value whose k is nearest 1, as a ratio: median over the runs
    best_k: float

    @property
    def sentence(self) -> str:
        """What it means."""
        return f"{self.label}: {SENTENCES[self.label]}"

    def counts(self, slope: str, prediction: float) -> "HeldIntervals":
        """How many intervals of a slope hold a prediction.

        One that holds it and is wider than the prediction is large holds nearly everything, and
        is not counted among them.
        """
        found = [getattr(track, slope) for track in self.tracks]
        whole = [each for each in found if each is not None and each.low is not None]
        holding = [each for each in whole if each.low - SAME <= prediction <= each.high + SAME]
        wide = sum(each.high - each.low > abs(prediction) for each in holding)
        return HeldIntervals(len(holding) - wide, len(whole) - wide, wide)

    @property
    def reach_nats(self) -> float:
        """The largest range of precision on any track."""
        return max(track.reach_nats for track in self.tracks)

    def to_dict(self, unearned: float) -> dict[str, Any]:
        """Strict JSON data; `unearned` is the slope if errors do not change."""
        return {
            "estimator": self.estimator,
            "knob": self.knob,
            "label": self.label,
            "sentence": self.sentence,
            "reach_nats": self.reach_nats,
            "sharper": self.sharper,
            "best": self.best,
            "best_k": self.best_k,
            **_numbers(self, SLOPES),
            "holds_not_more_accurate": {
                slope: self.counts(slope, unearned)._asdict()
                for slope in ("nees_slope", "divided_slope")
            },
            "tracks": [asdict(each) | _numbers(each, SLOPES) for each in self.tracks],
        }


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


class SweepLine(NamedTuple):
    """Runs of an estimator on a track that differ in one knob alone."""

    estimator: str
    knob: str
    track: str
    line: Line
    usual: str  # the value while another knob is turned; of a knob alone the one in the middle


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

    @property
    def moving(self) -> tuple[KnobEffect, ...]:
        """Effects of knobs that move the precision of their estimator on some track."""
        return tuple(each for each in self.effects if each.label != "unmoved")

    @property
    def lines(self) -> tuple[SweepLine, ...]:
        """The lines of knobs that move something, by estimator, knob and track."""
        found = []
        for effect in self.moving:
            estimator, knob = effect.estimator, effect.knob
            own = [point for point in self.points if point.estimator == estimator]
            often = Counter(dict(point.settings).get(knob, "") for point in own).most_common()
            alike = [value for value, count in often if count == often[0][1]]
            usual = alike[len(alike) // 2]
            for track in (each.track for each in effect.tracks):
                along = lines_of((point for point in own if point.track == track), knob)
                found += [SweepLine(estimator, knob, track, line, usual) for line in along]
        return tuple(found)

    def __repr__(self) -> str:
        return "\n".join(f"{each.estimator}, {each.knob}: {each.sentence}" for each in self.effects)

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data (schema `smfeval.sweep/1`)."""
        unearned = unearned_slope(self.dimension)
        return {
            "schema": SCHEMA,
            "name": self.name,
            "dimension": self.dimension,
            "level": self.level,
            "moves_nats": MOVES_NATS,
            "predictions": {
                "nees_slope": {"more_accurate": EARNED_SLOPE, "not_more_accurate": unearned},
                "error_slope": {
                    "more_accurate": earned_error_slope(self.dimension),
                    "not_more_accurate": 0.0,
                },
            },
            "effects": [each.to_dict(unearned) for each in self.effects],
            "settings": [
                {"estimator": row.estimator, "settings": dict(row.settings), "tracks": row.tracks}
                | _numbers(row, SETTING_NUMBERS)
                for row in self.rows
            ],
            "points": [
                {
                    "estimator": point.estimator,
                    "track": point.track,
                    "settings": dict(point.settings),
                    "source": point.source,
                    "scored": point.scored,
                    **_numbers(point, RUN_NUMBERS),
                    "notes": list(point.notes),
                }
                for point in self.points
            ],
            "failures": [
                asdict(each) | {"settings": dict(each.settings)} for each in self.failures
            ],
            "notes": list(self.notes),
        }


def _numbers(of: object, names: tuple[str, ...]) -> dict[str, Any]:
    found = {name: getattr(of, name) for name in names}
    return {name: None if number is None else number.to_dict() for name, number in found.items()}


def setting_rows(points: Sequence[Point], level: float) -> tuple[SettingRow, ...]:
    """One row for each estimator and setting, in the order of the points."""
    groups: dict[tuple[str, KnobSettings], list[Point]] = {}
    for point in points:
        groups.setdefault((point.estimator, point.settings), []).append(point)
    rows = []
    for (estimator, settings), group in groups.items():
        medians: dict[str, Any] = {}
        for name in SETTING_NUMBERS:
            runs = [(point.track, getattr(point, name)) for point in group]
            if all(number is not None for _, number in runs):  # a single run has its own number
                medians[name] = runs[0][1] if len(runs) == 1 else median_over_tracks(runs, level)
        tracks = len({point.track for point in group})
        rows.append(SettingRow(estimator, settings, tracks, **medians))
    return tuple(rows)


LOST_M = 5.0  # a run with a larger mean error has lost its track, and says so
SCANS_NOTE = (
    "the interval of a slope on one track is the hull of two: from its scans, taken as dependent "
    "and jointly over the settings, and from the scatter of the runs about the line"
)
TRACKS_NOTE = "a slope over tracks is their mean; its interval is Student's t over tracks"
INTERVAL_NOTES = (SCANS_NOTE, TRACKS_NOTE)


def sweep_of(
    points: Sequence[Point],
    *,
    name: str = "sweep",
    failures: Sequence[Failure] = (),
    dimension: int = 3,
    level: float = 0.95,
) -> Sweep:
    """Effects of all knobs, in the order in which estimators and their knobs come up.

    Raises where no knob has two values to compare.
    """
    knobs = dict.fromkeys((p.estimator, knob) for p in points for knob, _ in p.settings)
    order = list(dict.fromkeys(point.estimator for point in points))
    effects = []
    for estimator, knob in sorted(knobs, key=lambda pair: order.index(pair[0])):
        runs: dict[str, list[Point]] = {}
        for point in points:
            if point.estimator == estimator:
                runs.setdefault(point.track, []).append(point)
        lines = {track: along for track, own in runs.items() if (along := lines_of(own, knob))}
        if lines:
            effects.append(_knob_effect(estimator, knob, lines, dimension, level))
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
        notes=_notes(points, effects),
    )


QUANTITIES: tuple[Quantity, ...] = ("log_nees", "log_error", "log_nees_per_error")  # of `SLOPES`


def _track_effect(track: str, lines: tuple[Line, ...], dimension: int, level: float) -> TrackEffect:
    precision = np.concatenate([line.precision for line in lines])
    reach = max(line.reach_nats for line in lines)
    moved = reach >= MOVES_NATS
    nees, error, divided = (
        common_slope(lines, each, level) if moved else None for each in QUANTITIES
    )
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
    estimator: str, knob: str, lines: dict[str, tuple[Line, ...]], dimension: int, level: float
) -> KnobEffect:
    """Slopes over the tracks that have one; that of the only track."""
    tracks = tuple(_track_effect(track, along, dimension, level) for track, along in lines.items())
    every = [line for along in lines.values() for line in along]

    def overall(name: str) -> Number | None:
        found = [slope for track in tracks if (slope := getattr(track, name)) is not None]
        if len(found) < 2:
            return found[0] if found else None
        return slope_over_tracks([slope.value for slope in found], level)

    nees, error, divided = map(overall, SLOPES)
    label = judge_slopes(nees, error, dimension)
    slopes = (nees, error, divided)
    return KnobEffect(
        estimator, knob, tracks, *slopes, label, sharper_values(every), *_best(every, dimension)
    )


def sharper_values(lines: Sequence[Line]) -> Sharper | None:
    """Which values give the higher precision; None where lines differ, or values are words."""
    signs = set()
    for line in lines:
        try:
            values = np.array([float(value) for value in line.values])
        except ValueError:
            return None
        if line.reach_nats >= MOVES_NATS:
            away = line.precision - line.precision.mean()
            signs.add(bool((np.argsort(np.argsort(values)) @ away) > 0))
    if len(signs) != 1:
        return None
    return "larger" if signs.pop() else "smaller"


def _best(lines: Sequence[Line], dimension: int) -> tuple[str, float]:
    """The value whose k is nearest 1, and that k."""
    log_k: dict[str, list[float]] = {}
    for line in lines:
        off = line.log_nees - np.log10(median_chi_squared(dimension))
        for value, found in zip(line.values, off.tolist(), strict=True):
            log_k.setdefault(value, []).append(found)
    medians = {value: float(np.median(found)) for value, found in log_k.items()}
    best = min(medians, key=lambda value: abs(medians[value]))
    return best, 10 ** medians[best]


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
