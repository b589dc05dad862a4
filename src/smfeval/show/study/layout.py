"""The sections of a study, laid out as grids: one model of a table, which every format writes.

Value and interval have one power of ten and as many digits as count.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, isfinite, log10
from statistics import median_low
from types import MappingProxyType

import numpy as np

from smfeval import words
from smfeval.compare.duels import Column, MetricCell, StudySection
from smfeval.show.report import Row
from smfeval.show.study.remarks import (
    Marks,
    cell_number,
    footnotes,
    metric_title,
    section_remarks,
    section_title,
    shared_notes,
)
from smfeval.studies.result import Study
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import NUMBERS
from smfeval.words import printable

DIGITS_BESIDE_INTERVAL = 2  # significant digits, at least
DIGITS_ALONE = 3  # significant digits without an interval
MAX_DIGITS = 4  # significant digits, whatever the interval says
PLAIN_DECADES = range(-2, 3)  # decades that are read without a power of ten: 0.01 to 999


@dataclass(frozen=True)
class Digits:
    """A number: `text` times ten to the `exponent`."""

    text: str
    exponent: int = 0


@dataclass(frozen=True)
class NumberStyle:
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


def round_value(value: float) -> Digits:
    """A number without an interval."""
    decade = _decade(value, DIGITS_ALONE)
    return _round_digits(value, _power(decade), DIGITS_ALONE - 1 - decade)


def round_interval(value: float, low: float, high: float) -> tuple[Digits, Digits, Digits]:
    """Value and ends, each as exact as the interval deserves, in the power of ten of the value.

    Where an end would be hard to read in that power, each end has its own. Where the interval
    reaches to both sides of zero, the larger end gives power and digits: what is small beside it is
    as good as zero.
    """
    reach = max((abs(end) for end in (low, high) if isfinite(end)), default=abs(value))
    both_signs = low < 0 < high
    anchor = reach if both_signs or not value or not isfinite(value) else value
    power, half_width = _power(_decade(anchor)), (high - low) / 2
    needed = DIGITS_ALONE - 1 - _decade(anchor)
    if isfinite(half_width) and half_width > 0:  # the last digit is no coarser than half the width
        needed = min(ceil(-log10(half_width)), MAX_DIGITS - 1 - _decade(anchor))
    shared = all(
        _decade(end) - power in PLAIN_DECADES for end in (low, high) if end and isfinite(end)
    )

    def one(x: float, power: int) -> Digits:
        size = anchor if both_signs else x
        return _round_digits(x, power, max(DIGITS_BESIDE_INTERVAL - 1 - _decade(size), needed))

    if shared or both_signs:
        return one(value, power), one(low, power), one(high, power)
    return one(value, power), one(low, _power(_decade(low))), one(high, _power(_decade(high)))


def _decade(value: float, digits: int = DIGITS_BESIDE_INTERVAL) -> int:
    """Exponent of the first digit, after rounding: 996 with two digits is 1.0e3."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2]) if value and isfinite(value) else 0


def _power(decade: int) -> int:
    """The power of ten that is split off: none for numbers that are read with ease."""
    return 0 if decade in PLAIN_DECADES else decade


def _round_digits(value: float, power: int, decimals: int) -> Digits:
    """Rounded to so many decimals (of the value itself), with the power split off."""
    if not isfinite(value) or value == 0:
        return Digits(f"{value + 0.0:.0f}")
    places = max(0, decimals + power)
    text = f"{value * 10.0**-power:.{places}f}"
    return Digits(text.removeprefix("-") if float(text) == 0 else text, power)


HEADLINE_REMARKS = ("verdict", "errors", "note")  # that a brief table keeps
DASH = "-"  # where there is no value
FACTS = ("diverged", "alignment")


@dataclass(frozen=True)
class ColumnHead:
    """A column: what is shown, in which unit ('' for a pure number).

    Medians over the tracks that all have are a column beside those over all.
    """

    title: str
    unit: str
    shared_tracks: int | None = None

    @property
    def of_tracks(self) -> str:
        """', 5 shared' of medians over shared tracks."""
        return "" if self.shared_tracks is None else f", {words.count(self.shared_tracks)} shared"

    def __str__(self) -> str:
        title = f"{self.title}{self.of_tracks}"
        return f"{title} ({self.unit})" if self.unit else title


