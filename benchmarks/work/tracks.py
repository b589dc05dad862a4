"""The files that all sides read: made once per size, by a process of its own.

    python benchmarks/work/tracks.py SCANS FOLDER

A random walk with a slowly turning body; errors with a memory of 100 scans; a covariance of its own
for every scan, full and not aligned with any axis. Two beliefs about it, for `pair`. Small sizes
also get a level track: the body's axes are the world's, and no alignment is needed.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from smfeval import Innovations, SensorInnovations, write_innovations
from smfeval.io import write
from smfeval.maths.arrays import Floats
from smfeval.track import About, GaussianTrack, Track

LEVEL_SIZE = 1_000  # scans up to which a level track is made
SCALED_SIZE = 100_000  # and tracks that claim too little and too much, for other verbs than score
MEMORY = 0.99  # correlation of the errors of neighbouring scans
ERROR_M, TURN_ERROR_RAD = 0.03, 1e-3
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


def remembering(shock: Floats) -> Floats:
    """An autoregressive series of variance one. (n, ...) -> (n, ...)."""
    return lfilter([(1 - MEMORY**2) ** 0.5], [1.0, -MEMORY], shock, axis=0)


def write_all(scans: int, folder: Path) -> None:
    """Tracks as SQUARE, TUM and Parquet; errors, covariances and a series of scores as arrays."""
    rng = np.random.default_rng(0)
    estimate, other, reference = beliefs(scans, rng)
    write_track(folder, "est", estimate)
    write(estimate, folder / "est.parquet")
    write_track(folder, "other", other)
    write_track(folder, "ref", reference)
    if scans <= LEVEL_SIZE:
        level, _, straight = beliefs(scans, rng, level=True)
        write_track(folder, "level", level)
        write_track(folder, "straight", straight)
    np.save(folder / "error.npy", estimate.position - reference.position)
    np.save(folder / "covariance.npy", estimate.covariance[:, :3, :3])
    np.save(folder / "series.npy", remembering(rng.normal(size=scans)))
    if scans <= SCALED_SIZE:
        for name, factor in (("tight", 0.01), ("wide", 100.0)):
            scaled = estimate.with_arrays({"covariance": factor * estimate.covariance})
            write(scaled, folder / f"{name}.square")
    write_logs(folder, estimate, rng)


def write_logs(folder: Path, track: GaussianTrack, rng: np.random.Generator) -> None:
    """What a filter would log: innovations of one sensor, and telemetry of its updates."""
    scans = len(track)
    root = rng.normal(size=(scans, 3, 4))
    covariance = root @ root.swapaxes(1, 2)
    innovation = np.einsum("nij,nj->ni", root, rng.normal(size=(scans, 4)))
    sensor = SensorInnovations(
        "lidar", track.stamp, innovation, covariance, np.ones(scans, dtype=bool)
    )
    write_innovations(Innovations((sensor,)), folder / "innovations.parquet")
    information = np.einsum("nij,nkj->nik", root, root) / 0.03**2
    entries = {
        f"information_{'xyz'[i]}{'xyz'[j]}": information[:, i, j]
        for i in range(3)
        for j in range(i + 1)
    }
    columns = {
        "stamp": track.stamp,
        "matched": np.full(scans, 1000),
        "sigma_m": np.full(scans, 0.03),
    }
    pl.DataFrame(columns | entries).write_parquet(folder / "telemetry.parquet")


def write_track(folder: Path, name: str, track: Track) -> None:
    """NAME.tum, and NAME.square if it holds a covariance."""
    if hasattr(track, "covariance"):
        write(track, folder / f"{name}.square")
    tum = folder / f"{name}.tum"
    write(track, tum, lossy=True)
    tum.write_text(COMMENT + tum.read_text())


if __name__ == "__main__":
    write_all(int(sys.argv[1]), Path(sys.argv[2]))
