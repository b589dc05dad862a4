"""A recording as a folder of Parquet tables; reads back bit for bit.

::

    recording.json     name, mounting, noise, notes
    imu.parquet        stamp (ns), gx gy gz (rad/s), ax ay az (m/s^2)
    scans.parquet      start, end (ns), count
    points.parquet     x y z (m, float32), time (ns since the scan's start), ring
    reference.square   the exact poses of the IMU
    measured.square    the reference as a survey would measure it, if that was asked for
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os.path import realpath
from pathlib import Path

import numpy as np
import polars as pl

from smfeval.errors import FormatError, OptionError
from smfeval.io import read as read_track
from smfeval.io import write as write_track
from smfeval.io.atomic import write_parquet
from smfeval.io.parquet import read_table
from smfeval.io.source import is_file
from smfeval.maths.arrays import Floats
from smfeval.track import Track
from smfeval_lab.recording import METADATA_FILE, Imu, Recording, Scans, metadata_json, read_metadata

REFERENCE_FILE = "reference.square"
MEASURED_FILE = "measured.square"
IMU_COLUMNS = ["stamp", "gx", "gy", "gz", "ax", "ay", "az"]


def write_folder(recording: Recording, path: Path) -> list[Path]:
    """Write the folder: it appears whole or not at all."""
    imu, scans = recording.imu, recording.scans
    sampled = [imu.stamp, *imu.gyro.T, *imu.acceleration.T]
    points = {axis: scans.point[:, i] for i, axis in enumerate("xyz")} | {"time": scans.time}
    if scans.ring is not None:
        points["ring"] = scans.ring
    tables = {
        "imu": dict(zip(IMU_COLUMNS, sampled, strict=True)),
        "scans": {"start": scans.start, "end": scans.end, "count": np.diff(scans.offset)},
        "points": points,
    }
    with replacing_folder(path) as new:
        for name, columns in tables.items():
            write_parquet(pl.DataFrame(columns), new / f"{name}.parquet")
        if recording.reference is not None:
            write_track(recording.reference, new / REFERENCE_FILE)
        if recording.measured is not None:
            write_track(recording.measured, new / MEASURED_FILE)
        (new / METADATA_FILE).write_text(metadata_json(recording))
    return sorted(path.iterdir())


def read_folder(path: Path) -> Recording:
    """Read a folder that `write_folder` wrote."""
    metadata = read_metadata(path / METADATA_FILE)
    sampled = _table(path / "imu.parquet", IMU_COLUMNS)
    frame = _table(path / "scans.parquet", ["start", "end", "count"])
    points = _table(path / "points.parquet", ["x", "y", "z", "time"])
    start, end, count = (column.to_numpy() for column in frame[:, :3])
    offset = np.concatenate([[0], np.cumsum(count)])
    if offset[-1] != len(points):
        raise FormatError(f"{path}: the scans count {offset[-1]} points, there are {len(points)}")
    ring = points["ring"].to_numpy() if "ring" in points.columns else None
    place, time = _stack_columns(points, "x y z"), points["time"].to_numpy()
    gyro, acceleration = (_stack_columns(sampled, axes) for axes in ("gx gy gz", "ax ay az"))
    return Recording(
        **metadata,
        imu=Imu(sampled["stamp"].to_numpy(), gyro, acceleration),
        scans=Scans(start, end, offset, place, time, ring),
        reference=read_reference(path / REFERENCE_FILE),
        measured=read_reference(path / MEASURED_FILE),
    )


def read_reference(path: Path) -> Track | None:
    """The exact reference, if its file is there."""
    if not is_file(path):
        return None
    track = read_track(path)
    if not isinstance(track, Track):
        raise FormatError(f"{path}: a reference is a track of poses")
    return track


def _table(path: Path, columns: list[str]) -> pl.DataFrame:
    _, frame = read_table(path)
    if frame.columns[: len(columns)] != columns:
        raise FormatError(f"{path}: the columns must be {' '.join(columns)}")
    return frame


def _stack_columns(frame: pl.DataFrame, columns: str) -> Floats:
    return np.stack([frame[name].to_numpy() for name in columns.split()], axis=1)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """A new folder that becomes `path` if the block ends well, and vanishes if it does not."""
    path = Path(realpath(path))  # a link stays a link
    try:
        with tempfile.TemporaryDirectory(prefix=".smfeval.", dir=path.parent) as scratch:
            new, old = Path(scratch) / "new", Path(scratch) / "old"
            new.mkdir()
            yield new
            if path.exists():
                path.rename(old)
            shutil.move(new, path)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror or error})") from error
