"""Text files of numbers: a header of comments, then rows of columns, the stamps first.

Read in chunks of whole lines, so memory stays bounded and gzip streams; a stamp keeps every digit.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from io import SEEK_CUR
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError
from smfeval.io.parsers import NUMBER, Layout, invalid_stamp_reason, parse_rows, split_words
from smfeval.io.source import (
    BOM,
    HEADER_BYTES,
    LINE_BYTES,
    NO_ROW,
    ProgressFile,
    is_binary,
    open_input,
)
from smfeval.maths.arrays import Floats, Ints, read_only
from smfeval.maths.se3 import Pose
from smfeval.maths.stamps import seconds_text
from smfeval.track import About, DroppedRows, GaussianTrack, Intake, Provenance, Track
from smfeval.track.row_checks import covariance_faults, valid_rows

if TYPE_CHECKING:
    from smfeval.io.convention import SettledConvention
    from smfeval.io.options import ReadOptions

HeaderLine = tuple[int, str]
CHUNK_BYTES = 4 * 2**20  # stays in a last-level cache, and is much beside the cost of a call
THREADED_BYTES = 4 * CHUNK_BYTES  # a smaller file is read before a second thread is of use
NEW_LINE = b"\n"
LONG_LINE = f"a line is longer than {words.byte_size(LINE_BYTES)}; rows of numbers are shorter"


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows: their stamps, their other columns (n, columns), and their lines."""

    stamp: Ints
    values: Floats
    line: Ints


@dataclass(frozen=True)
class NumberTable:
    """The rows of a file. `where` names a row to the user."""

    name: str
    header: tuple[HeaderLine, ...]
    stamp: Ints  # nanoseconds, (n,), or (n, stamps) where a row has several
    values: Floats  # the other columns, (n, columns)
    matrices: Floats  # columns that the layout keeps apart, (n, columns)
    line: Ints
    notes: tuple[str, ...]
    cut: bool  # the last line was left out because the file ends in the middle of it

    def __len__(self) -> int:
        return len(self.stamp)

    @property
    def width(self) -> int:
        """Columns of a row, the stamp included and those kept apart left out."""
        return self.values.shape[1] + 1

    def columns(self, start: int, stop: int) -> Floats:
        """Columns start to stop, counted with the last stamp as 0. (n, stop - start)."""
        return self.values[:, start - 1 : stop - 1]

    def symmetric_matrices(self, start: int, index: Ints) -> Floats:
        """Symmetric matrices from packed columns: entry (i, j) is column start + index[i, j]."""
        return read_only(self.values[:, start - 1 + index])

    def without_last(self) -> "NumberTable":
        """All rows but the last."""
        names = ("stamp", "values", "matrices", "line")
        return replace(self, **{name: getattr(self, name)[:-1] for name in names})

    def where(self, row: int) -> str:
        """File and line of a row."""
        return f"{self.name}:{self.line[row]}"


