"""Much text, parsed by polars at memory speed: for files whose rows outweigh importing it."""

import numpy as np
import polars as pl

from smfeval.io.text_layout import DECIMALS, LAST_STAMP, ParsedRows, RowFormat, empty_rows
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS

STAMP_TYPE = pl.Decimal(38, DECIMALS)  # every digit, where a float would round


def parse(text: bytes, form: RowFormat) -> ParsedRows | None:
    """Stamps and columns of text that is rows of numbers throughout; None of any other."""
    if not text:
        return empty_rows(form)
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        return None  # alone it ends a line too, but to polars it is white space
    frame = _parse_frame(text, form)
    if frame is None or any(frame.null_count().row(0)):
        return None
    if not form.layout.has_stamp:
        return np.arange(len(frame)), _columns(frame)
    stamp = _parse_stamps(frame.to_series(0), form)
    return None if stamp is None else (stamp, _columns(frame[:, 1:]))


def _parse_frame(text: bytes, form: RowFormat) -> pl.DataFrame | None:
    first = STAMP_TYPE if form.layout.has_stamp else pl.Float64
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


def _parse_stamps(decimals: pl.Series, form: RowFormat) -> Ints | None:
    """Exact nanoseconds; None if one of them is no time."""
    scaled = decimals.to_physical()
    if form.layout.unit == "nanoseconds":
        scaled = scaled // NANOSECONDS
    if len(scaled) and scaled.abs().max() > LAST_STAMP:  # type: ignore[operator]
        return None
    return scaled.cast(pl.Int64).to_numpy()
