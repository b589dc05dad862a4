"""A belief track from what another odometry's process wrote."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.convention import CONVENTIONS, to_right
from smfeval.lab.recording import Recording
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.track import About, GaussianTrack, Provenance


@dataclass(frozen=True)
class Found:
    """What came back, a row per scan; the covariance as the odometry writes it."""

    sound: Bools  # (n,) False: the odometry says that it has no pose
    stamp: Ints  # (n,) ns
    pose: Floats  # (n, 4, 4) world from IMU
    covariance: Floats  # (n, 6, 6) position first
    cpu_s: float
    version: str

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the file of arrays."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        cpu_s, version = float(arrays.pop("cpu_s")), str(arrays.pop("version"))
        return cls(**arrays, cpu_s=cpu_s, version=version)


def belief_of(
    found: Found, recording: Recording, name: str, convention: str
) -> tuple[GaussianTrack, tuple[str, ...]]:
    """The sound poses as a track of the right perturbation, and words about the others."""
    sound = found.sound & np.isfinite(found.covariance).all(axis=(1, 2))
    if not sound.any():
        raise OptionError(f"{recording.name}: {name} finds no pose in {len(sound)} scans")
    pose = found.pose[sound]
    position, rotation = pose[:, :3, 3], so3.quaternion(pose[:, :3, :3])
    covariance = to_right(
        found.covariance[sound],
        (position, rotation),
        CONVENTIONS[convention],
        "translation-first",
    )
    track = GaussianTrack(
        found.stamp[sound],
        position,
        rotation,
        covariance,
        about=About(body="imu", world="map", gauge="se3", algorithm=name, version=found.version),
        provenance=Provenance(recording.name, name, convention=convention),
    )
    return track, _left_out(int((~sound).sum()), name)


def _left_out(count: int, name: str) -> tuple[str, ...]:
    return (f"{name} has no belief at {count} of its scans; they are left out",) if count else ()
