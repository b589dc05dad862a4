"""TUM: `stamp tx ty tz qx qy qz qw`, poses alone or with their covariances.

These stand in a file beside the poses, or behind them in the same row (wide TUM, no header).
The covariance file (sidecar) has rows `stamp c11 c21 c22 ... c66`, one for each pose, matched one
to one by stamp within a microsecond; it may declare TANGENT_CONVENTION and TANGENT_ORDER. A row of
wide TUM has the 21 numbers of the lower triangle, which are what is written, or all 36, row by row.

A covariance stands in the order of the pose's columns, position first, whatever the order inside
the estimator that it came from.
"""

from pathlib import Path

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.atomic import row_slices, table, write_rows, writing
from smfeval.io.convention import settle_convention
from smfeval.io.formats import FileHead
from smfeval.io.header import Header, parse_fields
from smfeval.io.options import ReadOptions, WriteOptions
from smfeval.io.parsers import Layout
from smfeval.io.source import read_head
from smfeval.io.text_reader import (
    NumberTable,
    read_numbers,
    refuse_other_count,
    refuse_other_stamps,
    track_of_rows,
    valid_sidecar_rows,
)
from smfeval.schema import Order
from smfeval.track import About, AnyTrack, GaussianTrack, ParticleTrack, Track
from smfeval.track.row_checks import valid_share

POSITIONS_ONLY = "all quaternions are 0 0 0 0; taken as positions without orientation"
LAYOUT = Layout({8: "stamp tx ty tz qx qy qz qw"})
SIDECAR_LAYOUT = Layout({22: "stamp and 21 covariance numbers"}, tail="drop", apart=1)
WIDE_COLUMNS = {
    29: "stamp, pose and 21 covariance numbers",
    44: "stamp, pose and 36 covariance numbers",
}
SOME = 0.5  # part of the matrices that are covariances: fewer are of the other triangle
# Where the numbers of a lower triangle, row by row, stand in an upper one.
UPPER = [6 * j - j * (j + 1) // 2 + i for i in range(6) for j in range(i + 1)]
UPPER_NOTE = "read as upper triangles: as lower ones they are no covariances"
IMPLIED_CONVENTION: tuple[None, Order] = (None, "translation-first")  # as the columns of the poses


def read(path: Path, options: ReadOptions) -> Track:
    """Read poses, with their covariances if a sidecar is named."""
    numbers = read_numbers(path, LAYOUT)
    if options.covariance is not None:
        return _read_with_sidecar(numbers, options.covariance, options)
    position, rotation = numbers.columns(1, 4), numbers.columns(4, 8)
    if rotation.any():
        return track_of_rows(numbers, "TUM", options, pose=(position, rotation))
    unknown = np.tile([0.0, 0.0, 0.0, 1.0], (len(numbers), 1))  # as total stations write it
    about, notes = About(oriented=False), (POSITIONS_ONLY,)
    return track_of_rows(
        numbers, "TUM", options, pose=(position, unknown), about=about, notes=notes
    )


def _read_with_sidecar(numbers: NumberTable, path: Path, options: ReadOptions) -> Track:
    beside = read_numbers(path, SIDECAR_LAYOUT)
    declared = Header(parse_fields(str(path), beside.header)).convention
    settled = settle_convention(options, declared=declared, implied=IMPLIED_CONVENTION)
    notes = beside.notes
    if beside.cut and len(numbers) == len(beside) + 1:
        place = numbers.where(len(numbers) - 1)
        notes = (*notes, f"{place}: its covariance is cut off; it was left out")
        numbers = numbers.without_last()
    refuse_other_count(beside, numbers, "covariances")
    refuse_other_stamps(beside, numbers)
    kept, dropped = valid_sidecar_rows(beside.matrices, options.intake(beside.where))
    pose = numbers.columns(1, 4), numbers.columns(4, 8)
    return track_of_rows(
        numbers,
        f"TUM with covariances from {path}",
        options,
        pose=pose,
        covariance=settled.to_right(beside.matrices, pose),
        settled=settled,
        rows=kept,
        notes=notes,
        dropped=dropped,
    )


def read_wide(path: Path, options: ReadOptions) -> Track:
    """Read poses and covariances; the convention comes from the options or a preset."""
    whole = len(FileHead(path, read_head(path)).first_row) == 44
    columns = {44: WIDE_COLUMNS[44]} if whole else WIDE_COLUMNS
    numbers = read_numbers(path, Layout(columns, tail="drop", apart=8))
    settled = settle_convention(options, implied=IMPLIED_CONVENTION)
    pose = numbers.columns(1, 4), numbers.columns(4, 8)
    matrices, notes = numbers.matrices, tuple[str, ...]()
    matrices = matrices.reshape(-1, 6, 6) if whole else matrices
    if not whole and valid_share(matrices) < SOME and valid_share(upper := matrices[:, UPPER]) == 1:
        matrices, notes = upper, (f"{path}: {UPPER_NOTE}",)
    right = settled.to_right(matrices, pose)
    return track_of_rows(
        numbers, "wide TUM", options, pose=pose, covariance=right, settled=settled, notes=notes
    )


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write the poses alone."""
    del options
    poses = track.moments if isinstance(track, ParticleTrack) else track
    pose = np.concatenate([poses.position, poses.rotation], axis=1)
    with writing(path) as stream:
        rows = (table(poses.stamp[part], pose[part]) for part in row_slices(len(poses)))
        write_rows(stream, rows, len(poses))
    return (path,)


def write_wide(track: AnyTrack, path: Path, options: WriteOptions) -> tuple[Path, ...]:
    """Write poses and covariances in the convention asked for."""
    belief = track.moments if isinstance(track, ParticleTrack) else track
    if not isinstance(belief, GaussianTrack):
        raise OptionError(f"{path}: wide TUM needs covariances; the track has none")
    from smfeval.io.csv import belief_tables  # noqa: PLC0415  readers need nothing of it

    with writing(path) as stream:
        write_rows(stream, belief_tables(belief, options, oriented=True), len(belief))
    return (path,)
