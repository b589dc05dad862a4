"""The log from which the covariance of the map's error can be computed after a run: an NPZ file.

`format` is its version; `start` (d, d) the filter's covariance before the first scan, `classes` how
many classes of births are kept beside the newest, `prior_*` the sigmas of `Priors`, `stamp` (n,)
the ends of the scans in ns. The other arrays are those of `COLUMNS`, one row per scan, with the
fields of `ScanSums`; of a symmetric matrix there is the lower triangle, row by row.

The information of the classes is in units of their sum A, where no direction is weak beside another
and two bytes are enough: `shares` = A^-1/2 A_a A^-1/2 / UNIT, and `gain` = G A^1/2.
"""

import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.errors import FormatError
from smfeval.io.atomic import writing
from smfeval.io.npz import read_arrays, read_numbers
from smfeval.maths.arrays import Floats, Ints
from smfeval_lab.filters.carried import CarriedCovariance, Priors, ReportedPoses
from smfeval_lab.filters.normals import square_roots
from smfeval_lab.filters.scan_sums import ScanSums

FORMAT = "map_log/1"
UNIT = 1 / 32767  # of shares
MOST_CLASSES = 256


@dataclass(frozen=True)
class LogColumn:
    """An array of a log: its type, and its shape in d (error state) and k (classes + 1)."""

    kind: type
    shape: tuple[int | str, ...] = ()
    symmetric: bool = False


COLUMNS = {
    "transition": LogColumn(np.float32, ("d", "d")),
    "added": LogColumn(np.float32, ("d", "d"), symmetric=True),
    "step_m": LogColumn(np.float64),
    "velocity": LogColumn(np.float32, (3,)),
    "rate": LogColumn(np.float32, (3,)),
    "sweep": LogColumn(np.float32, (6, "d")),
    "position": LogColumn(np.float64, (3,)),
    "rotation": LogColumn(np.float64, (3, 3)),
    "matched": LogColumn(np.int64),
    "precision": LogColumn(np.float64),
    "gain": LogColumn(np.float32, ("d", 6)),
    "information": LogColumn(np.float64, (6, 6), symmetric=True),
    "shares": LogColumn(np.int16, ("k", 6, 6), symmetric=True),
    "square_m2": LogColumn(np.float64),
    "pair": LogColumn(np.float32, (2, 6, 6), symmetric=True),
    "scatter": LogColumn(np.float32, (6, 6), symmetric=True),
    "view": LogColumn(np.float32, (6, 2)),
    "kept": LogColumn(np.int64),
    "joined": LogColumn(np.int64),
}

SINGLE = tuple(
    name for name, column in COLUMNS.items() if column.kind is np.float32 and name != "gain"
)


def pack(scan: ScanSums) -> dict[str, Any]:
    """A row of a log."""
    A = scan.information.sum(axis=0)
    root, inverse = square_roots(A)
    shares = np.rint(inverse @ scan.information @ inverse / UNIT)
    values = vars(scan) | {"information": A, "shares": shares, "gain": scan.gain @ root}
    row = {}
    for name, column in COLUMNS.items():
        value: Any = np.asarray(values[name]).astype(column.kind)
        row[name] = value[..., *triangle(value.shape[-1])[:2]] if column.symmetric else value
    return row


def round_as_packed(scan: ScanSums) -> ScanSums:
    """What `unpack` makes of a `pack`ed scan: followed now or from the log, it is the same."""
    root, inverse = square_roots(scan.information.sum(axis=0))
    shares = np.rint(inverse @ scan.information @ inverse / UNIT).astype(np.int16)
    single: dict[str, Any] = {
        name: np.asarray(getattr(scan, name), dtype=np.float32).astype(np.float64)
        for name in SINGLE
    }
    values = vars(scan) | single | {name: mirror(single[name]) for name in ("pair", "scatter")}
    values["information"] = UNIT * (root @ mirror(shares).astype(np.float64) @ root)
    values["gain"] = (scan.gain @ root).astype(np.float32).astype(np.float64) @ inverse
    return ScanSums(**values)


def unpack(row: dict[str, Any]) -> ScanSums:
    """The scan of a row, as near as the log keeps it."""
    values = {}
    for name, column in COLUMNS.items():
        values[name] = row[name].astype(np.int64 if column.kind is np.int64 else np.float64)
        if column.symmetric:
            values[name] = values[name][..., triangle(side_of(row[name].shape[-1]))[2]]
    root, inverse = square_roots(values["information"])
    values["information"] = UNIT * (root @ values.pop("shares") @ root)
    values["gain"] = values["gain"] @ inverse
    return ScanSums(**values)


def mirror(matrix: Any) -> Any:
    """Matrices with the lower triangle above the diagonal too. (..., d, d)."""
    size = matrix.shape[-1]
    flat = matrix.reshape(*matrix.shape[:-2], size * size)
    return flat.take(_lower_entry(size), axis=-1).reshape(matrix.shape)