def read_numbers(path: Path, layout: Layout) -> NumberTable:
    """Read all rows; raises a FormatError that names the line otherwise."""
    with open_input(path) as stream:
        header, first = _read_header_lines(path, stream)
        reader = _Reader(path, layout, first, len(header) + 1)
        for number, line in enumerate(header, start=1):
            reader.note_comment(line.encode(), number)
        chunks = _line_chunks(path, first, stream)
        parsed = (_map_ahead if reader.size > THREADED_BYTES else map)(reader.parse_block, chunks)
        for block in parsed:
            reader.take_block(block)
            del block  # so that the next may take its memory
    if not len(reader.line_of):
        raise FormatError(
            f"{path}:{reader.line}: the only row has no line end, so it may be cut off; "
            "end the line if it is whole"
        )
    lines = tuple(enumerate(header, start=1))
    return NumberTable(
        str(path),
        lines,
        reader.stamp.array(),
        reader.values.array(),
        reader.matrices.array(),
        reader.line_of.array(),
        tuple(reader.notes),
        reader.cut,
    )


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
    """The first line and the rest of a file, in chunks that end with a line."""

    def rest_of_line() -> bytes:
        rest = stream.readline(LINE_BYTES + 1)
        if len(rest) > LINE_BYTES:
            raise FormatError(f"{path}: {LONG_LINE}")
        return rest

    while True:
        if not isinstance(stream, ProgressFile):  # to go back, it would be unpacked again
            chunk = stream.read(CHUNK_BYTES)
            chunk = chunk if chunk.endswith(NEW_LINE) else chunk + rest_of_line()
        else:  # look ahead for the end of the line, and read at one go
            start = stream.tell()
            stream.seek(CHUNK_BYTES, SEEK_CUR)
            beyond = len(rest_of_line())
            stream.seek(start)
            chunk = stream.read(CHUNK_BYTES + beyond)
        chunk, first = first + chunk, b""
        if not chunk:
            return
        yield chunk
        del chunk  # so that the next may take its memory


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

    def __init__(self, shape: tuple[int, ...], kind: type[np.generic] = np.float64):
        self._array = np.empty((0, *shape), kind)
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def new_rows(self, rows: int, expected: int) -> NDArray[Any]:
        """So many new rows at the end, to be filled; about so many are expected in all."""
        start, self._rows = self._rows, self._rows + rows
        if self._rows > len(self._array):
            enough = 2 * self._rows if start else expected + expected // 16
            shape = (max(enough, self._rows), *self._array.shape[1:])
            longer = np.empty(shape, self._array.dtype)
            longer[:start] = self._array[:start]
            self._array = longer
        return self._array[start : self._rows]

    def array(self) -> NDArray[Any]:
        """All rows, read-only."""
        return read_only(self._array[: self._rows])


class _Reader:
    """Parses chunk after chunk, counting lines and remembering what was noticed."""

    def __init__(self, path: Path, layout: Layout, first: bytes, line: int):
        self.path, self.layout, self.line, self.first_row = path, layout, line, line
        self.size = path.stat().st_size  # bytes, of a gzipped file packed
        self.expected = 0  # rows in all, guessed by the first chunk
        self.notes: list[str] = []
        self.cut = False
        width = len(split_words(first))
        if width not in layout.columns:
            needed = layout.allowed_counts()
            raise FormatError(f"{path}:{line}: {width} columns; {needed} are needed")
        self.width = width
        stamps = layout.stamps
        self.own = width - stamps if layout.apart is None else layout.apart - stamps  # columns
        self.stamp = GrowingArray((stamps,) if stamps > 1 else (), np.int64)
        self.values = GrowingArray((self.own,))
        self.matrices = GrowingArray((width - stamps - self.own,))
        self.line_of = GrowingArray((), np.int64)
        if b"," in first and not layout.commas:
            self.notes.append(f"{path}: columns are separated by commas; read as such")

    def parse_block(self, text: bytes) -> RowBlock:
        """Rows of one chunk of whole lines, all columns."""
        text = text if text.endswith(NEW_LINE) else self._end_last_line(text)
        rows, first_line = parse_rows(text, self.layout, self.width), self.line
        self.line += rows.lines
        for line, at in rows.comments:
            self.note_comment(_line_at(text, at), first_line + line)
        if rows.fault is not None:
            self._refuse_row(_line_at(text, rows.fault), self.line)
        self.expected = self.expected or len(rows.stamp) * self.size // max(len(text), 1)
        return RowBlock(rows.stamp, rows.values, first_line + rows.line)

    def take_block(self, block: RowBlock) -> None:
        """Pour the rows onto their piles, the columns of matrices apart."""
        own, rest = block.values[:, : self.own], block.values[:, self.own :]
        piles = (self.stamp, self.values, self.matrices, self.line_of)
        for pile, part in zip(piles, (block.stamp, own, rest, block.line), strict=True):
            pile.new_rows(len(block.line), self.expected)[:] = part

    def _refuse_row(self, line: bytes, number: int) -> NoReturn:
        """Name what is wrong with a row."""
        words, place = split_words(line), f"{self.path}:{number}"
        if len(words) != self.width:
            raise FormatError(
                f"{place}: {len(words)} columns; {self.layout.allowed_counts()} are needed"
                + (f", and line {number - 1} has {self.width}" if number > 1 else "")
            )
        for column, word in enumerate(words, start=1):
            if not NUMBER.fullmatch(word):
                shown = word[:40].decode("utf-8", errors="replace")
                raise FormatError(f"{place}: column {column} is {shown!r}, which is not a number")
        reasons = (
            invalid_stamp_reason(word.decode(), self.layout.unit)
            for word in words[: self.layout.stamps]
        )
        raise FormatError(f"{place}: {next(filter(None, reasons), 'the row cannot be read')}")

    def note_comment(self, line: bytes, number: int) -> None:
        """A row that was commented out is worth a word; other comments are not."""
        if self.layout.one_header and number > self.first_row and line.lstrip().startswith(b"#%"):
            raise FormatError(
                f"{self.path}:{number}: a header line after the first row; are these two "
                "files in one?"
            )
        words = split_words(line.lstrip().lstrip(b"#"))
        width = self.width
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


