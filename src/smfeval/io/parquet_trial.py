"""Parquet by polars, which ends the process on some damaged files: a child reads each file first.

A page that has -106 numbers makes it ask for 2^61 bytes, and no exception tells. The child
is started with the first file (0.25 s of CPU) and reads all others of this process as well, in
milliseconds each; a worker of a study, whose end the study outlives, needs none.
"""

import atexit
import os
import subprocess
import sys
from contextlib import suppress
from io import BytesIO
from multiprocessing import parent_process
from pathlib import Path

import polars as pl

NUMBER_BYTES = 8  # of a float64, an int64
ALIVE = "alive\n"


def load(file: Path, most: int) -> tuple[dict[str, str], int, pl.DataFrame | None]:
    """Metadata, bytes of numbers, and the rows of a file unless they have more than `most` bytes.

    Polars takes `[1]`, `*` and `?` in a name for a pattern, and `~` for the home folder, unless it
    is told otherwise.
    """
    metadata = pl.read_parquet_metadata(_as_polars_takes_it(file))
    lazy = pl.scan_parquet(_as_polars_takes_it(file), glob=False, hive_partitioning=False)
    rows = lazy.select(pl.len()).collect().item()  # from the metadata
    size = NUMBER_BYTES * rows * len(lazy.collect_schema())
    return metadata, size, lazy.collect() if size <= most else None


def _as_polars_takes_it(file: Path) -> Path | BytesIO:
    """The path, or the bytes of a file whose name is not UTF-8."""
    try:
        str(file).encode()
    except UnicodeEncodeError:
        return BytesIO(file.read_bytes())
    return file


def survives(file: Path, most: int) -> bool:
    """Whether a process that reads the file lives on."""
    global _child  # noqa: PLW0603  one for all files
    if parent_process() is not None:
        return True
    if _child is None or _child.poll() is not None:
        _child = _start()
    if _child is None:
        return True
    assert _child.stdin is not None
    assert _child.stdout is not None
    try:
        print(os.fsencode(file).hex(), most, file=_child.stdin, flush=True)
        return _child.stdout.readline() == ALIVE
    except OSError:
        return False


_child: subprocess.Popen[str] | None = None


def _start() -> subprocess.Popen[str] | None:
    """A process that does nothing but `_serve`; None where there can be none."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    try:
        child = subprocess.Popen([sys.executable, "-P", __file__], text=True, **pipes)  # type: ignore[call-overload]
    except OSError:
        return None
    atexit.register(child.kill)
    return child if child.stdout.readline() == ALIVE else None


def _serve() -> None:
    print(ALIVE, end="", flush=True)
    for line in sys.stdin:
        name, most = line.split()
        with suppress(Exception, pl.exceptions.PanicException):  # who asked meets the same
            load(Path(os.fsdecode(bytes.fromhex(name))), int(most))
        print(ALIVE, end="", flush=True)


if __name__ == "__main__":
    _serve()
