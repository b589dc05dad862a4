"""Telemetry read back from the table that `filters.telemetry_file` writes."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from smfeval.errors import FormatError
from smfeval.lab.filters.run import Telemetry

AXES = "xyz"


def read_telemetry(path: Path) -> Telemetry:
    """The arrays of a run, bit for bit."""
    try:
        frame = pl.read_parquet(path)
        columns = {each.name: _column(frame, each.name) for each in fields(Telemetry)}
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
        raise FormatError(f"{path}: missing, damaged or no table of telemetry") from error
    return Telemetry(**columns)


def _column(frame: pl.DataFrame, name: str) -> Any:
    """(n,), or (n, 3, 3) from the entries of a lower triangle."""
    if name in frame.columns:
        return frame[name].to_numpy()
    matrix = np.empty((len(frame), 3, 3))
    for i, row in enumerate(AXES):
        for j, column in enumerate(AXES[: i + 1]):
            matrix[:, i, j] = matrix[:, j, i] = frame[f"{name}_{row}{column}"].to_numpy()
    return matrix
