"""The files that all sides read: made once per size, by a process of its own.

    python benchmarks/work/tracks.py SCANS FOLDER

A random walk with a slowly turning body; errors with a memory of 100 scans; a covariance of its own
for every scan, full and not aligned with any axis. Two beliefs about it, for `pair`. Small sizes
also get a level track: the body's axes are the world's, and no alignment is needed. A drive comes
as dead reckoning with the covariance propagated, as the same that reports a tenth of the sigma, and
as a filter in a map, whose covariance is steady.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from smfeval.io import write
from smfeval.maths.arrays import Floats
from smfeval.maths.se3 import adjoint
from smfeval.track import About, GaussianTrack, Track

LEVEL_SIZE = 1_000  # scans up to which a level track is made
DRIVEN_SIZE = 100_000  # and drives, blanks, logs, and tracks that claim too little and too much
MEMORY = 0.99  # correlation of the errors of neighbouring scans
ERROR_M, TURN_ERROR_RAD = 0.03, 1e-3
STEP_SIGMA = np.array([2e-3, 2e-3, 2e-3, 1e-4, 1e-4, 1e-4])  # of dead reckoning, m and rad a scan
MAP_SIGMA = np.array([0.03, 0.03, 0.05, 2e-3, 2e-3, 4e-3])
ABOUT = About(body="imu", world="world", gauge="se3", algorithm="made", version="1")
COMMENT = "#delimiter ' '\n"  # trajectopy needs it; to all others it is a comment


def beliefs(
    scans: int, rng: np.random.Generator, *, level: bool = False
) -> tuple[GaussianTrack, GaussianTrack, Track]:
    """Two beliefs about one walk, and the walk."""
    stamp = 1_700_000_000_000_000_000 + 100_000_000 * np.arange(scans)
    position = np.cumsum(0.1 * rng.normal(size=(scans, 3)), axis=0)
    turn = np.cumsum(0.02 * rng.normal(size=(scans, 3)), axis=0)
    rotation = Rotation.from_rotvec(0.0 * turn if level else turn)

    def belief() -> GaussianTrack:
        error = ERROR_M * remembering(rng.normal(size=(scans, 3)))
        shake = 0.0 if level else TURN_ERROR_RAD
        turned = rotation * Rotation.from_rotvec(shake * rng.normal(size=(scans, 3)))
        root = 0.01 * rng.normal(size=(scans, 6, 8))
        covariance = root @ root.swapaxes(1, 2)
        return GaussianTrack(stamp, position + error, turned.as_quat(), covariance, about=ABOUT)

    return belief(), belief(), Track(stamp, position, rotation.as_quat(), about=ABOUT)


def drives(scans: int, rng: np.random.Generator) -> dict[str, GaussianTrack | Track]:
    """A drive at 1 m/s: `drive`, its truth; `odometry`, `tight_odometry` and `map_filter`."""
    stamp = 1_700_000_000_000_000_000 + 100_000_000 * np.arange(scans)
    heading = 0.05 * rng.normal(size=scans).cumsum()
    rotation = Rotation.from_rotvec(heading[:, None] * [0.0, 0.0, 1.0])
    step = rotation.apply([0.1, 0.0, 0.0])
    truth = step.cumsum(axis=0), rotation.as_quat()
    noise = rng.normal(size=(scans, 6)) * STEP_SIGMA
    drift = Rotation.from_rotvec(rotation.apply(noise[:, 3:]).cumsum(axis=0))
    drifted = drift * rotation
    position = (drift.apply(step) + rotation.apply(noise[:, :3])).cumsum(axis=0)
    in_world = adjoint((position, drifted.as_quat()))  # propagated as an odometry does, by its own
    sum_of_steps = np.einsum("nij,j,nkj->nik", in_world, STEP_SIGMA**2, in_world).cumsum(axis=0)
    back = np.linalg.inv(in_world)
    grown = back @ sum_of_steps @ back.swapaxes(1, 2)
    steady = np.broadcast_to(np.diag(MAP_SIGMA**2), (scans, 6, 6))
    error = MAP_SIGMA * remembering(rng.normal(size=(scans, 6)))
    near = truth[0] + rotation.apply(error[:, :3])
    located = rotation * Rotation.from_rotvec(error[:, 3:])
    belief = partial(GaussianTrack, about=ABOUT)
    return {
        "drive": Track(stamp, *truth, about=ABOUT),
        "odometry": belief(stamp, position, drifted.as_quat(), grown),
        "tight_odometry": belief(stamp, position, drifted.as_quat(), 0.01 * grown),
        "map_filter": belief(stamp, near, located.as_quat(), steady),
    }


def remembering(shock: Floats) -> Floats:
    """An autoregressive series of variance one. (n, ...) -> (n, ...)."""
    return lfilter([(1 - MEMORY**2) ** 0.5], [1.0, -MEMORY], shock, axis=0)


def write_all(scans: int, folder: Path) -> None:
    """Tracks as SQUARE and TUM; errors, covariances and a series of scores as arrays."""
    rng = np.random.default_rng(0)
    estimate, other, reference = beliefs(scans, rng)
    write_track(folder, "est", estimate)
    write_track(folder, "other", other)
    write_track(folder, "ref", reference)
    if scans <= LEVEL_SIZE:
        level, _, straight = beliefs(scans, rng, level=True)
        write_track(folder, "level", level)
        write_track(folder, "straight", straight)
    np.save(folder / "error.npy", estimate.position - reference.position)
    np.save(folder / "covariance.npy", estimate.covariance[:, :3, :3])
    np.save(folder / "series.npy", remembering(rng.normal(size=scans)))
    if scans > DRIVEN_SIZE:
        return
    for name, factor in (("tight", 0.01), ("wide", 100.0)):
        scaled = estimate.with_arrays({"covariance": factor * estimate.covariance})
        write(scaled, folder / f"{name}.square")
    for name, track in drives(scans, rng).items():
        write_track(folder, name, track)
    lines = (folder / "est.square").read_text().splitlines()
    with (folder / "blanks.square").open("w") as blanks:
        blanks.writelines(line + ("\n" if line.startswith("#") else " \n") for line in lines)


def write_track(folder: Path, name: str, track: Track) -> None:
    """NAME.tum, and NAME.square if it holds a covariance."""
    if hasattr(track, "covariance"):
        write(track, folder / f"{name}.square")
    tum = folder / f"{name}.tum"
    write(track, tum, lossy=True)
    tum.write_text(COMMENT + tum.read_text())


if __name__ == "__main__":
    write_all(int(sys.argv[1]), Path(sys.argv[2]))
