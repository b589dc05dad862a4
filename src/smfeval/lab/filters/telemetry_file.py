"""Telemetry as a Parquet table: a row per scan, matrices entry by entry in world axes."""

from pathlib import Path

import polars as pl

from smfeval.io.atomic import replacing
from smfeval.lab.filters.run import Telemetry


def table(telemetry: Telemetry) -> pl.DataFrame:
    """One row per scan; a symmetric matrix has columns such as prior_xx, prior_yx, prior_yy."""
    columns = {}
    for name, values in vars(telemetry).items():
        if values.ndim == 1:
            columns[name] = values
            continue
        for i, row in enumerate("xyz"):
            for j, column in enumerate("xyz"[: i + 1]):
                columns[f"{name}_{row}{column}"] = values[:, i, j]
    return pl.DataFrame(columns)


def write_telemetry(telemetry: Telemetry, path: Path) -> None:
    """Write the table; it appears whole or not at all."""
    with replacing(path) as temporary:
        table(telemetry).write_parquet(temporary)
