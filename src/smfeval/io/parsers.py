"""Rows of numbers in text, parsed by numpy (little text) or by polars (much); the result is one.

Every number is rounded correctly and a stamp keeps every digit. Importing polars takes as long as
parsing 8 MB by numpy; once it is imported it is the faster one for any text.
"""

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from smfeval.io.text_layout import (
    DECIMALS,
    LARGEST_SHOWN,
    LAST_STAMP,
    ParsedRows,
    RowFormat,
    Unit,
    empty_rows,
    is_unusual_number,
    nanoseconds,
)
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS

if TYPE_CHECKING:
    import polars as pl

Parser = Callable[[bytes, RowFormat], ParsedRows | None]

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
        return empty_rows(form)
    if text.translate(None, NUMBER_CHARACTERS):
        return None
    lines = text.decode("ascii").splitlines()
    delimiter = "," if form.separator == "," else None
    values = _numpy_values(lines, delimiter)
    if values.shape != (len(lines), form.width):
        return None
    count = form.layout.stamps
    if count == 0:
        return np.arange(len(lines)), list(values.T)
    if not np.abs(values[:, :count]).max() <= LARGEST_SHOWN:
        return None
    words = [word.strip() for line in lines for word in line.split(delimiter, count)[:count]]
    stamp = None if any(map(is_unusual_number, words)) else _numpy_stamps(words, form.layout.unit)
    shape = (-1,) if count == 1 else (-1, count)
    return None if stamp is None else (stamp.reshape(shape), list(values.T[count:]))


def _numpy_values(lines: list[str], delimiter: str | None) -> Floats:
    """All columns, each number rounded correctly; nothing if a word is none or a row is short."""
    try:
        return np.loadtxt(lines, comments=None, delimiter=delimiter, ndmin=2)
    except ValueError:
        return np.empty((0, 0))


def _numpy_stamps(words: Iterable[str], unit: Unit) -> Ints | None:
    """Exact nanoseconds; None if one of them is beyond all time."""
    stamps = [nanoseconds(word, unit) for word in words]
    return np.array(stamps) if max(map(abs, stamps)) <= LAST_STAMP else None


def parse_polars(text: bytes, form: RowFormat) -> ParsedRows | None:
    """Stamps and columns of text that is rows of numbers throughout; None of any other."""
    if not text:
        return empty_rows(form)
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        return None  # alone it ends a line too, but to polars it is white space
    frame = _read_frame(text, form)
    if frame is None or any(frame.null_count().row(0)):
        return None
    series, count = list(frame.iter_columns()), form.layout.stamps
    columns = [each.to_numpy() for each in series[count:]]
    if count == 0:
        return np.arange(len(frame)), columns
    parsed = [_polars_stamps(each, form) for each in series[:count]]
    stamps = [stamp for stamp in parsed if stamp is not None]
    if len(stamps) < count:
        return None
    return stamps[0] if count == 1 else np.stack(stamps, axis=1), columns


def _read_frame(text: bytes, form: RowFormat) -> "pl.DataFrame | None":
    import polars as pl  # noqa: PLC0415  slow to import

    exact = pl.Decimal(38, DECIMALS)  # every digit, where a float would round
    kinds = [exact if at < form.layout.stamps else pl.Float64() for at in range(form.width)]
    try:
        return pl.read_csv(
            text,
            separator=form.separator,
            has_header=False,
            quote_char=None,
            schema={str(at): kind for at, kind in enumerate(kinds)},
        )
    except pl.exceptions.PolarsError:
        return None


def _polars_stamps(decimals: "pl.Series", form: RowFormat) -> Ints | None:
    """Exact nanoseconds; None if one of them is no time."""
    import polars as pl  # noqa: PLC0415

    scaled = decimals.to_physical()
    if form.layout.unit == "nanoseconds":
        scaled = scaled // NANOSECONDS
    if len(scaled) and max(scaled.max(), -scaled.min()) > LAST_STAMP:  # type: ignore[operator, type-var]
        return None
    return scaled.cast(pl.Int64).to_numpy()
