"""The sections of a study, laid out as grids."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import median_low
from types import MappingProxyType

import numpy as np

from smfeval import words
from smfeval.compare.duels import Column, MetricCell, Section
from smfeval.show.study.digits import Digits, NumberStyle, round_interval, round_value
from smfeval.show.study.remarks import (
    Marks,
    Remark,
    cell_number,
    footnotes,
    metric_title,
    section_remarks,
    section_title,
    shared_notes,
)
from smfeval.studies.result import Study
from smfeval.summarise.number import Number
from smfeval.words import printable

HEADLINE_REMARKS = ("verdict", "errors", "note")  # that a brief table keeps
DASH = "-"  # where there is no value
FACTS = ("diverged", "gauge")


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
    gauge: str = ""  # the alignment of its runs, several joined by "+"; '' for pairs

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
    remarks: tuple[Remark, ...]

    @property
    def remarks_below(self) -> tuple[Remark, ...]:
        """What stands below the table: footnotes, then remarks."""
        marked = (Remark(f"({mark})", sentence) for mark, sentence in self.footnotes)
        return (*marked, *self.remarks)

    @property
    def facts(self) -> tuple[str, ...]:
        """What stands before the numbers: `diverged` and `gauge`, where a row has it."""
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
    scales, pair_scales = _scales(study.sections), _scales(study.pair_sections)
    baselines = {each.name for each in study.plan.estimators if each.role == "baseline"}
    said, pairs_said = shared_notes(study.sections), shared_notes(study.pair_sections)
    used = gauges(study)
    return (
        *(
            _grid(each, "estimator", scales, baselines, said, used=used)
            for each in _distinct_sections(study)
        ),
        *(_grid(each, "pair", pair_scales, set(), pairs_said) for each in study.pair_sections),
        *(_grid(each, "belief", _scales([each]), baselines, ()) for each in study.sensitivity),
    )


def gauges(study: Study) -> dict[str, str]:
    """By estimator, the alignments of its runs."""
    used: dict[str, dict[str, None]] = {}
    for each in study.results:
        if each.gauge is not None:
            used.setdefault(each.estimator, {})[each.gauge] = None
    return {name: "+".join(kinds) for name, kinds in used.items()}


def whole_grids(study: Study, *, pairs: bool = False) -> dict[str, Grid]:
    """The table of each group over all its tracks, by group."""
    sections = [
        each
        for each in (study.pair_sections if pairs else study.sections)
        if pairs or not each.converged_only
    ]
    scales = _scales(sections)
    baselines = {each.name for each in study.plan.estimators if each.role == "baseline"}
    of = "pair" if pairs else "estimator"
    return {each.group: _grid(each, of, scales, baselines, ()) for each in sections}


def _grid(
    section: Section,
    of: str,
    scales: dict[str, Scale],
    baselines: set[str],
    said: tuple[str, ...],
    *,
    used: Mapping[str, str] = MappingProxyType({}),
) -> Grid:
    cells = _cells_by_row(section.columns)
    notes = footnotes(list(cells.values()), section.tracks)
    units = [scales[column.metric] for column in section.columns]
    lost = {name: diverged for name, diverged, _ in section.diverged}
    diverged = {name: f"{lost} of {scored}" for name, lost, scored in section.diverged}

    def row(at: int, name: str) -> TableRow:
        entries = zip(cells[name], units, notes.cells[at], strict=True)
        baseline = name in baselines
        shown = tuple(
            cell
            for entry, column in zip(entries, section.columns, strict=True)
            for cell in _table_cells(*entry, column, contender=not baseline)
        )
        return TableRow(
            printable(name),
            baseline,
            diverged.get(name, ""),
            lost.get(name, 0),
            notes.rows[at],
            shown,
            used.get(name, ""),
        )

    return Grid(
        title=section_title(section, of),
        of=of,
        columns=tuple(
            ColumnHead(metric_title(c.metric), scales[c.metric][1], shared_tracks)
            for c in section.columns
            for shared_tracks in ((None,) if c.shared_tracks is None else (None, c.shared_tracks))
        ),
        rows=tuple(row(at, name) for at, name in enumerate(cells)),
        footnotes=tuple((mark, printable(sentence)) for mark, sentence in notes.listed),
        remarks=(
            *section_remarks(section, without=said),
            *(Remark("note", printable(sentence)) for sentence in notes.common),
        ),
    )


def _distinct_sections(study: Study) -> Iterator[Section]:
    """Sections without those that converged tracks leave as they were; a note says so."""
    converged = {each.group: each for each in study.sections if each.converged_only}
    whole = {each.group: each for each in study.sections if not each.converged_only}
    for each in study.sections:
        other = (whole if each.converged_only else converged).get(each.group)
        if other is None or other.columns != each.columns:
            yield each
        elif not each.converged_only:
            yield replace(each, notes=(*each.notes, SAME_NOTE))


def _cells_by_row(columns: tuple[Column, ...]) -> dict[str, list[MetricCell | None]]:
    """Cells by estimator, in the order of the columns; None where a column has no such cell."""
    by_column = [{cell.estimator: cell for cell in column.cells} for column in columns]
    names = dict.fromkeys(name for column in by_column for name in column)
    return {name: [column.get(name) for column in by_column] for name in names}


def _table_cells(
    cell: MetricCell | None, scale: Scale, marks: Marks, column: Column, *, contender: bool
) -> tuple[TableCell, ...]:
    """The median over all its tracks, and where they differ that over shared ones.

    Then the best is marked there: tests are made on shared tracks.
    """
    own = _table_cell(cell, scale, marks, contender=contender)
    if column.shared_tracks is None:
        return (own,)
    number = None if cell is None else cell.shared
    if cell is None or number is None or np.isnan(number.value):
        return own, TableCell(None, None, None, bold=False, marks=(), number=None, tracks=0)
    digits = _digits(number, scale[0])
    other = TableCell(*digits, own.bold, (), number, column.shared_tracks)
    return replace(own, bold=False), other


def _table_cell(
    cell: MetricCell | None, scale: Scale, marks: Marks, *, contender: bool
) -> TableCell:
    number = cell_number(cell)
    if cell is None or number is None:
        return TableCell(None, None, None, bold=False, marks=marks, number=None, tracks=0)
    digits = _digits(number, scale[0])
    return TableCell(*digits, cell.best and contender, marks, number, len(cell.values))


def _digits(number: Number, unit: float) -> tuple[Digits, Digits | None, Digits | None]:
    if number.low is None or number.high is None:
        return round_value(number.value / unit), None, None
    return round_interval(number.value / unit, number.low / unit, number.high / unit)


def _scales(sections: Iterable[Section]) -> dict[str, Scale]:
    """The unit of each metric."""
    medians: dict[str, list[MetricCell]] = {}
    for section in sections:
        for column in section.columns:
            medians.setdefault(column.metric, []).extend(column.cells)
    return {metric: _scale(metric, cells) for metric, cells in medians.items()}


def _scale(metric: str, cells: list[MetricCell]) -> Scale:
    """Metres, centimetres or millimetres by the middle number; coverage in percent."""
    numbers = [number for number in map(cell_number, cells) if number is not None]
    unit = numbers[0].unit if numbers else "1"
    if unit == "m":
        sizes = [abs(n.value) for n in numbers if np.isfinite(n.value) and n.value]
        middle = median_low(sizes) if sizes else 1.0
        return next((length for length in LENGTH_UNITS if middle >= length[0]), LENGTH_UNITS[-1])
    if metric.startswith("coverage"):
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
