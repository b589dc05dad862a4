"""Results kept by content: what was done once is not done again, and a run that was cut resumes.

::

    <output>/cache/<2 digits>/<key>.json      what was found, and a check of it
    <output>/cache/<2 digits>/<key>.parquet   the scores of every scan, of a task

The JSON is written last: where it stands and its checks hold, the result is whole. Anything else
is done again. Failures are not kept. The key of a task is a digest of what its files hold, of its
options and of the code that makes a number.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

import numpy as np

from smfeval import __version__
from smfeval.compare.sensitivity import Alternative
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError
from smfeval.io.atomic import replacing
from smfeval.io.parquet_columns import Columns, parquet_of
from smfeval.io.remote import forget_copies
from smfeval.io.source import existing_file, is_folder
from smfeval.judge.evidence import TrackEvidence
from smfeval.studies.result import PAIR_NUMBERS, PairResult, TaskResult
from smfeval.summarise.number import Number

PACKAGE_FOLDER = Path(__file__).parents[1]
IGNORED_FOLDERS = ("cli", "show")  # not on the way to a score
DIGEST_DIGITS = 12  # hexadecimal; two codes of one version are not taken for each other
DIGEST_BYTES = 20
ALGORITHM = "sha256"  # of what files hold: processors have it built in
CHANGED = "the file changed while it was read; run again"
COARSE_NS = 1_000_000  # a time of change that is a multiple of it is of a coarse clock
COARSE_STEP_NS = 2_000_000_000  # of the coarsest clock of a file system
FINE_STEP_NS = 100_000_000  # of other clocks, which step as the kernel's does: ten steps and more


def digest_value(value: Any) -> str:
    """Digest of a value, the same on every machine."""
    return hashlib.blake2b(canonical(value).encode(), digest_size=DIGEST_BYTES).hexdigest()


_TEXTS: dict[int, tuple[Any, str]] = {}


def canonical_once(value: Any) -> str:
    """`canonical` of an object that many tasks share."""
    known, text = _TEXTS.get(id(value), (None, ""))
    if known is not value:
        text = canonical(value)
        _TEXTS[id(value)] = (value, text)
    return text


def canonical(value: Any) -> str:
    """One text for equal values, on every machine; a kind of value that is not known raises."""
    if value is None or isinstance(value, str | int):
        return repr(value)
    if isinstance(value, float):
        return float(value).hex()
    if isinstance(value, tuple | list):
        return f"({','.join(map(canonical, value))})"
    if isinstance(value, np.ndarray):
        return f"array{canonical(value.tolist())}"
    if is_dataclass(value):
        inner = ((field.name, getattr(value, field.name)) for field in fields(value))
        return f"{type(value).__name__}{canonical(tuple(inner))}"
    raise TypeError(f"no canonical text for {type(value).__name__}")


LIBRARIES = ("numpy", "scipy", "polars", "rosbags")  # whose numbers and readers we use


@lru_cache(maxsize=1)
def library_versions() -> tuple[tuple[str, str], ...]:
    """Name and version of each library that a number depends on."""
    return tuple((name, version(name)) for name in LIBRARIES)


@lru_cache(maxsize=1)
def code_version() -> str:
    """Such as `0.5.0+3f2a90c1d7e4`; the same on every machine with the same code."""
    return f"{__version__}+{digest_of_code(PACKAGE_FOLDER)}"


def digest_of_code(source: Path) -> str:
    """Of names and contents of all Python files below, without those that change no number."""
    names = []
    for folder, inner, files in os.walk(source):  # several times faster than `Path.rglob`
        below = Path(folder).relative_to(source)
        inner[:] = [name for name in inner if (below / name).as_posix() not in IGNORED_FOLDERS]
        names += [(below / name).as_posix() for name in files if name.endswith(".py")]
    digest = hashlib.blake2b(digest_size=DIGEST_DIGITS // 2)
    for name in sorted(names):
        content = (source / name).read_bytes()
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def digest_path(path: Path) -> str:
    """Digest of the bytes of a file, or of all files of a folder (a ROS 2 bag).

    It is remembered as long as the state of the file is the same (`keep_digests`). A file that
    changed a moment ago may change again within one step of the clock; it is hashed each time.
    """
    try:
        found = path.stat()
        if S_ISDIR(found.st_mode):
            inside = sorted(each for each in path.rglob("*") if each.is_file())
            return digest_value([(each.name, digest_path(each)) for each in inside])
        if not S_ISREG(found.st_mode):
            existing_file(path)  # tells what it is instead
        state = _state(found)
        step_ns = FINE_STEP_NS if _is_exact(state) else COARSE_STEP_NS
        if time.time_ns() - max(state[-2:]) < step_ns:
            return _hash_file(path)
        if state not in _DIGESTS:
            _DIGESTS[state] = _EARLIER.get(state) or _hash_file(path)
        return _DIGESTS[state]
    except OSError as error:
        existing_file(path)  # tells where there is none
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from error


FileState = tuple[int, ...]  # device, inode, size and times: another one after every change


def file_states(path: Path) -> tuple[FileState, ...]:
    """The state of a file, or of all files of a folder; () where nothing is there."""
    if is_folder(path):
        return tuple(state for each in sorted(path.rglob("*")) for state in file_states(each))
    try:
        return (_state(path.stat()),)
    except OSError:
        return ()


def _state(found: os.stat_result) -> FileState:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _is_exact(state: FileState) -> bool:
    """Whether the clock of its file system is not coarse."""
    return state[-1] % COARSE_NS != 0


@contextmanager
def unchanged(files: Callable[[], Iterable[Path]]) -> Iterator[tuple[str, ...]]:
    """Digests of files that are read within the block; raises if one of them is another then.

    Their states are compared as well as their digests: a file that was replaced for a moment has
    the same digest before and after. `files` lists them, for one may appear in the meantime.
    """
    before = {path: file_states(path) for path in files()}
    digests = {path: digest_path(path) for path in before}
    yield tuple(digests.values())
    after = {path: file_states(path) for path in files()}
    for path in before | after:
        if before.get(path) != after.get(path):
            raise FormatError(f"{path}: {CHANGED}")
    for path, digest in digests.items():
        if digest_path(path) != digest:  # two changes within one step of the clock
            raise FormatError(f"{path}: {CHANGED}")


_DIGESTS: dict[FileState, str] = {}  # that this run asked for
_EARLIER: dict[FileState, str] = {}  # that an earlier one left
_LAST_RUN: list[str] = []


def forget_digests(run: str) -> None:
    """Drop the remembered digests, and copies of URLs, if they are of another run.

    A worker of a cluster outlives a run, and its file systems are not those of `keep_digests`.
    """
    if [run] != _LAST_RUN:
        _LAST_RUN[:] = [run]
        _DIGESTS.clear()
        _EARLIER.clear()
        forget_copies()


@contextmanager
def keep_digests(folder: Path, run: str) -> Iterator[None]:
    """Remember digests from one run of a study to the next, in its cache.

    A file with the device, inode, size and both times that it had is taken for the same, as git
    and make do; not on file systems whose clock is coarse, where one can change and keep them.
    """
    forget_digests(run)
    kept = folder / "digests.json"
    with suppress(OSError, ValueError, TypeError):
        _EARLIER.update({tuple(state): str(of) for state, of in json.loads(kept.read_bytes())})
    yield
    exact = {state: of for state, of in _DIGESTS.items() if _is_exact(state)}
    if exact != _EARLIER:
        with replacing(kept) as temporary:
            temporary.write_text(json.dumps(list(exact.items())))


def _hash_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, ALGORITHM).hexdigest()


def digest_bytes(data: bytes) -> str:
    """Digest of bytes that are, or will be, all that a file holds."""
    return hashlib.new(ALGORITHM, data).hexdigest()


SCHEMA = "smfeval.cache/1"
NOT_FINITE = ("inf", "-inf", "nan")  # JSON has their names, not the numbers
NAMES_OF_TASK = ("estimator", "a", "b", "group", "track", "repeat", "key", "source", "failure")

Result = TaskResult | PairResult


@dataclass(frozen=True)
class Cache:
    """The folder of known results."""

    folder: Path

    def scans(self, key: str) -> Path:
        """Where the scores of every scan of a task lie."""
        return self._file(key, ".parquet")

    @property
    def is_empty(self) -> bool:
        """Whether it keeps no result."""
        return not any(self.folder.glob("??/*.json"))

    def load(self, nothing: Result) -> Result | None:
        """What is known of a task, put into its blank result; None where nothing sound is."""
        try:
            document = json.loads(self._file(nothing.key, ".json").read_bytes())
            found, scans = document["found"], document["scans"]
            if document["schema"] != SCHEMA or document["check"] != _checksum(found, scans):
                return None
            if scans is not None and digest_path(self.scans(nothing.key)) != scans:
                return None
            return replace(nothing, **_decode(found))
        except (OSError, FormatError, ValueError, KeyError, TypeError):
            return None

    def save(self, result: Result, columns: Columns | None) -> None:
        """Keep a result; raises where the folder is not there or cannot be written."""
        if not self.folder.is_dir():
            raise OptionError(
                f"{self.folder}: there is no such folder where a task runs; every worker must see "
                "the inputs and the output folder of the study under the same names"
            )
        make_folder(self._file(result.key, "").parent)
        scans = None
        if columns is not None:
            file = parquet_of(columns)
            with replacing(self.scans(result.key)) as temporary:
                temporary.write_bytes(file)
            scans = digest_bytes(file)
        found = _encode(result)
        document = {
            "schema": SCHEMA,
            "check": _checksum(found, scans),
            "found": found,
            "scans": scans,
        }
        with replacing(self._file(result.key, ".json")) as temporary:
            temporary.write_text(json.dumps(document, allow_nan=False))

    def _file(self, key: str, ending: str) -> Path:
        return self.folder / key[:2] / f"{key}{ending}"


def make_folder(folder: Path) -> Path:
    """The folder, made if need be; raises where it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{folder}: cannot be made ({error.strerror or error})") from error
    return folder


