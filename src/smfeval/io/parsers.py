"""Rows of numbers in text: what they must look like, and their parser.

Every number is rounded correctly and a stamp keeps every digit. The parser is `rows.c`, which an
installation with a C compiler builds; another has the same in Python, thirty times slower.
"""

import ctypes
import re
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS, seconds_text

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
    apart: int | None = None  # first of the columns that are kept apart: matrices end the row

    def allowed_counts(self) -> str:
        """The allowed counts in words."""
        return " or ".join(f"{count} ({words})" for count, words in self.columns.items())


@dataclass(frozen=True)
class ParsedRows:
    """The rows of a text, up to the first line that is none.

    Attributes
    ----------
    stamp
        Exact nanoseconds (rows,), or (rows, stamps) of several; without any, the rows counted.
    values
        The other columns, (rows, columns).
    line
        Of each row, from 0. (rows,).
    lines
        That were read.
    comments
        Line and offset of each.
    fault
        Offset of the line that is no row, if there is one.
    """

    stamp: Ints
    values: Floats
    line: Ints
    lines: int
    comments: list[tuple[int, int]]
    fault: int | None


NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.I)
NO_STAMP = -(2**63)
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


def read_stamp(word: bytes, unit: Unit) -> int | None:
    """Nanoseconds of a word; None where it is no stamp."""
    if not NUMBER.fullmatch(word) or invalid_stamp_reason(word.decode(), unit) is not None:
        return None
    return nanoseconds(word.decode(), unit)


def split_words(line: bytes) -> list[bytes]:
    """The words of a line, between commas if it has any."""
    return [word.strip() for word in line.split(b",")] if b"," in line else line.split()


def parse_rows(text: bytes, layout: Layout, width: int) -> ParsedRows:
    """Rows of so many numbers, between comments and blank lines."""
    parse = parse_in_python if compiled() is None else parse_compiled
    return parse(text, layout, width)


def parse_in_python(text: bytes, layout: Layout, width: int) -> ParsedRows:
    """Word by word: what `rows.c` does, for installations without it."""
    count, unit = layout.stamps, layout.unit
    stamp, values, lines, comments = [], [], [], []
    offset, number, fault = 0, 0, None
    for number, line in enumerate(text.splitlines(keepends=True)):
        words = split_words(line)
        if line.lstrip().startswith(b"#"):
            comments.append((number, offset))
        elif line.strip():
            stamps = [read_stamp(word, unit) for word in words[:count]]
            plain = len(words) == width and all(map(NUMBER.fullmatch, words))
            if not plain or None in stamps:
                fault = offset
                break
            stamp.append(stamps)
            values.append([float(word) for word in words[count:]])
            lines.append(number)
        offset += len(line)
    else:
        number += 1 if text else 0
    table = np.array(values).reshape(len(lines), width - count)
    whole = np.array(stamp, np.int64).reshape(len(lines), count)
    return ParsedRows(_one_stamp(whole), table, np.array(lines, np.int64), number, comments, fault)


def _one_stamp(stamp: Ints) -> Ints:
    """Stamps (rows, 1) as (rows,); where there are none, the rows counted."""
    return stamp[:, 0] if stamp.shape[1] == 1 else stamp if stamp.size else np.arange(len(stamp))


POWERS = range(-80, 81)  # as in rows.c


class CompiledForm(ctypes.Structure):
    """`Form` of rows.c."""

    Number = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)
    Stamp = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
    Comment = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
    _fields_ = (
        ("powers", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("stamps", "width", "places")),
        ("read_number", Number),
        ("read_stamp", Stamp),
        ("note_comment", Comment),
    )


@cache
def compiled() -> ctypes.CDLL | None:
    """The library of rows.c; None where none was built at the installation."""
    try:
        library = ctypes.CDLL(str(Path(__file__).with_name("rows.c.so")))
    except OSError:
        return None
    library.parse_rows.restype = ctypes.c_int64
    return library


@cache
def powers_of_five() -> Ints:
    """128 leading bits of 5^q, rounded down, or up where q is -27 to -1. (powers, 2)."""
    found = []
    for q in POWERS:
        size = (5 ** abs(q)).bit_length()
        bits = (5**q << 128) >> size if q >= 0 else (1 << (127 + size)) // 5**-q + (q >= -27)
        found.append((bits >> 64, bits & (2**64 - 1)))
    return np.array(found, np.uint64)


def parse_compiled(text: bytes, layout: Layout, width: int) -> ParsedRows:
    """By rows.c, which asks back for the words that it leaves undecided."""
    library, count, unit = compiled(), layout.stamps, layout.unit
    assert library is not None
    comments: list[tuple[int, int]] = []

    def number(word: int, size: int) -> float:
        text = ctypes.string_at(word, size)
        return float(text) if NUMBER.fullmatch(text) else 0.0

    def stamp_of(word: int, size: int) -> int:
        found = read_stamp(ctypes.string_at(word, size), unit)
        return NO_STAMP if found is None else found

    asked = CompiledForm(
        powers_of_five().ctypes.data,
        count,
        width,
        DECIMALS if unit == "seconds" else 0,
        CompiledForm.Number(number),
        CompiledForm.Stamp(stamp_of),
        CompiledForm.Comment(lambda line, offset: comments.append((line, offset))),
    )
    size = ctypes.c_int64(len(text))
    room = len(text) // (2 * width) + 1  # a number and what ends it; room left costs no memory
    stamp, line = np.empty((room, count), np.int64), np.empty(room, np.int64)
    values = np.empty((room, width - count))
    lines, fault = ctypes.c_int64(), ctypes.c_int64()
    places = [ctypes.c_void_p(array.ctypes.data) for array in (stamp, values, line)]
    more = ctypes.byref(lines), ctypes.byref(fault)
    rows = library.parse_rows(text, size, ctypes.byref(asked), *places, *more)
    at = None if fault.value < 0 else fault.value
    return ParsedRows(
        _one_stamp(stamp[:rows]), values[:rows], line[:rows], lines.value, comments, at
    )