@dataclass(frozen=True)
class TableCell:
    """A cell: digits in the unit of its column; no value is a dash, no interval is left out."""

    value: Digits | None
    low: Digits | None
    high: Digits | None
    bold: bool
    marks: tuple[str, ...]  # letters of footnotes
    number: Number | None  # what the digits are of, in its own unit
    tracks: int  # that the number is the median of

    @classmethod
    def of(
        cls,
        number: Number | None,
        unit: float,
        *,
        bold: bool = False,
        marks: tuple[str, ...] = (),
        tracks: int = 0,
    ) -> "TableCell":
        """The number, if it is one, over the shown unit."""
        if number is None or np.isnan(number.value):
            return cls(None, None, None, bold=False, marks=marks, number=None, tracks=0)
        if number.low is None or number.high is None:
            value, low, high = round_value(number.value / unit), None, None
        else:
            ends = number.value / unit, number.low / unit, number.high / unit
            value, low, high = round_interval(*ends)
        return cls(value, low, high, bold, marks, number, tracks)

    def value_in(self, style: NumberStyle) -> str:
        """The value, or a dash."""
        return DASH if self.value is None else style.number(self.value)

    def interval_in(self, style: NumberStyle) -> str:
        """The interval, or nothing."""
        if self.low is None or self.high is None:
            return ""
        return style.interval(self.low, self.high)


@dataclass(frozen=True)
class TableRow:
    """An estimator, or a pair of them."""

    name: str
    baseline: bool
    diverged: str  # such as '2 of 40'; '' where it is not counted
    lost: int  # the 2
    marks: tuple[str, ...]
    cells: tuple[TableCell, ...]
    alignment: str = ""  # of its runs, several joined by "+"; '' for pairs

    def __str__(self) -> str:
        return f"{self.name} (baseline)" if self.baseline else self.name


@dataclass(frozen=True)
class Grid:
    """A table: one section of a study."""

    title: str
    of: str  # what a row is: estimator, or pair
    columns: tuple[ColumnHead, ...]
    rows: tuple[TableRow, ...]
    footnotes: tuple[tuple[str, str], ...]  # (letter, sentence)
    remarks: tuple[Row, ...]

    @property
    def marked(self) -> tuple[Row, ...]:
        """Footnotes after their letters."""
        return tuple(Row(f"({mark})", sentence) for mark, sentence in self.footnotes)

    @property
    def remarks_below(self) -> tuple[Row, ...]:
        """What stands below the table: footnotes, then remarks."""
        return (*self.marked, *self.remarks)

    @property
    def facts(self) -> tuple[str, ...]:
        """What stands before the numbers: `diverged` and `alignment`, where a row has it."""
        return tuple(fact for fact in FACTS if any(getattr(row, fact) for row in self.rows))

    def facts_of(self, row: TableRow) -> list[str]:
        """These of one row."""
        return [getattr(row, fact) for fact in self.facts]

    @property
    def counts_diverged(self) -> bool:
        """Whether lost tracks are counted."""
        return "diverged" in self.facts

    def brief(self, titles: tuple[str, ...]) -> "Grid":
        """The same table with only these columns, and without ranks, tests and power."""
        kept = [at for at, head in enumerate(self.columns) if head.title in titles]
        rows = [replace(row, cells=tuple(row.cells[at] for at in kept)) for row in self.rows]
        marks = {mark for row in rows for mark in row.marks}
        marks |= {mark for row in rows for cell in row.cells for mark in cell.marks}
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=tuple(rows),
            footnotes=tuple(note for note in self.footnotes if note[0] in marks),
            remarks=tuple(each for each in self.remarks if each.label in HEADLINE_REMARKS),
        )

    @property
    def bold(self) -> bool:
        """Whether anybody is best."""
        return any(cell.bold for row in self.rows for cell in row.cells)


SAME_NOTE = "on converged tracks only, all numbers are the same"
LENGTH_UNITS = ((1.0, "m"), (1e-2, "cm"), (1e-3, "mm"))

Scale = tuple[float, str]  # the shown unit, in the unit of the number; its name


def grids(study: Study) -> tuple[Grid, ...]:
    """All tables, those of pairs last; a metric has the same unit in all tables of its kind."""
    scales, pair_scales = section_scales(study.sections), section_scales(study.pair_sections)
    common, pairs_common = shared_notes(study.sections), shared_notes(study.pair_sections)
    used = gauges(study)
    return (
        *(
            _grid(study, each, "estimator", scales, common, used=used)
            for each in _distinct_sections(study)
        ),
        *(_grid(study, each, "pair", pair_scales, pairs_common) for each in study.pair_sections),
        *(_grid(study, each, "belief", section_scales([each]), ()) for each in study.sensitivity),
    )


def gauges(study: Study) -> dict[str, str]:
    """By estimator, the alignments of its runs."""
    used: dict[str, dict[str, None]] = {}
    for each in study.results:
        if each.gauge is not None:
            used.setdefault(each.estimator, {})[each.gauge] = None
    return {name: "+".join(kinds) for name, kinds in used.items()}