def _checksum(found: Any, scans: str | None) -> str:
    return digest_bytes(json.dumps([found, scans], sort_keys=True).encode())


def _encode(value: Any) -> Any:
    """A result as JSON data, without what names its task."""
    if is_dataclass(value):
        left_out = NAMES_OF_TASK if isinstance(value, TaskResult | PairResult) else ()
        names = (each.name for each in fields(value) if each.name not in left_out)
        return {name: _encode(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [_encode(each) for each in value]
    return repr(value) if isinstance(value, float) and not isfinite(value) else value


def _decode(found: dict[str, Any]) -> dict[str, Any]:
    """Fields of a result from what `_encode` made of them."""

    def plain(value: Any) -> Any:
        return float(value) if isinstance(value, str) and value in NOT_FINITE else value

    def made(kind: type, value: dict[str, Any] | None) -> Any:
        return None if value is None else kind(**{k: plain(v) for k, v in value.items()})

    readers: dict[str, Callable[[Any], Any]] = {
        "numbers": lambda pairs: tuple((metric, made(Number, value)) for metric, value in pairs),
        "updates": lambda pairs: tuple((name, made(Number, value)) for name, value in pairs),
        "alternatives": lambda listed: tuple(made(Alternative, each) for each in listed),
        "evidence": partial(made, TrackEvidence),
        "notes": tuple,
        "doubts": lambda listed: tuple(map(tuple, listed)),
        "guard": tuple,
        "without_covariance": tuple,
        **dict.fromkeys(PAIR_NUMBERS, partial(made, Number)),
    }
    return {name: readers.get(name, plain)(value) for name, value in found.items()}
