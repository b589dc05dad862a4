"""Repeats of a study as Monte Carlo runs: NEES of every scan, put together by time."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from smfeval.compare.monte_carlo import FEWEST_RUNS, MonteCarlo, monte_carlo
from smfeval.studies.plan import Plan
from smfeval.studies.result import TaskResult
from smfeval.studies.store import scans_path

EXACT = ("reported", "projected")  # covariances of the residuals that the claim itself leaves
INEXACT = "after a fit the band does not hold, for the estimates do not say what it leaves"
COLUMNS = ("reference_stamp", "nees", "particles")


def repeated_runs(plan: Plan, results: Sequence[TaskResult]) -> tuple[MonteCarlo, ...]:
    """Every estimator on every track with enough repeats that were scored."""
    groups: dict[tuple[str, str, str], list[TaskResult]] = {}
    for each in results:
        if each.failure is None and dict(each.numbers).get("k") is not None:
            groups.setdefault((each.estimator, each.group, each.track), []).append(each)
    found = (
        _of_runs(names, runs, plan.output.absolute(), plan.options.space.dimension)
        for names, runs in groups.items()
        if len(runs) >= FEWEST_RUNS
    )
    return tuple(each for each in found if each is not None)


def _of_runs(
    names: tuple[str, str, str], runs: list[TaskResult], output: Path, dimension: int
) -> MonteCarlo | None:
    """The times that all runs have; None where there is none."""
    frames = [_read_scans(scans_path(output, run)) for run in runs]
    every = pl.concat(frames, how="diagonal")
    times = every.group_by("reference_stamp").agg(pl.len().alias("runs"), *_particle_mean(every))
    shared = times.filter(pl.col("runs") == len(runs)).sort("reference_stamp")
    if not len(shared):
        return None
    stamp = shared["reference_stamp"].to_numpy()
    nees = np.stack(
        [
            frame.filter(pl.col("reference_stamp").is_in(stamp.tolist()))
            .sort("reference_stamp")["nees"]
            .to_numpy()
            for frame in frames
        ]
    )
    exact = all(run.scored_under in EXACT for run in runs)
    return monte_carlo(
        nees,
        dimension,
        stamp,
        particles=shared["particles"].to_numpy() if "particles" in every.columns else None,
        names=names,
        left_out=len(times) - len(shared),
        inexact=None if exact else INEXACT,
    )


def _read_scans(path: Path) -> pl.DataFrame:
    known = pl.read_parquet_schema(path)
    return pl.read_parquet(path, columns=[name for name in COLUMNS if name in known])


def _particle_mean(frame: pl.DataFrame) -> list[pl.Expr]:
    return [pl.col("particles").mean()] if "particles" in frame.columns else []
