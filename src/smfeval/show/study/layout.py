"""The sections of a study, laid out as grids: one model of a table, which every format writes."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from math import isfinite
from statistics import median_low

import numpy as np

from smfeval import words
from smfeval.compare.duels import Column, MetricCell, StudySection
from smfeval.dataclass import dataclass
from smfeval.show.report import Row
from smfeval.show.study.remarks import (
    Marks,
    cell_number,
    column_footnotes,
    count_verdicts,
    footnotes,
    metric_title,
    row_footnotes,
    section_remarks,
    section_title,
    shared_notes,
    whole_section,
)
from smfeval.studies.result import Study
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import NUMBERS
from smfeval.words import printable

DIGITS = 3  # significant ones, at least
PLAIN_DECADES = range(-2, 4)  # decades that are read without a power of ten: 0.01 to 9999


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
    """Three significant digits, whatever the interval; large numbers have all before the point."""
    if not isfinite(value) or value == 0:
        return Digits(f"{value + 0.0:.0f}")
    decade = int(f"{value:.{DIGITS - 1}e}".partition("e")[2])  # after rounding: 999.6 is 1.00e3
    power = 0 if decade in PLAIN_DECADES else decade
    return Digits(f"{value * 10.0**-power:.{max(0, DIGITS - 1 - decade + power)}f}", power)


HEADLINES = (
    *("MAE", "energy score", "log score", "k", "90 % coverage", "available", "HMI"),
    *("k_pair", "k_pair by ref."),
)
SHORT = {"energy score": "energy", "log score": "log", "90 % coverage": "coverage"}
HEADLINE_REMARKS = ("verdict", "errors", "note")  # that a brief table keeps
DASH = "-"  # where there is no value
COLUMN_GAP = 3  # characters between columns


def marks_text(marks: Marks) -> str:
    """' (a,b)', the letters of footnotes; '' where there are none."""
    return f" ({','.join(marks)})" if marks else ""


@dataclass(frozen=True)
class ColumnHead:
    """A column: what is shown, in which unit ('' for a pure number).

    Medians over the tracks that all have are a column beside those over all.
    """

    title: str
    unit: str
    shared_tracks: int | None = None
    marks: Marks = ()  # why nobody is marked

    @property
    def of_tracks(self) -> str:
        """', 5 shared' of medians over shared tracks."""
        return "" if self.shared_tracks is None else f", {words.count(self.shared_tracks)} shared"

    @property
    def lines(self) -> tuple[str, str]:
        """Title, then unit and marks."""
        return f"{self.title}{self.of_tracks}", f"{self.unit}{marks_text(self.marks)}".strip()

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

    @classmethod
    def of(
        cls, number: Number | None, unit: float, *, bold: bool = False, marks: Marks = ()
    ) -> "TableCell":
        """The number, if it is one, over the shown unit."""
        if number is None or np.isnan(number.value):
            return cls(None, None, None, bold=False, marks=marks, number=None)
        value, low, high = (
            None if each is None else round_value(each / unit)
            for each in (number.value, number.low, number.high)
        )
        return cls(value, low, high, bold, marks, number)

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
    marks: tuple[str, ...]
    cells: tuple[TableCell, ...]
    verdicts: str = ""  # of its runs, counted; '' for pairs

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
    def has_verdicts(self) -> bool:
        """Whether verdicts are counted."""
        return any(row.verdicts for row in self.rows)

    def blocks(self, style: NumberStyle, *, limit: int) -> list[list[int]]:
        """Places of the columns that stand side by side in so many characters."""
        names = max((len(str(row)) + len(row.marks) for row in self.rows), default=0)
        widths = []
        for at, head in enumerate(self.columns):
            cells = [row.cells[at] for row in self.rows]
            values = (len(cell.value_in(style)) for cell in cells)
            ends = (len(cell.interval_in(style)) + len(cell.marks) for cell in cells)
            both = max(values, default=0) + 1 + max(ends, default=0)
            widths.append(COLUMN_GAP + max(len(str(head)), both))
        return column_blocks(names, widths, limit=limit)

    def brief(self, titles: tuple[str, ...]) -> "Grid":
        """The same table with only these columns, and without ranks, tests and power."""
        kept = [at for at, head in enumerate(self.columns) if head.title in titles]
        rows = [replace(row, cells=tuple(row.cells[at] for at in kept)) for row in self.rows]
        marks = {mark for row in rows for mark in row.marks}
        marks |= {mark for row in rows for cell in row.cells for mark in cell.marks}
        marks |= {mark for at in kept for mark in self.columns[at].marks}
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
    return (
        *(_grid(study, each, "estimator", scales, common) for each in _distinct_sections(study)),
        *(_grid(study, each, "pair", pair_scales, pairs_common) for each in study.pair_sections),
        *(_grid(study, each, "belief", section_scales([each]), ()) for each in study.sensitivity),
    )


def headline_grid(study: Study, *, intervals: Collection[str] = ("k",)) -> Grid | None:
    """The table over all tracks with the metrics that matter first; some have intervals."""
    section = whole_section(study)
    if section is None:
        return None
    grid = _grid(study, section, "estimator", section_scales(study.sections), ())
    grid = grid.brief((*HEADLINES, *study.plan.headlines))
    rows = []
    for row in grid.rows:
        cells = (
            cell if head.title in intervals else replace(cell, low=None, high=None)
            for cell, head in zip(row.cells, grid.columns, strict=True)
        )
        rows.append(replace(row, cells=tuple(cells)))
    columns = (replace(head, title=SHORT.get(head.title, head.title)) for head in grid.columns)
    return replace(grid, title="", columns=tuple(columns), rows=tuple(rows), remarks=())


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
) -> Grid:
    """One section, without notes that all have."""
    by_column = [{cell.estimator: cell for cell in column.cells} for column in section.columns]
    names = dict.fromkeys(name for column in by_column for name in column)
    cells = {name: [column.get(name) for column in by_column] for name in names}
    notes = footnotes(
        list(cells.values()),
        section.tracks,
        of_rows=[row_footnotes(study, section, name) for name in cells],
        of_columns=[column_footnotes(column) for column in section.columns],
    )
    baselines = {each.name for each in study.plan.estimators if each.role == "baseline"}

    rows = []
    for at, name in enumerate(cells):
        baseline = of != "pair" and name in baselines
        shown: list[TableCell] = []
        for column, cell, marks in zip(section.columns, cells[name], notes.cells[at], strict=True):
            unit = scales[column.metric][0]
            shown += _table_cells(cell, unit, marks, column, contender=not baseline)
        tracks = {track for cell in cells[name] if cell for track, _ in cell.values}
        verdicts = count_verdicts(study, name, tracks) if of == "estimator" else ""
        marks, title = notes.rows[at], printable(name)
        rows.append(TableRow(title, baseline, marks, tuple(shown), verdicts))

    return Grid(
        title=section_title(section, of),
        of=of,
        columns=tuple(
            ColumnHead(metric_title(c.metric), scales[c.metric][1], shared_tracks, marks)
            for c, marks in zip(section.columns, notes.columns, strict=True)
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
    median, shared, best = (cell.median, cell.shared, cell.best) if cell else (None, None, False)
    own = TableCell.of(median, unit, bold=best and contender, marks=marks)
    if column.shared_tracks is None:
        return (own,)
    other = TableCell.of(shared, unit, bold=own.bold)
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
