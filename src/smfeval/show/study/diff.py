"""Two studies apart, in words, in Markdown and as strict JSON data (schema `smfeval.diff/1`)."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from smfeval import words
from smfeval.compare.duels import FEWEST, LEVEL
from smfeval.show.render import escape_markdown
from smfeval.studies.diff import MetricMove, Run, StudyDiff
from smfeval.summarise.number import finite_or_none
from smfeval.summarise.numbers import NUMBERS

SCHEMA = "smfeval.diff/1"
MOST_RUNS = 8  # that a list names before it counts
HEAD = ("estimator", "number", "old", "new", "difference", "tracks", "p", "")
TEST_NOTE = (
    "medians over the tracks that both have; Wilcoxon signed-rank test over them, Holm over the "
    f"estimators of a number at {words.exact(LEVEL)}; fewer than {FEWEST} tracks that differ are "
    "not tested; each number for itself; better and worse by its loss (k by its distance from 1)"
)


def text(diff: StudyDiff, *, verbose: bool = False) -> str:
    """What moved beyond chance, verdicts that changed and runs that are no more; or all."""
    shown = _shown(diff, verbose=verbose)
    rows = [HEAD, *(_cells(each) for each in shown)]
    table = [f"  {line}" for line in words.table(rows)] if shown else []
    return "\n".join([summary(diff), *table, *(f"  {line}" for line in _lines(diff, shown))]) + "\n"


def markdown(diff: StudyDiff, *, verbose: bool = False) -> str:
    """The same as a table and a list of Markdown."""
    shown = _shown(diff, verbose=verbose)
    rows = [HEAD, ("---",) * len(HEAD), *(tuple(map(escape_markdown, _cells(m))) for m in shown)]
    table = [f"| {' | '.join(row)} |" for row in rows] if shown else []
    listed = [f"- {escape_markdown(line)}" for line in _lines(diff, shown)]
    parts = [f"## {escape_markdown(summary(diff))}", "\n".join(table), "\n".join(listed)]
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(diff: StudyDiff) -> str:
    """One line: how much is worse, how much better, and what is lost."""
    parts = [
        f"{words.count(len(diff.worse))} worse",
        f"{words.count(len(diff.better))} better",
        f"{words.count(len(diff.verdicts), 'verdict')} changed",
        *([f"{words.count(len(diff.failed), 'run')} failed"] if diff.failed else []),
        *([f"{words.count(len(diff.missing), 'run')} missing"] if diff.missing else []),
    ]
    tracks = words.count(diff.tracks, "track")
    size = f"{words.count(len(diff.estimators), 'estimator')} on {tracks}"
    runs = words.count_of(diff.same_runs, diff.shared_runs, "run")
    same = f"{size}, {runs} on the same files, options and code"
    return f"{diff.old} -> {diff.new}: {', '.join(parts)}; {same}"


def _shown(diff: StudyDiff, *, verbose: bool) -> list[MetricMove]:
    """Main numbers that moved significantly; all where asked for."""
    main = [each for each in diff.moves if NUMBERS[each.metric].overview]
    return list(diff.moves) if verbose else [each for each in main if each.is_significant]


def _lines(diff: StudyDiff, shown: Sequence[MetricMove]) -> list[str]:
    """What is said below the table: numbers that are not in it, verdicts and lists of runs."""
    lists = {
        "verdict": [f"{_run_words(v.run)}: {v.old} -> {v.new}" for v in diff.verdicts],
        "failed": [f"{_run_words(run)}: {why}" for run, why in diff.failed],
        "missing": [_run_words(run) for run in diff.missing],
        "new": [_run_words(run) for run in diff.added],
    }
    lines = _hidden_lines([m for m in diff.moves if m not in shown and m.changed])
    for label, listed in lists.items():
        lines += [f"{label}: {each}" for each in listed[:MOST_RUNS]]
        if len(listed) > MOST_RUNS:
            lines.append(f"{label}: {words.count(len(listed) - MOST_RUNS)} more")
    return [*lines, f"note: {TEST_NOTE}"]


def _hidden_lines(hidden: Sequence[MetricMove]) -> list[str]:
    """Counts of the numbers that are not in the table, by what came of them."""
    significant = sum(each.is_significant for each in hidden)
    untested = [each for each in hidden if each.outcome == "not tested"]
    rest = len(hidden) - significant - len(untested)
    counts = [f"{significant} further numbers changed significantly"] if significant else []
    counts += [f"{rest} changed, not significantly"] if rest else []
    if untested:
        counts.append(f"{len(untested)} changed and were not tested ({untested[0].reason})")
    lines = [f"more (-v): {'; '.join(counts)}"] if counts else []

    apart = [each for each in hidden if each.apart and not each.is_significant]
    if apart:
        which = f"{NUMBERS[apart[0].metric].heading} of {words.visible(apart[0].estimator)}"
        which += " and others" if len(apart) > 1 else ""
        often = f"{len(apart)} have intervals that do not overlap on some track"
        lines.append(f"of these, {often}: {which}")
    return lines


def _cells(move: MetricMove) -> tuple[str, ...]:
    row = NUMBERS[move.metric]
    sign = "+" if move.difference > 0 else ""
    return (
        words.visible(move.estimator),
        row.heading,
        words.quantity(move.old, move.unit),
        words.quantity(move.new, move.unit),
        f"{sign}{words.quantity(move.difference, move.unit)}",
        f"{move.changed} of {move.tracks}" if move.changed < move.tracks else str(move.tracks),
        "" if move.p_holm is None else words.number(move.p_holm),
        move.outcome,
    )


def _run_words(run: Run) -> str:
    estimator, group, track, repeat = run
    return words.visible(f"{estimator}, {group}/{track}{f', run {repeat + 1}' if repeat else ''}")


def document(diff: StudyDiff) -> dict[str, Any]:
    """Every number of the comparison."""
    numbers = ("old", "new", "difference")
    return {
        "schema": SCHEMA,
        "old": {"folder": diff.old, "runs": diff.old_runs},
        "new": {"folder": diff.new, "runs": diff.new_runs},
        "shared_runs": diff.shared_runs,
        "same_runs": diff.same_runs,
        "tracks": diff.tracks,
        "estimators": list(diff.estimators),
        "level": LEVEL,
        "moves": [
            asdict(each) | {name: finite_or_none(getattr(each, name)) for name in numbers}
            for each in diff.moves
        ],
        "verdicts": [
            _run_document(each.run) | {"old": each.old, "new": each.new} for each in diff.verdicts
        ],
        "failed": [_run_document(run) | {"failure": why} for run, why in diff.failed],
        "missing": [_run_document(run) for run in diff.missing],
        "added": [_run_document(run) for run in diff.added],
    }


def _run_document(run: Run) -> dict[str, Any]:
    return dict(zip(("estimator", "group", "track", "repeat"), run, strict=True))
