"""Parquet: the same data as SQUARE, as columns, with the SQUARE header in the file's metadata.

Columns: `stamp` (int64 nanoseconds), `tx ty tz qx qy qz qw`, and `c00 c10 c11 ... c55` for
Gaussians; one row per particle, with `weight`, for particles. Reads back bit for bit.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from smfeval.errors import FormatError
from smfeval.io.atomic import replacing
from smfeval.io.header import Header, parse_header
from smfeval.io.options import ReadOptions, settle_convention
from smfeval.io.square import not_normalised, square_header
from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import pack_lower, unpack_lower
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Provenance, Track

HEADER = "square"  # the metadata key that holds the header
POSE = ["tx", "ty", "tz", "qx", "qy", "qz", "qw"]
COVARIANCE = [f"c{i}{j}" for i in range(6) for j in range(i + 1)]
COLUMNS = {
    "deterministic": ["stamp", *POSE],
    "gaussian_se3": ["stamp", *POSE, *COVARIANCE],
    "ensemble_se3": ["stamp", *POSE, "weight"],
}


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write any track."""
    del options
    header = square_header(track)
    with replacing(path) as temporary:
        _frame(track).write_parquet(temporary, metadata={HEADER: header})
    return (path,)


def _frame(track: AnyTrack) -> pl.DataFrame:
    if isinstance(track, ParticleTrack):
        values = [track.particle_position, track.particle_rotation, track.weight[:, None]]
        stamp = np.repeat(track.stamp, track.count)
    else:
        values = [track.position, track.rotation]
        stamp = track.stamp
    if isinstance(track, GaussianTrack):
        values.append(pack_lower(track.covariance))
    columns = np.concatenate(values, axis=1).T
    names = COLUMNS[track.representation]
    return pl.DataFrame(dict(zip(names, [stamp, *columns], strict=True)))


def read(path: Path, options: ReadOptions) -> AnyTrack:
    """Read a track that `write` wrote."""
    header, frame = _opened(path)
    about, kind = header.about(), header.representation
    words: dict[str, Any] = {"about": about, "intake": options.intake(f"{path}: row {{}}".format)}
    provenance = Provenance(str(path), f"Parquet {kind}")
    stamp = frame["stamp"].to_numpy()
    position, rotation = _columns(frame, POSE[:3]), _columns(frame, POSE[3:])
    if kind == "ensemble_se3":
        return _particles(frame, header, words | {"provenance": provenance})
    if kind == "deterministic":
        return Track(stamp, position, rotation, provenance=provenance, **words)
    settled = settle_convention(options, declared=header.convention, preset_order="state_order")
    covariance = settled.to_right(unpack_lower(_columns(frame, COVARIANCE)), (position, rotation))
    provenance = Provenance(provenance.name, provenance.format, settled.words, notes=settled.notes)
    return GaussianTrack(stamp, position, rotation, covariance, provenance=provenance, **words)


def _particles(frame: pl.DataFrame, header: Header, words: dict[str, Any]) -> ParticleTrack:
    stamp = frame["stamp"].to_numpy()
    start = np.concatenate([[0], np.flatnonzero(np.diff(stamp)) + 1])
    track = ParticleTrack(
        stamp[start],
        np.append(start, len(stamp)),
        _columns(frame, POSE[:3]),
        _columns(frame, POSE[3:]),
        frame["weight"].to_numpy(),
        log_weight=header.fields["WEIGHT_FORMAT"] == "log",
        weighted=header.fields["WEIGHTED"] == "true",
        **words,
    )
    return track.noted(*not_normalised(track, header))


def _opened(path: Path) -> tuple[Header, pl.DataFrame]:
    """Header and table, checked against each other."""
    try:
        metadata = pl.read_parquet_metadata(path)
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
        first = str(error).splitlines()[0]
        raise FormatError(f"{path}: damaged or no Parquet file ({first})") from error
    if HEADER not in metadata:
        raise FormatError(f"{path}: a Parquet file, but not a belief track: no header in it")
    lines = tuple(enumerate(metadata[HEADER].splitlines(), start=1))
    header = parse_header(f"{path} (header)", lines)
    _check_columns(path, frame, COLUMNS[header.representation])
    return header, frame


def _check_columns(path: Path, frame: pl.DataFrame, names: list[str]) -> None:
    if frame.columns != names:
        raise FormatError(f"{path}: the columns must be {' '.join(names)}")
    types = [pl.Int64(), *[pl.Float64()] * (len(names) - 1)]
    if frame.dtypes != types:
        raise FormatError(f"{path}: stamps must be int64 and the other columns float64")
    if len(frame) == 0:
        raise FormatError(f"{path}: there is a header but no row of numbers")
    if any(frame.null_count().row(0)):
        raise FormatError(f"{path}: some values are missing (null)")


def _columns(frame: pl.DataFrame, names: list[str]) -> Floats:
    return np.stack([frame[name].to_numpy() for name in names], axis=1)
