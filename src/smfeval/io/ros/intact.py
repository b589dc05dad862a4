"""What can be seen of a bag before it is opened: is it there, is it whole, is it named rightly."""

from pathlib import Path

from smfeval.errors import FormatError
from smfeval.io.source import exists, is_file, is_folder

ENDINGS = {b"#ROSBAG V": ".bag", b"\x89MCAP": ".mcap", b"SQLite format 3\0": ".db3"}
DATABASE_HEADER = 100  # bytes


def refuse_unreadable(path: Path) -> None:
    """Raise on a path that cannot be a bag."""
    if not exists(path):
        raise FormatError(f"{path}: there is no such file")
    if not is_folder(path):
        _refuse_file(path)
        return
    if not is_file(path / "metadata.yaml"):
        raise FormatError(f"{path}: a folder needs a metadata.yaml to be a ROS 2 bag")
    for database in path.glob("*.db3"):
        _refuse_file(database)


def _refuse_file(path: Path) -> None:
    start = _start(path)
    if not start:
        raise FormatError(f"{path}: the file is empty")
    for magic, ending in ENDINGS.items():
        if start.startswith(magic) and path.suffix != ending:
            raise FormatError(f"{path}: the content is that of a {ending} file; name it so")
    announced = _database_bytes(start)
    if path.stat().st_size < announced:
        raise FormatError(f"{path}: the bag is cut off (a database of {announced} bytes)")


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(DATABASE_HEADER)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from error


def _database_bytes(start: bytes) -> int:
    """The size that an SQLite header announces, zero if it is no such header.

    SQLite itself does not miss pages that it need not visit. The page count (byte 28) is valid if
    the change counter (byte 24) is that of the last writer (byte 92).
    """
    whole = len(start) == DATABASE_HEADER and start.startswith(b"SQLite format 3\0")
    if not whole or start[24:28] != start[92:96]:
        return 0
    page = int.from_bytes(start[16:18], "big")
    return (65536 if page == 1 else page) * int.from_bytes(start[28:32], "big")
