"""Digests: of what a file holds, of values, and of the code that makes a number."""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import __version__
from smfeval.errors import FormatError
from smfeval.io.remote import forget_copies
from smfeval.io.source import existing_file, is_folder

PACKAGE_FOLDER = Path(__file__).parents[1]
IGNORED_FOLDERS = ("cli", "show", "explain")  # not on the way to a score
DIGEST_DIGITS = 12  # hexadecimal; two codes of one version are not taken for each other
DIGEST_BYTES = 20
ALGORITHM = "sha256"  # of what files hold: processors have it built in
DIGESTS_KEPT = 4096  # digests of files; many tasks share a reference
CHANGED = "the file changed while it was read; run again"
CLOCK_STEP_NS = 2_000_000_000  # the coarsest step of the clocks of file systems


def digest_value(value: Any) -> str:
    """Digest of a value, the same on every machine."""
    return hashlib.blake2b(canonical(value).encode(), digest_size=DIGEST_BYTES).hexdigest()


def canonical(value: Any) -> str:
    """One text for equal values, on every machine; a kind of value that is not known raises."""
    if is_dataclass(value):
        inner = ((field.name, getattr(value, field.name)) for field in fields(value))
        return f"{type(value).__name__}{canonical(tuple(inner))}"
    if isinstance(value, tuple | list):
        return f"({','.join(map(canonical, value))})"
    if isinstance(value, np.ndarray):
        return f"array{canonical(value.tolist())}"
    if isinstance(value, float):
        return float(value).hex()
    if value is None or isinstance(value, str | int):
        return repr(value)
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
    digest = hashlib.blake2b(digest_size=DIGEST_DIGITS // 2)
    for name in sorted(_python_files(source)):
        content = (source / name).read_bytes()
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def _python_files(source: Path) -> Iterator[str]:
    """From the folder on. Walking is several times faster than `Path.rglob`."""
    for folder, inner, files in os.walk(source):
        below = Path(folder).relative_to(source)
        inner[:] = [name for name in inner if (below / name).as_posix() not in IGNORED_FOLDERS]
        yield from ((below / name).as_posix() for name in files if name.endswith(".py"))


def digest_path(path: Path) -> str:
    """Digest of the bytes of a file, or of all files of a folder (a ROS 2 bag)."""
    if is_folder(path):
        inside = sorted(each for each in path.rglob("*") if each.is_file())
        return digest_value([(each.name, digest_path(each)) for each in inside])
    try:
        return _file_digest(existing_file(path))
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from error


FileState = tuple[int, ...]  # device, inode, size and times: another one after every change


def file_states(path: Path) -> tuple[FileState, ...]:
    """The state of a file, or of all files of a folder; () where nothing is there."""
    if is_folder(path):
        return tuple(state for each in sorted(path.rglob("*")) for state in file_states(each))
    try:
        return (_state(path),)
    except OSError:
        return ()


def _state(path: Path) -> FileState:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@contextmanager
def unchanged(files: Callable[[], Iterable[Path]]) -> Iterator[tuple[str, ...]]:
    """Digests of files that are read within the block; raises if one of them is another then.

    Their states are compared as well as their digests: a file that was replaced for a moment has
    the same digest before and after. `files` lists them, for one may appear in the meantime.
    """
    before = {path: file_states(path) for path in files()}
    digests = tuple(map(digest_path, before))
    yield digests
    after = {path: file_states(path) for path in files()}
    for path in before | after:
        if before.get(path) != after.get(path):
            raise FormatError(f"{path}: {CHANGED}")
    for path, digest in zip(before, digests, strict=True):
        if digest_path(path) != digest:  # two changes within one step of the clock
            raise FormatError(f"{path}: {CHANGED}")


def forget_digests(run: str) -> None:
    """Drop the remembered digests, and copies of URLs, if they are of another run.

    A worker of a cluster outlives a run, and on some file systems a file can change and keep its
    size and its times.
    """
    if [run] != _LAST_RUN:
        _LAST_RUN[:] = [run]
        _remembered_digest.cache_clear()
        forget_copies()


_LAST_RUN: list[str] = []


def _file_digest(path: Path) -> str:
    """Digest of a file: remembered as long as its state is the same, within one run of a study.

    A file that changed a moment ago may change again within one step of the clock; it is looked
    at anew each time.
    """
    state = _state(path)
    if time.time_ns() - max(state[-2:]) < CLOCK_STEP_NS:
        return _hash_file(path)
    return _remembered_digest(path, *state)


@lru_cache(maxsize=DIGESTS_KEPT)
def _remembered_digest(path: Path, *state: int) -> str:
    del state  # a file that has changed is another one
    return _hash_file(path)


def _hash_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, ALGORITHM).hexdigest()


def digest_bytes(data: bytes) -> str:
    """Digest of bytes that are, or will be, all that a file holds."""
    return hashlib.new(ALGORITHM, data).hexdigest()
