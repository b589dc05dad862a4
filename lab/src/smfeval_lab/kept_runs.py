"""Runs kept in a folder, so that a case study or a sweep resumes where it was stopped."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from smfeval import __version__
from smfeval.errors import OptionError, SmfevalError
from smfeval.io import read, write
from smfeval.io.atomic import replacing
from smfeval.studies.cache import make_folder
from smfeval.track import AnyTrack
from smfeval_lab.filters import RunFilter, run_filter
from smfeval_lab.filters.run import Run, read_telemetry, write_telemetry
from smfeval_lab.recording import Recording
from smfeval_lab.sensors.faults import NO_FAULTS
from smfeval_lab.simulate import simulate
from smfeval_lab.worlds import SeededWorld

RUNS, REFERENCE = "runs", "reference"
Key = dict[str, Any]  # everything that a run depends on


@dataclass(frozen=True)
class Walk:
    """A track, simulated when somebody asks for its recording."""

    track: SeededWorld
    seconds: float | None  # None: to its end
    faults: bool = True  # those that the world has

    @cached_property
    def recording(self) -> Recording:
        """What the sensors saw."""
        faults = None if self.faults else NO_FAULTS
        return simulate(self.track.world, self.track.seed, duration_s=self.seconds, faults=faults)

    @property
    def key(self) -> Key:
        """What it depends on."""
        whole = {} if self.faults else {"faults": False}
        return {"version": __version__, **vars(self.track), "walk_s": self.seconds, **whole}


@dataclass(frozen=True)
class Job:
    """One run; only settings that differ from the filter's own are named."""

    track: SeededWorld
    filter: str
    settings: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """Name of its files: ieskf_point_variance=0.01."""
        return "_".join((self.filter, *self.settings))


@dataclass(frozen=True)
class RunCache:
    """The folder, and who runs what is not in it."""

    folder: Path
    run_filter: RunFilter = run_filter
    fresh: bool = False  # run again what is kept

    def run(self, walk: Walk, job: Job, **more: str) -> Run:
        """The run of a job: as it was kept, or run now and kept.

        `more` is what else it depends on.
        """
        base = self.folder / RUNS / walk.track.name / job.stem
        key = walk.key | {"run": job.stem} | more
        kept = None if self.fresh else _load_run(base, key)
        if kept is None:
            _save_run(self.run_filter(job.filter, walk.recording, job.settings), base, key)
            kept = _load_run(base, key)
        if kept is None:
            raise OptionError(
                f"{base}.square: written and not found again; is the folder changing?"
            )
        return kept

    def reference(self, walk: Walk) -> AnyTrack:
        """The exact poses of a track."""
        base = self.folder / RUNS / walk.track.name / REFERENCE
        kept = _load_run(base, walk.key)
        if kept is not None:
            return kept.belief
        truth = walk.recording.reference
        if truth is None:
            raise OptionError(f"{walk.track.name} has no reference to score against")
        _save_run(Run(truth, None, 0.0), base, walk.key)
        return truth


def open_folder(folder: Path, inside: str, what: str) -> None:
    """Make a folder, or take one in which `what` was begun: it has the folder `inside`."""
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder}: this is a file; {what} is written to a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / inside).is_dir():
        raise OptionError(f"{folder}: already there and not of {what}; name a new folder")
    make_folder(folder / inside)


def _save_run(run: Run, base: Path, key: Key) -> None:
    make_folder(base.parent)
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
        document = json.loads(_file(base, ".json").read_text())
        if document["key"] != key:
            return None
        telemetry = read_telemetry(_file(base, ".parquet")) if document["telemetry"] else None
        belief = read(_file(base, ".square"))
        return Run(belief, telemetry, document["cpu_s"], tuple(document["notes"]))
    except (OSError, ValueError, KeyError, TypeError, SmfevalError):
        return None


def _file(base: Path, ending: str) -> Path:
    return base.with_name(base.name + ending)  # a stem may hold dots: voxel_m=0.8
