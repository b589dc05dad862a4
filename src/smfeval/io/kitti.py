"""KITTI poses: 12 numbers per row, the 3x4 matrix [R t] row by row; stamps in a file of their own.

The times file has one stamp in seconds per row. If it is not named, `NAME.times.txt` beside
`NAME.kitti` (what we write) or `times.txt` in the same folder (what KITTI has) is taken.
"""

from pathlib import Path

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.atomic import (
    is_gzip_name,
    parts,
    print_rows,
    replacing_all,
    seconds,
    table,
    written,
)
from smfeval.io.extrinsic import is_rotation, why_no_rotation
from smfeval.io.numbers import read_numbers
from smfeval.io.options import ReadOptions
from smfeval.io.rows import Layout, Numbers
from smfeval.io.source import bare_name, is_file, refuse_other_count
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.track import AnyTrack, Intake, ParticleTrack, Provenance, Track
from smfeval.track.rows import Dropped, Fault, in_order, pose_faults, sound

LAYOUT = Layout({12: "a 3x4 matrix row by row"}, stamped=False)
TIMES = Layout({1: "a stamp in seconds"})


def read(path: Path, options: ReadOptions) -> Track:
    """Read poses, with the stamps of the times file."""
    numbers = read_numbers(path, LAYOUT)
    times_path = options.times or _found_times(path)
    times = read_numbers(times_path, TIMES)
    refuse_other_count(times, numbers, "stamps")
    pose = numbers.columns(1, 13).reshape(-1, 3, 4)
    kept, dropped = _sound(pose, options.intake(numbers.where))
    order, twice, notes = _in_order(times, kept, options)
    rows = kept[order]
    return Track(
        times.stamp[rows],
        pose[rows, :, 3],
        so3.quaternion(pose[rows, :, :3]),
        provenance=Provenance(
            numbers.name,
            "KITTI",
            dropped=dropped + twice,
            notes=(*numbers.notes, *times.notes, *notes),
            remarks=(f"stamps from {times_path}",),
        ),
        intake=options.intake(lambda row: numbers.where(int(rows[row]))),
    )


def times_beside(path: Path) -> Path:
    """Where the stamps of `NAME.kitti` are written: `NAME.times.txt`."""
    return path.with_name(f"{bare_name(path)}.times.txt")


def _found_times(path: Path) -> Path:
    candidates = (times_beside(path), path.with_name("times.txt"))
    found = next((other for other in candidates if is_file(other) and other != path), None)
    if found is None:
        raise OptionError(
            f"{path}: KITTI poses carry no stamps; name the file with one stamp per row "
            f"(option times), or put it beside as {candidates[0].name} or {candidates[1].name}"
        )
    return found


def _sound(pose: Floats, intake: Intake) -> tuple[Ints, tuple[Dropped, ...]]:
    """Rows that are finite and hold a rotation. (n, 3, 4)."""
    matrix = _or_identity(pose[:, :, :3])
    turned = np.where(_finite(pose[:, :, :3])[:, None], so3.quaternion(np.eye(3)), np.nan)
    wrong = Fault(
        "matrix not a rotation",
        ~is_rotation(matrix),
        lambda row: f"the 3x3 matrix is no rotation: {why_no_rotation(matrix[row])}",
    )
    good, dropped = sound([*pose_faults(pose[:, :, 3], turned), wrong], intake)
    return np.flatnonzero(good), dropped


def _in_order(
    times: Numbers, kept: Ints, options: ReadOptions
) -> tuple[Ints, tuple[Dropped, ...], list[str]]:
    """Kept rows in order of time, each stamp once; what is wrong stands in the times file."""
    intake = options.intake(lambda row: times.where(int(kept[row])))
    order, twice, notes = in_order(times.stamp[kept], intake)
    return order, twice, [f"{times.name}: {note}" for note in notes]


def _or_identity(matrix: Floats) -> Floats:
    return np.where(_finite(matrix)[:, None, None], matrix, np.eye(3))


def _finite(matrix: Floats) -> Bools:
    return np.logical_and.reduce(np.isfinite(matrix), axis=(-1, -2))


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write the poses alone, and their stamps beside them; both files are whole or neither is."""
    del options
    poses = track.moments if isinstance(track, ParticleTrack) else track
    matrix = np.concatenate([so3.matrix(poses.rotation), poses.position[:, :, None]], axis=2)
    rows = matrix.reshape(-1, 12)
    times = times_beside(path)
    with replacing_all(path, times) as (new_rows, new_times):
        with written(new_rows, packed=is_gzip_name(path)) as stream:
            lines = (table(poses.stamp[p], rows[p]).drop("stamp") for p in parts(len(poses)))
            print_rows(stream, lines, len(poses))
        with written(new_times, packed=False) as stream:
            print_rows(stream, [seconds(poses.stamp).to_frame()], len(poses))
    return path, times
