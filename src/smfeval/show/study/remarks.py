"""What stands below a table: ranks, how many more tracks would help, notes, failures, gaps."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, isfinite, log10
from string import ascii_lowercase

import numpy as np

from smfeval.compare.duels import FEWEST, Cell, Column, Duel, Ranks, Section
from smfeval.show.words import count, number
from smfeval.study.metrics import METRICS
from smfeval.study.result import PairResult, Study, TaskResult
from smfeval.summarise.number import Number

BEST = "the best contender and every one that it was tested against and does not significantly beat"


def meaning(study: Study) -> str:
    """What the numbers of all tables are."""
    level = f"{100 * study.plan.options.intervals.level:g} %"
    return f"median over tracks, its {level} interval in brackets"


def title_of(metric: str) -> str:
    """What stands above a column."""
    return METRICS[metric].title if metric in METRICS else visible(metric)


def title_of_section(section: Section, of: str) -> str:
    """Group and tracks of a table."""
    pairs = "pairs without a reference: " if of == "pair" else ""
    only = "converged only, of " if section.converged_only else ""
    return f"{pairs}{visible(section.group)} ({only}{count(section.tracks, 'track')})"


def title_of_study(study: Study) -> str:
    """Name and size of a study: 'nightly: 4 estimators, 12 tracks, 46 runs, 2 failed'.

    Where files are missing, 'and so many without a file' stands behind; those are no runs.
    """
    plan, failed, missing = study.plan, len(study.failed), len(study.missing)
    sizes = (
        count(len(plan.estimators), "estimator"),
        count(len(plan.tracks), "track"),
        count(len(study.results) - missing, "run"),
        *([f"{failed:,} failed"] if failed else []),
        *([f"{missing:,} without a file"] if missing else []),
    )
    return f"{visible(plan.name)}: {', '.join(sizes)}"


def visible(text: str) -> str:
    """The text on one line; what a terminal would obey rather than show is spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


OutcomesSentences = tuple[str, ...]

TOO_FEW = f"too few tracks to test (fewer than {FEWEST} shared ones that differ): nobody is marked"
OUTCOMES_ALONE = "one contender without a rival: nobody is marked"


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
        parts.append(f"not separated: {'; '.join(map(joined, ranks.cliques))}")
    return "; ".join([*parts, ranks.reason] if ranks.reason else parts)


def power_lines(columns: Iterable[Column]) -> OutcomesSentences:
    """'A and B: about 14 further tracks would separate them in MAE; 20 in k'; one line a pair."""
    metrics: dict[str, dict[int, list[str]]] = {}  # of a pair, by the number of tracks
    for column in columns:
        for duel in column.duels:
            if duel.further_tracks is not None and not duel.beaten:
                by_tracks = metrics.setdefault(joined(sorted((duel.best, duel.other))), {})
                by_tracks.setdefault(duel.further_tracks, []).append(title_of(column.metric))
    return tuple(f"{pair}: {_further(by_tracks)}" for pair, by_tracks in metrics.items())


def _further(metrics: dict[int, list[str]]) -> str:
    (tracks, titles), *others = metrics.items()
    first = f"about {count(tracks, 'further track')} would separate them in {joined(titles)}"
    return "; ".join([first, *(f"{tracks:,} in {joined(titles)}" for tracks, titles in others)])


def undecided(columns: Iterable[Column]) -> list[tuple[str, str]]:
    """Duels that the test did not decide, and why; those of one reason together.

    A contender that was not tested while others were has a footnote instead.
    """
    found = []
    for column in columns:
        others: dict[tuple[str, str], list[str]] = {}
        for duel in column.duels:
            if duel.reason is not None and duel.tested == column.tested:
                others.setdefault((_opponent(duel), duel.reason), []).append(duel.other)
        found += [
            (column.metric, f"{opponent}{joined(names)}: {reason}")
            for (opponent, reason), names in others.items()
        ]
    return found


def _opponent(duel: Duel) -> str:
    """'A against '; who leads without a test has no name."""
    return f"{duel.best} against " if duel.tested else ""


