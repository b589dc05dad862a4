"""Wide TUM: TUM and the 21 lower-triangle numbers of the covariance, without a header."""

from pathlib import Path

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.atomic import writing
from smfeval.io.convention import CONVENTIONS, from_right
from smfeval.io.numbers import Layout, read_numbers
from smfeval.io.options import ReadOptions, WriteOptions
from smfeval.io.settle import settle_convention
from smfeval.io.square import LOWER, WRITE_ROWS, table
from smfeval.maths.symmetric import pack_lower
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Provenance

LAYOUT = Layout({29: "stamp, pose and 21 covariance numbers"})


def read(path: Path, options: ReadOptions) -> GaussianTrack:
    """Read poses and covariances; the convention comes from the options or a preset."""
    numbers = read_numbers(path, LAYOUT)
    settled = settle_convention(options)
    position, rotation = numbers.columns(1, 4), numbers.columns(4, 8)
    covariance = settled.to_right(numbers.symmetric(8, LOWER), (position, rotation))
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
    convention = CONVENTIONS[options.convention or "right"]
    order = options.order or "translation-first"
    with writing(path) as stream:
        for start in range(0, len(belief), WRITE_ROWS):
            part = belief[start : start + WRITE_ROWS]
            pose = (part.position, part.rotation)
            packed = pack_lower(from_right(part.covariance, pose, convention, order))
            rows = np.concatenate([*pose, packed], axis=1)
            table(part.stamp, rows).write_csv(stream, include_header=False, separator=" ")
    return (path,)
