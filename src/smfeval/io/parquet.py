"""Parquet: the same data as SQUARE, as columns, with the SQUARE header in the file's metadata.

Columns: `stamp` (int64 nanoseconds), `tx ty tz qx qy qz qw`, and `c00 c10 c11 ... c55` for
Gaussians; one row per particle, with `weight`, for particles. Cross-covariances stand in the row of
the later scan j: `cross_stamp`, a list of earlier stamps i, and `cross`, a list with the 36 numbers
of Cov(xi_i, xi_j), row by row, for each of them. Reads back bit for bit.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from smfeval.errors import FormatError, reason_of
from smfeval.io.atomic import write_parquet
from smfeval.io.convention import SettledConvention, settle_convention
from smfeval.io.header import Header, parse_header
from smfeval.io.options import ReadOptions
from smfeval.io.parquet_trial import load, survives
from smfeval.io.source import current_limit, existing_file, refuse_size
from smfeval.io.square import normalisation_notes, square_header
from smfeval.maths.arrays import Floats, read_only
from smfeval.maths.stamps import seconds_text
from smfeval.maths.symmetric import chunks
from smfeval.track import AnyTrack, CrossCovariance, GaussianTrack, ParticleTrack, Provenance, Track

HEADER_KEY = "square"  # the metadata key that holds the header
POSE_COLUMNS = ["tx", "ty", "tz", "qx", "qy", "qz", "qw"]
COVARIANCE_COLUMNS = [f"c{i}{j}" for i in range(6) for j in range(i + 1)]
COLUMNS = {
    "deterministic": ["stamp", *POSE_COLUMNS],
    "gaussian_se3": ["stamp", *POSE_COLUMNS, *COVARIANCE_COLUMNS],
    "ensemble_se3": ["stamp", *POSE_COLUMNS, "weight"],
}

NO_ROWS = -1  # bytes: the metadata alone
STDERR = 2  # descriptor
CROSS_COLUMNS = {"cross_stamp": pl.List(pl.Int64), "cross": pl.List(pl.Float64)}
CROSS_NAMES = list(CROSS_COLUMNS)


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write any track; its columns are laid out some rows at a time, in cache."""
    del options
    header = square_header(track)
    stamp, names = track.stamp, COLUMNS[track.representation]
    if isinstance(track, ParticleTrack):
        values = [track.particle_position, track.particle_rotation, track.weight[:, None]]
        stamp = np.repeat(track.stamp, track.count)
    else:
        values = [track.position, track.rotation]
    columns = np.empty((len(names) - 1, len(stamp)))
    for part in chunks(len(stamp)):
        rows = [value[part] for value in values]
        if isinstance(track, GaussianTrack):
            rows.append(track.triangle[part])
        columns[:, part] = np.concatenate(rows, axis=1).T

    frame = pl.DataFrame(dict(zip(names, [stamp, *columns], strict=True)))
    if isinstance(track, GaussianTrack) and track.cross is not None:
        frame = frame.with_columns(_cross_columns(track, track.cross))
    write_parquet(frame, path, metadata={HEADER_KEY: header})
    return (path,)


def _cross_columns(track: GaussianTrack, cross: CrossCovariance) -> list[pl.Series]:
    """For each scan the stamps of its earlier partners, and their blocks as flat lists."""
    order = np.argsort(cross.pairs[:, 1], kind="stable")
    first, second = cross.pairs[order].T
    many = np.bincount(second, minlength=len(track))
    stamps = np.split(track.stamp[first], np.cumsum(many)[:-1])
    blocks = np.split(cross.block[order].ravel(), 36 * np.cumsum(many)[:-1])
    return [
        pl.Series(name, values, dtype=kind)
        for (name, kind), values in zip(CROSS_COLUMNS.items(), (stamps, blocks), strict=True)
    ]


def _read_cross(
    frame: pl.DataFrame, settled: SettledConvention, path: Path
) -> CrossCovariance | None:
    """Cross-covariances by the rows of the table, or None if it has none."""
    if CROSS_NAMES[0] not in frame.columns:
        return None
    many = frame[CROSS_NAMES[0]].list.len().to_numpy()
    if (frame[CROSS_NAMES[1]].list.len().to_numpy() != 36 * many).any():
        raise FormatError(f"{path}: each stamp in cross_stamp needs 36 numbers in cross")
    if not many.any():
        return None
    stamp, earlier = frame["stamp"].to_numpy(), _flatten(frame[CROSS_NAMES[0]])
    order = np.argsort(stamp, kind="stable")
    first = order[np.minimum(np.searchsorted(stamp[order], earlier), len(stamp) - 1)]
    strange = stamp[first] != earlier
    if strange.any():
        unknown = seconds_text(int(earlier[np.argmax(strange)]))
        raise FormatError(f"{path}: cross_stamp {unknown} is of no scan in the file")
    second = np.repeat(np.arange(len(stamp)), many)
    pose = _read_poses(frame)
    block = settled.cross_to_right(
        _flatten(frame[CROSS_NAMES[1]]).reshape(-1, 6, 6),
        (pose[0][first], pose[1][first]),
        (pose[0][second], pose[1][second]),
    )
    return CrossCovariance(np.stack([first, second], axis=1), block)


