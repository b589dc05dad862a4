"""A sweep as text: what each knob does, and with `-v` every run."""

from collections.abc import Iterator, Sequence

from smfeval import words
from smfeval.compare.slopes import Line, format_settings, lines_of
from smfeval.compare.sweep import (
    SENTENCES,
    SLOPES,
    SPACE_NUMBERS,
    KnobEffect,
    Sweep,
    TrackEffect,
    earned_error_slope,
    unearned_slope,
)
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import NUMBERS

HEADINGS = (
    "estimator",
    "knob",
    "runs",
    "precision, nat",
    "NEES slope",
    "error slope",
    "error divided out",
    "verdict",
)
ROW_HEADINGS = ("estimator", "setting", "tracks", "precision", "median NEES", "MAE")


def text(sweep: Sweep, *, verbose: bool = False) -> str:
    """What each knob does; the last line has the verdicts."""
    parts = [
        extent(sweep),
        *_table(effect_table(sweep)),
        *predictions(sweep),
        *(["", *_table(_setting_rows(sweep))] if verbose else []),
        *failure_lines(sweep),
        *(f"  note  {note}" for note in _notes(sweep, verbose=verbose)),
        verdicts(sweep),
    ]
    return "\n".join(parts) + "\n"


def extent(sweep: Sweep) -> str:
    """'campaign: 2 estimators, 1 track, 20 runs'."""
    estimators = len({point.estimator for point in sweep.points})
    tracks = len({point.track for point in sweep.points})
    failed = f", {len(sweep.failures)} failed" if sweep.failures else ""
    return (
        f"{sweep.name}: {words.count(estimators, 'estimator')}, {words.count(tracks, 'track')}, "
        f"{words.count(len(sweep.points), 'run')}{failed}"
    )


def verdicts(sweep: Sweep) -> str:
    """'fastlio2: Rx not more accurate, voxel more accurate; pointlio: Rx worse'."""
    by_estimator: dict[str, list[str]] = {}
    for effect in sweep.effects:
        by_estimator.setdefault(effect.estimator, []).append(f"{effect.knob} {effect.label}")
    return "; ".join(f"{name}: {', '.join(labels)}" for name, labels in by_estimator.items())


def effect_table(sweep: Sweep) -> list[tuple[str, ...]]:
    """Headings, then a row for each knob of each estimator, and for its tracks."""
    rows: list[tuple[str, ...]] = [HEADINGS]
    for effect in sweep.effects:
        rows.append((effect.estimator, effect.knob, *_effect_cells(effect, effect.tracks)))
        if len(effect.tracks) > 1:
            rows += [
                ("", f"  {each.track}", *_effect_cells(each, [each])) for each in effect.tracks
            ]
    return rows


def _effect_cells(
    effect: KnobEffect | TrackEffect, tracks: Sequence[TrackEffect]
) -> tuple[str, ...]:
    """Runs, the range of precision over the tracks, slopes and the verdict."""
    nats = min(t.lowest_nats for t in tracks), max(t.highest_nats for t in tracks)
    return (
        str(sum(track.runs for track in tracks)),
        words.number_range(nats, places=2),
        *(format_slope(getattr(effect, name)) for name in SLOPES),
        effect.label,
    )


def format_slope(number: Number | None) -> str:
    """A slope with its interval, or '-'."""
    return "-" if number is None else words.slope(number.value, number.low, number.high)


def predictions(sweep: Sweep) -> list[str]:
    """How the slopes are to be read, and what the labels mean."""
    found = {effect.label for effect in sweep.effects}
    unearned, shrinking = unearned_slope(sweep.dimension), earned_error_slope(sweep.dimension)
    return [
        f"  slopes are log10 per nat of precision with {words.level(sweep.level)} intervals",
        f"  if errors shrink with the covariance: NEES 0, error {words.slope(shrinking)}; "
        f"if they stay: NEES {words.slope(unearned)}, error 0",
        f"  error divided out: slope of NEES / error^2, {words.slope(unearned)} whatever errors do "
        "if covariances keep their shape",
        *(f"  {label}: {SENTENCES[label]}" for label in SENTENCES if label in found),
        *(f"  {line}" for line in interval_counts(sweep)),
    ]


def interval_counts(sweep: Sweep) -> list[str]:
    """'claims, sigma: 22 of 23 intervals hold +0.145; with the error divided out 23 of 23'."""
    lines, unearned = [], unearned_slope(sweep.dimension)
    for effect in sweep.effects:
        (held, of), (divided, of_divided) = (
            effect.counts(slope, unearned) for slope in ("nees_slope", "divided_slope")
        )
        if len(effect.tracks) > 1 and of:
            lines.append(
                f"{effect.estimator}, {effect.knob}: {held} of {of} intervals of a track hold "
                f"{words.slope(unearned)}; with the error divided out {divided} of {of_divided}"
            )
    return lines


def _setting_rows(sweep: Sweep) -> list[tuple[str, ...]]:
    """Medians of every setting; k of rotation and pose where one of them was scored."""
    shown = [name for name in SPACE_NUMBERS if any(getattr(row, name) for row in sweep.rows)]
    numbers = ("precision", "nees_median", "mae", *shown)
    return [
        (*ROW_HEADINGS, *(NUMBERS[name].title for name in shown)),
        *(
            (
                row.estimator,
                format_settings(row.settings),
                str(row.tracks),
                *(str(getattr(row, name) or "-") for name in numbers),
            )
            for row in sweep.rows
        ),
    ]


def failure_lines(sweep: Sweep) -> list[str]:
    """A line for each run that could not be scored."""
    return [
        f"  failed  {each.estimator} {format_settings(each.settings)} on {each.track}: "
        f"{each.sentence}"
        for each in sweep.failures
    ]


def _notes(sweep: Sweep, *, verbose: bool) -> list[str]:
    """Of the sweep, and of all runs: each once, with how many runs it holds for."""
    runs = [note for point in sweep.points for note in dict.fromkeys(point.notes)]
    if not verbose:
        return list(sweep.notes)
    return [*sweep.notes, *(f"{note} ({runs.count(note)} runs)" for note in dict.fromkeys(runs))]


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [f"  {line}".rstrip() for line in words.table(rows)]


def knob_lines(sweep: Sweep, knob: str) -> Iterator[tuple[str, str, Line]]:
    """The lines of a knob: its estimator, a name with track and number if need be, and the line."""
    several = len({point.track for point in sweep.points}) > 1
    whose = dict.fromkeys((point.estimator, point.track) for point in sweep.points)
    for estimator, track in whose:
        mine = [p for p in sweep.points if (p.estimator, p.track) == (estimator, track)]
        lines = lines_of(mine, knob)
        for number, line in enumerate(lines, start=1):
            name = f"{estimator}, {track}" if several else estimator
            yield estimator, f"{name} ({number})" if len(lines) > 1 else name, line
