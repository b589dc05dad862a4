"""Wide TUM: TUM and the covariance, without a header: 21 numbers, or all 36 row by row.

The 21 are those of the lower triangle, row by row. They are what is written.

The covariance stands in the order of the pose's columns, position first, whatever the order inside
the estimator that it came from.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.atomic import row_slices, table, write_rows, writing
from smfeval.io.convention import CONVENTIONS, Convention, from_right
from smfeval.io.formats import FileHead
from smfeval.io.options import ReadOptions, WriteOptions
from smfeval.io.settle import settle_convention
from smfeval.io.source import read_head
from smfeval.io.square import LOWER_TRIANGLE
from smfeval.io.text_layout import Layout, PackedColumns
from smfeval.io.text_reader import read_numbers
from smfeval.maths.symmetric import pack_lower
from smfeval.schema import ORDERS, Order
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Provenance

if TYPE_CHECKING:
    import polars as pl

COLUMNS = {
    29: "stamp, pose and 21 covariance numbers",
    44: "stamp, pose and 36 covariance numbers",
}
WHOLE_MATRIX = np.arange(36).reshape(6, 6)


def _layout(path: Path) -> Layout:
    """Rows as the first one has them."""
    whole = FileHead(path, read_head(path)).has_columns(44)
    index = WHOLE_MATRIX if whole else LOWER_TRIANGLE
    return Layout(
        COLUMNS if not whole else {44: COLUMNS[44]},
        tail="drop",
        packed=PackedColumns(8, index),
    )


def read(path: Path, options: ReadOptions) -> GaussianTrack:
    """Read poses and covariances; the convention comes from the options or a preset."""
    numbers = read_numbers(path, _layout(path))
    settled = settle_convention(options, implied=(None, "translation-first"))
    position, rotation = numbers.columns(1, 4), numbers.columns(4, 8)
    covariance = settled.to_right(numbers.matrices, (position, rotation))
    return GaussianTrack(
        numbers.stamp,
        position,
        rotation,
        covariance,
        provenance=Provenance(
            numbers.name, "wide TUM", settled.words, notes=numbers.notes + settled.notes
        ),
        intake=options.intake(numbers.where),
    )


def write(track: AnyTrack, path: Path, options: WriteOptions) -> tuple[Path, ...]:
    """Write poses and covariances in the convention asked for."""
    belief = track.moments if isinstance(track, ParticleTrack) else track
    if not isinstance(belief, GaussianTrack):
        raise OptionError(f"{path}: wide TUM needs covariances; the track has none")
    rows = _tables(belief, CONVENTIONS[options.convention or "right"], options.order or ORDERS[0])
    with writing(path) as stream:
        write_rows(stream, rows, len(belief))
    return (path,)


def _tables(
    belief: GaussianTrack, convention: Convention, order: Order
) -> "Iterator[pl.DataFrame]":
    for part in row_slices(len(belief)):
        pose = belief.position[part], belief.rotation[part]
        packed = pack_lower(from_right(belief.covariance[part], pose, convention, order))
        yield table(belief.stamp[part], np.concatenate([*pose, packed], axis=1))
