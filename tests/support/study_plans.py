"""Small studies made on the spot, and steps that misbehave."""

import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np

from smfeval import write
from smfeval.evaluation import Options
from smfeval.maths import so3
from smfeval.studies.cache import Cache
from smfeval.studies.plan import Plan, PlannedEstimator, PlannedTrack
from smfeval.studies.task import (
    Input,
    PairTask,
    Task,
    TaskOutcome,
    failed_outcome,
    load_or_evaluate,
)
from smfeval.summarise.number import Intervals
from smfeval.track import GaussianTrack, Track
from support.beliefs import ABOUT, circuit, covariances

INFLATION = {"honest": 1.0, "tight": 0.1}  # reported over true variance
BODY = (("body", "imu"),)
PLAIN = Options(intervals=Intervals(None))  # quick: no intervals


def made_study(folder: Path, *, tracks: int = 3, scans: int = 100) -> Plan:
    """Files of two estimators on some tracks, and the plan that names them."""
    rng = np.random.default_rng(7)
    names = [f"{i:02d}" for i in range(tracks)]
    for name in names:
        _made_track(folder, name, scans, rng)
    return Plan(
        name="made",
        folder=folder,
        tracks=tuple(PlannedTrack(name, f"truth/{name}.tum", "lab") for name in names),
        estimators=tuple(PlannedEstimator(name, f"{name}/{{track}}.square") for name in INFLATION),
        output=folder / "out",
        pairs=True,
    )


def quick(folder: Path, **sizes: int) -> Plan:
    """The same, to be scored without intervals."""
    return replace(made_study(folder, **sizes), options=PLAIN)


def tasks_of(plan: Plan) -> list[Task]:
    return [
        Task(
            estimator.name,
            track.group,
            track.name,
            0,
            Input(str(plan.folder / estimator.name / f"{track.name}.square")),
            Input(str(plan.folder / track.reference), BODY),
            None,
            plan.options,
        )
        for track in plan.tracks
        for estimator in plan.estimators
    ]


def pairs_of(plan: Plan) -> list[PairTask]:
    a, b = plan.estimators
    return [
        PairTask(
            a.name,
            b.name,
            track.group,
            track.name,
            0,
            Input(str(plan.folder / a.name / f"{track.name}.square")),
            Input(str(plan.folder / b.name / f"{track.name}.square")),
            (None, None),
            plan.options,
        )
        for track in plan.tracks
    ]


def reading(task: Task, path: Path) -> Task:
    """The task with another estimate."""
    return replace(task, estimate=Input(str(path)))


def files_below(folder: Path) -> dict[str, bytes]:
    """Everything that a study wrote, without its cache."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] != "cache"
    }


def deadly(task: Task | PairTask, cache: Cache, *, victims: tuple[str, ...]) -> TaskOutcome:
    """A step whose process is killed, as by a system that is out of memory, on some tracks."""
    if task.track in victims:
        os.kill(os.getpid(), signal.SIGKILL)
    return load_or_evaluate(task, cache)


def deadly_once(task: Task | PairTask, cache: Cache, *, mark: Path) -> TaskOutcome:
    """A step whose process is killed the first time that anybody comes here."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return load_or_evaluate(task, cache)


def start_of(task: Task | PairTask) -> TaskOutcome:
    """A step that finds how its process was started."""
    return failed_outcome(task, type(multiprocessing.current_process()).__name__)


def threads_of(task: Task | PairTask) -> TaskOutcome:
    """A step that finds how many threads polars uses and what OpenBLAS is told."""
    import polars  # noqa: PLC0415  reads its variable when it is imported

    told = f"{polars.thread_pool_size()} {os.environ.get('OPENBLAS_NUM_THREADS')}"
    return failed_outcome(task, told)


def _made_track(folder: Path, name: str, scans: int, rng: np.random.Generator) -> None:
    stamp, position, rotation = circuit(scans)
    (folder / "truth").mkdir(parents=True, exist_ok=True)
    write(Track(stamp, position, rotation), folder / "truth" / f"{name}.tum")
    for estimator, factor in INFLATION.items():
        covariance = covariances(scans, rng)
        root = np.linalg.cholesky(covariance[:, :3, :3])
        noise = so3.rotate(rotation, (root @ rng.normal(size=(scans, 3, 1)))[:, :, 0])
        track = GaussianTrack(stamp, position + noise, rotation, factor * covariance, about=ABOUT)
        (folder / estimator).mkdir(exist_ok=True)
        write(track, folder / estimator / f"{name}.square")
