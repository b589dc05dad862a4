"""The rows of a text file of numbers: what they must look like, and what was read."""

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

    def wanted(self) -> str:
        """The allowed counts in words."""
        return " or ".join(f"{count} ({words})" for count, words in self.columns.items())


@dataclass(frozen=True)
class Block:
    """Consecutive rows: their stamps, their other columns as long rows, and their lines."""

    stamp: Ints
    values: Floats  # (columns, rows)
    line: range | list[int]


@dataclass(frozen=True)
class Numbers:
    """The rows of a file. `where` names a row to the user."""

    name: str
    header: tuple[HeaderLine, ...]
    blocks: tuple[Block, ...]
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
        """Columns of a row, the stamp included."""
        return self.blocks[0].values.shape[0] + 1

    def columns(self, start: int, stop: int) -> Floats:
        """Columns start to stop, counted with the stamp as 0. (n, stop - start)."""
        parts = [block.values[start - 1 : stop - 1] for block in self.blocks]
        return frozen(np.ascontiguousarray(np.concatenate(parts, axis=1).T))

    def symmetric(self, start: int, index: Ints) -> Floats:
        """Symmetric matrices from packed columns: entry (i, j) is column start + index[i, j]."""
        out = np.empty((len(self), index.size))
        row = 0
        for block in self.blocks:
            for part in chunks(block.values.shape[1]):
                packed = np.ascontiguousarray(block.values[start - 1 :, part].T)
                rows = slice(row + part.start, row + part.stop)
                np.take(packed, index.ravel(), axis=1, out=out[rows], mode="clip")
            row += block.values.shape[1]
        return frozen(out.reshape(len(self), *index.shape))

    def without_last(self) -> "Numbers":
        """All rows but the last."""
        *others, last = self.blocks
        shorter = Block(last.stamp[:-1], last.values[:, :-1], last.line[:-1])
        return replace(self, blocks=(*others, shorter))

    def where(self, row: int) -> str:
        """File and line of a row."""
        for block in self.blocks:
            if row < len(block.stamp):
                return f"{self.name}:{block.line[row]}"
            row -= len(block.stamp)
        raise IndexError(row)
