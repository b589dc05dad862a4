"""Scores of every scan as a Parquet table: stamp, gap, errors, covariances and each rule."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import words
from smfeval.evaluation import Evaluation
from smfeval.io.atomic import replacing, write_parquet
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.score import RULES
from smfeval.score.pit import effective_particles
from smfeval.summarise.windows import path_length

if TYPE_CHECKING:
    import polars as pl


def per_scan_table(evaluation: Evaluation) -> "pl.DataFrame":
    """One row per scored scan."""
    import polars as pl  # noqa: PLC0415  workers of a study need the columns alone

    return pl.DataFrame(per_scan_columns(evaluation))


def per_scan_columns(evaluation: Evaluation) -> dict[str, Any]:
    """One value per scored scan in each."""
    scored, residuals = evaluation.position, evaluation.position.residuals
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
    particles = effective_particles(residuals)
    if particles is not None:
        columns["particles"] = particles
    if evaluation.integrity is not None:
        regions = evaluation.integrity.regions
        for each in regions.components:
            columns[f"protected_error_{each.name}"] = each.error
            columns[f"protection_level_{each.name}"] = each.level
        columns |= {"available": regions.available, "mi": regions.misleading}
        columns["hmi"] = regions.hazardous
    columns |= scored.series
    stamp = scored.estimate.stamp
    for other in evaluation.spaces[1:]:  # NaN on scans that rotation or pose leaves out
        _, ours, theirs = np.intersect1d(stamp, other.estimate.stamp, return_indices=True)
        for name, values in other.series.items():
            own = RULES[name].space == other.space.name
            full = np.full(len(stamp), np.nan)
            full[ours] = values[theirs]
            columns[name if own else f"{name}_{other.space.name}"] = full
    return columns


def write_per_scan(evaluations: list[Evaluation], path: Path) -> None:
    """Write the scores of one or several estimates; a column names the estimate."""
    import polars as pl  # noqa: PLC0415  as above

    parts = []
    for evaluation in evaluations:
        name = pl.lit(evaluation.estimate.provenance.name).alias("estimate")
        parts.append(per_scan_table(evaluation).with_columns(name))
    write_parquet(pl.concat(parts, how="diagonal"), path)


EVO_METRICS = {"ape": ("APE", "m"), "nees": ("NEES", "unit-less")}


def evo_files(path: Path, names: Sequence[str]) -> list[Path]:
    """The files that may be made: of the APE and of the NEES; of several estimates, NAME_STEM."""
    stems = [path.stem]
    if len(names) > 1:
        stems = [f"{path.stem}_{short}" for short in words.names([str(name) for name in names])]
    plain = [path.with_name(f"{stem.replace('/', '_')}.zip") for stem in stems]
    return [file for each in plain for file in (each, each.with_suffix(".nees.zip"))]


def write_evo_results(evaluations: Sequence[Evaluation], path: Path) -> tuple[Path, ...]:
    """Write the APE of each estimate, and the NEES, if there is one, beside it (`evo_files`)."""
    names = [each.estimate.provenance.name for each in evaluations]
    targets, written = evo_files(path, names), []
    for at, evaluation in enumerate(evaluations):
        scored = evaluation.position
        written += write_evo_series(
            scored.series,
            scored.estimate.stamp,
            targets[2 * at : 2 * at + 2],
            names=(evaluation.reference.provenance.name, names[at]),
            aligned_by=evaluation.alignment.kind,
            more={
                "distances_from_start": path_length(scored.reference.position),
                "distances": path_length(scored.estimate.position),
            },
        )
    return tuple(written)


def write_evo_series(
    series: Mapping[str, Floats],
    stamp: Ints,
    targets: Sequence[Path],
    *,
    names: tuple[str, str],
    aligned_by: str | None,
    more: Mapping[str, Floats],
) -> list[Path]:
    """Write the APE and, if there is one, the NEES of scans as evo's results; the files made.

    `names` are of reference and estimate; `more` are further arrays.
    """
    written = []
    for (rule, (name, unit)), target in zip(EVO_METRICS.items(), targets, strict=True):
        if rule not in series:
            continue
        values = series[rule]
        info = {
            "title": f"{name} w.r.t. position ({unit})\n(aligned by {aligned_by})",
            "ref_name": names[0],
            "est_name": names[1],
            "label": f"{name} ({unit})",
        }
        arrays = {
            "error_array": values,
            "timestamps": stamp / NANOSECONDS,
            "seconds_from_start": (stamp - stamp[0]) / NANOSECONDS,
            **more,
        }
        with replacing(target) as temporary, zipfile.ZipFile(temporary, "w") as archive:
            archive.writestr("info.json", json.dumps(info))
            archive.writestr("stats.json", json.dumps(_statistics(values), allow_nan=False))
            for key, array in arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, array)
                archive.writestr(f"{key}.npy", buffer.getvalue())
        written.append(target)
    return written


def _statistics(values: Floats) -> dict[str, float]:
    found = {"rmse": float(np.sqrt(np.mean(values**2)))}
    for name in ("mean", "median", "std", "min", "max"):
        found[name] = float(getattr(np, name)(values))
    return found | {"sse": float(np.sum(values**2))}
