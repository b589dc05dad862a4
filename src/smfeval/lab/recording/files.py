"""Which kind of file a recording is read from or written to."""

from dataclasses import replace
from pathlib import Path

from smfeval.errors import FormatError, OptionError
from smfeval.io.source import exists, is_file, is_folder
from smfeval.lab.recording import bag_read, bag_write, folder
from smfeval.lab.recording.data import Recording, RecordingOptions

BAG_SUFFIX = ".mcap"
UNWRITABLE_SUFFIXES = {".bag", ".db3", ".parquet"}


def read(path: Path, told: RecordingOptions) -> Recording:
    """Read a folder of ours or any bag."""
    if not exists(path):
        raise FormatError(f"{path}: there is no such file")
    if not is_file(path / folder.METADATA_FILE):
        return bag_read.read(path, told)
    told.refuse_bag_options(str(path))
    return apply_options(folder.read(path), told)


def apply_options(recording: Recording, told: RecordingOptions) -> Recording:
    """The recording with what the user tells in place of what the files say."""
    names = ("imu_T_lidar", "imu_noise")
    given = {name: getattr(told, name) for name in names if getattr(told, name) is not None}
    return replace(recording, **given)


def write(recording: Recording, path: Path, *, force: bool = False) -> list[Path]:
    """Write a bag if the path ends in .mcap, a folder of tables otherwise."""
    refuse_overwrite(path, force=force)
    return (bag_write if path.suffix == BAG_SUFFIX else folder).write(recording, path)


def refuse_overwrite(path: Path, *, force: bool) -> None:
    """Raise on a path that cannot be written to, or that would replace what is there."""
    if path.suffix in UNWRITABLE_SUFFIXES:
        raise OptionError(f"{path}: a recording is written to a folder or to an .mcap file")
    if not is_folder(path.absolute().parent):
        raise OptionError(f"{path}: there is no folder {path.absolute().parent}")
    if path.suffix != BAG_SUFFIX and exists(path) and not is_file(path / folder.METADATA_FILE):
        raise OptionError(f"{path}: already there and no recording; name a new folder")
    made = bag_write.output_files(path) if path.suffix == BAG_SUFFIX else [path]
    taken = next((each for each in made if exists(each)), None)
    if taken is not None and not force:
        raise OptionError(f"{taken}: already there; --force replaces it")
