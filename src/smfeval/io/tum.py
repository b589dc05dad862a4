"""TUM: `stamp tx ty tz qx qy qz qw`, poses alone or with a covariance file beside them.

The covariance file (sidecar) has rows `stamp c11 c21 c22 ... c66`, one for each pose, matched one
to one by stamp within a microsecond; it may declare TANGENT_CONVENTION and TANGENT_ORDER.
"""

from pathlib import Path

import numpy as np

from smfeval.io.atomic import row_slices, table, write_rows, writing
from smfeval.io.header import CONVENTION_WORDS, ORDER_WORDS, parse_fields
from smfeval.io.options import ReadOptions
from smfeval.io.settle import settle_convention
from smfeval.io.square import LOWER_TRIANGLE
from smfeval.io.text_layout import (
    Layout,
    NumberTable,
    PackedColumns,
    refuse_other_count,
    refuse_other_stamps,
    valid_sidecar_rows,
)
from smfeval.io.text_reader import read_numbers
from smfeval.schema import Order
from smfeval.track import About, AnyTrack, GaussianTrack, ParticleTrack, Provenance, Track

POSITIONS_ONLY = "all quaternions are 0 0 0 0; taken as positions without orientation"
LAYOUT = Layout({8: "stamp tx ty tz qx qy qz qw"})
SIDECAR_LAYOUT = Layout(
    {22: "stamp and 21 covariance numbers"}, tail="drop", packed=PackedColumns(1, LOWER_TRIANGLE)
)
IMPLIED_CONVENTION: tuple[None, Order] = (None, "translation-first")  # as the columns of the poses


def read(path: Path, options: ReadOptions) -> AnyTrack:
    """Read poses, with their covariances if a sidecar is named."""
    numbers = read_numbers(path, LAYOUT)
    if options.covariance is not None:
        return _read_with_sidecar(numbers, options.covariance, options)
    rotation, notes, about = numbers.columns(4, 8), numbers.notes, About()
    if not rotation.any():  # written so by total stations: all rows, or it is a fault
        rotation, about = np.tile([0.0, 0.0, 0.0, 1.0], (len(numbers), 1)), About(oriented=False)
        notes = (*notes, POSITIONS_ONLY)
    return Track(
        numbers.stamp,
        numbers.columns(1, 4),
        rotation,
        about=about,
        provenance=Provenance(numbers.name, "TUM", notes=notes),
        intake=options.intake(numbers.where),
    )


def _read_with_sidecar(numbers: NumberTable, path: Path, options: ReadOptions) -> GaussianTrack:
    beside = read_numbers(path, SIDECAR_LAYOUT)
    settled = settle_convention(
        options, declared=_declared_convention(path, beside), implied=IMPLIED_CONVENTION
    )
    numbers, notes = _without_cut_pose(numbers, beside)
    refuse_other_count(beside, numbers, "covariances")
    refuse_other_stamps(beside, numbers)
    covariance = beside.matrices
    kept, dropped = valid_sidecar_rows(covariance, options.intake(beside.where))
    pose = numbers.columns(1, 4)[kept], numbers.columns(4, 8)[kept]
    return GaussianTrack(
        numbers.stamp[kept],
        *pose,
        settled.to_right(covariance[kept], pose),
        provenance=Provenance(
            numbers.name,
            f"TUM with covariances from {path}",
            settled.words,
            dropped,
            numbers.notes + beside.notes + notes + settled.notes,
        ),
        intake=options.intake(lambda row: numbers.where(int(kept[row]))),
    )


def _declared_convention(path: Path, beside: NumberTable) -> tuple[str | None, Order | None]:
    """Convention and block order that the sidecar declares."""
    fields = parse_fields(str(path), beside.header)
    side = CONVENTION_WORDS.get(fields.get("TANGENT_CONVENTION", ""))
    return side, ORDER_WORDS.get(fields.get("TANGENT_ORDER", ""))


def _without_cut_pose(
    numbers: NumberTable, beside: NumberTable
) -> tuple[NumberTable, tuple[str, ...]]:
    """Leave out a last pose whose covariance was cut off by the end of the sidecar."""
    if not beside.cut or len(numbers) != len(beside) + 1:
        return numbers, ()
    place = numbers.where(len(numbers) - 1)
    return numbers.without_last(), (f"{place}: its covariance is cut off; it was left out",)


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write the poses alone."""
    del options
    poses = track.moments if isinstance(track, ParticleTrack) else track
    pose = np.concatenate([poses.position, poses.rotation], axis=1)
    with writing(path) as stream:
        rows = (table(poses.stamp[part], pose[part]) for part in row_slices(len(poses)))
        write_rows(stream, rows, len(poses))
    return (path,)
