"""Writing without half-written files: to a temporary name beside the target, then renamed."""

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from smfeval.errors import OptionError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path that becomes `path` if the block ends well, and vanishes if it does not."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror})") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Bytes to a file that appears whole or not at all; gzipped if its name ends in .gz."""
    with replacing(path) as temporary, temporary.open("wb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed:
                yield packed  # type: ignore[misc]  # GzipFile writes bytes
        else:
            yield raw