def _flatten(lists: pl.Series) -> NDArray[Any]:
    return lists.filter(lists.list.len() > 0).explode().to_numpy()


def read(path: Path, options: ReadOptions) -> AnyTrack:
    """Read a track that `write` wrote."""
    metadata, frame = read_table(path)
    header = _parse_metadata(path, metadata)
    kind = header.representation
    _check_columns(path, frame, COLUMNS[kind])
    shared: dict[str, Any] = {
        "about": header.about(),
        "provenance": Provenance(str(path), f"Parquet {kind}"),
        "intake": options.intake(f"{path}: row {{}}".format),
    }
    stamp, pose = read_only(frame["stamp"].to_numpy()), _read_poses(frame)
    if kind == "deterministic":
        return Track(stamp, *pose, **shared)
    if kind == "ensemble_se3":
        start = np.concatenate([[0], np.flatnonzero(np.diff(stamp)) + 1])
        shared["log_weight"] = header.fields["WEIGHT_FORMAT"] == "log"
        shared["weighted"] = header.fields["WEIGHTED"] == "true"
        offset, weight = np.append(start, len(stamp)), frame["weight"].to_numpy()
        track = ParticleTrack(stamp[start], offset, *pose, weight, **shared)
        return track.with_notes(*normalisation_notes(track, header))

    settled = settle_convention(options, declared=header.convention, preset_order="state_order")
    triangle = _column_array(frame, COVARIANCE_COLUMNS)
    shared["provenance"] = settled.record(shared["provenance"])
    cross = _read_cross(frame, settled, path)
    return GaussianTrack(stamp, *pose, settled.to_right(triangle, pose), cross=cross, **shared)


def declared_gauge(path: Path, options: ReadOptions) -> str | None:
    """The gauge in the header, which stands among the metadata."""
    del options
    metadata, _, _ = _load(path, most=NO_ROWS)
    return _parse_metadata(path, metadata).about().gauge


def read_table(path: Path) -> tuple[dict[str, str], pl.DataFrame]:
    """Metadata and rows of one Parquet file, whatever characters its name has."""
    metadata, size, frame = _load(path, most=current_limit())
    refuse_size(path, size)
    assert frame is not None
    return metadata, frame


def _load(path: Path, *, most: int) -> tuple[dict[str, str], int, pl.DataFrame | None]:
    """Metadata, size and, of at most so many bytes, rows; damage is refused."""
    file = existing_file(path).absolute()
    if not survives(file, most):
        raise FormatError(f"{path}: damaged or no Parquet file (the reader ends on it)")
    try:
        with _without_backtrace():
            return load(file, most)
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
        raise FormatError(f"{path}: damaged or no Parquet file ({reason_of(error)})") from error


@contextmanager
def _without_backtrace() -> Iterator[None]:
    """Silence, within the block, on the descriptor to which polars prints what it panics about.

    What matters of it comes as an exception.
    """
    try:
        kept = os.dup(STDERR)
    except OSError:  # closed: there is nothing to be kept silent
        yield
        return
    silent = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(silent, STDERR)
        yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)
        os.close(silent)


def _parse_metadata(path: Path, metadata: dict[str, str]) -> Header:
    if HEADER_KEY not in metadata:
        raise FormatError(f"{path}: a Parquet file, but not a belief track: no header in it")
    lines = tuple(enumerate(metadata[HEADER_KEY].splitlines(), start=1))
    return parse_header(f"{path} (header)", lines)


def _check_columns(path: Path, frame: pl.DataFrame, names: list[str]) -> None:
    types: list[pl.DataType] = [pl.Int64(), *[pl.Float64()] * (len(names) - 1)]
    if len(names) == len(COLUMNS["gaussian_se3"]) < len(frame.columns):
        names, types = [*names, *CROSS_NAMES], [*types, *CROSS_COLUMNS.values()]
    if frame.columns != names:
        raise FormatError(f"{path}: the columns must be {' '.join(names)}")
    if frame.dtypes != types:
        raise FormatError(
            f"{path}: stamps must be int64 and the other columns float64"
            + (", those of the cross-covariances lists of them" if "cross" in names else "")
        )
    if len(frame) == 0:
        raise FormatError(f"{path}: there is a header but no row of numbers")
    if any(frame.null_count().row(0)):
        raise FormatError(f"{path}: some values are missing (null)")


def _read_poses(frame: pl.DataFrame) -> tuple[Floats, Floats]:
    """Positions (n, 3) and quaternions (n, 4)."""
    return _column_array(frame, POSE_COLUMNS[:3]), _column_array(frame, POSE_COLUMNS[3:])


def _column_array(frame: pl.DataFrame, names: list[str]) -> Floats:
    """Columns side by side, made in cache. (n, columns)."""
    columns, out = frame.select(names), np.empty((len(frame), len(names)))
    for part in chunks(len(frame)):
        out[part] = columns[part].to_numpy()
    return read_only(out)
