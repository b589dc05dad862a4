"""Scores of every scan as a Parquet table: stamp, gap, errors, covariances and each rule."""

from pathlib import Path
from typing import Any

import polars as pl

from smfeval.evaluation import Evaluation
from smfeval.io.atomic import replacing


def per_scan_table(evaluation: Evaluation) -> pl.DataFrame:
    """One row per scored scan."""
    scored, residuals = evaluation.scored, evaluation.scored.residuals
    columns: dict[str, Any] = {
        "stamp": scored.estimate.stamp,
        "reference_stamp": scored.reference.stamp,
    }
    axes = evaluation.options.axes
    columns |= {f"error_{axis}": residuals.error[:, i] for i, axis in enumerate(axes)}
    if residuals.covariance is not None:
        for i, row in enumerate(axes):
            for j, column in enumerate(axes[: i + 1]):
                columns[f"covariance_{row}{column}"] = residuals.covariance[:, i, j]
    return pl.DataFrame(columns | scored.series)


def write_per_scan(evaluations: list[Evaluation], path: Path) -> None:
    """Write the scores of one or several estimates; a column names the estimate."""
    parts = []
    for evaluation in evaluations:
        name = pl.lit(evaluation.estimate.provenance.name).alias("estimate")
        parts.append(per_scan_table(evaluation).with_columns(name))
    with replacing(path) as temporary:
        pl.concat(parts, how="diagonal").write_parquet(temporary)
