"""Rows that a filter elsewhere wrote of its updates, and the map log that they make.

A file begins with `smfrows1` and the size d of the error state, where velocity and gyroscope bias
begin in it (-1: they are not there). Then each scan has a `scan_type` and so many rows of 30 single
numbers: h (6), residual, place (3), five map points with their births (x, y, z, birth). Numbers are
little-endian, matrices row by row. docs/research/map-log.md has the lines that write it.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from smfeval.errors import FormatError
from smfeval.io.source import existing_file
from smfeval.maths.arrays import Floats
from smfeval_lab.filters.carried import Priors
from smfeval_lab.filters.map_log import MapLog, pack
from smfeval_lab.filters.scan_sums import (
    CLASSES,
    Matches,
    Motion,
    Prediction,
    ScanRecorder,
    added_noise,
    sweep_of,
)

MAGIC = b"smfrows1"
ROW = 30
MOST_STATES, MOST_ROWS = 100, 10**6


def scan_type(size: int) -> np.dtype[Any]:
    """What stands before the rows of a scan, with `size` error states."""
    square = (size, size)
    return np.dtype(
        [
            ("stamp", "<i8"),  # ns, end of the scan
            ("rows", "<i8"),
            ("kept", "<i8"),  # points that entered the map; -1: it was not added
            ("scan_s", "<f8"),  # duration
            ("variance", "<f8"),  # R of a row, m^2
            ("range_m2", "<f8"),  # variance of a range by the data sheet
            ("transition", "<f8", square),  # product of F since the scan before
            ("prior", "<f8", square),  # covariance before the update
            ("posterior", "<f8", square),  # and after it
            ("position", "<f8", 3),  # posterior, like all that follows
            ("rotation", "<f8", (3, 3)),  # world from body
            ("velocity", "<f8", 3),  # world
            ("rate", "<f8", 3),  # body
        ]
    )


def is_map_rows(path: Path) -> bool:
    """Whether a file begins as one of rows does."""
    with existing_file(path).open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def read_map_rows(path: Path) -> MapLog:
    """The log of all whole scans of a file; one that breaks off within a scan ends before it."""
    with path.open("rb") as stream:
        stream.seek(len(MAGIC))
        size, *at = np.fromfile(stream, "<i8", 3).tolist() or [0]
        if not 6 <= size <= MOST_STATES or len(at) != 2 or max(at) > size - 3:
            raise FormatError(f"{path}: no rows of a map: {size} error states, of which {at}")
        recorder, log, seen_from = ScanRecorder(CLASSES), None, list[Floats]()
        for scan, rows in _scans(path, stream, scan_type(size)):
            F, prior, place, R = (
                scan[name] for name in ("transition", "prior", "position", "rotation")
            )
            if log is None:  # the world begins here
                log, before, F = MapLog(prior.copy(), Priors(), CLASSES), prior, np.eye(size)
            sweep = sweep_of(R, scan["velocity"], float(scan["scan_s"]), size, at)
            motion = Motion(place, scan["velocity"], scan["rate"], sweep)
            prediction = Prediction(F, added_noise(F, before, prior), motion)
            matches = _matches(path, scan, rows, np.array(seen_from))
            kept = None if scan["kept"] < 0 else int(scan["kept"])
            sums = recorder.record(prediction, matches, place, R, kept)
            log.stamp.append(int(scan["stamp"]))
            log.rows.append(pack(sums))
            before = scan["posterior"]
            if kept is not None:
                seen_from.append(place)
            end = stream.tell()
    if log is None:
        raise FormatError(f"{path}: there is no whole scan in it")
    return replace(log, breaks_off=end < path.stat().st_size)


def _scans(path: Path, stream: IO[bytes], kind: np.dtype[Any]) -> Iterator[tuple[Any, Any]]:
    """Each scan, and its rows (m, 30)."""
    last = None
    while len(head := np.fromfile(stream, kind, 1)) == 1:
        scan = head[0]
        numbers = np.concatenate([np.ravel(scan[name]) for name in kind.names or ()])
        right = 0 <= scan["rows"] <= MOST_ROWS and (last is None or scan["stamp"] > last)
        variances = [scan["variance"], *np.diag(scan["prior"]), *np.diag(scan["posterior"])]
        if not right or not np.isfinite(numbers).all() or not min(variances) > 0:
            raise FormatError(
                f"{path}: the scan after {last} ns is none: {scan['rows']} rows at {scan['stamp']} "
                f"ns, variance {scan['variance']}; are matrices of {kind['prior'].shape} right?"
            )
        count, last = int(scan["rows"]), int(scan["stamp"])
        rows = np.fromfile(stream, "<f4", ROW * count).astype(np.float64)
        if len(rows) < ROW * count:
            return
        if not np.isfinite(rows).all():
            raise FormatError(f"{path}: rows of the scan at {last} ns are not finite")
        yield scan, rows.reshape(count, ROW)


def _matches(path: Path, scan: Any, rows: Any, seen_from: Floats) -> Matches | None:
    """The rows with normals towards the body."""
    if len(rows) == 0:
        return None
    H, place, fit = rows[:, :6], rows[:, 7:10], rows[:, 10:].reshape(-1, 5, 4)
    birth = fit[:, :, 3].astype(np.int64)
    if birth.min() < 0 or birth.max() >= len(seen_from):
        raise FormatError(
            f"{path}: births {birth.min()} to {birth.max()} in the scan at {scan['stamp']} ns, "
            f"when {len(seen_from)} scans were in the map"
        )
    away = np.einsum("mi,mi->m", H[:, :3], place - scan["position"])
    side = np.where(away > 0, -1.0, 1.0)
    return Matches(
        H=side[:, None] * H,
        weight=np.full(len(H), 1 / float(scan["variance"])),
        residual=side * rows[:, 6],
        birth=birth,
        gain=scan["posterior"][:, :6],
        place=place,
        fit=np.ascontiguousarray(fit[:, :, :3]),
        seen_from=seen_from,
        range_m2=float(scan["range_m2"]),
    )
