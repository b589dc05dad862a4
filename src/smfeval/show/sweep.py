"""A sweep as text: what each knob does, and with `-v` every run."""

from collections.abc import Sequence
from textwrap import wrap

import numpy as np

from smfeval import words
from smfeval.compare.slopes import SPACE_NUMBERS, Line, Quantity, format_settings
from smfeval.compare.sweep import (
    INTERVAL_NOTES,
    SENTENCES,
    SLOPES,
    KnobEffect,
    Label,
    Sweep,
    TrackEffect,
    earned_error_slope,
    unearned_slope,
)
from smfeval.maths.arrays import Floats
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import NUMBERS

HEADINGS = (
    *("estimator", "knob", "runs", "precision, nat", "NEES slope", "error slope"),
    *("error divided out", "verdict"),
)
WIDTH = 98  # columns of a sentence
PREDICTIONS = ("errors shrink as reported", "errors stay")
ROW_HEADINGS = ("estimator", "setting", "tracks", "precision", "median NEES", "MAE")


def text(sweep: Sweep, *, verbose: bool = False) -> str:
    """What each knob does in words, then the slopes; `verbose` adds every setting and run."""
    parts = [
        extent(sweep),
        *(f"  {line}" for each in knob_sentences(sweep) for line in wrap(each, WIDTH)),
        "",
        *_table(effect_table(sweep)),
        *(f"  {line}" for line in predictions(sweep)[: None if verbose else 2]),
        *(f"  {line}" for line in interval_counts(sweep)),
        *(["", *_table(_setting_rows(sweep))] if verbose else []),
        *(f"  {line}" for line in failure_lines(sweep)),
        *(f"  note  {note}" for note in _notes(sweep, verbose=verbose)),
    ]
    return "\n".join(parts) + "\n"


def extent(sweep: Sweep) -> str:
    """'campaign: 2 estimators, 1 track, 20 runs'."""
    estimators = len({point.estimator for point in sweep.points})
    tracks = len({point.track for point in sweep.points})
    failed = f", {len(sweep.failures)} failed" if sweep.failures else ""
    size = f"{words.count(estimators, 'estimator')}, {words.count(tracks, 'track')}"
    return f"{sweep.name}: {size}, {words.count(len(sweep.points), 'run')}{failed}"


def effect_table(sweep: Sweep) -> list[tuple[str, ...]]:
    """Headings, then a row for each knob of each estimator, and for its tracks."""
    rows: list[tuple[str, ...]] = [HEADINGS]
    for effect in sweep.effects:
        rows.append((effect.estimator, effect.knob, *_effect_cells(effect, effect.tracks)))
        apart = effect.tracks if len(effect.tracks) > 1 else ()
        rows += [("", f"  {each.track}", *_effect_cells(each, [each])) for each in apart]
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
        f"slopes are log10 per nat of precision with {words.level(sweep.level)} intervals",
        f"if errors shrink with the covariance: NEES 0, error {words.slope(shrinking)}; "
        f"if they stay: NEES {words.slope(unearned)}, error 0",
        f"error divided out: slope of NEES / error^2, {words.slope(unearned)} whatever errors do "
        "if covariances keep their shape",
        *(f"{label}: {SENTENCES[label]}" for label in SENTENCES if label in found),
    ]


def interval_counts(sweep: Sweep) -> list[str]:
    """A line for each knob that moves the precision on several tracks."""
    unearned = unearned_slope(sweep.dimension)
    return [
        f"{effect.estimator}, {effect.knob}: {held_intervals(effect, unearned)}"
        for effect in sweep.effects
        if len(effect.tracks) > 1 and effect.nees_slope is not None
    ]


def held_intervals(effect: KnobEffect, unearned: float) -> str:
    """'22 of 23 intervals of a track hold +0.145; with the error divided out 23 of 23'."""
    shown = []
    for slope in ("nees_slope", "divided_slope"):
        held, of, too_wide = effect.counts(slope, unearned)
        text = f"{held} of {of}" if of else "no"
        wide = f"{too_wide} wider than {words.fixed(unearned, 3)}, which shows nothing"
        shown.append((text, f" ({wide})" if too_wide else ""))
    (plain, wide), (divided, wide_divided) = shown
    hold = f"{plain} intervals of a track hold {words.slope(unearned)}{wide}"
    return f"{hold}; with the error divided out {divided}{wide_divided}"


def _setting_rows(sweep: Sweep) -> list[tuple[str, ...]]:
    """Medians of every setting; k of rotation and pose where one of them was scored."""
    shown = [name for name in SPACE_NUMBERS if any(getattr(row, name) for row in sweep.rows)]
    numbers = ("precision", "nees_median", "mae", *shown)
    rows: list[tuple[str, ...]] = [(*ROW_HEADINGS, *(NUMBERS[name].title for name in shown))]
    for row in sweep.rows:
        values = (str(getattr(row, name) or "-") for name in numbers)
        rows.append((row.estimator, format_settings(row.settings), str(row.tracks), *values))
    return rows


