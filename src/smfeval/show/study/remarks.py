"""What stands below a table: ranks, how many more tracks would help, notes, failures."""

from collections.abc import Iterable
from dataclasses import dataclass

from smfeval.compare.across.result import Column, Ranks, Section
from smfeval.show.study.titles import title_of, visible
from smfeval.show.words import count, number
from smfeval.study.result import PairResult, Study, TaskResult

Sentences = tuple[str, ...]

FAILURES = 10  # listed; the rest is counted


@dataclass(frozen=True)
class Remark:
    """A sentence and its kind."""

    label: str
    text: str


def section_remarks(section: Section, *, without: Sentences = ()) -> tuple[Remark, ...]:
    """Of one table, `without` the notes that are said elsewhere."""
    columns = section.columns
    said = {
        "rank": _merged((c.metric, rank_line(c.ranks)) for c in columns if c.ranks),
        "test": _merged(undecided(columns)),
        "power": power_lines(columns),
        "note": tuple(note for note in notes_of(section) if note not in without),
    }
    return tuple(Remark(label, visible(text)) for label, texts in said.items() for text in texts)


def notes_of(section: Section) -> Sentences:
    """Notes of a table and of its columns, each once."""
    in_columns = _merged((c.metric, note) for c in section.columns for note in c.notes)
    return tuple(dict.fromkeys((*section.notes, *in_columns)))


def shared_notes(sections: tuple[Section, ...]) -> Sentences:
    """Notes that all of several tables have."""
    first, *others = [notes_of(section) for section in sections] or [()]
    return tuple(n for n in first if all(n in other for other in others)) if others else ()


def rank_line(ranks: Ranks) -> str:
    """'A 1.4, B 2.1, C 3.5 over 12 tracks; critical difference 0.9; not separated: A and B'."""
    best_first = sorted(zip(ranks.mean_rank, ranks.names, strict=True), key=lambda each: each[0])
    parts = []
    if best_first:
        listed = ", ".join(f"{name} {rank:.1f}" for rank, name in best_first)
        parts.append(f"{listed} over {count(ranks.tracks, 'track')}")
    if ranks.friedman_p is not None:
        parts.append(f"Friedman p {number(ranks.friedman_p)}")
    if ranks.critical_difference is not None:
        parts.append(f"critical difference {number(ranks.critical_difference)}")
    if ranks.cliques:
        parts.append(f"not separated: {'; '.join(map(_and, ranks.cliques))}")
    return "; ".join([*parts, ranks.reason] if ranks.reason else parts)


def power_lines(columns: Iterable[Column]) -> Sentences:
    """'A and B: about 14 further tracks would separate them in MAE; 20 in k'; one line a pair."""
    metrics: dict[str, dict[int, list[str]]] = {}  # of a pair, by the number of tracks
    for column in columns:
        for duel in column.duels:
            if duel.further_tracks is not None and not duel.beaten:
                by_tracks = metrics.setdefault(_and(sorted((duel.best, duel.other))), {})
                by_tracks.setdefault(duel.further_tracks, []).append(title_of(column.metric))
    return tuple(f"{pair}: {_further(by_tracks)}" for pair, by_tracks in metrics.items())


def _further(metrics: dict[int, list[str]]) -> str:
    (tracks, titles), *others = metrics.items()
    first = f"about {count(tracks, 'further track')} would separate them in {_and(titles)}"
    return "; ".join([first, *(f"{tracks:,} in {_and(titles)}" for tracks, titles in others)])


def failures(study: Study, *, limit: int = FAILURES) -> tuple[Remark, ...]:
    """One sentence for each run that failed; the rest is counted."""
    every: tuple[TaskResult | PairResult, ...] = (*study.results, *study.pair_results)
    failed = [each for each in every if each.failure is not None]
    listed = [Remark("failed", visible(f"{_run(each)}: {each.failure}")) for each in failed[:limit]]
    rest = len(failed) - len(listed)
    return tuple([*listed, Remark("failed", f"and {rest:,} more")] if rest else listed)


def study_remarks(study: Study) -> tuple[Remark, ...]:
    """Of the whole study: what holds for all tables, notes and failures."""
    common = (*shared_notes(study.sections), *shared_notes(study.pair_sections))
    notes = dict.fromkeys((*common, *study.notes))
    return (*(Remark("note", visible(note)) for note in notes), *failures(study))


def undecided(columns: Iterable[Column]) -> list[tuple[str, str]]:
    """Duels that the test did not decide, and why; those of one reason together."""
    found = []
    for column in columns:
        others: dict[tuple[str, str], list[str]] = {}
        for duel in column.duels:
            if duel.reason is not None:
                others.setdefault((duel.best, duel.reason), []).append(duel.other)
        found += [
            (column.metric, f"{best} against {_and(names)}: {reason}")
            for (best, reason), names in others.items()
        ]
    return found


def _run(each: TaskResult | PairResult) -> str:
    who = each.estimator if isinstance(each, TaskResult) else f"{each.a} | {each.b}"
    again = f", run {each.repeat + 1}" if each.repeat else ""
    return f"{who}, {each.group}/{each.track}{again}"


def _merged(said: Iterable[tuple[str, str]]) -> Sentences:
    """Each sentence once, after the metrics that it is about, unless it names them itself."""
    metrics: dict[str, list[str]] = {}
    for metric, sentence in said:
        metrics.setdefault(sentence, []).append(title_of(metric))
    return tuple(
        sentence if sentence.startswith(f"{titles[0]}:") else f"{', '.join(titles)}: {sentence}"
        for sentence, titles in metrics.items()
    )


def _and(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