def unmarked(columns: Iterable[Column]) -> OutcomesSentences:
    """Why nobody is marked as best, where estimators compete; said of all metrics, or of some."""
    contested = [column for column in columns if column.contested]
    why = [(c.metric, TOO_FEW if c.duels else OUTCOMES_ALONE) for c in contested if not c.tested]
    reasons = {reason for _, reason in why}
    return tuple(reasons) if len(why) == len(contested) and len(reasons) == 1 else merged(why)


def merged(said: Iterable[tuple[str, str]]) -> OutcomesSentences:
    """Each sentence once, after the metrics that it is about, unless it names them itself."""
    metrics: dict[str, list[str]] = {}
    for metric, sentence in said:
        metrics.setdefault(sentence, []).append(title_of(metric))
    return tuple(
        sentence if sentence.startswith(f"{titles[0]}:") else f"{', '.join(titles)}: {sentence}"
        for sentence, titles in metrics.items()
    )


def joined(names: Iterable[str]) -> str:
    """'A, B and C'."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


FAILURES = 10  # listed; the rest is counted
NAMED = 6  # tracks that a line about missing files names


@dataclass(frozen=True)
class Remark:
    """A sentence and its kind."""

    label: str
    text: str


def section_remarks(section: Section, *, without: OutcomesSentences = ()) -> tuple[Remark, ...]:
    """Of one table, `without` the notes that are said elsewhere."""
    columns = section.columns
    said = {
        "rank": merged((c.metric, rank_line(c.ranks)) for c in columns if c.ranks),
        "test": merged(undecided(columns)),
        "power": power_lines(columns),
        "note": (*(note for note in notes_of(section) if note not in without), *unmarked(columns)),
    }
    return tuple(Remark(label, visible(text)) for label, texts in said.items() for text in texts)


def notes_of(section: Section) -> OutcomesSentences:
    """Notes of a table and of its columns, each once."""
    in_columns = merged((c.metric, note) for c in section.columns for note in c.notes)
    return tuple(dict.fromkeys((*section.notes, *in_columns)))


def shared_notes(sections: tuple[Section, ...]) -> OutcomesSentences:
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


BESIDE_INTERVAL = 2  # significant digits, at least
ALONE = 3  # significant digits without an interval
MOST = 4  # significant digits, whatever the interval says
PLAIN = range(-2, 3)  # decades that are read without a power of ten: 0.01 to 999


@dataclass(frozen=True)
class Digits:
    """A number: `text` times ten to the `exponent`."""

    text: str
    exponent: int = 0


@dataclass(frozen=True)
class Style:
    """How a format writes a power of ten (after the digits, 0: nothing) and infinity."""

    power: Callable[[int], str]
    infinity: str

    def number(self, digits: Digits) -> str:
        """Digits and power."""
        return self._digits(digits) + self.power(digits.exponent)

    def interval(self, low: Digits, high: Digits) -> str:
        """Both ends in brackets, a shared power behind them."""
        if low.exponent != high.exponent:
            return f"[{self.number(low)}, {self.number(high)}]"
        return f"[{self._digits(low)}, {self._digits(high)}]{self.power(low.exponent)}"

    def _digits(self, digits: Digits) -> str:
        return digits.text.replace("inf", self.infinity)


def alone(value: float) -> Digits:
    """A number without an interval."""
    return _rounded(value, _power(value, ALONE), ALONE - 1 - _decade(value, ALONE))


def together(value: float, low: float, high: float) -> tuple[Digits, Digits, Digits]:
    """Value and ends, each as exact as the interval deserves, in the power of ten of the value.

    Where an end would be hard to read in that power, each end has its own. Where the interval
    reaches to both sides of zero, the larger end gives power and digits: what is small beside it is
    as good as zero.
    """
    reach = max((abs(end) for end in (low, high) if isfinite(end)), default=abs(value))
    both_signs = low < 0 < high
    anchor = reach if both_signs or not value or not isfinite(value) else value
    power, needed = _power(anchor), _needed(anchor, (high - low) / 2)
    shared = all(_decade(end) - power in PLAIN for end in (low, high) if end and isfinite(end))

    def one(x: float, power: int) -> Digits:
        size = anchor if both_signs else x
        return _rounded(x, power, max(BESIDE_INTERVAL - 1 - _decade(size), needed))

    if shared or both_signs:
        return one(value, power), one(low, power), one(high, power)
    return one(value, power), one(low, _power(low)), one(high, _power(high))


def _needed(anchor: float, half_width: float) -> int:
    """Decimals so that the last digit is no coarser than half the width of the interval."""
    if not isfinite(half_width) or half_width <= 0:
        return ALONE - 1 - _decade(anchor)
    return min(ceil(-log10(half_width)), MOST - 1 - _decade(anchor))


def _decade(value: float, digits: int = BESIDE_INTERVAL) -> int:
    """Exponent of the first digit, after rounding: 996 with two digits is 1.0e3."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2]) if value and isfinite(value) else 0


