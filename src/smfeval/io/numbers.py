"""Text files of numbers: a header of comments, then rows of columns, the stamp first.

Read in chunks of whole lines, each parsed by polars; so memory stays bounded, gzip streams, and a
stamp keeps every digit (decimal, not float). A chunk that polars does not take at once (double
blanks, comments between rows, an error) is tidied line by line, which also finds the line to blame.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from smfeval.errors import FormatError
from smfeval.io.number_rows import Block, HeaderLine, Layout, Numbers
from smfeval.io.source import BOM, is_binary, opened
from smfeval.maths.arrays import Ints
from smfeval.maths.stamps import NANOSECONDS

CHUNK_BYTES = 16 * 2**20
NEW_LINE = b"\n"
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.I)
DIGIT = re.compile(rb"\d")
STAMP = pl.Decimal(38, 9)
NO_STAMP = pl.Float64
LAST_STAMP = 2**63 - 1  # ns: the year 2262
LARGEST_DECIMAL = 1e28  # what STAMP can hold
# What a stamp of our time looks like if its unit is not seconds: below a limit, a unit.
UNITS = ((1e14, "milliseconds"), (1e17, "microseconds"), (1e20, "nanoseconds"))


def read_numbers(path: Path, layout: Layout) -> Numbers:
    """Read all rows; raises a FormatError that names the line otherwise."""
    with opened(path) as stream:
        header, first = _header(path, stream)
        reader = _Reader(path, layout, first, len(header) + 1)
        for number, line in enumerate(header, start=1):
            reader.comment(line.encode(), number)
        blocks = [reader.block(text) for text in _whole_lines(first, stream)]
    blocks = [block for block in blocks if len(block.stamp)]
    if not blocks:
        raise FormatError(
            f"{path}:{reader.line}: the only row has no line end, so it may be cut off; "
            "end the line if it is whole"
        )
    lines = tuple(enumerate(header, start=1))
    return Numbers(str(path), lines, tuple(blocks), tuple(reader.notes), reader.cut)


def read_header(path: Path) -> tuple[HeaderLine, ...]:
    """The comment lines before the first row, so that a header's mistakes are reported first."""
    with opened(path) as stream:
        return tuple(enumerate(_header(path, stream)[0], start=1))


def _header(path: Path, stream: IO[bytes]) -> tuple[list[str], bytes]:
    """Leading comment and blank lines as text, and the first line of numbers."""
    header: list[str] = []
    while line := stream.readline(CHUNK_BYTES):
        line = line.removeprefix(BOM) if not header else line
        if b"\0" in line:
            raise FormatError(f"{path}:{len(header) + 1}: this is binary data, not text")
        if line.strip() and not line.lstrip().startswith(b"#"):
            if is_binary(line):
                raise FormatError(f"{path}:{len(header) + 1}: this is binary data, not text")
            return header, line
        header.append(line.decode("utf-8", errors="replace").strip())
    if not any(header):
        raise FormatError(f"{path}: the file is empty")
    raise FormatError(f"{path}: there is a header but no row of numbers")


def _whole_lines(first: bytes, stream: IO[bytes]) -> Iterator[bytes]:
    """The rest of a file in chunks that end with a line."""
    chunk = first
    while chunk:
        yield chunk
        chunk = stream.read(CHUNK_BYTES)
        if chunk and not chunk.endswith(b"\n"):
            chunk += stream.readline()


