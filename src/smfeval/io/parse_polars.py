"""Much text, parsed by polars at memory speed: for files whose rows outweigh importing it."""

import numpy as np
import polars as pl

from smfeval.io.rows import DECIMALS, LAST_STAMP, Form, Parsed, no_rows
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS

STAMP = pl.Decimal(38, DECIMALS)  # every digit, where a float would round


def parsed(text: bytes, form: Form) -> Parsed | None:
    """Stamps and columns of text that is rows of numbers throughout; None of any other."""
    if not text:
        return no_rows(form)
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        return None  # alone it ends a line too, but to polars it is white space
    frame = _frame(text, form)
    if frame is None or any(frame.null_count().row(0)):
        return None
    if not form.layout.stamped:
        return np.arange(len(frame)), _columns(frame)
    stamp = _stamps(frame.to_series(0), form)
    return None if stamp is None else (stamp, _columns(frame[:, 1:]))


def _frame(text: bytes, form: Form) -> pl.DataFrame | None:
    first = STAMP if form.layout.stamped else pl.Float64
    try:
        return pl.read_csv(
            text,
            separator=form.separator,
            has_header=False,
            quote_char=None,
            schema={"0": first} | {str(i): pl.Float64 for i in range(1, form.width)},
        )
    except pl.exceptions.PolarsError:
        return None


def _columns(frame: pl.DataFrame) -> list[Floats]:
    return [column.to_numpy() for column in frame.iter_columns()]


def _stamps(decimals: pl.Series, form: Form) -> Ints | None:
    """Exact nanoseconds; None if one of them is no time."""
    scaled = decimals.to_physical()
    if form.layout.unit == "nanoseconds":
        scaled = scaled // NANOSECONDS
    if len(scaled) and scaled.abs().max() > LAST_STAMP:  # type: ignore[operator]
        return None
    return scaled.cast(pl.Int64).to_numpy()