def _power(value: float, digits: int = BESIDE_INTERVAL) -> int:
    """The power of ten that is split off: none for numbers that are read with ease."""
    decade = _decade(value, digits)
    return 0 if decade in PLAIN else decade


def _rounded(value: float, power: int, decimals: int) -> Digits:
    """Rounded to so many decimals (of the value itself), with the power split off."""
    if not isfinite(value) or value == 0:
        return Digits(f"{value + 0.0:.0f}")
    places = max(0, decimals + power)
    text = f"{value * 10.0**-power:.{places}f}"
    return Digits(text.removeprefix("-") if float(text) == 0 else text, power)


MISSING = "no value on any track"

Sentences = tuple[str, ...]
Marks = tuple[str, ...]  # letters of footnotes


@dataclass(frozen=True)
class Footnotes:
    """Sentences about a grid, each at the widest place where it holds."""

    everywhere: Sentences  # of all cells
    listed: tuple[tuple[str, str], ...]  # (letter, sentence)
    rows: tuple[Marks, ...]
    cells: tuple[tuple[Marks, ...], ...]


def footnotes(rows: list[list[Cell | None]], tracks: int) -> Footnotes:
    """Of the cells of a table over so many tracks."""
    said = [[about(cell, tracks) for cell in row] for row in rows]
    everywhere = _shared(sentences for row in said for sentences in row)
    of_rows = [_without(_shared(row), everywhere) for row in said]
    of_cells = [
        [_without(sentences, (*everywhere, *shared)) for sentences in row]
        for row, shared in zip(said, of_rows, strict=True)
    ]
    met = (s for at, row in enumerate(of_cells) for some in (of_rows[at], *row) for s in some)
    letters = {sentence: letter(at) for at, sentence in enumerate(dict.fromkeys(met))}

    def marks(sentences: Sentences) -> Marks:
        return tuple(letters[sentence] for sentence in sentences)

    return Footnotes(
        everywhere,
        tuple((mark, sentence) for sentence, mark in letters.items()),
        tuple(marks(shared) for shared in of_rows),
        tuple(tuple(marks(sentences) for sentences in row) for row in of_cells),
    )


def about(cell: Cell | None, tracks: int) -> Sentences:
    """Why a cell is empty, has no interval or no test, or speaks of other tracks than its table."""
    median = number_of(cell)
    if cell is None or median is None:
        return (MISSING,)
    of_tracks = f"{len(cell.values)} of {count(tracks, 'track')}"
    fewer = None if len(cell.values) == tracks else of_tracks
    return tuple(said for said in (fewer, median.reason, cell.untested) if said)


def number_of(cell: Cell | None) -> Number | None:
    """The number of a cell, if it has one; infinity is one."""
    median = None if cell is None else cell.median
    return None if median is None or np.isnan(median.value) else median


def letter(index: int) -> str:
    """a, b ... z, aa, ab ..."""
    turns, rest = divmod(index, len(ascii_lowercase))
    return (letter(turns - 1) if turns else "") + ascii_lowercase[rest]


def _shared(cells: Iterable[Sentences]) -> Sentences:
    """What all cells say; empty cells are not asked where others are not empty."""
    every = list(cells)
    asked = [sentences for sentences in every if sentences != (MISSING,)] or every
    return tuple(s for s in asked[0] if all(s in other for other in asked)) if asked else ()


def _without(sentences: Sentences, others: Sentences) -> Sentences:
    return tuple(sentence for sentence in sentences if sentence not in others)
