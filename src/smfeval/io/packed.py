"""Gzipped files, unpacked up to the limit of reading. Imported for those alone."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from smfeval.errors import FormatError


class LimitedGzip(gzip.GzipFile):
    """A gzipped file that is unpacked up to a limit."""

    most: int
    check: Callable[[int], None]  # raises on so many bytes, where they are more than the limit

    def read(self, size: int | None = -1) -> bytes:
        """Read at most `size` bytes."""
        return self._checked(super().read(self._room(size)))

    def readline(self, size: int | None = -1) -> bytes:
        """Read to the end of the line."""
        return self._checked(super().readline(self._room(size)))

    def _room(self, size: int | None) -> int:
        room = self.most + 1 - self.tell()
        return room if size is None or size < 0 else min(size, room)

    def _checked(self, data: bytes) -> bytes:
        self.check(self.tell())
        return data


@contextmanager
def unpack(packed: Any, path: Path, most: int, check: Callable[[int], None]) -> Iterator[IO[bytes]]:
    """The bytes in a gzipped stream; damage is a FormatError."""
    try:
        with LimitedGzip(fileobj=packed) as stream:
            stream.most, stream.check = most, check
            yield stream  # type: ignore[misc]  # GzipFile reads bytes
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{path}: the gzip data is damaged or cut off ({error})") from error
