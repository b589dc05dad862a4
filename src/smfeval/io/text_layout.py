"""The rows of a text file of numbers: what they must look like, and what was read."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from smfeval.errors import FormatError
from smfeval.maths.arrays import Floats, Ints, read_only
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.maths.symmetric import chunks
from smfeval.track import DroppedRows, Intake
from smfeval.track.row_checks import covariance_faults, valid_rows

Unit = Literal["seconds", "nanoseconds"]
Tail = Literal["keep", "drop"]
HeaderLine = tuple[int, str]


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


def empty_rows(form: RowFormat) -> ParsedRows:
    """What is read from no text."""
    stamps = form.layout.stamps
    shape = (0, stamps) if stamps > 1 else (0,)
    return np.empty(shape, np.int64), [np.empty(0)] * (form.width - stamps)


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows: their stamps, their other columns, and their lines."""

    stamp: Ints
    columns: list[Floats]
    line: range | list[int]


@dataclass(frozen=True)
class NumberTable:
    """The rows of a file. `where` names a row to the user."""

    name: str
    header: tuple[HeaderLine, ...]
    blocks: tuple[RowBlock, ...]
    matrices: Floats  # (n, d, d) of the packed columns, if the layout has any
    notes: tuple[str, ...]
    cut: bool  # the last line was left out because the file ends in the middle of it

    def __len__(self) -> int:
        return sum(len(block.stamp) for block in self.blocks)

    @property
    def stamp(self) -> Ints:
        """Nanoseconds. (n,), or (n, stamps) where a row has several."""
        return read_only(np.concatenate([block.stamp for block in self.blocks]))

    @property
    def width(self) -> int:
        """Columns of a row, the stamp included and packed ones left out."""
        return len(self.blocks[0].columns) + 1

    def columns(self, start: int, stop: int) -> Floats:
        """Columns start to stop, counted with the last stamp as 0. (n, stop - start)."""
        out = np.empty((len(self), stop - start))
        for rows, block in self._block_slices():
            for to, column in enumerate(block.columns[start - 1 : stop - 1]):
                out[rows, to] = column
        return read_only(out)

    def symmetric_matrices(self, start: int, index: Ints) -> Floats:
        """Symmetric matrices from packed columns: entry (i, j) is column start + index[i, j]."""
        packed, out = PackedColumns(start, index), np.empty((len(self), *index.shape))
        for rows, block in self._block_slices():
            packed.unpack(block.columns[start - 1 :], out[rows])
        return read_only(out)

    def _block_slices(self) -> Iterator[tuple[slice, RowBlock]]:
        """Each block, and which rows it has."""
        start = 0
        for block in self.blocks:
            yield slice(start, start + len(block.stamp)), block
            start += len(block.stamp)

    def without_last(self) -> "NumberTable":
        """All rows but the last."""
        *others, last = self.blocks
        shorter = RowBlock(
            last.stamp[:-1], [column[:-1] for column in last.columns], last.line[:-1]
        )
        return replace(self, blocks=(*others, shorter), matrices=self.matrices[:-1])

    def where(self, row: int) -> str:
        """File and line of a row."""
        for block in self.blocks:
            if row < len(block.stamp):
                return f"{self.name}:{block.line[row]}"
            row -= len(block.stamp)
        raise IndexError(row)


DECIMALS = 9  # of a second: whole nanoseconds
LAST_STAMP = 2**63 - 1  # ns: the year 2262
LARGEST_SHOWN = 1e28  # a stamp beyond this is shown as it is written, not with all its digits
# What a stamp of our time looks like if its unit is not seconds: below a limit, a unit.
STAMP_UNITS = ((1e14, "milliseconds"), (1e17, "microseconds"), (1e20, "nanoseconds"))


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
    if size > LARGEST_SHOWN:
        return _too_large_reason(word, size, unit)
    if abs(nanoseconds(word, unit)) > LAST_STAMP:
        return _too_large_reason(seconds_text(billionths(word)), size, unit)
    return None


def _too_large_reason(shown: str, size: float, unit: Unit) -> str:
    """A stamp that is no time, with a guess at its unit where seconds were meant."""
    guess = next((name for limit, name in STAMP_UNITS if size < limit), None)
    if unit == "seconds" and guess is not None:
        return f"stamp {shown} is no time in seconds; it looks like {guess}"
    return f"stamp {shown} is beyond the year 2262, the last that nanoseconds can count to"


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
