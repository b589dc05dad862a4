"""The rows of a text file of numbers: what they must look like, and what was read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from smfeval.maths.arrays import Floats, Ints, frozen
from smfeval.maths.symmetric import chunks

Unit = Literal["seconds", "nanoseconds"]
Tail = Literal["keep", "drop"]
HeaderLine = tuple[int, str]


@dataclass(frozen=True)
class Layout:
    """What a row must look like."""

    columns: dict[int, str]  # allowed counts, each with the words for it
    unit: Unit = "seconds"
    stamped: bool = True
    tail: Tail = "keep"  # what to do with a last line that has no line end
    commas: bool = False  # whether columns are meant to be separated by commas
    one_header: bool = False  # whether a line `#%...` after the first row is refused
    packed: "Packed | None" = None  # symmetric matrices that end the row

    def wanted(self) -> str:
        """The allowed counts in words."""
        return " or ".join(f"{count} ({words})" for count, words in self.columns.items())


@dataclass(frozen=True)
class Packed:
    """Symmetric matrices in packed columns: entry (i, j) stands in column start + index[i, j]."""

    start: int
    index: Ints

    def unpack(self, columns: list[Floats], out: Floats) -> None:
        """Fill matrices (n, d, d) from columns from `start` on, some rows at a time, in cache."""
        entry, flat = self.index.ravel(), out.reshape(len(out), self.index.size)
        for part in chunks(len(out)):
            packed = np.stack([column[part] for column in columns], axis=1)
            np.take(packed, entry, axis=1, out=flat[part], mode="clip")


@dataclass(frozen=True)
class Form:
    """How a file writes its rows, as the first of them shows."""

    layout: Layout
    separator: str
    width: int


# Exact nanoseconds (for rows without a stamp, their count) and the other columns, each (rows,).
Parsed = tuple[Ints, list[Floats]]
Parser = Callable[[bytes, Form], Parsed | None]


def no_rows(form: Form) -> Parsed:
    """What is read from no text."""
    return np.empty(0, np.int64), [np.empty(0)] * (form.width - form.layout.stamped)


@dataclass(frozen=True)
class Block:
    """Consecutive rows: their stamps, their other columns, and their lines."""

    stamp: Ints
    columns: list[Floats]
    line: range | list[int]


@dataclass(frozen=True)
class Numbers:
    """The rows of a file. `where` names a row to the user."""

    name: str
    header: tuple[HeaderLine, ...]
    blocks: tuple[Block, ...]
    matrices: Floats  # (n, d, d) of the packed columns, if the layout has any
    notes: tuple[str, ...]
    cut: bool  # the last line was left out because the file ends in the middle of it

    def __len__(self) -> int:
        return sum(len(block.stamp) for block in self.blocks)

    @property
    def stamp(self) -> Ints:
        """Nanoseconds. (n,)."""
        return frozen(np.concatenate([block.stamp for block in self.blocks]))

    @property
    def width(self) -> int:
        """Columns of a row, the stamp included and packed ones left out."""
        return len(self.blocks[0].columns) + 1

    def columns(self, start: int, stop: int) -> Floats:
        """Columns start to stop, counted with the stamp as 0. (n, stop - start)."""
        out = np.empty((len(self), stop - start))
        for rows, block in self._rows():
            for to, column in enumerate(block.columns[start - 1 : stop - 1]):
                out[rows, to] = column
        return frozen(out)

    def symmetric(self, start: int, index: Ints) -> Floats:
        """Symmetric matrices from packed columns: entry (i, j) is column start + index[i, j]."""
        packed, out = Packed(start, index), np.empty((len(self), *index.shape))
        for rows, block in self._rows():
            packed.unpack(block.columns[start - 1 :], out[rows])
        return frozen(out)

    def _rows(self) -> Iterator[tuple[slice, Block]]:
        """Each block, and which rows it has."""
        start = 0
        for block in self.blocks:
            yield slice(start, start + len(block.stamp)), block
            start += len(block.stamp)

    def without_last(self) -> "Numbers":
        """All rows but the last."""
        *others, last = self.blocks
        shorter = Block(last.stamp[:-1], [column[:-1] for column in last.columns], last.line[:-1])
        return replace(self, blocks=(*others, shorter), matrices=self.matrices[:-1])

    def where(self, row: int) -> str:
        """File and line of a row."""
        for block in self.blocks:
            if row < len(block.stamp):
                return f"{self.name}:{block.line[row]}"
            row -= len(block.stamp)
        raise IndexError(row)
