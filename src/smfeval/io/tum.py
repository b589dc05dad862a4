"""TUM: `stamp tx ty tz qx qy qz qw`, poses alone or with a covariance file beside them.

The covariance file (sidecar) has rows `stamp c11 c21 c22 ... c66`, one for each pose, matched one
to one by stamp within a microsecond; it may declare TANGENT_CONVENTION and TANGENT_ORDER.
"""

from pathlib import Path

import numpy as np

from smfeval.io.atomic import writing
from smfeval.io.beside import refuse_other_count, refuse_other_stamps
from smfeval.io.header import CONVENTION_WORDS, ORDER_WORDS, parse_fields
from smfeval.io.numbers import Layout, Numbers, read_numbers
from smfeval.io.options import ReadOptions
from smfeval.io.settle import settle_convention
from smfeval.io.square import LOWER, table
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Provenance, Track

LAYOUT = Layout({8: "stamp tx ty tz qx qy qz qw"})
SIDECAR = Layout({22: "stamp and 21 covariance numbers"})


def read(path: Path, options: ReadOptions) -> AnyTrack:
    """Read poses, with their covariances if a sidecar is named."""
    numbers = read_numbers(path, LAYOUT)
    if options.covariance is not None:
        return _with_sidecar(numbers, options.covariance, options)
    return Track(
        numbers.stamp,
        numbers.columns(1, 4),
        numbers.columns(4, 8),
        provenance=Provenance(numbers.name, "TUM", notes=numbers.notes),
        intake=options.intake(numbers.where),
    )


def _with_sidecar(numbers: Numbers, path: Path, options: ReadOptions) -> GaussianTrack:
    beside = read_numbers(path, SIDECAR)
    fields = parse_fields(str(path), beside.header)
    declared = (
        CONVENTION_WORDS.get(fields.get("TANGENT_CONVENTION", "")),
        ORDER_WORDS.get(fields.get("TANGENT_ORDER", "")),
    )
    settled = settle_convention(options, declared=declared)
    refuse_other_count(beside, numbers, "covariances")
    refuse_other_stamps(beside, numbers)
    covariance = beside.symmetric(1, LOWER)
    position, rotation = numbers.columns(1, 4), numbers.columns(4, 8)
    return GaussianTrack(
        numbers.stamp,
        position,
        rotation,
        settled.to_right(covariance, (position, rotation)),
        provenance=Provenance(
            numbers.name,
            f"TUM with covariances from {path}",
            settled.words,
            notes=numbers.notes + beside.notes + settled.notes,
        ),
        intake=options.intake(numbers.where),
    )


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write the poses alone."""
    del options
    poses = track.moments if isinstance(track, ParticleTrack) else track
    with writing(path) as stream:
        rows = np.concatenate([poses.position, poses.rotation], axis=1)
        table(poses.stamp, rows).write_csv(stream, include_header=False, separator=" ")
    return (path,)
