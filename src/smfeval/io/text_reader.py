"""Text files of numbers: a header of comments, then rows of columns, the stamps first.

Read in chunks of whole lines, so memory stays bounded and gzip streams; a stamp keeps every digit.
A chunk that the parser does not take at once (comments between rows, an error) is tidied line by
line, which also finds the line to blame.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from gzip import GzipFile
from io import SEEK_CUR
from pathlib import Path
from typing import IO

import numpy as np

from smfeval import words
from smfeval.errors import FormatError
from smfeval.io.parsers import Parser, choose_parser
from smfeval.io.source import BOM, HEADER_BYTES, LINE_BYTES, NO_ROW, is_binary, open_input
from smfeval.io.text_layout import (
    HeaderLine,
    Layout,
    NumberTable,
    ParsedRows,
    RowBlock,
    RowFormat,
    invalid_stamp_reason,
)
from smfeval.maths.arrays import Floats, read_only

CHUNK_BYTES = 8 * 2**20  # stays in a last-level cache, and is much beside the cost of a call
THREADED_BYTES = 4 * CHUNK_BYTES  # a smaller file is read before a second thread is of use
COUNTED_BYTES = 2**18
NEW_LINE = b"\n"
LONG_LINE = f"a line is longer than {words.byte_size(LINE_BYTES)}; rows of numbers are shorter"
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.I)


def read_numbers(path: Path, layout: Layout) -> NumberTable:
    """Read all rows; raises a FormatError that names the line otherwise."""
    with open_input(path) as stream:
        header, first = _read_header_lines(path, stream)
        reader = _Reader(path, layout, first, len(header) + 1)
        for number, line in enumerate(header, start=1):
            reader.note_comment(line.encode(), number)
        chunks = _line_chunks(path, first, stream)
        parsed = (_map_ahead if reader.size > THREADED_BYTES else map)(reader.parse_block, chunks)
        # map holds no block while the next is made; a comprehension would
        blocks = list(map(reader.take_block, parsed))
    blocks = [block for block in blocks if len(block.stamp)]
    if not blocks:
        raise FormatError(
            f"{path}:{reader.line}: the only row has no line end, so it may be cut off; "
            "end the line if it is whole"
        )
    lines = tuple(enumerate(header, start=1))
    matrices = reader.matrices.array()
    return NumberTable(str(path), lines, tuple(blocks), matrices, tuple(reader.notes), reader.cut)


def read_header(path: Path) -> tuple[HeaderLine, ...]:
    """The comment lines before the first row, so that a header's mistakes are reported first."""
    with open_input(path) as stream:
        return tuple(enumerate(_read_header_lines(path, stream)[0], start=1))


def _read_header_lines(path: Path, stream: IO[bytes]) -> tuple[list[str], bytes]:
    """Leading comment and blank lines as text, and the first line of numbers."""
    header: list[str] = []
    size = 0
    while line := stream.readline(LINE_BYTES + 1):
        size += len(line)
        if len(line) > LINE_BYTES:
            raise FormatError(f"{path}:{len(header) + 1}: {LONG_LINE}")
        if size > HEADER_BYTES:
            raise FormatError(f"{path}: {NO_ROW}")
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


def _line_chunks(path: Path, first: bytes, stream: IO[bytes]) -> Iterator[bytes]:
    """The rest of a file in chunks that end with a line."""
    chunk = first + _read_chunk(path, stream)
    while chunk:
        yield chunk
        del chunk  # so that the next may take its memory
        chunk = _read_chunk(path, stream)


def _read_chunk(path: Path, stream: IO[bytes]) -> bytes:
    """About a chunk more, to the end of a line; at one go where one can look ahead for that end."""
    if isinstance(stream, GzipFile):
        chunk = stream.read(CHUNK_BYTES)
        return chunk if chunk.endswith(NEW_LINE) else chunk + _rest_of_line(path, stream)
    start = stream.tell()
    stream.seek(CHUNK_BYTES, SEEK_CUR)
    beyond = len(_rest_of_line(path, stream))
    stream.seek(start)
    return stream.read(CHUNK_BYTES + beyond)


def _rest_of_line(path: Path, stream: IO[bytes]) -> bytes:
    rest = stream.readline(LINE_BYTES + 1)
    if len(rest) > LINE_BYTES:
        raise FormatError(f"{path}: {LONG_LINE}")
    return rest


