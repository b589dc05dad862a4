"""What stands below a table: ranks, how many more tracks would help, notes, failures, gaps."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
from string import ascii_lowercase

import numpy as np

from smfeval import words
from smfeval.compare.duels import Column, MetricCell, Ranks, StudySection
from smfeval.dataclass import dataclass
from smfeval.show.report import Row, labelled
from smfeval.studies.result import PairResult, Study, TaskResult
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import NUMBERS
from smfeval.words import printable

BEST_MEANING = "the best contender and all that are not significantly worse, by a test over tracks"


PAIR_TITLES = {"k_pair_reference": "k_pair by ref.", "k_pair_paper": "k_pair of the paper"}


def meaning(study: Study) -> str:
    """What the numbers of all tables are."""
    level = words.level(study.plan.options.intervals.level)
    return f"median over tracks, its {level} CI in brackets"


def metric_title(metric: str) -> str:
    """What stands above a column."""
    if metric in NUMBERS:
        return NUMBERS[metric].title
    return PAIR_TITLES.get(metric) or printable(metric)


def section_title(section: StudySection, of: str) -> str:
    """Group and tracks of a table."""
    pairs = "pairs without a reference: " if of == "pair" else ""
    only = "converged only, of " if section.converged_only else ""
    return f"{pairs}{printable(section.group)} ({only}{words.count(section.tracks, 'track')})"


def study_title(study: Study) -> str:
    """Name and size of a study: 'nightly: 4 estimators, 12 tracks, 46 runs, 2 failed'.

    Where files are missing, 'and so many without a file' stands behind; those are no runs.
    """
    plan, failed, missing = study.plan, len(study.failed_runs), len(study.missing)
    sizes = (
        words.count(len(plan.estimators), "estimator"),
        words.count(len(plan.tracks), "track"),
        words.count(len(study.results) - missing, "run"),
        *([f"{words.count(failed)} failed"] if failed else []),
        *([f"{words.count(missing)} without a file"] if missing else []),
    )
    used = dict.fromkeys(words.aligned(each.gauge) for each in study.results if each.gauge)
    return f"{printable(plan.name)}: {', '.join((*sizes, *(used if len(used) == 1 else ())))}"


RANKED_BY = ("log", "energy", "rmse", "mae")  # the first that a study has says who is best


def whole_section(study: Study) -> StudySection | None:
    """The section over all tracks, lost ones too."""
    return next((each for each in reversed(study.sections) if not each.converged_only), None)


def answers(study: Study) -> tuple[str, ...]:
    """Who can be trusted, who is closest to that, and who is best: a sentence each."""
    section = whole_section(study)
    if section is None:
        return ()
    columns = {column.metric: column for column in section.columns}
    ranked = next((columns[metric] for metric in RANKED_BY if metric in columns), None)
    trust, best = _trust_text(section, columns.get("k")), ranked and _best_text(study, ranked)
    return tuple(each for each in (trust, best) if each)


def answer_text(study: Study) -> str:
    """The answers as a paragraph."""
    return " ".join(f"{each[:1].upper()}{each[1:]}." for each in answers(study))


def _trust_text(section: StudySection, k: Column | None) -> str | None:
    """'None of the 4 can be trusted as it is. Least wrong: A, median k 22.3', or who is what."""
    named: dict[str, list[str]] = {}
    for each in section.pooled:
        named.setdefault(each.label, []).append(printable(each.estimator))
    count = len(section.pooled)
    if count < 2 or [*named] != ["overconfident"]:
        known = [label for label in LABELS if label in named]
        return "; ".join(f"{label}: {words.join(named[label])}" for label in known) or None
    loss = NUMBERS["k"].loss
    medians = {c.estimator: c.median.value for c in (k.cells if k else ()) if c.median}
    best = min(medians, key=lambda name: loss(medians[name]) if loss else 0.0)
    nearest = f"Least wrong: {printable(best)}, median k {words.number(medians[best])}"
    return f"none of the {count} can be trusted as it is. {nearest}"


def _best_text(study: Study, column: Column) -> str | None:
    """'best by log score: A (3.2 nat), not separated from B', or why nobody is."""
    if column.unmarked is not None:
        return column.unmarked
    contenders = study.plan.contenders
    marked = [cell for cell in column.cells if cell.best and cell.estimator in contenders]
    if not marked:
        return None
    medians = [(number.value, cell) for cell in marked if (number := cell.shared or cell.median)]
    value, best = min(medians, key=itemgetter(0))
    others = [printable(cell.estimator) for cell in marked if cell is not best]
    size = words.quantity(value, NUMBERS[column.metric].unit)
    how = f", not separated from {words.join(others)}" if others else ""
    title = metric_title(column.metric)
    return f"best by {title}: {printable(best.estimator)} (median {size}){how}"


LABELS = ("overconfident", "consistent", "conservative", "cannot tell")


def count_verdicts(study: Study, estimator: str, tracks: Collection[str]) -> str:
    """'5 overconfident, 2 cannot tell': runs of an estimator on some tracks."""
    runs = (run for run in study.results if run.estimator == estimator and run.track in tracks)
    labels = Counter(run.verdict for run in runs if run.verdict)
    known = [label for label in (*LABELS, *sorted({*labels} - {*LABELS})) if labels[label]]
    return ", ".join(f"{words.count(labels[label])} {label}" for label in known)


Sentences = tuple[str, ...]


def rank_line(ranks: Ranks) -> str:
    """'A 1.4, B 2.1, C 3.5 over 12 tracks; not separated: A and B'."""
    best_first = sorted(zip(ranks.mean_rank, ranks.names, strict=True), key=lambda each: each[0])
    parts = []
    if best_first:
        listed = ", ".join(f"{name} {words.fixed(rank, 1)}" for rank, name in best_first)
        parts.append(f"{listed} over {words.count(ranks.tracks, 'track')}")
    if ranks.cliques:
        parts.append(f"not separated: {'; '.join(map(words.join, ranks.cliques))}")
    return "; ".join([*parts, ranks.reason] if ranks.reason else parts)


def power_lines(columns: Iterable[Column]) -> Sentences:
    """'A and B: about 14 further tracks would separate them in MAE; 20 in k'; one line a pair."""
    metrics: dict[str, dict[int, list[str]]] = {}  # of a pair, by the number of tracks
    for column in columns:
        for duel in column.duels:
            if duel.further_tracks is not None and not duel.beaten:
                by_tracks = metrics.setdefault(words.join(sorted((duel.best, duel.other))), {})
                by_tracks.setdefault(duel.further_tracks, []).append(metric_title(column.metric))
    lines = []
    for pair, by_tracks in metrics.items():
        (tracks, titles), *others = by_tracks.items()
        further = words.count(tracks, "further track")
        parts = [f"about {further} would separate them in {words.join(titles)}"]
        parts += [f"{words.count(tracks)} in {words.join(titles)}" for tracks, titles in others]
        lines.append(f"{pair}: {'; '.join(parts)}")
    return tuple(lines)


def verdict_lines(section: StudySection) -> Sentences:
    """'A: overconfident over the study, k 3.1 [1.8, 5.4], 9 tracks', then what was left out.

    'no k to pool on tracks of A (7 of 7) and B (2 of 6): reason', one line a reason.
    """
    reasons: dict[str, list[str]] = {}
    for each in section.pooled:
        for reason, tracks in each.left_out:
            often = f"{words.count(len(tracks))} of {words.count(each.judged)}"
            reasons.setdefault(reason, []).append(f"{each.estimator} ({often})")
    left_out = (f"tracks of {words.join(names)}: {why}" for why, names in reasons.items())
    return (
        *(f"{each.estimator}: {each.sentence}" for each in section.pooled),
        *(f"no k to pool on {text}" for text in left_out),
    )


def merge_sentences(said: Iterable[tuple[str, str]]) -> Sentences:
    """Each sentence once, after the metrics that it is about, unless it names them itself."""
    metrics: dict[str, list[str]] = {}
    for metric, sentence in said:
        metrics.setdefault(sentence, []).append(metric_title(metric))
    merged = []
    for sentence, titles in metrics.items():
        named = sentence.startswith(f"{titles[0]}:")
        merged.append(sentence if named else f"{', '.join(titles)}: {sentence}")
    return tuple(merged)


MAX_FAILURES = 10  # listed; the rest is counted
MAX_NAMED_TRACKS = 6  # tracks that a line about missing files names


def section_remarks(section: StudySection, *, without: Sentences = ()) -> tuple[Row, ...]:
    """Of one table, `without` the notes that are said elsewhere."""
    columns = section.columns
    said = {
        "verdict": verdict_lines(section),
        "errors": tuple(each.sentence for each in section.hypotheses),
        "rank": merge_sentences((c.metric, rank_line(c.ranks)) for c in columns if c.ranks),
        "power": power_lines(columns),
        "note": tuple(note for note in section_notes(section) if note not in without),
    }
    return tuple(Row(label, printable(text)) for label, texts in said.items() for text in texts)


def section_notes(section: StudySection) -> Sentences:
    """Notes of a table and of its columns, each once."""
    in_columns = merge_sentences((c.metric, note) for c in section.columns for note in c.notes)
    return tuple(dict.fromkeys((*section.notes, *in_columns)))


def shared_notes(sections: tuple[StudySection, ...]) -> Sentences:
    """Notes that all of several tables have."""
    first, *others = [section_notes(section) for section in sections] or [()]
    return tuple(n for n in first if all(n in other for other in others)) if others else ()


def failures(study: Study) -> tuple[Row, ...]:
    """One sentence for each run that failed; the rest is counted. Runs without a file: `gaps`."""
    every: tuple[TaskResult | PairResult, ...] = (*study.failed_runs, *study.failed_pairs)
    texts = [printable(f"{run_name(each)}: {each.failure}") for each in every[:MAX_FAILURES]]
    rest = len(every) - len(texts)
    texts += [f"and {words.count(rest)} more"] if rest else []
    return tuple(labelled("failed", texts))


def missing_files(study: Study) -> tuple[Row, ...]:
    """One line for each estimator without a file on some tracks: 'B, on 2 of 12 tracks: x, y'."""
    tracks: dict[str, list[str]] = {}
    for each in study.missing:
        tracks.setdefault(each.estimator, []).append(each.track)
    total = len(study.plan.tracks)
    texts = (f"{name}, on {format_tracks(names, total)}" for name, names in tracks.items())
    return tuple(labelled("no file", map(printable, texts)))


def format_tracks(tracks: list[str], total: int) -> str:
    """'15 of 20 tracks: a, b, c, d, e, f and 9 more'."""
    listed = words.join(tracks, most=MAX_NAMED_TRACKS)
    return f"{words.count_of(len(tracks), total, 'track')}: {listed}"


def unscored_runs(study: Study) -> tuple[Row, ...]:
    """Runs that were not scored."""
    return (*failures(study), *missing_files(study))


def doubt_lines(study: Study, *, without: str = "") -> tuple[Row, ...]:
    """'A (2 of 12 tracks: x, y): what looks wrong', in the numbers of the first of them."""
    tracks: dict[tuple[str, str], dict[str, str]] = {}  # by estimator and kind of doubt
    for each in study.results:
        for kind, sentence in each.doubts:
            if without and kind.endswith(without):
                continue
            tracks.setdefault((each.estimator, kind), {}).setdefault(each.track, sentence)
    total = len(study.plan.tracks)
    texts = (
        f"{name} ({format_tracks(list(said), total)}): {next(iter(said.values()))}"
        for (name, _), said in tracks.items()
    )
    return tuple(labelled("doubt", map(printable, texts)))


def monte_carlo_lines(study: Study) -> tuple[Row, ...]:
    """A line for each estimator on each track that has enough repeats."""
    return tuple(Row("repeats", printable(each.sentence)) for each in study.monte_carlo)


MAX_LISTED = 6  # repeats or pairs that a brief text lists


def headline_remarks(study: Study) -> list[Row]:
    """What may change how the first table is read, and what else there is."""
    section, repeats = whole_section(study), monte_carlo_lines(study)
    more = ["all metrics", "ranks", "tests"]
    more += [f"groups {words.join(study.plan.groups)}"] if len(study.plan.groups) > 1 else []
    more += ["converged tracks"] if section and any(n for _, n, _ in section.diverged) else []
    more += ["pairs"] if study.pair_sections else []
    more += ["repeats"] if len(repeats) > MAX_LISTED else []
    more += [words.count(len(study.notes), "note")] if study.notes else []
    return [
        *(repeats if len(repeats) <= MAX_LISTED else ()),
        *pair_lines(study),
        *doubt_lines(study, without="lost"),  # which the table tells
        *unscored_runs(study),
        Row("more", f"-v has {words.join(more)}"),
    ]


def pair_lines(study: Study) -> tuple[Row, ...]:
    """Medians of k_pair over all tracks, listed or as a range."""
    columns = study.pair_sections[-1].columns if study.pair_sections else ()
    cells = next((column.cells for column in columns if column.metric == "k_pair"), ())
    medians = {cell.estimator: cell.median.value for cell in cells if cell.median is not None}
    if not medians:
        return ()
    listed = ", ".join(f"{printable(name)} {words.number(k)}" for name, k in medians.items())
    spread = f"{words.number_range(medians.values())} of {words.count(len(medians), 'pair')}"
    shown = listed if len(medians) <= MAX_LISTED else spread
    return (Row("pairs", f"median k_pair (1 if consistent): {shown}"),)


def study_remarks(study: Study) -> tuple[Row, ...]:
    """Of the whole study: repeats, what holds for all tables, notes, failures and gaps."""
    common = (*shared_notes(study.sections), *shared_notes(study.pair_sections))
    notes = dict.fromkeys((*common, *study.notes))
    return (
        *monte_carlo_lines(study),
        *doubt_lines(study),
        *(Row("note", printable(note)) for note in notes),
        *unscored_runs(study),
    )


def run_name(each: TaskResult | PairResult) -> str:
    """Which run: 'alpha, all/walk_0, run 2'."""
    again = f", run {each.repeat + 1}" if each.repeat else ""
    return f"{each.name}, {each.group}/{each.track}{again}"


NO_VALUE = "no value on any track"

Marks = tuple[str, ...]  # letters of footnotes


@dataclass(frozen=True)
class Footnotes:
    """Sentences about a grid, each at the widest place where it holds."""

    common: Sentences  # of all cells
    listed: tuple[tuple[str, str], ...]  # (letter, sentence)
    columns: tuple[Marks, ...]
    rows: tuple[Marks, ...]
    cells: tuple[tuple[Marks, ...], ...]


def footnotes(
    rows: list[list[MetricCell | None]],
    tracks: int,
    *,
    of_rows: Sequence[Sentences],
    of_columns: Sequence[Sentences],
) -> Footnotes:
    """Of the cells of a table over so many tracks, beside those of whole rows and columns."""
    said = [[cell_footnotes(cell, tracks) for cell in row] for row in rows]
    everywhere = _common_sentences(sentences for row in said for sentences in row)
    whole_rows = [
        (*own, *_without(_common_sentences(row), everywhere))
        for own, row in zip(of_rows, said, strict=True)
    ]
    of_cells = [
        [_without(sentences, (*everywhere, *shared)) for sentences in row]
        for row, shared in zip(said, whole_rows, strict=True)
    ]
    met = [s for some in of_columns for s in some]
    met += [
        s for row, own in zip(of_cells, whole_rows, strict=True) for e in (own, *row) for s in e
    ]
    letters = {sentence: footnote_letter(at) for at, sentence in enumerate(dict.fromkeys(met))}

    def marks(sentences: Sentences) -> Marks:
        return tuple(letters[sentence] for sentence in sentences)

    return Footnotes(
        everywhere,
        tuple((mark, sentence) for sentence, mark in letters.items()),
        tuple(map(marks, of_columns)),
        tuple(map(marks, whole_rows)),
        tuple(tuple(map(marks, row)) for row in of_cells),
    )


def column_footnotes(column: Column) -> Sentences:
    """Why nobody is marked in it, or tracks that count in no test."""
    if column.unmarked is None:
        return ()
    return (f"{column.unmarked}: {column.detail}" if column.detail else column.unmarked,)


def row_footnotes(study: Study, section: StudySection, name: str) -> Sentences:
    """On which tracks an estimator is lost, and an alignment that not all have."""
    said = []
    mae = next((column.cells for column in section.columns if column.metric == "mae"), ())
    limit = study.plan.diverged_m
    for cell in (each for each in mae if each.estimator == name):
        lost = [track for track, value in cell.values if value > limit]
        if lost:
            on = format_tracks(lost, len(cell.values))
            said.append(f"lost on {on} (mean error above {words.length(limit)})")
    used = {each.gauge: None for each in study.results if each.estimator == name and each.gauge}
    if len({each.gauge for each in study.results if each.gauge}) > 1:
        said += [words.aligned(gauge) for gauge in used if gauge]
    return tuple(said)


def cell_footnotes(cell: MetricCell | None, tracks: int) -> Sentences:
    """Why a cell is empty, has no interval or no test, or speaks of other tracks than its table."""
    median = cell_number(cell)
    if cell is None or median is None:
        return (NO_VALUE,)
    said = []
    if len(cell.values) != tracks:
        said.append(f"{len(cell.values)} of {words.count(tracks, 'track')}")
    return (*said, *(reason for reason in (median.reason, cell.reason) if reason))


def cell_number(cell: MetricCell | None) -> Number | None:
    """The number of a cell, if it has one; infinity is one."""
    median = None if cell is None else cell.median
    return None if median is None or np.isnan(median.value) else median


def footnote_letter(index: int) -> str:
    """a, b ... z, aa, ab ..."""
    turns, rest = divmod(index, len(ascii_lowercase))
    return (footnote_letter(turns - 1) if turns else "") + ascii_lowercase[rest]


def _common_sentences(cells: Iterable[Sentences]) -> Sentences:
    """What all cells say; empty cells are not asked where others are not empty."""
    every = list(cells)
    asked = [sentences for sentences in every if sentences != (NO_VALUE,)] or every
    return tuple(s for s in asked[0] if all(s in other for other in asked)) if asked else ()


def _without(sentences: Sentences, others: Sentences) -> Sentences:
    return tuple(sentence for sentence in sentences if sentence not in others)
