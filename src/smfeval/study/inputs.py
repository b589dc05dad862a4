"""What a task depends on, as one key: the bytes of its files, its options and our code.

Names of files count (a format may be recognised by the ending), folders do not: a study that was
moved finds its results again.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.errors import FormatError
from smfeval.io import split_source
from smfeval.io.kitti import times_beside
from smfeval.io.source import existing_file, is_file, is_folder
from smfeval.study.code import identity
from smfeval.study.task import Input, PairTask, Task

NAME_A_FILE = ("covariance", "times", "deviation")  # of the options for reading
DIGEST_BYTES = 20
ALGORITHM = "sha256"  # of what files hold: processors have it built in
REMEMBERED = 4096  # digests of files; many tasks share a reference


def key_of(task: Task | PairTask) -> str:
    """The key of a task; raises where a file cannot be read."""
    parts = (
        identity(),
        type(task).__name__,
        tuple(_described(given) for given in inputs_of(task)),
        tuple(_described_extrinsic(text) for text in extrinsics_of(task)),
        task.options,
    )
    return _hash(canonical(parts).encode())


def inputs_of(task: Task | PairTask) -> tuple[Input, Input]:
    """The two tracks that a task reads."""
    if isinstance(task, Task):
        return task.estimate, task.reference
    return task.first, task.second


def extrinsics_of(task: Task | PairTask) -> tuple[str | None, ...]:
    """The extrinsics that a task reads."""
    return (task.extrinsic,) if isinstance(task, Task) else task.extrinsics


def files_of(given: Input) -> tuple[Path, ...]:
    """The file of an input, those that its options name, and those that a format looks for."""
    path, _ = split_source(given.source)
    named = [Path(value) for name, value in given.reading if name in NAME_A_FILE and value]
    return tuple(dict.fromkeys([path, *named, *_beside(path)]))


def _beside(path: Path) -> Iterator[Path]:
    """Second files that KITTI and OpenVINS are read with, unasked, where they are there."""
    deviation = path.with_name(path.name.replace("estimate", "deviation"))
    for other in (times_beside(path), path.with_name("times.txt"), deviation):
        if other != path and is_file(other):
            yield other


def digest_of(path: Path) -> str:
    """Digest of the bytes of a file, or of all files of a folder (a ROS 2 bag)."""
    if is_folder(path):
        inside = sorted(each for each in path.rglob("*") if each.is_file())
        return _hash(canonical([(each.name, digest_of(each)) for each in inside]).encode())
    try:
        state = existing_file(path).stat()
        return _digest(path, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from error


def forget_digests() -> None:
    """Look at all files anew."""
    _digest.cache_clear()


@lru_cache(maxsize=REMEMBERED)
def _digest(path: Path, size: int, modified_ns: int) -> str:
    del size, modified_ns  # a file that has changed is another one
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, ALGORITHM).hexdigest()


def digest(data: bytes) -> str:
    """Digest of bytes that are, or will be, all that a file holds."""
    return hashlib.new(ALGORITHM, data).hexdigest()


def _hash(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES).hexdigest()


def _described(given: Input) -> tuple[Any, ...]:
    _, topic = split_source(given.source)
    reading = tuple(pair for pair in given.reading if pair[0] not in NAME_A_FILE)
    return topic, reading, tuple((file.name, digest_of(file)) for file in files_of(given))


def _described_extrinsic(text: str | None) -> tuple[Any, ...] | str | None:
    if text is None or not is_file(Path(text)):
        return text
    return Path(text).name, digest_of(Path(text))


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