def _grid(
    study: Study,
    section: StudySection,
    of: str,
    scales: dict[str, Scale],
    common_notes: tuple[str, ...],
    *,
    used: Mapping[str, str] = MappingProxyType({}),
) -> Grid:
    """One section, without notes that all have; `used` are the gauges of its rows."""
    by_column = [{cell.estimator: cell for cell in column.cells} for column in section.columns]
    names = dict.fromkeys(name for column in by_column for name in column)
    cells = {name: [column.get(name) for column in by_column] for name in names}
    notes = footnotes(list(cells.values()), section.tracks)
    counts = {name: (diverged, scored) for name, diverged, scored in section.diverged}
    baselines = {each.name for each in study.plan.estimators if each.role == "baseline"}

    rows = []
    for at, name in enumerate(cells):
        baseline = of != "pair" and name in baselines
        shown: list[TableCell] = []
        for column, cell, marks in zip(section.columns, cells[name], notes.cells[at], strict=True):
            unit = scales[column.metric][0]
            shown += _table_cells(cell, unit, marks, column, contender=not baseline)
        diverged = "{} of {}".format(*counts[name]) if name in counts else ""
        lost = counts.get(name, (0, 0))[0]
        gauge = used.get(name, "")
        marks, title = notes.rows[at], printable(name)
        rows.append(TableRow(title, baseline, diverged, lost, marks, tuple(shown), gauge))

    return Grid(
        title=section_title(section, of),
        of=of,
        columns=tuple(
            ColumnHead(metric_title(c.metric), scales[c.metric][1], shared_tracks)
            for c in section.columns
            for shared_tracks in ((None,) if c.shared_tracks is None else (None, c.shared_tracks))
        ),
        rows=tuple(rows),
        footnotes=tuple((mark, printable(sentence)) for mark, sentence in notes.listed),
        remarks=(
            *section_remarks(section, without=common_notes),
            *(Row("note", printable(sentence)) for sentence in notes.common),
        ),
    )


def _distinct_sections(study: Study) -> Iterator[StudySection]:
    """Sections without those that converged tracks leave as they were; a note says so."""
    converged = {each.group: each for each in study.sections if each.converged_only}
    whole = {each.group: each for each in study.sections if not each.converged_only}
    for each in study.sections:
        other = (whole if each.converged_only else converged).get(each.group)
        if other is None or other.columns != each.columns:
            yield each
        elif not each.converged_only:
            yield replace(each, notes=(*each.notes, SAME_NOTE))


def _table_cells(
    cell: MetricCell | None, unit: float, marks: Marks, column: Column, *, contender: bool
) -> tuple[TableCell, ...]:
    """The median over all its tracks, and where they differ that over shared ones.

    Then the best is marked there: tests are made on shared tracks.
    """
    if cell is None:
        own = other = TableCell.of(None, unit)
        own = replace(own, marks=marks)
        return (own,) if column.shared_tracks is None else (own, other)
    best = cell.best and contender
    own = TableCell.of(cell.median, unit, bold=best, marks=marks, tracks=len(cell.values))
    if column.shared_tracks is None:
        return (own,)
    other = TableCell.of(cell.shared, unit, bold=own.bold, tracks=column.shared_tracks)
    return (own, other) if other.value is None else (replace(own, bold=False), other)


def section_scales(sections: Iterable[StudySection]) -> dict[str, Scale]:
    """The unit of each metric."""
    medians: dict[str, list[MetricCell]] = {}
    for section in sections:
        for column in section.columns:
            medians.setdefault(column.metric, []).extend(column.cells)
    return {metric: _scale(metric, cells) for metric, cells in medians.items()}


def _scale(metric: str, cells: list[MetricCell]) -> Scale:
    """Metres, centimetres or millimetres by the middle number; shares in percent."""
    numbers = [number for number in map(cell_number, cells) if number is not None]
    unit = numbers[0].unit if numbers else "1"
    if unit == "m":
        sizes = [abs(n.value) for n in numbers if np.isfinite(n.value) and n.value]
        middle = median_low(sizes) if sizes else 1.0
        return next((length for length in LENGTH_UNITS if middle >= length[0]), LENGTH_UNITS[-1])
    if metric.startswith("coverage") or (metric in NUMBERS and NUMBERS[metric].is_share):
        return 1e-2, "%"
    return 1.0, "" if unit == "1" else unit


def column_blocks(first: int, widths: list[int], *, limit: int) -> list[list[int]]:
    """Columns of each block, in order; every block repeats the first column.

    A column that is too wide stands alone.
    """
    found: list[list[int]] = []
    used = limit
    for column, width in enumerate(widths):
        if used + width > limit or not found:
            found.append([])
            used = first
        found[-1].append(column)
        used += width
    return found
