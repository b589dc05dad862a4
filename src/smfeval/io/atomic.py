"""Writing without half-written files: to a temporary name beside the target, then renamed."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from os.path import realpath
from pathlib import Path
from stat import S_IMODE
from typing import IO, TYPE_CHECKING, Any

from smfeval.errors import OptionError, reason_of
from smfeval.io.progress import report
from smfeval.io.source import is_gzip_name


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path that becomes `path` if the block ends well, and vanishes if it does not."""
    with replacing_all(path) as (temporary,):
        yield temporary


@contextmanager
def replacing_all(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Temporary paths that all become `paths` if the block ends well, or none of them does.

    Only regular files are replaced. A link stays a link, and what it names is replaced; the new
    file has the mode of the old one.
    """
    targets = tuple(_resolve_target(path) for path in paths)
    with ExitStack() as stack:
        temporary = tuple(stack.enter_context(_temporary_file(path)) for path in targets)
        try:
            yield temporary
        except OSError as error:
            raise unwritable(paths[0], error) from error
        _rename(dict(zip(temporary, targets, strict=True)))


def unwritable(path: Path | str, error: OSError) -> OptionError:
    """The sentence about a file that the system does not let us write."""
    return OptionError(f"{path}: cannot be written ({error.strerror or error})")


def _resolve_target(path: Path) -> Path:
    """What is written to, links followed; raises on what is there and is no regular file."""
    try:
        target = Path(realpath(path))
        if target.exists() and not target.is_file():
            kind = "a folder" if target.is_dir() else "no regular file"
            raise OptionError(f"{path}: this is {kind}; only regular files are replaced")
    except OSError as error:
        raise unwritable(path, error) from error
    return target


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Bytes to a file that appears whole or not at all; gzipped if its name ends in .gz."""
    with replacing(path) as temporary, open_output(temporary, packed=is_gzip_name(path)) as stream:
        yield stream


def write_parquet(frame: "pl.DataFrame", path: Path, **more: Any) -> None:
    """A table to a Parquet file that appears whole or not at all."""
    from polars.exceptions import PolarsError  # noqa: PLC0415  slow to import

    with replacing(path) as temporary, temporary.open("wb") as stream:
        try:
            frame.write_parquet(stream, **more)
        except PolarsError as error:  # a full disk, as it is told by polars
            raise OSError(reason_of(error).rpartition(": ")[2]) from error


@contextmanager
def open_output(path: Path, *, packed: bool) -> Iterator[IO[bytes]]:
    """Bytes to a file, gzipped or not."""
    with path.open("wb") as raw:
        if packed:
            from gzip import GzipFile  # noqa: PLC0415  for such a name alone

            with GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as stream:
                yield stream  # type: ignore[misc]  # GzipFile writes bytes
        else:
            yield raw


@contextmanager
def _temporary_file(path: Path) -> Iterator[Path]:
    """A new file beside the target, which is gone at the end unless it was renamed."""
    import secrets  # noqa: PLC0415  brings hashes along, and reading does not need it

    temporary = path.parent.absolute() / f".smfeval.{secrets.token_hex(8)}"
    try:
        temporary.touch(exist_ok=False)  # readable by others as the user's umask says
    except OSError as error:
        raise unwritable(path, error) from error
    _TEMPORARY.add(temporary)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
        _TEMPORARY.discard(temporary)


_TEMPORARY: set[Path] = set()  # that this process is writing
WRITTEN: list[Path] = []  # that this process has written whole


def remove_temporary_files() -> None:
    """For a process that is about to end without leaving the blocks that it is in."""
    for path in tuple(_TEMPORARY):
        path.unlink(missing_ok=True)


def forget_temporary_files() -> None:
    """For a process that was forked: they are its parent's."""
    _TEMPORARY.clear()


def _rename(targets: dict[Path, Path]) -> None:
    """Put new files in the place of old ones; if one cannot be, those before it are put back."""
    import shutil  # noqa: PLC0415  brings packers along, and reading does not need it

    with ExitStack() as kept, ExitStack() as undo:
        for temporary, path in targets.items():
            put_back: Callable[[], object] = partial(path.unlink, missing_ok=True)
            try:
                if path.exists():
                    temporary.chmod(S_IMODE(path.stat().st_mode))
                if path.is_file() and len(targets) > 1:
                    copy = kept.enter_context(_temporary_file(path))
                    shutil.copy2(path, copy)
                    put_back = partial(copy.replace, path)
                temporary.replace(path)
            except OSError as error:
                raise unwritable(path, error) from error
            undo.callback(put_back)
        undo.pop_all()
    WRITTEN.extend(targets.values())


if TYPE_CHECKING:
    import polars as pl

    from smfeval.maths.arrays import Floats, Ints

ROWS_PER_PART = 100_000  # rows turned into text at a time
DECIMALS = 9  # of a stamp


def row_slices(rows: int) -> Iterator[slice]:
    """Slices that cover so many rows."""
    return (
        slice(start, min(start + ROWS_PER_PART, rows)) for start in range(0, rows, ROWS_PER_PART)
    )


def table(stamp: "Ints", values: "Floats") -> "pl.DataFrame":
    """Stamps as decimal seconds with nine digits, and the other columns."""
    import polars as pl  # noqa: PLC0415  slow to import, and reading does not need it

    frame = pl.DataFrame(values, schema=[str(i) for i in range(values.shape[1])], orient="row")
    return frame.insert_column(0, seconds(stamp))


def seconds(stamp: "Ints") -> "pl.Series":
    """Nanoseconds as exact decimal seconds."""
    import polars as pl  # noqa: PLC0415  slow to import, and reading does not need it

    whole = pl.Series("stamp", stamp).cast(pl.Int128).cast(pl.Decimal(38, 0))
    return (whole.cast(pl.Decimal(38, DECIMALS)) / 10**DECIMALS).cast(pl.Decimal(38, DECIMALS))


def write_rows(
    stream: IO[bytes], tables: "Iterable[pl.DataFrame]", rows: int, *, separator: str = " "
) -> None:
    """Write tables one after the other, and tell how many of the rows are written."""
    done = 0
    for printed in tables:
        printed.write_csv(stream, include_header=False, separator=separator)
        done += len(printed)
        report(done, rows)
