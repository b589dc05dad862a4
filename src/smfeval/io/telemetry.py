"""Telemetry of a filter's updates from Parquet or text: one row per scan, columns by name.

Text has the names in its first line, after `#` or not, and commas or blanks between the columns.

A symmetric matrix has the columns of its lower triangle, such as information_xx, information_yx,
information_yy; those of the upper one are taken, too. Rows and columns are x y z for the position
and, in a 6 x 6 information, a b c for the rotation about them.
"""

from pathlib import Path

import numpy as np
import polars as pl

from smfeval import words
from smfeval.errors import FormatError, reason_of
from smfeval.explain.telemetry import TelemetryTable
from smfeval.io.parquet import read_table
from smfeval.io.source import read_table_text
from smfeval.maths.arrays import Bools, Floats, Ints, nanoseconds

POSITION, POSE = "xyz", "xyzabc"
STAMPS, NOISES = ("stamp", "stamp_s"), ("sigma_m", "variance_m2")
COUNT = "matched"
# Names that people give to these columns, in lower case; `timestamp` is in seconds, as in TUM.
OTHER_NAMES = {
    "timestamp": "stamp_s",
    "n_matched": COUNT,
    "r_per_point": "variance_m2",
    "laser_point_cov": "variance_m2",
}


def read_telemetry_table(path: Path) -> TelemetryTable:
    """Read, check and sort a table; what is left out is counted in its notes."""
    frame = _read_frame(path)
    if not len(frame):
        raise FormatError(f"{path}: a table of telemetry without a row")
    stamp, stamped = _stamps(frame, path)
    matched = _numbers(frame, COUNT, path)
    noise = _one_of(frame, NOISES, "the noise of a point", path)
    sigma = _numbers(frame, noise, path)  # of one residual
    if noise != "sigma_m":
        with np.errstate(invalid="ignore"):
            sigma = np.copysign(np.sqrt(np.abs(sigma)), sigma)
    information, normals = _information(frame, path, sigma)
    optional = {name: matrix_of_columns(frame, name, path) for name in ("prior", "posterior")}
    optional |= {
        name: _numbers(frame, name, path) if name in frame.columns else None
        for name in ("residual_rms_m", "innovation_rms_m")
    }
    good = stamped
    for column in (matched, sigma, information, *optional.values()):
        if column is not None:
            good = good & np.isfinite(column.reshape(len(column), -1)).all(axis=1)
    _check_range(path, matched[good], sigma[good])
    order, notes = _order(stamp, good)
    table = TelemetryTable(
        stamp=stamp,
        matched=np.where(good, matched, 0).astype(np.int64),
        sigma_m=sigma,
        information=information,
        normals=normals,
        **optional,
        notes=tuple(notes),
    )
    if not len(order):
        raise FormatError(f"{path}: no row of telemetry has all its numbers")
    return table.at(order)


def _read_frame(path: Path) -> pl.DataFrame:
    if path.suffix.lower() in (".parquet", ".pq"):
        return read_table(path)[1]
    try:
        frame = pl.read_csv(_as_csv(read_table_text(path)), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"{path}: no table of telemetry ({reason_of(error)})") from error
    frame = frame.rename({name: name.strip() for name in frame.columns})
    for name in frame.columns:
        known = OTHER_NAMES.get(name.lower())
        if known is None or known in frame.columns:
            continue
        if known == "stamp_s" and frame[name].dtype.is_integer():
            raise FormatError(
                f"{path}: {name} is whole numbers; call nanoseconds stamp and seconds stamp_s"
            )
        frame = frame.rename({name: known})
    return frame


def _as_csv(content: bytes) -> bytes:
    """The table with its names in the first line, without `#`, and commas between columns.

    Names are in the last comment before the first row of numbers, or else in the first row.
    """
    lines = [line.strip() for line in content.splitlines() if line.strip()]
    row = next((i for i, line in enumerate(lines) if not line.startswith(b"#")), len(lines))
    is_named = row < len(lines) and lines[row][:1].isalpha()
    head = row if is_named else max(row - 1, 0)
    kept = [line.lstrip(b"# ") for line in lines[head : head + 1]]
    kept += [line for line in lines[head + 1 :] if not line.startswith(b"#")]
    if kept and b"," not in kept[0]:
        kept = [b",".join(line.split()) for line in kept]
    return b"\n".join(kept)


