"""SQUARE 0.2 and 0.3: TUM extended to Gaussians, particles or plain poses, with a header.

`NAME.cross` beside `NAME.square` has cross-covariances between scans, our extension: a header
(`#%FORMAT SQUARE-CROSS/0.1` and the convention keys of SQUARE), then rows of 38 numbers,
`stamp_i stamp_j` and C_ij = Cov(xi_i, xi_j) row by row, both perturbations in the declared
convention. A gzipped `NAME.square.gz` has a gzipped `NAME.cross.gz`.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import words
from smfeval.errors import FormatError, OptionError, TrackError
from smfeval.io.atomic import open_output, replacing_all, row_slices, seconds, table, write_rows
from smfeval.io.convention import settle_convention
from smfeval.io.formats import CROSS, CROSS_ALONE, CROSS_START
from smfeval.io.header import (
    CROSS_VERSION,
    CURRENT_VERSION,
    GAUSSIAN_FIELDS,
    Header,
    header_text,
    parse_header,
)
from smfeval.io.options import ReadOptions
from smfeval.io.parsers import Layout
from smfeval.io.source import is_binary, is_gzip_name, read_head
from smfeval.io.text_reader import NumberTable, read_header, read_numbers, track_of_rows
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import seconds_text
from smfeval.track import (
    About,
    AnyTrack,
    CrossCovariance,
    DroppedRows,
    GaussianTrack,
    Intake,
    ParticleTrack,
    Provenance,
)
from smfeval.track.cross import order_pairs, repeats

if TYPE_CHECKING:
    import polars as pl

NORMALISED_TOLERANCE = 1e-6  # a sum this near to 1 is written as normalised
DECLARED_TOLERANCE = 1e-3  # weights with few digits may miss 1 so and still be called normalised

LAYOUTS = {  # by representation, or by whether particles are weighted
    kind: Layout({width: columns}, tail="drop", one_header=True, apart=apart)
    for kind, width, columns, apart in (
        (
            "gaussian_se3",
            29,
            "stamp, pose and 21 covariance numbers",
            8,
        ),
        ("deterministic", 8, "stamp and pose", None),
        ("true", 10, "stamp, particle id, weight and pose", None),
        ("false", 9, "stamp, particle id and pose", None),
    )
}
CROSS_LAYOUT = Layout(
    {38: "two stamps and 36 covariance numbers"},
    stamps=2,
    tail="drop",
    one_header=True,
    apart=2,
)


def read(path: Path, options: ReadOptions) -> AnyTrack:
    """Read a SQUARE file of any representation."""
    lines = read_header(path)
    if lines and lines[0][1].encode().startswith(CROSS_START):
        raise FormatError(f"{path}: {CROSS_ALONE}")
    if not any(text.startswith("#%") for _, text in lines):  # it lacks all fields, not one of them
        if is_binary(read_head(path)):
            raise FormatError(f"{path}: this is binary data, not a SQUARE file")
        raise FormatError(
            f"{path}: there is no SQUARE header; it begins with #%FORMAT {CURRENT_VERSION}"
        )
    header = parse_header(str(path), lines)
    kind = f"{header.fields['FORMAT']} {header.representation}"
    if header.representation == "ensemble_se3":
        return _read_particles(
            read_numbers(path, LAYOUTS[header.fields["WEIGHTED"]]), header, kind, options
        )
    numbers = read_numbers(path, LAYOUTS[header.representation])
    if header.representation == "deterministic":
        about, notes = header.about(), header.notes
        return track_of_rows(numbers, kind, options, about=about, notes=notes)

    settled = settle_convention(options, declared=header.convention, preset_order="state_order")
    pose = numbers.columns(1, 4), numbers.columns(4, 8)
    right = settled.to_right(numbers.matrices, pose)
    more: dict[str, Any] = {
        "pose": pose,
        "covariance": right,
        "settled": settled,
        "about": header.about(),
        "notes": header.notes,
    }
    track = track_of_rows(numbers, kind, options, **more)
    assert isinstance(track, GaussianTrack)  # it has covariances
    return _with_cross(track, numbers, options)


def declared_gauge(path: Path, options: ReadOptions) -> str | None:
    """The gauge in the header."""
    del options
    return parse_header(str(path), read_header(path)).about().gauge


def _read_particles(
    numbers: NumberTable, header: Header, kind: str, options: ReadOptions
) -> ParticleTrack:
    weighted = header.fields["WEIGHTED"] == "true"
    stamp = numbers.stamp
    start = np.concatenate([[0], np.flatnonzero(np.diff(stamp)) + 1])
    order = np.argsort(stamp[start], kind="stable")
    again = np.flatnonzero(np.diff(stamp[start][order]) == 0)
    if len(again):
        later, earlier = (int(start[order[again[0] + step]]) for step in (1, 0))
        raise FormatError(
            f"{numbers.where(later)}: the particles of this timestep began at "
            f"{numbers.where(earlier)}; those of one timestep must stand together"
        )

    offset, notes = np.append(start, len(numbers)), (*numbers.notes, *header.notes)
    count = np.diff(offset)
    short = len(count) > 2 and (count[:-1] == count[0]).all() and count[-1] < count[0]
    if (numbers.cut or short) and len(count) > 1:
        place = numbers.where(int(offset[-2]))
        cut = f"the last timestep has {count[-1]} particles and seems cut off; it was left out"
        offset, notes = offset[:-1], (*notes, f"{place}: {cut}")
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
        provenance=Provenance(numbers.name, kind, notes=notes),
        intake=options.intake(numbers.where),
    )
    return track.with_notes(*normalisation_notes(track, header))


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


def _with_cross(track: GaussianTrack, main: NumberTable, options: ReadOptions) -> GaussianTrack:
    """The track with the cross-covariances that stand beside its file, if any do.

    `main` is the file's own table: a pair of a scan that was left out of the track is left out
    and counted, a pair of a scan that never was in the file is refused.
    """
    found = CROSS.found_beside(Path(main.name))
    if not found:
        return track
    if len(found) > 1:
        raise FormatError(
            f"{main.name}: two files of cross-covariances stand beside it, {found[0].name} and "
            f"{found[1].name}; only one can be meant"
        )
    path = found[0]
    header = parse_header(str(path), read_header(path), cross=True)
    for key, ours in (("BODY_FRAME", track.about.body), ("POSE_FRAME", track.about.world)):
        declared = header.fields.get(key, ours)
        if declared != ours:
            there = ours or "not declared"
            raise FormatError(f"{path}: {key} is {declared}, but {there} in {main.name}")
    rows = read_numbers(path, CROSS_LAYOUT)
    settled = settle_convention(options, declared=header.convention, preset_order="state_order")

    line, pairs, dropped = _match_scans(rows, track, main)
    first, second = ((track.position[scan], track.rotation[scan]) for scan in pairs.T)
    block = settled.cross_to_right(rows.matrices[line].reshape(-1, 6, 6), first, second)
    pairs, block, order = order_pairs(pairs, block)
    intake = options.intake(lambda row: rows.where(int(line[order][row])))
    once, twice = _drop_repeats(pairs, intake)

    old = track.provenance
    other = () if settled.words == old.convention else (f"{path}: {settled.words}",)
    provenance = replace(
        old,
        dropped=old.dropped + dropped + twice,
        notes=old.notes + rows.notes,
        remarks=old.remarks + other,
    )
    track = track.with_arrays({}, provenance=provenance)
    if len(once) == 0:
        return track
    intake = options.intake(lambda row: rows.where(int(line[order][once][row])))
    return track.with_cross(CrossCovariance(pairs[once], block[once]), intake=intake)


def _drop_repeats(pairs: Ints, intake: Intake) -> tuple[Ints, tuple[DroppedRows, ...]]:
    """Rows of sorted pairs, each pair once, and what was left out; refused unless it may be."""
    again = repeats(pairs)
    if not again.any():
        return np.arange(len(pairs)), ()
    at = int(np.argmax(again))
    if intake.duplicates == "refuse":
        reason = (
            f"the cross-covariance of these two stamps stands already at {intake.where(at - 1)}"
        )
        raise TrackError(reason, place=intake.where(at), row=at, remedy="duplicates")
    once = np.append(~again[1:], True) if intake.duplicates == "last" else ~again
    reason = f"cross-covariance already seen (the {intake.duplicates} was kept)"
    place = intake.where(int(np.argmin(once)))
    return np.flatnonzero(once), (DroppedRows(reason, int(again.sum()), place),)


def _match_scans(
    rows: NumberTable, track: GaussianTrack, main: NumberTable
) -> tuple[Ints, Ints, tuple[DroppedRows, ...]]:
    """Rows whose two stamps are those of scans, the numbers of these scans, and what is left."""
    stamp = rows.stamp
    same = stamp[:, 0] == stamp[:, 1]
    if same.any():
        row = int(np.argmax(same))
        raise FormatError(
            f"{rows.where(row)}: stamp {seconds_text(int(stamp[row, 0]))} stands twice; a "
            "cross-covariance is between two scans"
        )
    scan = np.minimum(np.searchsorted(track.stamp, stamp), len(track) - 1)
    found = track.stamp[scan] == stamp
    left_out = np.isin(stamp, main.stamp)  # in the file, or where it was cut off
    left_out |= (stamp > main.stamp.max()) & main.cut
    strange = ~found & ~left_out
    if strange.any():
        row = int(np.argmax(strange.any(axis=1)))
        unknown = seconds_text(int(stamp[row][strange[row]][0]))
        more = int(strange.any(axis=1).sum()) - 1
        also = f" ({words.count(more, 'more row')})" if more else ""
        raise FormatError(f"{rows.where(row)}: stamp {unknown} is of no scan in {main.name}{also}")
    good = found.all(axis=1)
    kept = np.flatnonzero(good)
    if good.all():
        return kept, scan, ()
    first = rows.where(int(np.argmin(good)))
    left = DroppedRows("cross-covariance of a scan that was left out", int((~good).sum()), first)
    return kept, scan[kept], (left,)


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
    fields: dict[str, str] = GAUSSIAN_FIELDS if isinstance(track, GaussianTrack) else {}
    if isinstance(track, ParticleTrack):
        off = np.abs(weight_sums(track) - 1)
        normalised = track.weighted and bool((off <= NORMALISED_TOLERANCE).all())
        fields = {
            "WEIGHTED": str(track.weighted).lower(),
            "WEIGHT_FORMAT": "log" if track.log_weight else "linear",
            "WEIGHTS_NORMALIZED": str(normalised).lower(),
        }
    return header_text(track.about, track.representation, fields)


def track_tables(track: AnyTrack) -> "Iterator[pl.DataFrame]":
    """The rows of a track as tables ready to be printed, a part at a time."""
    import polars as pl  # noqa: PLC0415  slow to import, and reading does not need it

    if isinstance(track, ParticleTrack):
        stamp = np.repeat(track.stamp, track.count)
        number = np.arange(len(stamp)) - np.repeat(track.offset[:-1], track.count)
        arrays = [track.particle_position, track.particle_rotation]
        arrays = [track.weight[:, None], *arrays] if track.weighted else arrays
    else:
        stamp, number, arrays = track.stamp, None, [track.position, track.rotation]
    for part in row_slices(len(stamp)):
        columns = [array[part] for array in arrays]
        if isinstance(track, GaussianTrack):
            columns.append(track.triangle[part])
        rows = table(stamp[part], np.concatenate(columns, axis=1))
        if number is not None:
            rows.insert_column(1, pl.Series("number", number[part]))
        yield rows


def is_cross_file(path: Path) -> bool:
    """Whether a file is one of cross-covariances, by its first line."""
    return read_head(path).startswith(CROSS_START)


def remove_stale(path: Path, *, written: Path | None) -> None:
    """Remove cross-covariances that stand beside a file which is written anew."""
    for beside in CROSS.found_beside(path):
        if beside != written and is_cross_file(beside):
            beside.unlink()


def cross_target(path: Path) -> Path:
    """Where the cross-covariances of a SQUARE file are written."""
    beside = CROSS.beside(path)[0]
    if beside == path:
        raise OptionError(f"{path}: the name is that of cross-covariances beside a SQUARE file")
    return beside


def cross_header(about: About) -> str:
    """The header of a file of cross-covariances."""
    lines = {"FORMAT": CROSS_VERSION}
    lines |= {"POSE_FRAME": about.world} if about.world else {}
    lines |= {"BODY_FRAME": about.body} if about.body else {}
    lines |= {"TIMESTAMP_UNIT": "seconds"} | GAUSSIAN_FIELDS
    return "".join(f"#%{key} {value}\n" for key, value in lines.items())


def cross_tables(track: GaussianTrack, cross: CrossCovariance) -> "Iterator[pl.DataFrame]":
    """The rows as tables ready to be printed, a part at a time."""
    for part in row_slices(len(cross)):
        first, second = track.stamp[cross.pairs[part]].T
        rows = table(second, cross.block[part].reshape(-1, 36))
        yield rows.insert_column(0, seconds(first).alias("first"))


def cross_row(first: int, second: int, block: Floats) -> str:
    """One row, for writing it alone. (6, 6)."""
    numbers = (repr(float(value)) for value in block.ravel())
    return " ".join([seconds_text(first), seconds_text(second), *numbers])