def failure_lines(sweep: Sweep) -> list[str]:
    """A line for each run that could not be scored."""
    return [
        f"failed  {each.estimator} {format_settings(each.settings)} on {each.track}: "
        f"{each.sentence}"
        for each in sweep.failures
    ]


def _notes(sweep: Sweep, *, verbose: bool) -> list[str]:
    """Of the sweep, and of all runs: each once, with how many runs it holds for.

    How intervals are made is told to who asks for more.
    """
    runs = [note for point in sweep.points for note in dict.fromkeys(point.notes)]
    if not verbose:
        return [note for note in sweep.notes if note not in INTERVAL_NOTES]
    return [*sweep.notes, *(f"{note} ({runs.count(note)} runs)" for note in dict.fromkeys(runs))]


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [f"  {line}".rstrip() for line in words.table(rows)]


def unmoved_lines(sweep: Sweep) -> list[str]:
    """'iter: the precision of fastlio2 moves by 0.02 nat at most', for each knob of that kind."""
    still: dict[str, list[KnobEffect]] = {}
    for effect in sweep.effects:
        if effect.label == "unmoved":
            still.setdefault(effect.knob, []).append(effect)
    lines = []
    for knob, effects in still.items():
        most = words.fixed(max(each.reach_nats for each in effects), 2)
        whose = _whose(sweep, effects)
        lines.append(f"{knob}: the precision of {whose} moves by {most} nat at most")
    return lines


def predicted_ends(
    lines: Sequence[Line], quantity: Quantity, slope: float
) -> tuple[Floats, Floats]:
    """Both ends of a line of this slope through the middle of all runs: precision and quantity."""
    x = np.concatenate([line.precision for line in lines])
    y = np.concatenate([getattr(line, quantity) for line in lines])
    ends = np.array([x.min(), x.max()])
    return ends, 10 ** (y.mean() + slope * (ends - x.mean()))


def predicted_slopes(dimension: int) -> dict[Quantity, tuple[float, float]]:
    """Of NEES and error per nat, in the order of PREDICTIONS."""
    return {
        "log_nees": (0.0, unearned_slope(dimension)),
        "log_error": (earned_error_slope(dimension), 0.0),
    }


# What sharpening by a knob does, by label; where errors grow, that is said beside.
DOINGS: dict[Label, str] = {
    "better": "more confident, and more accurate by even more",
    "more accurate": "more confident and as much more accurate",
    "between": "more confident, and more accurate by less",
    "not more accurate": "more confident, not more accurate",
    "undecided": "more confident; whether more accurate is undecided",
}
TIGHT = ("between", "not more accurate", "worse")  # labels of knobs that make it overconfident


def knob_sentences(sweep: Sweep) -> list[str]:
    """'A smaller R makes both estimators more confident, not more accurate. Best tried: ...'."""
    sentences = []
    for knob in dict.fromkeys(effect.knob for effect in sweep.moving):
        effects = [each for each in sweep.moving if each.knob == knob]
        alike: dict[tuple[str, str], list[KnobEffect]] = {}
        for effect in effects:
            turned = f"Turning {knob}" if effect.sharper is None else f"A {effect.sharper} {knob}"
            shared = "not more accurate" if effect.label == "worse" else effect.label
            alike.setdefault((turned, DOINGS[shared]), []).append(effect)
        parts = []
        for (turned, doing), those in alike.items():
            grow = [each.estimator for each in those if each.label == "worse"]
            more = f" (the errors of {words.join(grow)} grow)" if grow else ""
            parts.append(f"{turned} makes {_whose(sweep, those)} {doing}{more}.")
        tight = [each for each in effects if each.label in TIGHT]
        sentences.append(" ".join([*parts, *_best_tried(knob, tight)]))
    return [*sentences, *(f"{line}." for line in unmoved_lines(sweep))]


def _best_tried(knob: str, effects: Sequence[KnobEffect]) -> list[str]:
    """'Best tried (k nearest 1): R 100 for fastlio2 (k = 1.96) and 10 for pointlio (k = 1.32).'."""
    k = {each.estimator: f"k = {words.number(each.best_k)}" for each in effects}
    values = {each.best for each in effects}
    best = [f"{each.best} for {each.estimator} ({k[each.estimator]})" for each in effects]
    if len(values) == 1 and len(effects) > 1:
        best = [f"{values.pop()} ({', '.join(' '.join(each) for each in k.items())})"]
    return [f"Best tried (k nearest 1): {knob} {words.join(best)}."] if best else []


def _whose(sweep: Sweep, effects: Sequence[KnobEffect]) -> str:
    """'both estimators', or their names."""
    every = {point.estimator for point in sweep.points}
    names = [each.estimator for each in effects]
    return "both estimators" if set(names) == every and len(names) == 2 else words.join(names)
