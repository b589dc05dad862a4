"""What pages are made of: cells and facts, the card of a verdict, and how options are told."""

from collections.abc import Iterator
from dataclasses import dataclass

from smfeval.evaluation import Options
from smfeval.show.words import length_unit, number
from smfeval.summarise.number import Number

PERCENT = (1e-2, "%")
BY_GAUGE = "by the gauge that each estimate declares"

HEADLINES = {
    "overconfident": "The reported uncertainty is too small: do not rely on it.",
    "consistent": "The reported uncertainty matches the errors.",
    "conservative": "The reported uncertainty is larger than the errors.",
    "cannot tell": "The data cannot tell whether the reported uncertainty is honest.",
    "no conclusion": "Nothing follows: the two differ no more than honest beliefs may.",
}

Scale = tuple[float, str]  # the shown unit, in the unit of the number; its name


@dataclass(frozen=True)
class Card:
    """A verdict in words; one of several cards names whom it is about."""

    label: str
    headline: str
    evidence: tuple[str, ...] = ()  # sentences
    who: str = ""
    warning: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: text, the ends of its interval, and what it is sorted by."""

    text: str
    sort: float | None = None  # None: by its text
    low: str = ""
    high: str = ""
    look: str = ""  # class of the cell
    is_label: bool = False  # a verdict, in its colour


@dataclass(frozen=True)
class Fact:
    """A label and a text beside it; `term` where the glossary has the label by another name."""

    label: str
    text: str
    term: str = ""


DASH = Cell("-")
Row = tuple[Cell, ...]


def number_cell(found: Number | None, scale: Scale | None = None) -> Cell:
    """The number with its unit, and its interval in the same unit; a dash where there is none.

    Lengths are written in the unit that reads best, unless a scale is given.
    """
    if found is None:
        return DASH
    if found.unit == "m" and found.value == 0 and scale is None:
        return Cell("0 m", found.value)
    size, unit = scale or _scale(found)
    text = f"{number(found.value / size)} {unit}".rstrip()
    if found.low is None or found.high is None:
        return Cell(text, found.value)
    return Cell(text, found.value, number(found.low / size), number(found.high / size))


def _scale(found: Number) -> Scale:
    if found.unit == "m":
        return length_unit(found.value)
    return 1.0, "" if found.unit == "1" else found.unit


def value_cell(text: str, value: float | None) -> Cell:
    """A number without an interval, sorted by its value; a dash where there is none."""
    return DASH if value is None else Cell(text, float(value))


def plain_cell(value: float | None) -> Cell:
    """A pure number without an interval."""
    return DASH if value is None else Cell(number(value), float(value))


def sentence(text: str) -> str:
    """The text from a capital to a full stop; a symbol such as k stays as it is."""
    first = text.partition(" ")[0]
    capital = text[:1] if len(first) == 1 or "_" in first else text[:1].upper()
    return f"{capital}{text[1:]}." if text else ""


def option_facts(options: Options) -> Iterator[Fact]:
    """How tracks were matched, aligned and scored."""
    start = f", fitted on the first {options.fit_on}" if options.fit_on else ""
    offset = "found" if options.offset_s == "auto" else f"{number(float(options.offset_s))} s"
    yield Fact("gauge", f"alignment {options.alignment or BY_GAUGE}{start}")
    yield Fact("association", f"{options.association}, offset {offset}")
    tolerance = f"{number(1e3 * options.tolerance_s)} ms between stamps that are matched"
    yield Fact("tolerance", tolerance)
    yield Fact("axes", options.axes)
    level = f"{100 * options.intervals.level:g} %"
    yield Fact("intervals", f"{level}, {options.intervals.method or 'none'}", term="interval")
