"""Rows of numbers as text: stamps in decimal seconds, every digit of the others, a part at a time.

Numbers are printed with as many digits as it takes to read back the same bits.
"""

from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING

from smfeval.io.progress import report
from smfeval.maths.arrays import Floats, Ints

if TYPE_CHECKING:
    import polars as pl

PART = 100_000  # rows turned into text at a time
DECIMALS = 9  # of a stamp


def parts(rows: int) -> Iterator[slice]:
    """Slices that cover so many rows."""
    return (slice(start, min(start + PART, rows)) for start in range(0, rows, PART))


def table(stamp: Ints, values: Floats) -> "pl.DataFrame":
    """Stamps as decimal seconds with nine digits, and the other columns."""
    import polars as pl  # noqa: PLC0415  slow to import, and reading does not need it

    frame = pl.DataFrame(values, schema=[str(i) for i in range(values.shape[1])], orient="row")
    return frame.insert_column(0, seconds(stamp))


def numbered_table(stamp: Ints, number: Ints, values: Floats) -> "pl.DataFrame":
    """The same with a column of whole numbers after the stamps."""
    import polars as pl  # noqa: PLC0415  slow to import, and reading does not need it

    return table(stamp, values).insert_column(1, pl.Series("number", number))


def seconds(stamp: Ints) -> "pl.Series":
    """Nanoseconds as exact decimal seconds."""
    import polars as pl  # noqa: PLC0415  slow to import, and reading does not need it

    whole = pl.Series("stamp", stamp).cast(pl.Int128).cast(pl.Decimal(38, 0))
    return (whole.cast(pl.Decimal(38, DECIMALS)) / 10**DECIMALS).cast(pl.Decimal(38, DECIMALS))


def print_rows(stream: IO[bytes], tables: "Iterable[pl.DataFrame]", rows: int) -> None:
    """Write tables one after the other, and tell how many of the rows are written."""
    done = 0
    for printed in tables:
        printed.write_csv(stream, include_header=False, separator=" ")
        done += len(printed)
        report(done, rows)
