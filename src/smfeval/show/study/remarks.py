"""What stands below a table: ranks, how many more tracks would help, notes, failures, gaps."""

from dataclasses import dataclass

from smfeval.compare.across.result import Section
from smfeval.show.study.outcomes import (
    Sentences,
    merged,
    power_lines,
    rank_line,
    undecided,
    unmarked,
)
from smfeval.show.study.titles import visible
from smfeval.show.words import count
from smfeval.study.result import PairResult, Study, TaskResult

FAILURES = 10  # listed; the rest is counted
NAMED = 6  # tracks that a line about missing files names


@dataclass(frozen=True)
class Remark:
    """A sentence and its kind."""

    label: str
    text: str


def section_remarks(section: Section, *, without: Sentences = ()) -> tuple[Remark, ...]:
    """Of one table, `without` the notes that are said elsewhere."""
    columns = section.columns
    said = {
        "rank": merged((c.metric, rank_line(c.ranks)) for c in columns if c.ranks),
        "test": merged(undecided(columns)),
        "power": power_lines(columns),
        "note": (*(note for note in notes_of(section) if note not in without), *unmarked(columns)),
    }
    return tuple(Remark(label, visible(text)) for label, texts in said.items() for text in texts)


def notes_of(section: Section) -> Sentences:
    """Notes of a table and of its columns, each once."""
    in_columns = merged((c.metric, note) for c in section.columns for note in c.notes)
    return tuple(dict.fromkeys((*section.notes, *in_columns)))


def shared_notes(sections: tuple[Section, ...]) -> Sentences:
    """Notes that all of several tables have."""
    first, *others = [notes_of(section) for section in sections] or [()]
    return tuple(n for n in first if all(n in other for other in others)) if others else ()


def failures(study: Study, *, limit: int = FAILURES) -> tuple[Remark, ...]:
    """One sentence for each run that failed; the rest is counted. Runs without a file: `gaps`."""
    every: tuple[TaskResult | PairResult, ...] = (*study.failed, *study.pair_results)
    failed = [each for each in every if each.failure is not None]
    listed = [Remark("failed", visible(f"{_run(each)}: {each.failure}")) for each in failed[:limit]]
    rest = len(failed) - len(listed)
    return tuple([*listed, Remark("failed", f"and {rest:,} more")] if rest else listed)


def gaps(study: Study) -> tuple[Remark, ...]:
    """One line for each estimator without a file on some tracks: 'B, on 2 of 12 tracks: x, y'."""
    tracks: dict[str, list[str]] = {}
    for each in study.missing:
        tracks.setdefault(each.estimator, []).append(each.track)
    total = len(study.plan.tracks)
    return tuple(
        Remark("no file", visible(f"{name}, on {some_of(names, total)}"))
        for name, names in tracks.items()
    )


def some_of(tracks: list[str], total: int) -> str:
    """'15 of 20 tracks: a, b, c, d, e, f and 9 more'."""
    more = f" and {len(tracks) - NAMED} more" if len(tracks) > NAMED else ""
    return f"{len(tracks)} of {count(total, 'track')}: {', '.join(tracks[:NAMED])}{more}"


def undone(study: Study) -> tuple[Remark, ...]:
    """Runs that were not scored."""
    return (*failures(study), *gaps(study))


def study_remarks(study: Study) -> tuple[Remark, ...]:
    """Of the whole study: what holds for all tables, notes, failures and gaps."""
    common = (*shared_notes(study.sections), *shared_notes(study.pair_sections))
    notes = dict.fromkeys((*common, *study.notes))
    return (*(Remark("note", visible(note)) for note in notes), *undone(study))


def _run(each: TaskResult | PairResult) -> str:
    who = each.estimator if isinstance(each, TaskResult) else f"{each.a} | {each.b}"
    again = f", run {each.repeat + 1}" if each.repeat else ""
    return f"{who}, {each.group}/{each.track}{again}"
