"""Opening files: plain or gzipped bytes, and one sentence for everything that can be wrong.

Nothing is read without a bound: of the data in a file, once they are unpacked (`--limit`), of what
comes before the first row, of a line, and of small files such as plans (docs/promises.md). What is
no regular file is refused, for a pipe or a device may never end; `-` is standard input, copied to
a file up to the limit.
"""

import atexit
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from smfeval import words
from smfeval.errors import FormatError, OptionError, reason_of
from smfeval.io.progress import report

GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"  # byte order mark: some editors write it before the first line
HEAD_BYTES = 4096  # enough to recognise any format, unless comments fill them
HEADER_BYTES = 4_000_000  # comments and blank lines before the first row
LINE_BYTES = 2**20  # of one line; no row of numbers is longer
LIMIT_BYTES = 4_000_000_000  # of the data in one file, once they are unpacked; see `--limit`
TABLE_FACTOR = 8  # bytes in memory for a byte of a text table that is no track
YAML_BYTES = 64_000  # of an extrinsic or a correction; our YAML parser takes a second for so much
METADATA_BYTES = 16_000_000  # of the metadata.yaml of a bag
COPIED_BYTES = 2**20  # of standard input at a time
LONGEST_SHOWN_NAME = 100  # characters of a path that the system cannot look up

FIRST_ROW = rb"(?m)^[^\S\n]*([^\s#][^\n]*)"
BINARY_BYTES = rb"[\x00-\x08\x0e-\x1f\x7f]"
URL = r"[A-Za-z][A-Za-z0-9+.-]+://"


def is_url(source: object) -> bool:
    """Whether a source is a URL."""
    return isinstance(source, str) and "://" in source and re.match(URL, source) is not None


def spell_source(place: str | Path, option: str, *values: str) -> str:
    """How a source is written that names an option of its reading (`io.source_text`)."""
    return " or ".join(f"'{place}?{option}={value}'" for value in values)


def exists(path: Path) -> bool:
    """Whether anything is there."""
    return _look_up(path, path.exists)


def is_file(path: Path) -> bool:
    """Whether a file is there."""
    return _look_up(path, path.is_file)


def is_folder(path: Path) -> bool:
    """Whether a folder is there."""
    return _look_up(path, path.is_dir)


def existing_file(path: Path) -> Path:
    """The path, if a file that can be read is there."""
    if not exists(path):
        raise FormatError(f"{path}: there is no such file")
    if is_folder(path):
        raise FormatError(f"{path}: this is a folder; a file is needed")
    if not is_file(path):
        raise FormatError(f"{path}: this is a pipe or a device; a regular file is needed")
    return path


def _look_up(path: Path, question: Callable[[], bool]) -> bool:
    """The answer, or a sentence if the system cannot even look (name too long, no permission)."""
    try:
        return question()
    except OSError as error:
        name = str(path)
        name = name if len(name) <= LONGEST_SHOWN_NAME else f"{name[:LONGEST_SHOWN_NAME]}..."
        raise FormatError(f"{name}: cannot be read ({error.strerror or error})") from error


def import_extra(module: str, extra: str, what: str) -> Any:
    """The package that reads a kind of file, or a sentence that names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise OptionError(
            f'{what} are read by {package}, which is not installed here: pip install ".[{extra}]" '
            "in the checkout"
        ) from error


STANDARD_INPUT = "-"


@cache
def process_folder() -> Path:
    """A folder for copies of what is no file; gone with the process."""
    import shutil  # noqa: PLC0415  brings packers along, and reading files does not need it
    import tempfile  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(prefix="smfeval-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def standard_input() -> Path:
    """A copy of what comes on standard input, which can be read but once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise FormatError(f"{STANDARD_INPUT}: nothing is piped to standard input")
    path, size = process_folder() / "stdin", 0
    try:
        with path.open("wb") as copy:
            while data := sys.stdin.buffer.read(COPIED_BYTES):
                size += len(data)
                refuse_size(Path(STANDARD_INPUT), size)
                copy.write(data)
    except OSError as error:
        raise FormatError(f"{STANDARD_INPUT}: cannot be copied ({error.strerror})") from error
    return path


class ProgressFile:
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


_limit: ContextVar[int] = ContextVar("limit", default=LIMIT_BYTES)


@contextmanager
def reading_limit(most: int | None) -> Iterator[None]:
    """Within the block a file may hold so many bytes of data; None: as many as before."""
    token = _limit.set(_limit.get() if most is None else most)
    try:
        yield
    finally:
        _limit.reset(token)


def current_limit() -> int:
    """Most bytes of data that a file may hold."""
    return _limit.get()


def refuse_size(path: Path | str, size: int, most: int | None = None) -> None:
    """Raise on a file that holds more than the limit, or than a kind of file may hold at most."""
    if size > (_limit.get() if most is None else most):
        limit = words.byte_size(_limit.get() if most is None else most)
        raise FormatError(
            f"{path}: there are more than {limit} in it, which is the limit",
            remedy="limit" if most is None else None,
        )


