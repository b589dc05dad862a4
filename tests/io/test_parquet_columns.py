"""Columns that we write without polars, as polars reads them."""

from io import BytesIO

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from smfeval.io.parquet_columns import parquet_of


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 300_000])  # numbers of one byte and of more
def test_polars_reads_the_columns_that_were_written(rows, rng):
    values = rng.normal(size=rows) * 10.0 ** rng.integers(-300, 300, rows)
    if rows > 3:
        values[:4] = np.nan, np.inf, -np.inf, -0.0
    stamp = rng.integers(-(2**63), 2**63 - 1, rows)
    frame = pl.read_parquet(BytesIO(parquet_of({"stamp": stamp, "né": values, "none": None})))
    empty = pl.lit(None, dtype=pl.Float64).alias("none")
    expected = pl.DataFrame({"stamp": stamp, "né": values}).with_columns(empty)
    assert_frame_equal(frame, expected, check_exact=True)


@pytest.mark.parametrize(
    "count", [1, 14, 15, 200]
)  # lists whose length is in their first byte, and not
def test_columns_of_any_number_can_be_read_one_by_one(count, rng):
    columns = {f"column {i}": rng.normal(size=(7, 2))[:, 0] for i in range(count)}
    file = parquet_of(columns)
    for name, values in columns.items():
        read = pl.read_parquet(BytesIO(file), columns=[name])[name]
        np.testing.assert_array_equal(read.to_numpy(), values)
    assert pl.read_parquet(BytesIO(file)).columns == list(columns)


def test_other_kinds_of_numbers_are_refused():
    with pytest.raises(KeyError):
        parquet_of({"flag": np.zeros(3, dtype=bool)})
