"""Files that a command writes: one gate for all of them, passed before any work is done."""

import stat
from collections.abc import Iterable
from os.path import realpath
from pathlib import Path

from smfeval.errors import OptionError

Identity = tuple[int, int] | str  # device and inode, or where a file that is not there would be


def check_outputs(
    outputs: Iterable[Path], *, force: bool, inputs: Iterable[str | Path] = ()
) -> None:
    """Raise on a file that cannot, or should not, be written.

    Refused are: two outputs of one name; an output that is an input, also through links; a file
    that is there, unless `force` is set; and always what is no regular file.
    """
    read = {_identity(Path(path)) for path in inputs}
    written: dict[Identity, Path] = {}
    for path in outputs:
        _check_target(path, force=force)
        identity = _identity(path)
        if identity in read:
            raise OptionError(f"{path}: this command reads the file; write to another")
        if identity in written:
            raise OptionError(f"{path}: two outputs of this command would be written there")
        written[identity] = path


def _check_target(path: Path, *, force: bool) -> None:
    if not path.parent.is_dir():
        raise OptionError(f"{path}: there is no folder {path.parent}")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror or error})") from error
    if stat.S_ISDIR(mode):
        raise OptionError(f"{path}: this is a folder")
    if not stat.S_ISREG(mode):
        raise OptionError(f"{path}: this is no regular file; nothing else is written to")
    if not force:
        raise OptionError(f"{path}: the file exists; --force overwrites it")


def _identity(path: Path) -> Identity:
    try:
        found = path.stat()
    except OSError:
        return realpath(path)
    return found.st_dev, found.st_ino
