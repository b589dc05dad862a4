"""The tracks of the benchmark, made from seeds, and whether they are the ones that were frozen.

`frozen.json` has a row for each: world, seed, length, faults, and the digest of its recording. A
digest is of integers: points in cm, poses in mm, rates in mrad/s, forces in mm/s^2, times in ns.
Last bits differ between processors and versions of numpy, and hardly ever move one of them.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

import numpy as np

from smfeval import words
from smfeval.io.atomic import replacing
from smfeval.studies.cache import make_folder
from smfeval_lab.kept_runs import Key, Walk
from smfeval_lab.recording import Recording, read_recording, write_recording
from smfeval_lab.sensors.faults import parse_faults
from smfeval_lab.simulate import simulate
from smfeval_lab.worlds import SeededWorld

VERSION = 1  # another set of tracks, or another simulator, is another version
SEEDS = 3  # of each world
RECORDINGS = "recordings"


@dataclass(frozen=True)
class Contents:
    """What a recording holds."""

    scans: int
    points: int
    digest: str


@dataclass(frozen=True)
class FrozenTrack:
    """A walk of the benchmark."""

    world: str
    seed: int
    group: str
    seconds: float
    faults: str  # named here, for those of a world may change
    frozen: Contents | None = None  # as it was when the benchmark was made

    @property
    def name(self) -> str:
        """Name of the recording."""
        return f"{self.world}_{self.seed}"


def frozen_tracks(seeds: int = SEEDS) -> tuple[FrozenTrack, ...]:
    """So many seeds of each world, the first seed of all worlds first."""
    document = json.loads((files(__package__) / "frozen.json").read_text())
    rows = document["tracks"]  # the seeds of a world follow each other
    return tuple(
        FrozenTrack(**row | {"frozen": Contents(**row["frozen"])})
        for first in range(seeds)
        for row in rows[first::SEEDS]
    )


def contents_of(recording: Recording) -> Contents:
    """Counts and digest."""
    imu, scans, reference = recording.imu, recording.scans, recording.reference
    assert reference is not None
    rounded = (
        *(scans.start, scans.end, scans.offset, scans.time, imu.stamp, reference.stamp),
        np.rint(1e2 * scans.point.astype(np.float64)),
        *(np.rint(1e3 * each) for each in (imu.gyro, imu.acceleration, reference.position)),
    )
    digest = hashlib.sha256()
    for each in rounded:
        digest.update(np.ascontiguousarray(each, dtype="<i8").tobytes())
    return Contents(len(scans), len(scans.point), digest.hexdigest()[:16])


@dataclass(frozen=True, kw_only=True)
class KeptWalk(Walk):
    """A walk whose recording is kept in a folder: simulated once, read later."""

    frozen: FrozenTrack
    folder: Path  # of the recording

    @cached_property
    def recording(self) -> Recording:
        """What the sensors saw."""
        if not self.folder.is_dir():
            faults = parse_faults(self.frozen.faults)
            world, seed = self.track.world, self.track.seed
            made = simulate(world, seed, duration_s=self.seconds, faults=faults)
            make_folder(self.folder.parent)
            with replacing(self._contents_file) as temporary:
                temporary.write_text(json.dumps(vars(contents_of(made))))
                write_recording(made, self.folder)
        return read_recording(self.folder)

    @cached_property
    def contents(self) -> Contents:
        """Counts and digest of the recording, kept beside it."""
        if not self._contents_file.is_file():
            return contents_of(self.recording)
        return Contents(**json.loads(self._contents_file.read_text()))

    @property
    def _contents_file(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.json")

    @property
    def key(self) -> Key:
        """What runs depend on."""
        return {"recording": self.contents.digest}

    @property
    def doubt(self) -> str | None:
        """Why figures of this track cannot be held against those of others; None if they can."""
        frozen, found = self.frozen.frozen, self.contents
        if frozen is None or frozen == found:
            return None
        counts = "as many points: its last digits may differ"
        if frozen.points != found.points:
            points = words.count(frozen.points), words.count(found.points)
            counts = f"{points[1]} points instead of {points[0]}: the simulator changed"
        return (
            f"{self.track.name} is not the recording of benchmark {VERSION} (digest "
            f"{found.digest} instead of {frozen.digest}; {counts})"
        )


def kept_walk(folder: Path, track: FrozenTrack) -> KeptWalk:
    """The walk of a track in the folder of a benchmark."""
    recording = folder / RECORDINGS / track.name
    seeded = SeededWorld(track.world, track.seed)
    return KeptWalk(seeded, track.seconds, frozen=track, folder=recording)