def _line_at(text: bytes, offset: int) -> bytes:
    """The line that begins there."""
    return text[offset : text.find(NEW_LINE, offset)].splitlines()[0]


def track_of_rows(
    numbers: NumberTable,
    kind: str,
    options: "ReadOptions",
    *,
    pose: Pose | None = None,
    covariance: Floats | None = None,
    settled: "SettledConvention | None" = None,
    rows: Ints | None = None,
    **more: Any,
) -> Track:
    """The poses of a table, or its beliefs where covariances are given.

    Without `pose`, columns 1 to 7 are position and quaternion. `covariance` is that of the right
    perturbation, `settled` says how it was read. `rows` are those to take, None: all of them.
    `more` is about, notes, remarks and dropped, of the track.
    """
    where = numbers.where if rows is None else lambda row: numbers.where(int(rows[row]))
    taken = slice(None) if rows is None else rows
    position, rotation = pose or (numbers.columns(1, 4), numbers.columns(4, 8))
    arrays: list[Any] = [numbers.stamp[taken], position[taken], rotation[taken]]
    arrays += [] if covariance is None else [covariance[taken]]
    notes = numbers.notes + more.pop("notes", ()) + (settled.notes if settled else ())
    about = more.pop("about", About())
    provenance = Provenance(
        numbers.name,
        kind,
        settled.words if settled else None,
        notes=notes,
        convention_assumed=settled is not None and settled.assumed,
        **more,
    )
    make = Track if covariance is None else GaussianTrack
    return make(*arrays, about=about, provenance=provenance, intake=options.intake(where))


PAIRED_GAP_NS = 1_000  # stamps of one row in two files may differ by a microsecond


def refuse_other_count(beside: NumberTable, main: NumberTable, what: str) -> None:
    """Raise if the second file does not have one row for each row of the first."""
    if len(beside) != len(main):
        raise FormatError(
            f"{beside.name}: {len(beside)} {what} for {len(main)} poses in {main.name}; "
            "one for each is needed"
        )


def refuse_other_stamps(beside: NumberTable, main: NumberTable) -> None:
    """Raise where the stamps of two files of the same length differ."""
    apart = np.abs(beside.stamp - main.stamp) > PAIRED_GAP_NS
    if apart.any():
        row = int(np.argmax(apart))
        raise FormatError(
            f"{beside.where(row)}: stamp {seconds_text(int(beside.stamp[row]))} does not match "
            f"{seconds_text(int(main.stamp[row]))} at {main.where(row)} within a microsecond"
        )


def valid_sidecar_rows(covariance: Floats, intake: Intake) -> tuple[Ints, tuple[DroppedRows, ...]]:
    """Rows whose covariance is one. A bad one is named by its line in the second file."""
    good, dropped = valid_rows(covariance_faults(covariance), intake)
    return np.flatnonzero(good), dropped