def _map_ahead(function: Callable[[bytes], RowBlock], items: Iterator[bytes]) -> Iterator[RowBlock]:
    """`map`, but while a thread makes a result, the last is used and the next item is read."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  slow to import

    result, item = None, next(items, None)
    with ThreadPoolExecutor(1) as thread:
        while item is not None:
            coming = thread.submit(function, item)
            if result is not None:
                yield result
            try:
                item = next(items, None)
            finally:
                result = coming.result()  # its error is the earlier one
        if result is not None:
            yield result


class GrowingArray:
    """An array (n, *shape) that is filled from the front; room that stays empty costs no memory."""

    def __init__(self, shape: tuple[int, ...]):
        self._array = np.empty((0, *shape))
        self._rows = 0

    def new_rows(self, rows: int, expected: int) -> Floats:
        """So many new rows at the end, to be filled; about so many are expected in all."""
        start, self._rows = self._rows, self._rows + rows
        if self._rows > len(self._array):
            enough = 2 * self._rows if start else expected + expected // 16
            longer = np.empty((max(enough, self._rows), *self._array.shape[1:]))
            longer[:start] = self._array[:start]
            self._array = longer
        return self._array[start : self._rows]

    def array(self) -> Floats:
        """All rows, read-only."""
        return read_only(self._array[: self._rows])


class _Reader:
    """Parses chunk after chunk, counting lines and remembering what was noticed."""

    def __init__(self, path: Path, layout: Layout, first: bytes, line: int):
        self.path, self.layout, self.line = path, layout, line
        self.size = path.stat().st_size  # bytes, of a gzipped file packed
        self.expected = 0  # rows in all, guessed by the first chunk
        self.notes: list[str] = []
        self.cut = False
        self.parse: Parser | None = None  # chosen by the first chunk
        self.form = RowFormat(layout, _separator(first), self._row_width(first))
        if self.form.separator == "," and not layout.commas:
            self.notes.append(f"{path}: columns are separated by commas; read as such")
        self.matrices = GrowingArray(layout.packed.index.shape if layout.packed else ())

    def parse_block(self, text: bytes) -> RowBlock:
        """Rows of one chunk of whole lines, all columns."""
        text = text if text.endswith(NEW_LINE) else self._end_last_line(text)
        (stamp, columns), line = self._parse_rows(text)
        self.expected = self.expected or len(stamp) * self.size // max(len(text), 1)
        return RowBlock(stamp, columns, line)

    def take_block(self, block: RowBlock) -> RowBlock:
        """The rows without their packed matrices, which are poured onto their pile."""
        packed = self.layout.packed
        if packed is None:
            return block
        matrices = self.matrices.new_rows(len(block.stamp), self.expected)
        packed.unpack(block.columns[packed.start - 1 :], matrices)
        return replace(block, columns=block.columns[: packed.start - 1])

    def _parse_rows(self, text: bytes) -> tuple[ParsedRows, range | list[int]]:
        """What is read, and the line of each row."""
        first_line, lines = self.line, _count_lines(text)
        self.line += lines
        self.parse = self.parse or choose_parser(text)
        rows = self.parse(text, self.form)
        if rows is None or len(rows[0]) != lines:
            return self._parse_line_by_line(text, first_line, self.parse)
        return rows, range(first_line, self.line)

    def _parse_line_by_line(
        self, text: bytes, first_line: int, parser: Parser
    ) -> tuple[ParsedRows, list[int]]:
        """The slow way: every line stripped, split, checked and joined again."""
        tidy: list[bytes] = []
        numbers: list[int] = []
        for number, line in enumerate(text.splitlines(), start=first_line):
            if not line.strip():
                continue
            if line.lstrip().startswith(b"#"):
                self._refuse_header(line, number)
                self.note_comment(line, number)
                continue
            tidy.append(self._check_row(line, number))
            numbers.append(number)
        rows = parser(b"".join(tidy), self.form)
        if rows is None or len(rows[0]) != len(tidy):
            unread = (at for at, row in enumerate(tidy) if parser(row, self.form) is None)
            raise FormatError(f"{self.path}:{numbers[next(unread, 0)]}: the row cannot be read")
        return rows, numbers

    def _check_row(self, line: bytes, number: int) -> bytes:
        words = _split_words(line)
        if len(words) != self.form.width:
            raise FormatError(
                f"{self.path}:{number}: {len(words)} columns; "
                f"{self.layout.allowed_counts()} are needed"
                + (f", and line {number - 1} has {self.form.width}" if number > 1 else "")
            )
        for column, word in enumerate(words, start=1):
            if not NUMBER.fullmatch(word):
                shown = word[:40].decode("utf-8", errors="replace")
                raise FormatError(
                    f"{self.path}:{number}: column {column} is {shown!r}, which is not a number"
                )
        for word in words[: self.layout.stamps]:
            self._refuse_stamp(word.decode(), number)
        return self.form.separator.encode().join(words) + b"\n"

    def _refuse_stamp(self, word: str, number: int) -> None:
        reason = invalid_stamp_reason(word, self.layout.unit)
        if reason is not None:
            raise FormatError(f"{self.path}:{number}: {reason}")

    def _refuse_header(self, line: bytes, number: int) -> None:
        if self.layout.one_header and line.lstrip().startswith(b"#%"):
            raise FormatError(
                f"{self.path}:{number}: a header line after the first row; are these two files "
                "in one?"
            )

    def note_comment(self, line: bytes, number: int) -> None:
        """A row that was commented out is worth a word; other comments are not."""
        words = _split_words(line.lstrip().lstrip(b"#"))
        width = self.form.width
        as_wide = len(words) in (width, width - 1)  # the mark may stand for a number
        if as_wide and words and all(NUMBER.fullmatch(word) for word in words):
            self.notes.append(f"{self.path}:{number}: a row is commented out; it was left out")

    def _end_last_line(self, text: bytes) -> bytes:
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

    def _row_width(self, first: bytes) -> int:
        width = len(_split_words(first))
        if width not in self.layout.columns:
            raise FormatError(
                f"{self.path}:{self.line}: {width} columns; {self.layout.allowed_counts()} "
                "are needed"
            )
        return width


def _count_lines(text: bytes) -> int:
    """Faster than `bytes.count`, where parts stay in cache."""
    codes = np.frombuffer(text, np.uint8)
    parts = (codes[at : at + COUNTED_BYTES] for at in range(0, len(codes), COUNTED_BYTES))
    return sum(int(np.count_nonzero(part == ord(NEW_LINE))) for part in parts)


def _separator(line: bytes) -> str:
    if b"," in line:
        return ","
    return "\t" if b"\t" in line and b" " not in line.strip() else " "


def _split_words(line: bytes) -> list[bytes]:
    return [word.strip() for word in line.split(b",")] if b"," in line else line.split()
