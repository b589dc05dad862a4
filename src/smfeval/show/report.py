"""What is reported of a result, whoever reads it: sections of sentences, tables and labelled rows.

A module for each kind of result makes the `Report` (`score`, `pairs`, `check`, `nis`, ...); it is
written as plain text here, for a terminal by `terminal`, and by templates for notebooks and pages.
Numbers are written when a report is made, by `words`: no writer formats one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from smfeval import words
from smfeval.dataclass import dataclass

if TYPE_CHECKING:
    from smfeval.summarise.number import Number
    from smfeval.why.causes import Why


class Row(NamedTuple):
    """A label and a text beside it; a label that repeats is shown once."""

    label: str
    text: str


@dataclass(frozen=True)
class Cell:
    """A cell of a table: text, the ends of its interval, and what it is sorted by."""

    text: str
    sort: float | None = None  # None: by its text
    ends: tuple[str, ...] = ()  # of its interval
    look: str = ""  # class of the cell on a page
    is_label: bool = False  # a verdict, in its colour

    def __str__(self) -> str:
        return f"{self.text} [{', '.join(self.ends)}]" if self.ends else self.text


DASH = Cell("-")
Cells = tuple[Cell, ...]


def number_cell(number: Number | None, unit: str | None = None) -> Cell:
    """The number in its own unit, or "%" for a share; a dash where there is none."""
    if number is None:
        return DASH
    text, ends = words.quantity_parts(number.value, unit or number.unit, number.low, number.high)
    return Cell(text, number.value, ends)


def plain_cell(value: float | None) -> Cell:
    """A pure number without an interval."""
    return DASH if value is None else Cell(words.number(value), float(value))


def length_cell(size_m: float) -> Cell:
    """A length without an interval."""
    return Cell(words.length(size_m), float(size_m))


@dataclass(frozen=True)
class Table:
    """Cells under headings; `right`: all but the first column end together in plain text."""

    headings: tuple[str, ...]
    rows: tuple[Cells, ...]
    right: bool = False

    @classmethod
    def of_texts(cls, rows: Sequence[Sequence[str]], *, right: bool = False) -> Table:
        """A table of plain texts, the headings first."""
        head, *body = rows
        return cls(tuple(head), tuple(tuple(map(Cell, row)) for row in body), right)


@dataclass(frozen=True)
class ReportSection:
    """A part of a report: in this order what there is of its sentences, table, rows and notes."""

    title: str = ""
    lead: tuple[str, ...] = ()  # below the title
    table: Table | None = None
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()  # at the end
    label: str = ""  # the verdict that the title tells, which gives it its colour
    indent: int = 2  # of table and rows in plain text
    plots: tuple[tuple[str, str], ...] = ()  # of a page: id and title
    pictures: tuple[tuple[str, str], ...] = ()  # of a page: title and PNG in base64

    def __str__(self) -> str:
        lines = [*([self.title] if self.title else []), *self.lead]
        if self.table is not None:
            cells = [self.table.headings, *(tuple(map(str, row)) for row in self.table.rows)]
            aligned = words.table(cells, right=self.table.right)
            lines += [f"{'':{self.indent}}{line}".rstrip() for line in aligned]
        lines += [words.columns(self.rows, indent=self.indent)] if self.rows else []
        return "".join(f"{line}\n" for line in (*lines, *self.notes))


@dataclass(frozen=True)
class Report:
    """The sections of a report, `apart`: with a blank line between them."""

    sections: tuple[ReportSection, ...]
    apart: bool = True

    def __str__(self) -> str:
        return ("\n" if self.apart else "").join(map(str, self.sections))


def labelled(label: str, texts: Iterable[str]) -> list[Row]:
    """Rows that share a label."""
    return [Row(label, text) for text in texts]


def remedy_text(doubt: Why) -> str:
    """The flags that a doubt says to try; empty where it names none."""
    flags = ", ".join(f"--{option} {value}" for option, value in doubt.remedy)
    return flags and f"try {flags}"


def doubt_text(doubt: Why) -> str:
    """A doubt, and the flags to try."""
    return "; ".join(filter(None, (doubt.sentence, remedy_text(doubt))))
