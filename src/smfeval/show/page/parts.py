"""What pages are made of: cells and facts, the card of a verdict, and how options are told."""

from collections.abc import Iterator
from dataclasses import dataclass

from smfeval import words
from smfeval.evaluation import Options
from smfeval.summarise.number import Number

BY_GAUGE = "by the gauge that each estimate declares"

HEADLINES = {
    "overconfident": "The reported uncertainty is too small: do not rely on it.",
    "consistent": "The reported uncertainty matches the errors.",
    "conservative": "The reported uncertainty is larger than the errors.",
    "cannot tell": "The data cannot tell whether the reported uncertainty is honest.",
}


@dataclass(frozen=True)
class Card:
    """A verdict in words; one of several cards names whom it is about."""

    label: str
    headline: str
    evidence: tuple[str, ...] = ()  # sentences
    who: str = ""
    warnings: tuple[str, ...] = ()  # sentences: what looks wrong
    look: str = ""  # label whose colour and icon it has, where it is not its own


@dataclass(frozen=True)
class Cell:
    """A cell of a table: text, the ends of its interval, and what it is sorted by."""

    text: str
    sort: float | None = None  # None: by its text
    ends: tuple[str, ...] = ()  # of its interval
    look: str = ""  # class of the cell
    is_label: bool = False  # a verdict, in its colour


@dataclass(frozen=True)
class SpaceCard:
    """A space in a few numbers: its label, k and what stands below it."""

    name: str
    axes: str
    label: str
    sentence: str
    k: Cell | None
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Fact:
    """A label and a text beside it; `term` where the glossary has the label by another name."""

    label: str
    text: str
    term: str = ""


DASH = Cell("-")
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class PageSection:
    """A part of a report: a title, and below it what there is of plots, rows, facts and notes."""

    title: str
    lead: str = ""
    plots: tuple[tuple[str, str], ...] = ()  # id and title
    headings: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    facts: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()
    pictures: tuple[tuple[str, str], ...] = ()  # title and PNG in base64


def number_cell(found: Number | None, unit: str | None = None) -> Cell:
    """The number in its own unit, or "%" for a share; a dash where there is none."""
    if found is None:
        return DASH
    text, ends = words.quantity_parts(found.value, unit or found.unit, found.low, found.high)
    return Cell(text, found.value, ends)


def plain_cell(value: float | None) -> Cell:
    """A pure number without an interval."""
    return DASH if value is None else Cell(words.number(value), float(value))


def length_cell(size_m: float) -> Cell:
    """A length without an interval."""
    return Cell(words.length(size_m), float(size_m))


def sentence(text: str) -> str:
    """The text from a capital to a full stop; a symbol such as k stays as it is."""
    first = text.partition(" ")[0]
    capital = text[:1] if len(first) == 1 or "_" in first else text[:1].upper()
    return f"{capital}{text[1:]}." if text else ""


def option_facts(options: Options) -> Iterator[Fact]:
    """How tracks were matched, aligned and scored."""
    start = f", fitted on the first {options.fit_on}" if options.fit_on else ""
    offset = "found" if options.offset_s == "auto" else f"{words.number(float(options.offset_s))} s"
    yield Fact("gauge", f"alignment {options.alignment or BY_GAUGE}{start}")
    yield Fact("association", f"{options.association}, offset {offset}")
    tolerance = f"{words.number(1e3 * options.tolerance_s)} ms between stamps that are matched"
    yield Fact("tolerance", tolerance)
    for sigma, how in ((options.ref_sigma, "white"), (options.ref_shared, "one for all scans")):
        if sigma is not None:
            yield Fact("reference error", f"{sigma}, {how} (assumed)")
    yield Fact("axes", options.axes)
    level = words.level(options.intervals.level)
    yield Fact("intervals", f"{level}, {options.intervals.method or 'none'}", term="interval")