def _stamps(frame: pl.DataFrame, path: Path) -> tuple[Ints, Bools]:
    """Nanoseconds, and which of them are there: `stamp` whole ns, `stamp_s` seconds."""
    name = _one_of(frame, STAMPS, "a stamp", path)
    if name == "stamp" and not frame[name].dtype.is_integer():
        raise FormatError(f"{path}: stamp is whole nanoseconds; call seconds stamp_s")
    if name == "stamp":
        there = ~frame[name].is_null().to_numpy()
        return frame[name].fill_null(0).to_numpy().astype(np.int64), there
    seconds = _numbers(frame, name, path)
    good = np.isfinite(seconds)
    return nanoseconds(np.where(good, seconds, 0.0)), good


def _information(
    frame: pl.DataFrame, path: Path, sigma: Floats
) -> tuple[Floats | None, Floats | None]:
    """J as logged (n, 3, 3) or (n, 6, 6), and sum n n^T (n, 3, 3), one from the other."""
    square = (sigma**2)[:, None, None]
    for letters in (POSE, POSITION):
        found = matrix_of_columns(frame, "information", path, letters)
        if found is not None:
            return found, square * found[:, :3, :3]
    normals = matrix_of_columns(frame, "normals", path)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (None if normals is None else normals / square), normals


def matrix_of_columns(
    frame: pl.DataFrame, name: str, path: Path, letters: str = POSITION
) -> Floats | None:
    """A symmetric matrix of columns; None if it has none at all (or, 6 x 6, none of rotation)."""
    size, names = len(letters), dict[tuple[int, int], str | None]()
    for i in range(size):
        for j in range(i + 1):  # the lower triangle, or its mirror image
            both = f"{name}_{letters[i]}{letters[j]}", f"{name}_{letters[j]}{letters[i]}"
            names[i, j] = next((each for each in both if each in frame.columns), None)
    asked = {at: each for at, each in names.items() if at[0] >= size - 3}  # last rows: the new ones
    if all(each is None for each in asked.values()):
        return None
    missing = [f"{name}_{letters[i]}{letters[j]}" for (i, j), each in names.items() if each is None]
    if missing:
        raise FormatError(
            f"{path}: {words.join(missing, most=3)} "
            f"{'is' if len(missing) == 1 else 'are'} missing beside the other columns of {name}"
        )
    matrix = np.empty((len(frame), size, size))
    for (i, j), each in names.items():
        matrix[:, i, j] = matrix[:, j, i] = _numbers(frame, str(each), path)
    return matrix


def _one_of(frame: pl.DataFrame, names: tuple[str, str], what: str, path: Path) -> str:
    found = [name for name in names if name in frame.columns]
    if len(found) != 1:
        state = "is missing" if not found else "is there twice"
        raise FormatError(f"{path}: {what} {state}: one column {names[0]} or {names[1]} is needed")
    return found[0]


def _numbers(frame: pl.DataFrame, name: str, path: Path) -> Floats:
    """A column as numbers, NaN where one is empty. (n,)."""
    if name not in frame.columns:
        there = words.join(frame.columns, most=8)
        raise FormatError(f"{path}: the column {name} is missing; there are {there}")
    column = frame[name]
    if not (column.dtype.is_numeric() or column.null_count() == len(column)):
        raise FormatError(f"{path}: the column {name} has something that is no number")
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _check_range(path: Path, matched: Floats, sigma: Floats) -> None:
    if (matched < 0).any() or (matched != np.rint(matched)).any():
        raise FormatError(f"{path}: {COUNT} is a number of points, 0 or more")
    bad = int((sigma <= 0).sum())
    if bad:
        raise FormatError(
            f"{path}: the noise of a point is to be positive; it is not in "
            f"{words.count_of(bad, len(sigma), 'row')}"
        )


def _order(stamp: Ints, good: Bools) -> tuple[Ints, list[str]]:
    """Good rows in the order of time, the first of each stamp, and what is not among them."""
    kept = np.flatnonzero(good)
    _, first = np.unique(stamp[kept], return_index=True)
    lost, again = len(good) - len(kept), len(kept) - len(first)
    notes = []
    if lost:
        notes.append(f"{words.count(lost, 'row')} of telemetry without all its numbers left out")
    if again:
        notes.append(f"{words.count(again, 'row')} of telemetry with the stamp of another left out")
    return kept[first], notes
