"""Rows of numbers in text: what they must look like, and their parsers.

Numpy parses little text, polars much; the result is one. Every number is rounded correctly and a
stamp keeps every digit. Importing polars takes as long as parsing 8 MB by numpy; once it is
imported it is the faster one for any text.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.maths.symmetric import chunks

Unit = Literal["seconds", "nanoseconds"]
Tail = Literal["keep", "drop"]


@dataclass(frozen=True)
class Layout:
    """What a row must look like."""

    columns: dict[int, str]  # allowed counts, each with the words for it
    unit: Unit = "seconds"
    stamps: int = 1  # leading columns that are stamps
    tail: Tail = "keep"  # what to do with a last line that has no line end
    commas: bool = False  # whether columns are meant to be separated by commas
    one_header: bool = False  # whether a line `#%...` after the first row is refused
    packed: "PackedColumns | None" = None  # matrices that end the row

    def allowed_counts(self) -> str:
        """The allowed counts in words."""
        return " or ".join(f"{count} ({words})" for count, words in self.columns.items())


@dataclass(frozen=True)
class PackedColumns:
    """Matrices in columns: entry (i, j) stands in column start + index[i, j].

    Symmetric ones are packed: two entries share a column.
    """

    start: int
    index: Ints

    def unpack(self, columns: list[Floats], out: Floats) -> None:
        """Fill matrices (n, d, d) from columns from `start` on, some rows at a time, in cache."""
        entry, flat = self.index.ravel(), out.reshape(len(out), self.index.size)
        for part in chunks(len(out)):
            packed = np.stack([column[part] for column in columns], axis=1)
            np.take(packed, entry, axis=1, out=flat[part], mode="clip")


@dataclass(frozen=True)
class RowFormat:
    """How a file writes its rows, as the first of them shows."""

    layout: Layout
    separator: str
    width: int


# Exact nanoseconds (rows,), or (rows, stamps) of several; for rows without a stamp, their count;
# and the other columns, each (rows,).
ParsedRows = tuple[Ints, list[Floats]]
Parser = Callable[[bytes, RowFormat], ParsedRows | None]

DECIMALS = 9  # of a second: whole nanoseconds
LAST_STAMP = 2**63 - 1  # ns: the year 2262
LARGEST_SHOWN = 1e28  # a stamp beyond this is shown as it is written, not with all its digits
# What a stamp of our time looks like if its unit is not seconds: below a limit, a unit.
UNITS_BY_SIZE = ((1e14, "milliseconds"), (1e17, "microseconds"), (1e20, "nanoseconds"))
LONGEST_NUMBER, LONGEST_EXPONENT = 64, 4  # characters, the sign of the exponent among them


def is_unusual_number(word: str) -> bool:
    """Whether a number is written as no clock would, so that it takes a closer look."""
    return len(word) > LONGEST_NUMBER or len(word.lower().partition("e")[2]) > LONGEST_EXPONENT


def nanoseconds(word: str, unit: Unit) -> int:
    """Nanoseconds of a stamp, from its digits and not through a float."""
    return billionths(word) if unit == "seconds" else billionths(word) // NANOSECONDS


def billionths(word: str) -> int:
    """A number times 10^9, rounded half to even: `1.5` -> 1500000000, `2.5e-9` -> 2."""
    mantissa, _, exponent = word.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = int(whole + fraction)
    places = DECIMALS - len(fraction) + int(exponent or 0)
    if places >= 0:
        return digits * 10**places if digits else 0
    dropped = min(-places, len(mantissa) + 1)  # beyond its digits a number is zero
    return round(digits, -dropped) // 10**dropped


def invalid_stamp_reason(word: str, unit: Unit) -> str | None:
    """What keeps a number from being a stamp, if anything does."""
    size = abs(float(word))
    if len(word) > LONGEST_NUMBER:
        return f"the stamp has {len(word)} characters; at most {LONGEST_NUMBER} are read"
    if not any(map(str.isdigit, word)):
        return "the stamp is not finite"
    if size <= LARGEST_SHOWN and abs(nanoseconds(word, unit)) <= LAST_STAMP:
        return None
    shown = word if size > LARGEST_SHOWN else seconds_text(billionths(word))
    guess = next((name for limit, name in UNITS_BY_SIZE if size < limit), None)
    if unit == "seconds" and guess is not None:
        return f"stamp {shown} is no time in seconds; it looks like {guess}"
    return f"stamp {shown} is beyond the year 2262, the last that nanoseconds can count to"


def _empty_rows(form: RowFormat) -> ParsedRows:
    """What is read from no text."""
    stamps = form.layout.stamps
    shape = (0, stamps) if stamps > 1 else (0,)
    return np.empty(shape, np.int64), [np.empty(0)] * (form.width - stamps)


NUMPY_BYTES = 8 * 2**20  # parsing this much by numpy costs as much as importing polars

# What numbers (nan and infinity among them), separators and line ends are written with.
NUMBER_CHARACTERS = b"0123456789+-.eE \t,\r\n" + b"nanifityNANIFITY"


def choose_parser(text: bytes) -> Parser:
    """The parser of a file, by the size of its first chunk; polars if it is imported anyway."""
    much = len(text) > NUMPY_BYTES or "polars" in sys.modules
    return parse_polars if much else parse_numpy


def parse_numpy(text: bytes, form: RowFormat) -> ParsedRows | None:
    """Stamps and columns of text that is rows of numbers throughout; None of any other."""
    if not text.strip():
        return _empty_rows(form)
    if text.translate(None, NUMBER_CHARACTERS):
        return None
    lines = text.decode("ascii").splitlines()
    delimiter = "," if form.separator == "," else None
    try:
        values = np.loadtxt(lines, comments=None, delimiter=delimiter, ndmin=2)
    except ValueError:  # a word is no number, or a row is short
        values = np.empty((0, 0))
    if values.shape != (len(lines), form.width):
        return None

    count = form.layout.stamps
    if count == 0:
        return np.arange(len(lines)), list(values.T)
    words = [word.strip() for line in lines for word in line.split(delimiter, count)[:count]]
    usual = np.abs(values[:, :count]).max() <= LARGEST_SHOWN and not any(
        map(is_unusual_number, words)
    )
    stamps = [nanoseconds(word, form.layout.unit) for word in words] if usual else []
    if not stamps or max(map(abs, stamps)) > LAST_STAMP:
        return None
    shape = (-1,) if count == 1 else (-1, count)
    return np.array(stamps).reshape(shape), list(values.T[count:])


def parse_polars(text: bytes, form: RowFormat) -> ParsedRows | None:
    """Stamps and columns of text that is rows of numbers throughout; None of any other."""
    import polars as pl  # noqa: PLC0415  slow to import

    if not text:
        return _empty_rows(form)
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        return None  # alone it ends a line too, but to polars it is white space
    count = form.layout.stamps
    exact = pl.Decimal(38, DECIMALS)  # every digit, where a float would round
    schema = {str(at): exact if at < count else pl.Float64() for at in range(form.width)}
    try:
        frame = pl.read_csv(
            text, separator=form.separator, has_header=False, quote_char=None, schema=schema
        )
    except pl.exceptions.PolarsError:
        return None
    series = list(frame.iter_columns())
    scaled = [each.to_physical() for each in series[:count]]  # whole billionths
    if form.layout.unit == "nanoseconds":
        scaled = [each // NANOSECONDS for each in scaled]
    nulls = any(frame.null_count().row(0))
    if nulls or any(len(each) and max(each.max(), -each.min()) > LAST_STAMP for each in scaled):  # type: ignore[operator, type-var]
        return None
    columns = [each.to_numpy() for each in series[count:]]
    stamps = [each.cast(pl.Int64).to_numpy() for each in scaled]
    if count == 0:
        return np.arange(len(frame)), columns
    return stamps[0] if count == 1 else np.stack(stamps, axis=1), columns
