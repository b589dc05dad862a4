"""A table that knows no format: columns with units, rows of cells, what is said about them."""

from dataclasses import dataclass, replace

from smfeval.show.study.digits import Digits, Style
from smfeval.show.study.remarks import Remark
from smfeval.summarise.number import Number

DASH = "-"  # where there is no value


@dataclass(frozen=True)
class Head:
    """A column: what is shown, in which unit ('' for a pure number)."""

    title: str
    unit: str

    def __str__(self) -> str:
        return f"{self.title} ({self.unit})" if self.unit else self.title


@dataclass(frozen=True)
class Shown:
    """A cell: digits in the unit of its column; no value is a dash, no interval is left out."""

    value: Digits | None
    low: Digits | None
    high: Digits | None
    bold: bool
    marks: tuple[str, ...]  # letters of footnotes
    number: Number | None  # what the digits are of, in its own unit
    tracks: int  # that the number is the median of

    def value_in(self, style: Style) -> str:
        """The value, or a dash."""
        return DASH if self.value is None else style.number(self.value)

    def interval_in(self, style: Style) -> str:
        """The interval, or nothing."""
        if self.low is None or self.high is None:
            return ""
        return style.interval(self.low, self.high)


@dataclass(frozen=True)
class Row:
    """An estimator, or a pair of them."""

    name: str
    baseline: bool
    diverged: str  # such as '2 of 40'; '' where it is not counted
    marks: tuple[str, ...]
    cells: tuple[Shown, ...]

    def __str__(self) -> str:
        return f"{self.name} (baseline)" if self.baseline else self.name


@dataclass(frozen=True)
class Grid:
    """A table: one section of a study."""

    title: str
    of: str  # what a row is: estimator, or pair
    columns: tuple[Head, ...]
    rows: tuple[Row, ...]
    footnotes: tuple[tuple[str, str], ...]  # (letter, sentence)
    remarks: tuple[Remark, ...]

    @property
    def diverged(self) -> bool:
        """Whether lost tracks are counted."""
        return any(row.diverged for row in self.rows)

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
            remarks=tuple(each for each in self.remarks if each.label == "note"),
        )

    @property
    def bold(self) -> bool:
        """Whether anybody is best."""
        return any(cell.bold for row in self.rows for cell in row.cells)
