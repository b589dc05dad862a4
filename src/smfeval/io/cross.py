"""`NAME.cross` beside `NAME.square`: cross-covariances between scans, our extension of SQUARE.

A header (`#%FORMAT SQUARE-CROSS/0.1` and the convention keys of SQUARE), then rows of 38 numbers:
`stamp_i stamp_j` and C_ij = Cov(xi_i, xi_j) row by row, both perturbations in the declared
convention. A gzipped `NAME.square.gz` has a gzipped `NAME.cross.gz`.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smfeval.errors import FormatError, OptionError, TrackError
from smfeval.io.atomic import row_slices, seconds, table
from smfeval.io.formats import CROSS, CROSS_START
from smfeval.io.header import CROSS_VERSION, GAUSSIAN_FIELDS, Header, parse_cross_header
from smfeval.io.options import ReadOptions
from smfeval.io.settle import settle_convention
from smfeval.io.source import read_head
from smfeval.io.text_layout import Layout, NumberTable, PackedColumns
from smfeval.io.text_reader import read_header, read_numbers
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import seconds_text
from smfeval.track import About, CrossCovariance, DroppedRows, GaussianTrack, Intake
from smfeval.track.cross import order_pairs, repeats

if TYPE_CHECKING:
    import polars as pl

LAYOUT = Layout(
    {38: "two stamps and 36 covariance numbers"},
    stamps=2,
    tail="drop",
    one_header=True,
    packed=PackedColumns(1, np.arange(36).reshape(6, 6)),
)


def find_cross(path: Path) -> Path | None:
    """The file of cross-covariances beside a SQUARE file; two of them are one too many."""
    found = CROSS.found_beside(path)
    if len(found) > 1:
        raise FormatError(
            f"{path}: two files of cross-covariances stand beside it, {found[0].name} and "
            f"{found[1].name}; only one can be meant"
        )
    return found[0] if found else None


def read_cross(track: GaussianTrack, main: NumberTable, options: ReadOptions) -> GaussianTrack:
    """The track with the cross-covariances that stand beside its file, if any do.

    `main` is the file's own table: a pair of a scan that was left out of the track is left out
    and counted, a pair of a scan that never was in the file is refused.
    """
    path = find_cross(Path(main.name))
    if path is None:
        return track
    header = parse_cross_header(str(path), read_header(path))
    _refuse_other_frames(header, track.about, path, main)
    rows = read_numbers(path, LAYOUT)
    settled = settle_convention(options, declared=header.convention, preset_order="state_order")

    line, pairs, dropped = _match_scans(rows, track, main)
    first, second = ((track.position[scan], track.rotation[scan]) for scan in pairs.T)
    block = settled.cross_to_right(rows.matrices[line], first, second)
    pairs, block, order = order_pairs(pairs, block)
    intake = options.intake(lambda row: rows.where(int(line[order][row])))
    once, twice = _drop_repeats(pairs, intake)

    told = track.provenance
    other = () if settled.words == told.convention else (f"{path}: {settled.words}",)
    provenance = replace(
        told,
        dropped=told.dropped + dropped + twice,
        notes=told.notes + rows.notes,
        remarks=told.remarks + other,
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


def _refuse_other_frames(header: Header, about: About, path: Path, main: NumberTable) -> None:
    for key, ours in (("BODY_FRAME", about.body), ("POSE_FRAME", about.world)):
        said = header.fields.get(key)
        if said is not None and said != ours:
            raise FormatError(
                f"{path}: {key} is {said}, but {ours or 'not declared'} in {main.name}"
            )


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
    _refuse_strangers(stamp, ~found & ~_was_left_out(stamp, main), rows, main)
    good = found.all(axis=1)
    kept = np.flatnonzero(good)
    if good.all():
        return kept, scan, ()
    first = rows.where(int(np.argmin(good)))
    left = DroppedRows("cross-covariance of a scan that was left out", int((~good).sum()), first)
    return kept, scan[kept], (left,)


def _was_left_out(stamp: Ints, main: NumberTable) -> Bools:
    """Whether stamps stand in the file, or would stand where it was cut off."""
    there = np.isin(stamp, main.stamp)
    return there | (stamp > main.stamp.max()) if main.cut else there


def _refuse_strangers(stamp: Ints, strange: Bools, rows: NumberTable, main: NumberTable) -> None:
    if not strange.any():
        return
    row = int(np.argmax(strange.any(axis=1)))
    unknown = seconds_text(int(stamp[row][strange[row]][0]))
    more = int(strange.any(axis=1).sum()) - 1
    also = f" ({more} more {'row' if more == 1 else 'rows'})" if more else ""
    raise FormatError(f"{rows.where(row)}: stamp {unknown} is of no scan in {main.name}{also}")


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