class _Reader:
    """Parses chunk after chunk, counting lines and remembering what was noticed."""

    def __init__(self, path: Path, layout: Layout, first: bytes, line: int):
        self.path, self.layout, self.line = path, layout, line
        self.notes: list[str] = []
        self.cut = False
        self.separator = _separator(first)
        if self.separator == "," and not layout.commas:
            self.notes.append(f"{path}: columns are separated by commas; read as such")
        self.width = self._width(first)

    def block(self, text: bytes) -> Block:
        """Rows of one chunk of whole lines."""
        if not text.endswith(b"\n"):
            text = self._ended(text)
        first_line, lines = self.line, text.count(b"\n")
        self.line += lines
        frame = self._parsed(text)
        numbers: range | list[int] = range(first_line, self.line)
        if frame is None or len(frame) != lines:
            frame, numbers = self._tidied(text, first_line)
        return self._block(frame, numbers)

    def _block(self, frame: pl.DataFrame, line: range | list[int]) -> Block:
        values = frame[:, 1:] if self.layout.stamped else frame
        columns = np.array([column.to_numpy() for column in values.iter_columns()])
        stamp = np.arange(len(frame), dtype=np.int64)
        if self.layout.stamped:
            stamp = self._nanoseconds(frame.to_series(0), line)
        return Block(stamp, columns.reshape(values.width, len(frame)), line)

    def _schema(self) -> dict[str, Any]:
        first = STAMP if self.layout.stamped else NO_STAMP
        return {"0": first} | {str(i): pl.Float64 for i in range(1, self.width)}

    def _parsed(self, text: bytes) -> pl.DataFrame | None:
        """Rows by polars, or None where it does not take the text as it is."""
        if not text:
            return pl.DataFrame(schema=self._schema())
        if b"#" in text or b"\0" in text:
            return None
        try:
            frame = pl.read_csv(
                text,
                separator=self.separator,
                has_header=False,
                quote_char=None,
                schema=self._schema(),
            )
        except pl.exceptions.PolarsError:
            return None
        return None if any(frame.null_count().row(0)) else frame

    def _tidied(self, text: bytes, first_line: int) -> tuple[pl.DataFrame, list[int]]:
        """The slow way: every line stripped, split, checked and joined again."""
        rows: list[bytes] = []
        numbers: list[int] = []
        for number, line in enumerate(text.splitlines(), start=first_line):
            if not line.strip():
                continue
            if line.lstrip().startswith(b"#"):
                self._refuse_header(line, number)
                self.comment(line, number)
                continue
            rows.append(self._row(line, number))
            numbers.append(number)
        frame = self._parsed(b"".join(rows))
        if frame is None or len(frame) != len(rows):
            unreadable = next((at for at, row in enumerate(rows) if self._parsed(row) is None), 0)
            raise FormatError(f"{self.path}:{numbers[unreadable]}: the row cannot be read")
        return frame, numbers

    def _row(self, line: bytes, number: int) -> bytes:
        words = _words(line)
        if len(words) != self.width:
            raise FormatError(
                f"{self.path}:{number}: {len(words)} columns; {self.layout.wanted()} are needed"
                + (f", and line {number - 1} has {self.width}" if number > 1 else "")
            )
        for column, word in enumerate(words, start=1):
            if not NUMBER.fullmatch(word):
                shown = word[:40].decode("utf-8", errors="replace")
                raise FormatError(
                    f"{self.path}:{number}: column {column} is {shown!r}, which is not a number"
                )
        if self.layout.stamped:
            self._refuse_stamp(words[0], number)
        return self.separator.encode().join(words) + b"\n"

    def _refuse_stamp(self, word: bytes, number: int) -> None:
        size = abs(float(word))
        if not DIGIT.search(word):
            raise FormatError(f"{self.path}:{number}: the stamp is not finite")
        if size > LARGEST_DECIMAL:
            raise FormatError(f"{self.path}:{number}: {self._too_large(word.decode(), size)}")

    def _refuse_header(self, line: bytes, number: int) -> None:
        if self.layout.one_header and line.lstrip().startswith(b"#%"):
            raise FormatError(
                f"{self.path}:{number}: a header line after the first row; are these two files "
                "in one?"
            )

    def comment(self, line: bytes, number: int) -> None:
        """A row that was commented out is worth a word; other comments are not."""
        words = _words(line.lstrip().lstrip(b"#"))
        as_wide = len(words) in (self.width, self.width - 1)  # the mark may stand for a number
        if as_wide and words and all(NUMBER.fullmatch(word) for word in words):
            self.notes.append(f"{self.path}:{number}: a row is commented out; it was left out")

    def _ended(self, text: bytes) -> bytes:
        """The text with an end to its last line, or without that line, as the format says."""
        end = text.rfind(b"\n") + 1
        tail = text[end:].strip()
        place = f"{self.path}:{self.line + text.count(NEW_LINE)}"
        if not tail or tail.startswith(b"#"):
            return text + NEW_LINE
        if self.layout.tail == "keep":
            self.notes.append(f"{place}: the last line has no line end; was the file cut there?")
            return text + NEW_LINE
        self.cut = True
        self.notes.append(f"{place}: the file ends in the middle of a row; it was left out")
        return text[:end]

    def _width(self, first: bytes) -> int:
        width = len(_words(first))
        if width not in self.layout.columns:
            raise FormatError(
                f"{self.path}:{self.line}: {width} columns; {self.layout.wanted()} are needed"
            )
        return width

    def _nanoseconds(self, decimals: pl.Series, line: range | list[int]) -> Ints:
        """Exact nanoseconds of the stamps as written."""
        scaled = decimals.to_physical()
        if self.layout.unit == "nanoseconds":
            scaled = scaled // NANOSECONDS
        if len(scaled) and scaled.abs().max() > LAST_STAMP:  # type: ignore[operator]
            row = (scaled.abs() > LAST_STAMP).arg_max() or 0
            size = abs(float(decimals[row]))
            raise FormatError(f"{self.path}:{line[row]}: {self._too_large(decimals[row], size)}")
        return scaled.cast(pl.Int64).to_numpy()

    def _too_large(self, stamp: object, size: float) -> str:
        """A stamp that is no time, with a guess at its unit where seconds were meant."""
        unit = next((unit for limit, unit in UNITS if size < limit), None)
        if self.layout.unit == "seconds" and unit is not None:
            return f"stamp {stamp} is no time in seconds; it looks like {unit}"
        return f"stamp {stamp} is beyond the year 2262, the last that nanoseconds can count to"


def _separator(line: bytes) -> str:
    if b"," in line:
        return ","
    return "\t" if b"\t" in line and b" " not in line.strip() else " "


def _words(line: bytes) -> list[bytes]:
    return [word.strip() for word in line.split(b",")] if b"," in line else line.split()
