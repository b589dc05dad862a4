"""KITTI poses: 12 numbers per row, the 3x4 matrix [R t] row by row; stamps in a file of their own.

The times file has one stamp in seconds per row. If it is not named, `NAME.times.txt` beside
`NAME.kitti` (what we write) or `times.txt` in the same folder (what KITTI has) is taken.
"""

import gzip
from pathlib import Path

import numpy as np
import polars as pl

from smfeval.errors import OptionError
from smfeval.io.atomic import replacing
from smfeval.io.beside import bare_name, refuse_other_count
from smfeval.io.numbers import Layout, read_numbers
from smfeval.io.options import ReadOptions
from smfeval.io.square import table
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.track import AnyTrack, Intake, ParticleTrack, Provenance, Track
from smfeval.track.rows import Dropped, Fault, sound

LAYOUT = Layout({12: "a 3x4 matrix row by row"}, stamped=False)
TIMES = Layout({1: "a stamp in seconds"})
ROTATION_TOLERANCE = 1e-3  # of R R^T; text with four decimals is this far from a rotation at worst


def read(path: Path, options: ReadOptions) -> Track:
    """Read poses, with the stamps of the times file."""
    numbers = read_numbers(path, LAYOUT)
    times_path = options.times or _found_times(path)
    times = read_numbers(times_path, TIMES)
    refuse_other_count(times, numbers, "stamps")
    pose = numbers.columns(1, 13).reshape(-1, 3, 4)
    intake = options.intake(numbers.where)
    kept, dropped = _rotations(pose[:, :, :3], intake)
    note = f"stamps from {times_path}"
    return Track(
        times.stamp[kept],
        pose[kept, :, 3],
        _quaternions(pose[kept, :, :3]),
        provenance=Provenance(
            numbers.name, "KITTI", None, dropped, (*numbers.notes, *times.notes, note)
        ),
        intake=options.intake(lambda row: numbers.where(int(kept[row]))),
    )


def times_beside(path: Path) -> Path:
    """Where the stamps of `NAME.kitti` are written: `NAME.times.txt`."""
    return path.with_name(f"{bare_name(path)}.times.txt")


def _found_times(path: Path) -> Path:
    candidates = (times_beside(path), path.with_name("times.txt"))
    found = next((other for other in candidates if other.is_file() and other != path), None)
    if found is None:
        raise OptionError(
            f"{path}: KITTI poses carry no stamps; name the file with one stamp per row "
            f"(option times), or put it beside as {candidates[0].name} or {candidates[1].name}"
        )
    return found


def _rotations(matrix: Floats, intake: Intake) -> tuple[Ints, tuple[Dropped, ...]]:
    """Rows whose matrix is a rotation; one that is not finite is left to the track's own check."""
    safe = np.clip(_or_identity(matrix), -1e9, 1e9)
    off = np.abs(safe @ safe.swapaxes(-1, -2) - np.eye(3)).max(axis=(-1, -2))
    turned = np.linalg.det(safe) > 0

    def sentence(row: int) -> str:
        if off[row] > ROTATION_TOLERANCE:
            return f"the 3x3 matrix is no rotation: R R^T differs from identity by {off[row]:.2g}"
        return "the 3x3 matrix is no rotation but a reflection: its determinant is -1"

    fault = Fault("matrix not a rotation", (off > ROTATION_TOLERANCE) | ~turned, sentence)
    good, dropped = sound([fault], intake)
    return np.flatnonzero(good), dropped


def _quaternions(matrix: Floats) -> Floats:
    """Unit quaternions of rotation matrices; NaN where a matrix is not finite."""
    return np.where(_finite(matrix)[:, None], so3.quaternion(_or_identity(matrix)), np.nan)


def _or_identity(matrix: Floats) -> Floats:
    return np.where(_finite(matrix)[:, None, None], matrix, np.eye(3))


def _finite(matrix: Floats) -> Bools:
    return np.logical_and.reduce(np.isfinite(matrix), axis=(-1, -2))


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write the poses alone, and their stamps beside them; both files are whole or neither is."""
    del options
    poses = track.moments if isinstance(track, ParticleTrack) else track
    matrix = np.concatenate([so3.matrix(poses.rotation), poses.position[:, :, None]], axis=2)
    printed = table(poses.stamp, matrix.reshape(-1, 12))
    times = times_beside(path)
    with replacing(path) as rows, replacing(times) as stamps:
        text = _text(printed.drop("stamp"))
        rows.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
        stamps.write_bytes(_text(printed.select("stamp")))
    return path, times


def _text(frame: pl.DataFrame) -> bytes:
    """Rows of numbers separated by blanks."""
    return frame.write_csv(include_header=False, separator=" ").encode()
