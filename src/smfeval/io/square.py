"""SQUARE 0.2 and 0.3: TUM extended to Gaussians, particles or plain poses, with a header."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import words
from smfeval.errors import FormatError
from smfeval.io.atomic import (
    is_gzip_name,
    numbered_table,
    open_output,
    replacing_all,
    row_slices,
    table,
    write_rows,
)
from smfeval.io.cross import (
    cross_header,
    cross_tables,
    cross_target,
    is_cross_file,
    read_cross,
    remove_stale,
)
from smfeval.io.formats import CROSS_ALONE
from smfeval.io.header import (
    CURRENT_VERSION,
    GAUSSIAN_FIELDS,
    Header,
    header_text,
    parse_header,
)
from smfeval.io.options import ReadOptions
from smfeval.io.settle import settle_convention
from smfeval.io.source import is_binary, read_head
from smfeval.io.text_layout import HeaderLine, Layout, NumberTable, PackedColumns
from smfeval.io.text_reader import read_header, read_numbers
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import seconds_text
from smfeval.maths.symmetric import pack_lower
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Provenance, Track

NORMALISED_TOLERANCE = 1e-6  # a sum this near to 1 is written as normalised
DECLARED_TOLERANCE = (
    1e-3  # weights with few digits may miss 1 by this much and still be called normalised
)


def particle_fields(track: ParticleTrack) -> dict[str, str]:
    """The header fields of an ensemble."""
    normalised = track.weighted and bool(
        (np.abs(weight_sums(track) - 1) <= NORMALISED_TOLERANCE).all()
    )
    return {
        "WEIGHTED": str(track.weighted).lower(),
        "WEIGHT_FORMAT": "log" if track.log_weight else "linear",
        "WEIGHTS_NORMALIZED": str(normalised).lower(),
    }


def normalisation_notes(track: ParticleTrack, header: Header) -> tuple[str, ...]:
    """A note if weights are declared normalised but do not sum to one."""
    if not track.weighted or header.fields["WEIGHTS_NORMALIZED"] == "false":
        return ()
    total = weight_sums(track)
    off = np.abs(total - 1)
    if not (off > DECLARED_TOLERANCE).any():
        return ()
    worst = int(np.argmax(off))
    return (
        f"weights are declared normalised but sum to {words.exact(total[worst])} at stamp "
        f"{seconds_text(int(track.stamp[worst]))} "
        f"(not to 1 in {(off > DECLARED_TOLERANCE).sum()} of {len(track)} scans); they are "
        "read as relative",
    )


def weight_sums(track: ParticleTrack) -> Floats:
    """The sum of the weights of each scan as they stand in the file. (n,)."""
    with np.errstate(over="ignore"):  # a log weight may be beyond what a double can hold
        linear = np.exp(track.weight) if track.log_weight else track.weight
        return np.add.reduceat(linear, track.offset[:-1])


if TYPE_CHECKING:
    import polars as pl

# Where entry (i, j) of a 6x6 stands among the 21 numbers of its lower triangle, row by row.
LOWER_TRIANGLE = np.fromfunction(
    lambda i, j: np.maximum(i, j) * (np.maximum(i, j) + 1) // 2 + np.minimum(i, j),
    (6, 6),
    dtype=np.int64,
)

LAYOUTS = {
    kind: Layout({width: columns}, tail="drop", one_header=True, packed=packed)
    for kind, width, columns, packed in (
        (
            "gaussian_se3",
            29,
            "stamp, pose and 21 covariance numbers",
            PackedColumns(8, LOWER_TRIANGLE),
        ),
        ("deterministic", 8, "stamp and pose", None),
        ("true", 10, "stamp, particle id, weight and pose", None),
        ("false", 9, "stamp, particle id and pose", None),
    )
}


def read(path: Path, options: ReadOptions) -> AnyTrack:
    """Read a SQUARE file of any representation."""
    lines = read_header(path)
    _refuse_headerless(path, lines)
    header = parse_header(str(path), lines)
    kind = header.fields.get("WEIGHTED", "false")
    key = kind if header.representation == "ensemble_se3" else header.representation
    numbers = read_numbers(path, LAYOUTS[key])
    return READERS[header.representation](numbers, header, options)


def declared_gauge(path: Path, options: ReadOptions) -> str | None:
    """The gauge in the header."""
    del options
    return parse_header(str(path), read_header(path)).about().gauge


def _refuse_headerless(path: Path, lines: tuple[HeaderLine, ...]) -> None:
    """Something else that was named like a SQUARE file lacks all fields, not one of them."""
    if is_cross_file(path):
        raise FormatError(f"{path}: {CROSS_ALONE}")
    if any(text.startswith("#%") for _, text in lines):
        return
    if is_binary(read_head(path)):
        raise FormatError(f"{path}: this is binary data, not a SQUARE file")
    raise FormatError(
        f"{path}: there is no SQUARE header; it begins with #%FORMAT {CURRENT_VERSION}"
    )


def _provenance(numbers: NumberTable, header: Header, **more: Any) -> Provenance:
    kind = f"{header.fields['FORMAT']} {header.representation}"
    notes = numbers.notes + more.pop("notes", ())
    return Provenance(name=numbers.name, format=kind, notes=notes, **more)


def _read_gaussian(numbers: NumberTable, header: Header, options: ReadOptions) -> GaussianTrack:
    settled = settle_convention(options, declared=header.convention, preset_order="state_order")
    position, rotation = numbers.columns(1, 4), numbers.columns(4, 8)
    covariance = numbers.matrices
    track = GaussianTrack(
        numbers.stamp,
        position,
        rotation,
        settled.to_right(covariance, (position, rotation)),
        about=header.about(),
        provenance=_provenance(numbers, header, convention=settled.words, notes=settled.notes),
        intake=options.intake(numbers.where),
    )
    return read_cross(track, numbers, options)


def _read_poses(numbers: NumberTable, header: Header, options: ReadOptions) -> Track:
    return Track(
        numbers.stamp,
        numbers.columns(1, 4),
        numbers.columns(4, 8),
        about=header.about(),
        provenance=_provenance(numbers, header),
        intake=options.intake(numbers.where),
    )


def _read_particles(numbers: NumberTable, header: Header, options: ReadOptions) -> ParticleTrack:
    weighted = header.fields["WEIGHTED"] == "true"
    stamp, rows = numbers.stamp, len(numbers)
    start = np.concatenate([[0], np.flatnonzero(np.diff(stamp)) + 1])
    _refuse_scattered(stamp[start], start, numbers)
    offset, notes = _without_cut_timestep(np.append(start, rows), numbers)
    m, pose = int(offset[-1]), 3 if weighted else 2
    track = ParticleTrack(
        stamp[offset[:-1]],
        offset,
        numbers.columns(pose, pose + 3)[:m],
        numbers.columns(pose + 3, pose + 7)[:m],
        numbers.columns(2, 3)[:m, 0] if weighted else np.ones(m),
        log_weight=weighted and header.fields["WEIGHT_FORMAT"] == "log",
        weighted=weighted,
        about=header.about(),
        provenance=_provenance(numbers, header, notes=notes),
        intake=options.intake(numbers.where),
    )
    return track.with_notes(*normalisation_notes(track, header))


READERS: dict[str, Callable[[NumberTable, Header, ReadOptions], AnyTrack]] = {
    "gaussian_se3": _read_gaussian,
    "ensemble_se3": _read_particles,
    "deterministic": _read_poses,
}


def _refuse_scattered(stamp: Ints, start: Ints, numbers: NumberTable) -> None:
    """Particles of one timestep must stand together."""
    order = np.argsort(stamp, kind="stable")
    again = np.flatnonzero(np.diff(stamp[order]) == 0)
    if len(again):
        later, earlier = (int(start[order[again[0] + step]]) for step in (1, 0))
        raise FormatError(
            f"{numbers.where(later)}: the particles of this timestep began at "
            f"{numbers.where(earlier)}; those of one timestep must stand together"
        )


def _without_cut_timestep(offset: Ints, numbers: NumberTable) -> tuple[Ints, tuple[str, ...]]:
    """Leave out a last timestep that the end of the file cut."""
    count = np.diff(offset)
    short = len(count) > 2 and (count[:-1] == count[0]).all() and count[-1] < count[0]
    if not (numbers.cut or short) or len(count) < 2:
        return offset, ()
    note = f"{numbers.where(int(offset[-2]))}: the last timestep has {count[-1]} particles"
    return offset[:-1], (f"{note} and seems cut off; it was left out",)


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write any track as SQUARE 0.3, its cross-covariances beside it; both files or neither."""
    del options  # SQUARE has nothing to choose: right perturbation, translation first
    header = square_header(track)
    rows = int(track.offset[-1]) if isinstance(track, ParticleTrack) else len(track)
    cross = track.cross if isinstance(track, GaussianTrack) else None
    beside = () if cross is None else (cross_target(path),)
    with replacing_all(path, *beside) as (new_rows, *new_cross):
        with open_output(new_rows, packed=is_gzip_name(path)) as stream:
            stream.write(header.encode())
            write_rows(stream, track_tables(track), rows)
        if isinstance(track, GaussianTrack) and cross is not None:
            with open_output(new_cross[0], packed=is_gzip_name(path)) as stream:
                stream.write(cross_header(track.about).encode())
                write_rows(stream, cross_tables(track, cross), len(cross))
        remove_stale(path, written=next(iter(beside), None))
    return path, *beside


