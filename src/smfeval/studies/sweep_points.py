"""The points of a sweep from files that are there."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smfeval.compare.sweep_points import (
    Failure,
    Origin,
    Point,
    ScanSeries,
    failure_of,
    point_of,
    scan_series,
)
from smfeval.studies.find import StudyTasks, find_tasks
from smfeval.studies.run import source_in_plan
from smfeval.studies.sweep_plan import FileRuns, PlannedRun
from smfeval.studies.task import Task, evaluate_task

if TYPE_CHECKING:
    import polars as pl

Progress = Callable[[int, int], None]  # hears: done, total
PointsAndFailures = tuple[tuple[Point, ...], tuple[Failure, ...]]

NO_FILE = "no file"


def points_of_files(
    files: FileRuns, *, progress: Progress = lambda done, total: None
) -> PointsAndFailures:
    """Score every run; what fails or is missing becomes a sentence and stops nothing."""
    found = find_tasks(files.plan)
    runs = {run.name: run for run in files.runs}
    outcomes = _missing_failures(found, runs)
    for done, task in enumerate(found.tasks):
        progress(done, len(found.tasks))
        outcomes.append(_outcome(task, runs[task.estimator], files.plan.folder))
    return split_outcomes(outcomes)


def split_outcomes(outcomes: list[Point | Failure]) -> PointsAndFailures:
    """Points and failures apart."""
    points = tuple(each for each in outcomes if isinstance(each, Point))
    return points, tuple(each for each in outcomes if isinstance(each, Failure))


def _outcome(task: Task, run: PlannedRun, folder: Path) -> Point | Failure:
    result, frame = evaluate_task(task)
    source = source_in_plan(task.estimate.source, folder)
    origin = Origin(run.estimator, task.track, run.settings, source)
    if result.failure is not None:
        return failure_of(origin, result.failure)
    scans = None if frame is None else _scans(frame, task.options.axes)
    return point_of(
        origin, dict(result.numbers), scored=result.scored, notes=result.all_notes, scans=scans
    )


def _scans(frame: "pl.DataFrame", axes: str) -> ScanSeries | None:
    """The scans of a table of `evaluate_task`; None where it reports no uncertainty."""
    if frame["nees"].null_count():
        return None
    covariance = np.empty((len(frame), len(axes), len(axes)))
    for i, row in enumerate(axes):
        for j, column in enumerate(axes[: i + 1]):
            covariance[:, i, j] = covariance[:, j, i] = frame[f"covariance_{row}{column}"]
    stamp, nees, error = (frame[name].to_numpy() for name in ("stamp", "nees", "ape"))
    return scan_series(stamp, nees, error, covariance)


def _missing_failures(found: StudyTasks, runs: dict[str, PlannedRun]) -> list[Point | Failure]:
    return [
        Failure(
            runs[gap.estimator].estimator,
            gap.track,
            runs[gap.estimator].settings,
            f"{NO_FILE}: {gap.pattern}",
        )
        for gap in found.missing
    ]
