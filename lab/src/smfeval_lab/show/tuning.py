"""A tuning as text: the best setting, what of its gain is earned, and every try."""

from smfeval import words
from smfeval_lab.tune import Tuning, TuningOutcome


def text(tuning: Tuning, *, verbose: bool = False) -> str:
    """The conclusion, the parts of the gain, every held-out track; with -v every try."""
    start, best = tuning.start.factor, tuning.best.factor
    rows = [
        ("gain", f"{tuning.gain} on {words.count(len(tuning.after), 'other track')}"),
        ("unearned", f"{tuning.unearned}: {_times(start)} the covariance at the start"),
        ("earned", f"{tuning.earned}: with the best factor at either setting"),
        ("left", f"{tuning.left}: {_times(best)} the covariance of the tuned filter"),
        *([("note", f"no intervals: {tuning.gain.reason}")] if tuning.gain.reason else []),
        *(("note", note) for note in tuning.notes),
    ]
    table: list[tuple[str, ...]] = [
        ("", "before", "", "", "after", "", ""),
        ("track", "MAE", "k", "log score", "MAE", "k", "log score"),
    ]
    table += [
        (old.track, *_cells(old), *_cells(new))
        for old, new in zip(tuning.before, tuning.after, strict=True)
    ]
    tried = _trials(tuning) if verbose else []
    lines = [last_line(tuning), words.columns(rows), "", *_indent(table), *tried]
    return "\n".join(lines) + "\n"


def last_line(tuning: Tuning) -> str:
    """'point_variance 0.12 instead of 0.001: log score 300 to -6.1 nat on other tracks ...'."""
    old, new = tuning.settings(tuning.start), tuning.settings(tuning.best)
    said = ", ".join(
        f"{name} {words.exact(value)} instead of {words.exact(old[name])}"
        for name, value in new.items()
    )
    before, after = (_mean(part) for part in (tuning.before, tuning.after))
    return (
        f"{said}: log score {words.number(before)} to {words.number(after)} nat on other tracks, "
        f"{words.number(tuning.earned.value)} of {words.number(tuning.gain.value)} nat earned"
    )


def _mean(outcomes: tuple[TuningOutcome, ...]) -> float:
    return sum(each.log_score for each in outcomes) / len(outcomes)


def _times(factor: float) -> str:
    return f"{words.number(factor)} times"


def _cells(outcome: TuningOutcome) -> tuple[str, str, str]:
    return (
        words.length(outcome.mae_m),
        words.number(outcome.k),
        words.number(outcome.log_score),
    )


def _trials(tuning: Tuning) -> list[str]:
    rows: list[tuple[str, ...]] = [(*(knob.name for knob in tuning.knobs), "log score")]
    rows += [
        (
            *map(words.exact, trial.values),
            "failed" if trial.failed else words.number(trial.log_score),
        )
        for trial in tuning.trials
    ]
    return ["", *_indent(rows)]


def _indent(rows: list[tuple[str, ...]]) -> list[str]:
    return [f"  {line}" for line in words.table(rows, right=True)]
