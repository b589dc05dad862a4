"""Opening files: plain or gzipped bytes, and one sentence for everything that can be wrong."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from smfeval.errors import FormatError
from smfeval.io.progress import report

GZIP_MAGIC = b"\x1f\x8b"
HEAD_BYTES = 4096  # enough to recognise any format


def existing_file(path: Path) -> Path:
    """The path, if a file that can be read is there."""
    if not path.exists():
        raise FormatError(f"{path}: there is no such file")
    if path.is_dir():
        raise FormatError(f"{path}: this is a folder; a file is needed")
    return path


class _Counted:
    """A file that tells how much of it was read."""

    def __init__(self, file: IO[bytes], size: int):
        self._file, self._size = file, size

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes."""
        data = self._file.read(size)
        report(self._file.tell(), self._size)
        return data

    def readline(self, size: int = -1) -> bytes:
        """Read to the end of the line."""
        return self._file.readline(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Bytes of a file, unpacked if it is gzipped, whatever its name says."""
    existing_file(path)
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == GZIP_MAGIC
            raw.seek(0)
            counted = _Counted(raw, path.stat().st_size)
            if packed:
                with gzip.open(counted) as stream:
                    yield stream  # type: ignore[misc]  # GzipFile reads bytes
            else:
                yield counted  # type: ignore[misc]  # reads like a file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{path}: the gzip data is damaged or cut off ({error})") from error
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from error


def head(path: Path) -> bytes:
    """The first bytes of a file, unpacked."""
    with opened(path) as stream:
        return stream.read(HEAD_BYTES)
