"""The plan of a study: which estimators ran on which tracks, and how they are to be scored."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from smfeval.evaluation import Options

Role = Literal["contender", "baseline"]
ROLES: tuple[Role, ...] = ("contender", "baseline")

DIVERGED_M = 5.0  # a track whose mean error is larger is counted as lost

Reading = tuple[tuple[str, Any], ...]  # keyword arguments of `smfeval.io.read`, in a fixed order


@dataclass(frozen=True)
class PlannedTrack:
    """A recording with its reference."""

    name: str
    reference: str  # a source; relative to the plan's folder
    group: str = "all"  # such as the dataset
    body: str | None = None  # body frame of the reference
    reading: Reading = ()
    tolerance_s: float | None = None  # None: that of the plan
    extrinsics: tuple[tuple[str, str], ...] = ()  # (body of an estimator, pose of `body` in it)

    @property
    def described_bodies(self) -> dict[str, str]:
        """Extrinsics by the body of an estimator."""
        return dict(self.extrinsics)


@dataclass(frozen=True)
class PlannedEstimator:
    """An estimator and where its estimates lie."""

    name: str
    path: str  # a source with {track} and {group}, relative to the plan's folder; * finds repeats
    role: Role = "contender"  # a baseline is shown, and competes with nobody
    extrinsic: str | None = None  # pose of the reference's body in the estimator's; {track} too
    reading: Reading = ()  # preset, convention, format ...
    reference: str | None = None  # of its own, where the tracks' one is about another body
    reference_body: str | None = None  # body frame of that
    pair_extrinsic: str | None = None  # then, for pairs: pose of the tracks' body in its own


@dataclass(frozen=True)
class Plan:
    """Everything that `smfeval study` is told."""

    name: str
    folder: Path  # where relative paths start: the folder of the plan's file
    tracks: tuple[PlannedTrack, ...]
    estimators: tuple[PlannedEstimator, ...]
    output: Path
    options: Options = field(default_factory=Options)
    pairs: bool = False  # every two estimators against each other, too
    diverged_m: float = DIVERGED_M
    sensitivity: bool = False  # every run again under other gauges, clocks and references
    own_gauges: bool = False  # each estimate aligned by the gauge that it declares

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups in the order of the tracks, each once."""
        return tuple(dict.fromkeys(track.group for track in self.tracks))

    @property
    def contenders(self) -> tuple[str, ...]:
        """Names of the estimators that compete."""
        return tuple(each.name for each in self.estimators if each.role == "contender")


def partition_folder(key: str, value: str) -> str:
    """The name of a folder in which a column has one value, as Hive writes it: `track=07`."""
    return f"{key}={quote(value, safe=' ')}"