def square_header(track: AnyTrack) -> str:
    """The header of a track."""
    fields: dict[str, str] = {}
    if isinstance(track, GaussianTrack):
        fields = GAUSSIAN_FIELDS
    elif isinstance(track, ParticleTrack):
        fields = particle_fields(track)
    return header_text(track.about, track.representation, fields)


def track_tables(track: AnyTrack) -> "Iterator[pl.DataFrame]":
    """The rows of a track as tables ready to be printed, a part at a time."""
    if isinstance(track, ParticleTrack):
        yield from _particle_tables(track)
        return
    for part in row_slices(len(track)):
        columns = [track.position[part], track.rotation[part]]
        if isinstance(track, GaussianTrack):
            columns.append(pack_lower(track.covariance[part]))
        yield table(track.stamp[part], np.concatenate(columns, axis=1))


def _particle_tables(track: ParticleTrack) -> "Iterator[pl.DataFrame]":
    stamp = np.repeat(track.stamp, track.count)
    number = np.arange(len(stamp)) - np.repeat(track.offset[:-1], track.count)
    for part in row_slices(len(stamp)):
        columns = [track.particle_position[part], track.particle_rotation[part]]
        if track.weighted:
            columns.insert(0, track.weight[part, None])
        yield numbered_table(stamp[part], number[part], np.concatenate(columns, axis=1))
