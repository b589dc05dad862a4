"""From the points of a sweep to the effect of every knob."""

from collections.abc import Iterable, Sequence

import numpy as np

from smfeval.compare.sweep.judgement import judged
from smfeval.compare.sweep.points import Failure, Line, Point, lines_of, words
from smfeval.compare.sweep.predictions import MOVES_NATS
from smfeval.compare.sweep.result import Effect, Sweep, TrackEffect
from smfeval.compare.sweep.rows import rows_of
from smfeval.compare.sweep.slopes import common_slope, slope_over_tracks
from smfeval.errors import SeriesError
from smfeval.summarise.number import Number

LOST_M = 5.0  # a run with a larger mean error has lost its track, and says so
ASSUMED = (
    "the interval of a slope on one track takes the deviations of the runs from the line as "
    "independent; runs that share their errors make it too narrow"
)
OVER_TRACKS = "a slope over tracks is their mean; its interval is Student's t over tracks"


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
        for estimator in _once(point.estimator for point in points)
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
        rows=rows_of(points, level),
        notes=(*notes, *_notes(points, effects)),
    )


def _effects(points: list[Point], dimension: int, level: float) -> list[Effect]:
    """Of one estimator, in the order in which its knobs come up."""
    knobs = _once(knob for point in points for knob, _ in point.settings)
    found = []
    for knob in knobs:
        tracks = tuple(
            _on_track(track, lines, dimension, level)
            for track in _once(point.track for point in points)
            if (lines := lines_of([p for p in points if p.track == track], knob))
        )
        if tracks:
            found.append(_over_tracks(points[0].estimator, knob, tracks, dimension, level))
    return found


def _on_track(track: str, lines: tuple[Line, ...], dimension: int, level: float) -> TrackEffect:
    precision = np.concatenate([line.precision for line in lines])
    reach = max(line.reach_nats for line in lines)
    moved = reach >= MOVES_NATS
    nees = common_slope(lines, "log_nees", level) if moved else None
    error = common_slope(lines, "log_error", level) if moved else None
    return TrackEffect(
        track=track,
        runs=len(precision),
        lines=len(lines),
        lowest_nats=float(precision.min()),
        highest_nats=float(precision.max()),
        reach_nats=reach,
        nees_slope=nees,
        error_slope=error,
        label=judged(nees, error, dimension),
    )


def _over_tracks(
    estimator: str, knob: str, tracks: tuple[TrackEffect, ...], dimension: int, level: float
) -> Effect:
    nees = _overall([track.nees_slope for track in tracks], level)
    error = _overall([track.error_slope for track in tracks], level)
    return Effect(estimator, knob, tracks, nees, error, judged(nees, error, dimension))


def _overall(slopes: Sequence[Number | None], level: float) -> Number | None:
    """That of the only track, or over tracks; tracks without a slope are left out."""
    found = [slope for slope in slopes if slope is not None]
    if len(found) < 2:
        return found[0] if found else None
    return slope_over_tracks([slope.value for slope in found], level)


def _notes(points: Sequence[Point], effects: Sequence[Effect]) -> tuple[str, ...]:
    lost = [point for point in points if point.mae.value > LOST_M]
    still = [
        f"{each.estimator}, {each.knob}: no slope on {len(idle)} of {len(each.tracks)} tracks, "
        f"where the precision moves by less than {MOVES_NATS:g} nat ({', '.join(idle)})"
        for each in effects
        if each.nees_slope is not None
        and (idle := [track.track for track in each.tracks if track.nees_slope is None])
    ]
    several = any(len(each.tracks) > 1 for each in effects)
    return (
        ASSUMED,
        *((OVER_TRACKS,) if several else ()),
        *still,
        *(
            f"{point.estimator} {words(point.settings)} lost track {point.track} "
            f"(mean error {point.mae.value:.3g} m); slopes count it"
            for point in lost
        ),
    )


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