@contextmanager
def open_input(path: Path, *, most: int | None = None, whole: bool = True) -> Iterator[IO[bytes]]:
    """Bytes of a file, unpacked if it is gzipped, whatever its name says.

    A file with more than `most` bytes (None: the limit of `reading_limit`) is refused, at once or
    when it is unpacked so far; unless it is not to be read as a `whole`.
    """
    existing_file(path)
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == GZIP_MAGIC
            raw.seek(0)
            size = path.stat().st_size
            counted = ProgressFile(raw, size)
            if packed:
                from smfeval.io.packed import unpack  # noqa: PLC0415  gzip takes a while to import

                check = partial(refuse_size, path, most=most)
                with unpack(counted, path, _limit.get() if most is None else most, check) as stream:
                    yield stream
            else:
                if whole:
                    refuse_size(path, size, most)
                yield counted  # type: ignore[misc]  # reads like a file
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from error


def read_small(path: Path, most: int) -> bytes:
    """All bytes of a file that is small: a plan, an extrinsic."""
    with open_input(path, most=most) as stream:
        return stream.read()


def read_table_text(path: Path) -> bytes:
    """All bytes of a text table that becomes numbers and words, which take more room than itself.

    Without a mark of the encoding; a file of more than an eighth of the limit is refused.
    """
    with open_input(path, most=_limit.get() // TABLE_FACTOR) as stream:
        return stream.read().removeprefix(BOM)


def read_head(path: Path) -> bytes:
    """The first bytes of a file, unpacked: all leading comments, and the whole first row."""
    with open_input(path, whole=False) as stream:
        start = stream.read(HEAD_BYTES).removeprefix(BOM)
        while not _shows_first_row(start) and (more := stream.read(len(start))):
            start += more
            if len(start) > HEADER_BYTES:
                raise FormatError(f"{path}: {NO_ROW}")
    return start


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a file, unpacked."""
    with open_input(path, whole=False) as stream:
        return stream.read(size)


NO_ROW = f"there is no row of numbers in the first {words.byte_size(HEADER_BYTES)}"


def refuse_aliases(path: Path, text: str) -> None:
    """Raise on YAML with an alias: a few lines of them stand for more data than any memory holds.

    Without an anchor, which has `&` in it, there is none.
    """
    if "&" not in text:
        return
    from ruamel.yaml import YAML  # noqa: PLC0415  only for files that need it
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415
    from ruamel.yaml.tokens import AliasToken  # noqa: PLC0415

    try:
        found = any(isinstance(each, AliasToken) for each in YAML(typ="base").scan(text))
    except YAMLError:
        return  # the parser will say what is wrong
    if found:
        raise FormatError(f"{path}: the YAML has an alias (*); write the values out")


def read_json_or_yaml(
    path: Path, *, scalars: Callable[[str], Any] | None = None, **json_options: Any
) -> Any:
    """The content of a small file of JSON, or else of YAML; `scalars` makes values of YAML's text.

    Without it YAML's own rules do.
    """
    import json  # noqa: PLC0415  tracks do not need it

    text = read_small(path, YAML_BYTES).decode("utf-8", errors="replace")
    try:
        return json.loads(text, **json_options)
    except (ValueError, RecursionError):
        pass
    from ruamel.yaml import YAML  # noqa: PLC0415  only for files that need it
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    refuse_aliases(path, text)
    try:
        if scalars is None:
            return YAML(typ="safe", pure=True).load(text)
        return _map_text(YAML(typ="base").load(text), scalars)
    except (YAMLError, ValueError, RecursionError) as error:
        raise FormatError(f"{path}: neither JSON nor YAML ({reason_of(error)})") from error


@contextmanager
def reading_json_line(place: str, what: str) -> Iterator[None]:
    """One sentence for whatever is wrong with a line of JSON that is to be a thing of a kind."""
    try:
        yield
    except KeyError as error:
        raise FormatError(f"{place}: there is no {error.args[0]!r}") from error
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise FormatError(f"{place}: no JSON object of {what} ({reason_of(error)})") from error
    except RecursionError as error:
        raise FormatError(f"{place}: no JSON object of {what} (it is nested too deeply)") from error


def _map_text(value: Any, function: Callable[[str], Any]) -> Any:
    """A function of every text in lists and mappings."""
    if isinstance(value, dict):
        return {key: _map_text(inner, function) for key, inner in value.items()}
    if isinstance(value, list):
        return [_map_text(inner, function) for inner in value]
    return function(value) if isinstance(value, str) else value


def is_binary(data: bytes) -> bool:
    """Whether bytes cannot be text: control characters other than those of line ends and tabs."""
    return re.search(BINARY_BYTES, data) is not None


def _shows_first_row(start: bytes) -> bool:
    """Whether a row that is no comment ends in these bytes, or they cannot be rows at all."""
    found = re.search(FIRST_ROW, start)
    if found is None:
        return not start or is_binary(start)
    ended = found.end() < len(start)
    return ended or is_binary(start) or len(found[0]) > LINE_BYTES


def bare_name(path: Path) -> str:
    """The name of a file without .gz and then without its ending: `a` of `a.kitti.gz`."""
    name = re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)
    return name.rpartition(".")[0] or name


def is_gzip_name(path: Path) -> bool:
    """Whether a file of this name is to be gzipped."""
    return path.suffix.lower() == ".gz"
