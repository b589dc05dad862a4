"""Little text, parsed by numpy: slower by the row than polars, but there is nothing to import."""

from collections.abc import Iterable

import numpy as np

from smfeval.io.number_rows import Form, Parsed, Unit, no_rows
from smfeval.io.stamp_words import LARGEST_SHOWN, LAST_STAMP, is_odd, nanoseconds
from smfeval.maths.arrays import Floats, Ints

# What numbers (nan and infinity among them), separators and line ends are written with.
WRITTEN_WITH = b"0123456789+-.eE \t,\r\n" + b"nanifityNANIFITY"


def parsed(text: bytes, form: Form) -> Parsed | None:
    """Stamps and columns of text that is rows of numbers throughout; None of any other."""
    if not text.strip():
        return no_rows(form)
    if text.translate(None, WRITTEN_WITH):
        return None
    lines = text.decode("ascii").splitlines()
    delimiter = "," if form.separator == "," else None
    values = _values(lines, delimiter)
    if values.shape != (len(lines), form.width):
        return None
    if not form.layout.stamped:
        return np.arange(len(lines)), list(values.T)
    if not np.abs(values[:, 0]).max() <= LARGEST_SHOWN:
        return None
    words = [line.split(delimiter, 1)[0].strip() for line in lines]
    stamp = None if any(map(is_odd, words)) else _stamps(words, form.layout.unit)
    return None if stamp is None else (stamp, list(values.T[1:]))


def _values(lines: list[str], delimiter: str | None) -> Floats:
    """All columns, each number rounded correctly; nothing if a word is none or a row is short."""
    try:
        return np.loadtxt(lines, comments=None, delimiter=delimiter, ndmin=2)
    except ValueError:
        return np.empty((0, 0))


def _stamps(words: Iterable[str], unit: Unit) -> Ints | None:
    """Exact nanoseconds; None if one of them is beyond all time."""
    stamps = [nanoseconds(word, unit) for word in words]
    return np.array(stamps) if max(map(abs, stamps)) <= LAST_STAMP else None
