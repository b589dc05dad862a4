"""KITTI poses: 12 numbers per row, the 3x4 matrix [R t] row by row; stamps in a file of their own.

The times file has one stamp in seconds per row. If it is not named, `NAME.times.txt` beside
`NAME.kitti` (what we write) or `times.txt` in the same folder (what KITTI has) is taken. Without
one, scans are counted: at a rate (`times=10Hz`), or one a second.
"""

from pathlib import Path

import numpy as np

from smfeval.io.atomic import open_output, replacing_all, row_slices, seconds, table, write_rows
from smfeval.io.extrinsic import is_rotation, non_rotation_reason
from smfeval.io.formats import TIMES
from smfeval.io.options import ReadOptions, parse_rate
from smfeval.io.parsers import Layout
from smfeval.io.source import is_gzip_name, spell_source
from smfeval.io.text_reader import NumberTable, read_numbers, refuse_other_count
from smfeval.maths import so3
from smfeval.maths.arrays import Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import AnyTrack, ParticleTrack, Provenance, Track
from smfeval.track.row_checks import Fault, pose_faults, time_order, valid_rows

LAYOUT = Layout({12: "a 3x4 matrix row by row"}, stamps=0)
COUNTED = "KITTI poses carry no stamps: scans are counted, one a second; say when they were"
TIMES_LAYOUT = Layout({1: "a stamp in seconds"})


def read(path: Path, options: ReadOptions) -> Track:
    """Read poses, with the stamps of the times file."""
    numbers = read_numbers(path, LAYOUT)
    stamp, times, about_times, remarks = _stamps(path, numbers, options)
    pose = numbers.columns(1, 13).reshape(-1, 3, 4)

    finite = np.logical_and.reduce(np.isfinite(pose[:, :, :3]), axis=(-1, -2))
    matrix = np.where(finite[:, None, None], pose[:, :, :3], np.eye(3))
    turned = np.where(finite[:, None], so3.quaternion(np.eye(3)), np.nan)
    wrong = Fault(
        "matrix not a rotation",
        ~is_rotation(matrix),
        lambda row: f"the 3x3 matrix is no rotation: {non_rotation_reason(matrix[row])}",
    )
    faults = [*pose_faults(pose[:, :, 3], turned), wrong]
    good, dropped = valid_rows(faults, options.intake(numbers.where))
    kept = np.flatnonzero(good)

    by_time = options.intake(lambda row: times.where(int(kept[row])))
    order, twice, notes = time_order(stamp[kept], by_time, pose[kept, :, 3])
    rows = kept[order]
    told = (*numbers.notes, *about_times, *(f"{times.name}: {note}" for note in notes))
    provenance = Provenance(numbers.name, "KITTI", None, dropped + twice, told, remarks)
    intake = options.intake(lambda row: numbers.where(int(rows[row])))
    position, rotation = pose[rows, :, 3], so3.quaternion(pose[rows, :, :3])
    return Track(stamp[rows], position, rotation, provenance=provenance, intake=intake)


def _stamps(
    path: Path, numbers: NumberTable, options: ReadOptions
) -> tuple[Ints, NumberTable, tuple[str, ...], tuple[str, ...]]:
    """Stamps of the times file, or counted; the table that names their rows; notes and remarks."""
    beside = options.times or next(iter(TIMES.found_beside(path)), None)
    rate_hz = None if beside is None else parse_rate(str(beside))
    if beside is None or rate_hz is not None:
        stamp = np.rint(np.arange(len(numbers)) * (NANOSECONDS / (rate_hz or 1.0))).astype(np.int64)
        if rate_hz is not None:
            return stamp, numbers, (), (f"stamps count from 0, at {beside}",)
        how = spell_source(path, "times", "10Hz", "FILE")
        return stamp, numbers, (f"{path}: {COUNTED}: {how}",), ()
    times = read_numbers(beside, TIMES_LAYOUT)
    refuse_other_count(times, numbers, "stamps")
    return times.stamp, times, times.notes, (f"stamps from {beside}",)


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write the poses alone, and their stamps beside them; both files are whole or neither is."""
    del options
    poses = track.moments if isinstance(track, ParticleTrack) else track
    matrix = np.concatenate([so3.matrix(poses.rotation), poses.position[:, :, None]], axis=2)
    rows = matrix.reshape(-1, 12)
    times = TIMES.beside(path)[0]
    with replacing_all(path, times) as (new_rows, new_times):
        with open_output(new_rows, packed=is_gzip_name(path)) as stream:
            lines = (table(poses.stamp[p], rows[p]).drop("stamp") for p in row_slices(len(poses)))
            write_rows(stream, lines, len(poses))
        with open_output(new_times, packed=False) as stream:
            write_rows(stream, [seconds(poses.stamp).to_frame()], len(poses))
    return path, times