@cache
def _lower_entry(size: int) -> Ints:
    """Which entry of the lower triangle each entry of a matrix is. (size^2,)."""
    i, j = np.indices((size, size))
    return np.asarray(np.maximum(i, j) * size + np.minimum(i, j)).ravel()


@cache
def triangle(size: int) -> tuple[Ints, Ints, Ints]:
    """Rows and columns of a lower triangle (t,), and which of them each entry is (size, size)."""
    i, j = np.tril_indices(size)
    where = np.empty((size, size), dtype=np.int64)
    where[i, j] = where[j, i] = np.arange(len(i))
    return i, j, where


def side_of(entries: int) -> int:
    """Rows of a matrix of which the lower triangle has so many entries."""
    return (int(np.sqrt(8 * entries + 1)) - 1) // 2


@dataclass(frozen=True)
class MapLog:
    """The scans of a run, and what it began with."""

    start: Floats  # (d, d)
    priors: Priors
    classes: int
    stamp: list[int] = field(default_factory=list)  # ns, ends of the scans
    rows: list[dict[str, Any]] = field(default_factory=list)  # `pack`ed scans
    breaks_off: bool = False  # within a scan, which is left out

    def poses(self, lags: int) -> ReportedPoses:
        """What follows the scans from the first on."""
        carried = CarriedCovariance(self.start, priors=self.priors, classes=self.classes)
        return ReportedPoses(carried, lags)


def write_map_log(log: MapLog, path: Path) -> None:
    """Write a file that appears whole or not at all."""
    arrays: dict[str, Any] = {"format": FORMAT, "start": log.start, "classes": log.classes}
    arrays |= {f"prior_{name}": value for name, value in asdict(log.priors).items()}
    arrays["stamp"] = np.array(log.stamp, dtype=np.int64)
    for name in COLUMNS:  # in column order: what never changes packs to nothing
        arrays[name] = np.asfortranarray([row[name] for row in log.rows])
    with writing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_LZMA) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_map_log(path: Path) -> MapLog:
    """Read a log; raises `FormatError` on a file that cannot be one."""
    priors = {f"prior_{each.name}": each.name for each in fields(Priors)}
    arrays = read_arrays(path, ("format", "start", "classes", *priors, "stamp", *COLUMNS))
    if str(arrays.get("format")) != FORMAT:
        raise FormatError(f"{path}: no map log: it has no array `format` that says {FORMAT}")
    size = (*np.asarray(arrays.get("start")).shape, 0)[0]
    start = read_numbers(path, arrays, "start", (size, size))
    classes = int(read_numbers(path, arrays, "classes", ()))
    sigma = {name: float(read_numbers(path, arrays, key, ())) for key, name in priors.items()}
    if size < 6 or not 4 <= classes <= MOST_CLASSES or not min(sigma.values()) >= 0:
        raise FormatError(
            f"{path}: start must be at least 6 x 6, classes from 4 to {MOST_CLASSES}, priors from 0"
        )
    stamp = np.asarray(arrays.get("stamp"))
    if stamp.dtype != np.int64 or stamp.ndim != 1 or not (np.diff(stamp) > 0).all():
        raise FormatError(f"{path}: stamp must be whole nanoseconds (int64) that increase")
    columns = dict(_columns(path, arrays, len(stamp), {"d": size, "k": classes + 1}))
    _refuse_impossible_classes(path, columns, classes)
    rows = [{name: column[row] for name, column in columns.items()} for row in range(len(stamp))]
    return MapLog(start, Priors(**sigma), classes, stamp.tolist(), rows)


def _columns(
    path: Path, arrays: dict[str, Any], count: int, sizes: dict[str, int]
) -> Iterator[tuple[str, Any]]:
    """Name and rows of each column, checked. (n, ...)."""
    for name, column in COLUMNS.items():
        shape = [sizes[side] if isinstance(side, str) else side for side in column.shape]
        if column.symmetric:
            shape[-2:] = [len(triangle(shape[-1])[0])]
        values = read_numbers(path, arrays, name, (count, *shape))
        if not np.isfinite(values).all():
            raise FormatError(f"{path}: {name} has numbers that are not finite")
        yield name, values.astype(column.kind)


def _refuse_impossible_classes(path: Path, columns: dict[str, Ints], most: int) -> None:
    """Raise on births and joins that no map can have had."""
    born, joined = columns["kept"] > 0, columns["joined"]
    after = np.cumsum(born.astype(np.int64) - (joined >= 0))
    before = np.concatenate([[0], after[:-1]])
    wrong = (after > most + 1) | (joined < -1) | ((columns["matched"] > 0) & (before == 0))
    wrong |= (joined >= 0) & (~born | (joined >= before - 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        kept, matched = columns["kept"][row], columns["matched"][row]
        raise FormatError(
            f"{path}: scan {row + 1}: kept {kept}, joined {joined[row]} and matched {matched} do "
            f"not go with {before[row]} classes of at most {most} + 1"
        )
