"""What is to be said about a cell, said once: of the grid, of its row, or of the cell alone."""

from collections.abc import Iterable
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np

from smfeval.compare.across.result import Cell
from smfeval.show.words import count
from smfeval.summarise.number import Number

MISSING = "no value on any track"

Sentences = tuple[str, ...]
Marks = tuple[str, ...]  # letters of footnotes


@dataclass(frozen=True)
class Footnotes:
    """Sentences about a grid, each at the widest place where it holds."""

    everywhere: Sentences  # of all cells
    listed: tuple[tuple[str, str], ...]  # (letter, sentence)
    rows: tuple[Marks, ...]
    cells: tuple[tuple[Marks, ...], ...]


def footnotes(rows: list[list[Cell | None]], tracks: int) -> Footnotes:
    """Of the cells of a table over so many tracks."""
    said = [[about(cell, tracks) for cell in row] for row in rows]
    everywhere = _shared(sentences for row in said for sentences in row)
    of_rows = [_without(_shared(row), everywhere) for row in said]
    of_cells = [
        [_without(sentences, (*everywhere, *shared)) for sentences in row]
        for row, shared in zip(said, of_rows, strict=True)
    ]
    met = (s for at, row in enumerate(of_cells) for some in (of_rows[at], *row) for s in some)
    letters = {sentence: letter(at) for at, sentence in enumerate(dict.fromkeys(met))}

    def marks(sentences: Sentences) -> Marks:
        return tuple(letters[sentence] for sentence in sentences)

    return Footnotes(
        everywhere,
        tuple((mark, sentence) for sentence, mark in letters.items()),
        tuple(marks(shared) for shared in of_rows),
        tuple(tuple(marks(sentences) for sentences in row) for row in of_cells),
    )


def about(cell: Cell | None, tracks: int) -> Sentences:
    """Why a cell is empty, has no interval or no test, or speaks of other tracks than its table."""
    median = number_of(cell)
    if cell is None or median is None:
        return (MISSING,)
    of_tracks = f"{len(cell.values)} of {count(tracks, 'track')}"
    fewer = None if len(cell.values) == tracks else of_tracks
    return tuple(said for said in (fewer, median.reason, cell.untested) if said)


def number_of(cell: Cell | None) -> Number | None:
    """The number of a cell, if it has one; infinity is one."""
    median = None if cell is None else cell.median
    return None if median is None or np.isnan(median.value) else median


def letter(index: int) -> str:
    """a, b ... z, aa, ab ..."""
    turns, rest = divmod(index, len(ascii_lowercase))
    return (letter(turns - 1) if turns else "") + ascii_lowercase[rest]


def _shared(cells: Iterable[Sentences]) -> Sentences:
    """What all cells say; empty cells are not asked where others are not empty."""
    every = list(cells)
    asked = [sentences for sentences in every if sentences != (MISSING,)] or every
    return tuple(s for s in asked[0] if all(s in other for other in asked)) if asked else ()


def _without(sentences: Sentences, others: Sentences) -> Sentences:
    return tuple(sentence for sentence in sentences if sentence not in others)
