"""RECORDING: what the sensors of a walk saw, as arrays, as a folder of tables and as a bag."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from smfeval.errors import FormatError, OptionError
from smfeval.io.source import exists, is_file, is_folder
from smfeval_lab.recording.data import (
    GRAVITY_M_S2,
    METADATA_FILE,
    Imu,
    ImuNoise,
    Recording,
    RecordingOptions,
    Scan,
    Scans,
    bag_files,
)

__all__ = [
    "GRAVITY_M_S2",
    "LAYOUTS",
    "Imu",
    "ImuNoise",
    "Recording",
    "RecordingOptions",
    "Scan",
    "Scans",
    "read_recording",
    "refuse_overwrite",
    "write_recording",
]

BAG_SUFFIX = ".mcap"
LAYOUTS = ("spires", "geode")  # data sets whose folders can be written
FILES = {METADATA_FILE, "imu.parquet", "scans.parquet", "points.parquet", "reference.square",
         "measured.square"}  # fmt: skip
UNWRITABLE_SUFFIXES = {".bag", ".db3", ".parquet"}


def read_recording(path: str | Path, **options: Any) -> Recording:
    """Read a folder that `write_recording` wrote, or a bag with a LiDAR and an IMU.

    Keyword arguments are the fields of `RecordingOptions`.
    """
    from smfeval_lab.recording.bag_read import read_bag  # noqa: PLC0415  rosbags only when used
    from smfeval_lab.recording.folder import read_folder  # noqa: PLC0415  polars likewise

    path, given = Path(path), RecordingOptions(**options)
    if not exists(path):
        raise FormatError(f"{path}: there is no such file")
    if not is_file(path / METADATA_FILE):
        return read_bag(path, given)
    given.refuse_bag_options(str(path))
    return replace(read_folder(path), **given.replacements)


def write_recording(
    recording: Recording, path: str | Path, *, layout: str | None = None, force: bool = False
) -> list[Path]:
    """Write a bag if the path ends in .mcap, a folder of tables otherwise; returns the files.

    With a `layout` of `LAYOUTS` the folder is laid out as that data set is.
    """
    from smfeval_lab.recording.bag_write import write_bag  # noqa: PLC0415  rosbags only when used
    from smfeval_lab.recording.folder import write_folder  # noqa: PLC0415  polars likewise

    path = Path(path)
    refuse_overwrite(path, layout=layout, force=force)
    if layout is not None:
        from smfeval_lab.recording.datasets import write_dataset  # noqa: PLC0415  rosbags likewise

        return write_dataset(recording, path, layout)
    return (write_bag if path.suffix == BAG_SUFFIX else write_folder)(recording, path)


def refuse_overwrite(path: Path, *, layout: str | None = None, force: bool) -> None:
    """Raise on a path that cannot be written to, or that would replace what is there."""
    if layout is not None and (exists(path) or path.suffix == BAG_SUFFIX):
        raise OptionError(f"{path}: the layout {layout} needs a folder that is not there yet")
    if path.suffix in UNWRITABLE_SUFFIXES:
        raise OptionError(f"{path}: a recording is written to a folder or to an .mcap file")
    if not is_folder(path.absolute().parent):
        raise OptionError(f"{path}: there is no folder {path.absolute().parent}")
    if path.suffix != BAG_SUFFIX and exists(path) and not is_file(path / METADATA_FILE):
        raise OptionError(f"{path}: already there and no recording; name a new folder")
    _refuse_other_files(path)
    files = bag_files(path) if path.suffix == BAG_SUFFIX else [path]
    taken = next((file for file in files if exists(file)), None)
    if taken is not None and not force:
        raise OptionError(f"{taken}: already there; --force replaces it")


def _refuse_other_files(path: Path) -> None:
    """Raise on a folder that holds more than a recording: it is replaced as a whole."""
    others = sorted({file.name for file in path.iterdir()} - FILES) if is_folder(path) else []
    if others and path.suffix != BAG_SUFFIX:
        raise OptionError(
            f"{path}: the folder holds other things, such as {others[0]}; name another"
        )
