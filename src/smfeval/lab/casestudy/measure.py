"""Every run of the plan, scored; what fails becomes a sentence and stops nothing."""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from smfeval import __version__
from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.evaluation import Evaluation, Options, evaluate
from smfeval.io import read, write
from smfeval.io.atomic import replacing
from smfeval.lab.casestudy.plan import CaseStudyPlan, Job, jobs_of
from smfeval.lab.filters.run import Run, Telemetry, write_telemetry
from smfeval.lab.filters.table import filter_named
from smfeval.lab.recording import Recording
from smfeval.lab.simulate import simulate
from smfeval.lab.worlds import SeededWorld
from smfeval.track import AnyTrack

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


RUNS, REFERENCE = "runs", "reference"

Key = dict[str, Any]  # everything that a run depends on
RunFilter = Callable[[str, Recording, tuple[str, ...]], Run]


@dataclass(frozen=True)
class Walk:
    """A track, simulated when somebody asks for its recording."""

    track: SeededWorld
    seconds: float

    @cached_property
    def recording(self) -> Recording:
        """What the sensors saw."""
        return simulate(self.track.world, self.track.seed, duration_s=self.seconds)

    @property
    def key(self) -> Key:
        """What it depends on."""
        return {"version": __version__, **vars(self.track), "walk_s": self.seconds}


def run_filter(name: str, recording: Recording, words: tuple[str, ...]) -> Run:
    """Run a filter of the table."""
    chosen = filter_named(name)
    return chosen.run(recording, chosen.settings(words))


@dataclass(frozen=True)
class RunCache:
    """The folder, and who runs what is not in it."""

    folder: Path
    run_filter: RunFilter = run_filter

    def run(self, walk: Walk, job: Job) -> Run:
        """The run of a job: as it was kept, or run now and kept."""
        base, key = self._base(walk, job.stem), walk.key | {"run": job.stem}
        known = _load_run(base, key)
        if known is None:
            _save_run(self.run_filter(job.filter, walk.recording, job.settings), base, key)
            known = _load_run(base, key)
        if known is None:
            raise OptionError(
                f"{base}.square: written and not found again; is the folder changing?"
            )
        return known

    def reference(self, walk: Walk) -> AnyTrack:
        """The exact poses of a track."""
        base = self._base(walk, REFERENCE)
        known = _load_run(base, walk.key)
        if known is not None:
            return known.belief
        truth = walk.recording.reference
        if truth is None:
            raise OptionError(f"{walk.track.name} has no reference to score against")
        _save_run(Run(truth, None, 0.0), base, walk.key)
        return truth

    def _base(self, walk: Walk, stem: str) -> Path:
        """Path of the files of a run, without their ending."""
        return self.folder / RUNS / walk.track.name / stem


def _save_run(run: Run, base: Path, key: Key) -> None:
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{base.parent}: cannot be made ({error.strerror})") from error
    write(run.belief, _file(base, ".square"))
    if run.telemetry is not None:
        write_telemetry(run.telemetry, _file(base, ".parquet"))
    document = {
        "key": key,
        "telemetry": run.telemetry is not None,
        "cpu_s": run.cpu_s,
        "notes": list(run.notes),
    }
    with replacing(_file(base, ".json")) as temporary:
        temporary.write_text(json.dumps(document, indent=2))


def _load_run(base: Path, key: Key) -> Run | None:
    """The run if it is there whole, and is the one that is asked for."""
    try:
        said = json.loads(_file(base, ".json").read_text())
        if said["key"] != key:
            return None
        told = read_telemetry(_file(base, ".parquet")) if said["telemetry"] else None
        return Run(read(_file(base, ".square")), told, said["cpu_s"], tuple(said["notes"]))
    except (OSError, ValueError, KeyError, TypeError, SmfevalError):
        return None


def _file(base: Path, ending: str) -> Path:
    return base.with_name(base.name + ending)  # a stem may hold dots: voxel_m=0.8


FOREIGN_ERRORS = (RuntimeError, np.linalg.LinAlgError)  # what packages of others raise
BASIC_OPTIONS = Options(rules=())  # errors, NEES and coverage; nobody asks for the other rules here

Progress = Callable[[int, int, str], None]  # hears: done, total, what is run next


@dataclass(frozen=True)
class Outcome:
    """A run and its scores."""

    job: Job
    run: Run
    evaluation: Evaluation

    @property
    def k(self) -> float | None:
        """Inflation."""
        found = self.evaluation.calibration
        return None if found is None else found.k.value

    @property
    def mae_m(self) -> float:
        """Mean error."""
        return self.evaluation.scores.mae.value


Outcomes = dict[Job, Outcome]
Failures = dict[Job, str]


def run_plan(
    plan: CaseStudyPlan, shelf: RunCache, progress: Progress = lambda done, total, words: None
) -> tuple[Outcomes, Failures]:
    """Run and score all that the plan asks for, one track after the other."""
    asked = {track: jobs_of(plan, track) for track in plan.worlds}
    total, done = sum(map(len, asked.values())), 0
    outcomes: Outcomes = {}
    failures: Failures = {}
    for track, jobs in asked.items():
        walk = Walk(track, plan.walk_s)  # its recording is let go before the next is made
        for job in jobs:
            progress(done, total, f"{track.name} {' '.join((job.filter, *job.settings))}")
            try:
                outcomes[job] = _score_job(job, walk, shelf)
            except (SmfevalError, *FOREIGN_ERRORS) as error:
                failures[job] = str(error) or type(error).__name__
            done += 1
    return outcomes, failures


def _score_job(job: Job, walk: Walk, shelf: RunCache) -> Outcome:
    run = shelf.run(walk, job)
    return Outcome(job, run, evaluate(run.belief, shelf.reference(walk), options=BASIC_OPTIONS))
