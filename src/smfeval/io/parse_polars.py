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
    count = form.layout.stamps
    if count == 0:
        return np.arange(len(frame)), _columns(frame)
    parsed = [_parse_stamps(frame.to_series(at), form) for at in range(count)]
    stamps = [stamp for stamp in parsed if stamp is not None]
    if len(stamps) < count:
        return None
    return stamps[0] if count == 1 else np.stack(stamps, axis=1), _columns(frame[:, count:])


def _parse_frame(text: bytes, form: RowFormat) -> pl.DataFrame | None:
    kinds = [STAMP_TYPE if at < form.layout.stamps else pl.Float64() for at in range(form.width)]
    try:
        return pl.read_csv(
            text,
            separator=form.separator,
            has_header=False,
            quote_char=None,
            schema={str(at): kind for at, kind in enumerate(kinds)},
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
