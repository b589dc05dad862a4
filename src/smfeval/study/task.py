"""A task of a study: one estimate against one reference, or two estimates against each other."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import __version__
from smfeval.errors import FormatError, SmfevalError
from smfeval.evaluation import REQUIRED_RULES, Evaluation, Options, evaluate
from smfeval.io import format_of, read, split_source
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.kitti import times_sidecar
from smfeval.io.source import existing_file, is_file, is_folder
from smfeval.maths import se3
from smfeval.score import RULES
from smfeval.study.metrics import METRICS
from smfeval.study.plan import Reading
from smfeval.study.result import PairResult, TaskResult
from smfeval.summarise.number import Number
from smfeval.track import AnyTrack


@dataclass(frozen=True)
class Input:
    """A file to read, and how."""

    source: str  # absolute, or bag.mcap:/topic
    reading: Reading = ()


Runs = dict[tuple[str, str], tuple[Input, ...]]  # by (estimator, track): its repeats


@dataclass(frozen=True)
class Task:
    """Score one run of an estimator on a track."""

    estimator: str
    group: str
    track: str
    repeat: int  # 0, 1, 2 ... over the runs of this estimator on this track
    estimate: Input
    reference: Input
    extrinsic: str | None  # a file, absolute, or numbers
    options: Options


@dataclass(frozen=True)
class PairTask:
    """Compare two estimators on a track, without its reference."""

    a: str
    b: str
    group: str
    track: str
    repeat: int
    first: Input
    second: Input
    extrinsics: tuple[str | None, str | None]  # to the reference's body, so that the bodies agree
    options: Options


PACKAGE_FOLDER = Path(__file__).parents[1]
IGNORED_FOLDERS = ("cli", "show", "lab", "explain")  # not on the way to a score
DIGEST_DIGITS = 12  # hexadecimal; two codes of one version are not taken for each other


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


SIDECAR_OPTIONS = ("covariance", "times", "deviation")  # of the options for reading
DIGEST_BYTES = 20
ALGORITHM = "sha256"  # of what files hold: processors have it built in
DIGESTS_KEPT = 4096  # digests of files; many tasks share a reference


def task_key(task: Task | PairTask) -> str:
    """The key of a task; raises where a file cannot be read."""
    parts = (
        code_version(),
        type(task).__name__,
        tuple(_input_key(given) for given in inputs_of(task)),
        tuple(_extrinsic_key(text) for text in extrinsics_of(task)),
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
    named = [Path(value) for name, value in given.reading if name in SIDECAR_OPTIONS and value]
    return tuple(dict.fromkeys([path, *named, *_sidecar_files(path)]))


def _sidecar_files(path: Path) -> Iterator[Path]:
    """Second files that KITTI and OpenVINS are read with, unasked, where they are there."""
    deviation = path.with_name(path.name.replace("estimate", "deviation"))
    for other in (times_sidecar(path), path.with_name("times.txt"), deviation):
        if other != path and is_file(other):
            yield other


def digest_path(path: Path) -> str:
    """Digest of the bytes of a file, or of all files of a folder (a ROS 2 bag)."""
    if is_folder(path):
        inside = sorted(each for each in path.rglob("*") if each.is_file())
        return _hash(canonical([(each.name, digest_path(each)) for each in inside]).encode())
    try:
        state = existing_file(path).stat()
        return _file_digest(path, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from error


def forget_digests() -> None:
    """Look at all files anew."""
    _file_digest.cache_clear()


@lru_cache(maxsize=DIGESTS_KEPT)
def _file_digest(path: Path, size: int, modified_ns: int) -> str:
    del size, modified_ns  # a file that has changed is another one
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, ALGORITHM).hexdigest()


def digest_bytes(data: bytes) -> str:
    """Digest of bytes that are, or will be, all that a file holds."""
    return hashlib.new(ALGORITHM, data).hexdigest()


def _hash(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES).hexdigest()


def _input_key(given: Input) -> tuple[Any, ...]:
    _, topic = split_source(given.source)
    reading = tuple(pair for pair in given.reading if pair[0] not in SIDECAR_OPTIONS)
    return topic, reading, tuple((file.name, digest_path(file)) for file in files_of(given))


def _extrinsic_key(text: str | None) -> tuple[Any, ...] | str | None:
    if text is None or not is_file(Path(text)):
        return text
    return Path(text).name, digest_path(Path(text))


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


if TYPE_CHECKING:
    import polars as pl

TRACKS_KEPT = 4  # per process; estimators on one track come after each other

BUG = "a bug of ours"
NO_MEMORY = "there is not enough memory for it"


def evaluate_task(task: Task, key: str = "") -> "tuple[TaskResult, pl.DataFrame | None]":
    """Score an estimate; the second is a row per scored scan, None if the task failed."""
    nothing = empty_result(task, key)
    try:
        evaluation = _evaluate(task)
        return _collect(nothing, evaluation, task), _scan_table(evaluation)
    except Exception as error:
        return replace(nothing, failure=failure_sentence(error, task)), None


def evaluate_pair(task: PairTask, key: str = "") -> tuple[PairResult, None]:
    """Compare two estimates; there are no rows per scan."""
    nothing = empty_pair_result(task, key)
    try:
        return _compare(nothing, task), None
    except Exception as error:
        return replace(nothing, failure=failure_sentence(error, task)), None


def empty_result(task: Task, key: str) -> TaskResult:
    """The result of a task before anything is found."""
    return TaskResult(
        estimator=task.estimator,
        group=task.group,
        track=task.track,
        repeat=task.repeat,
        key=key,
        source=task.estimate.source,
        failure=None,
    )


def empty_pair_result(task: PairTask, key: str) -> PairResult:
    """The result of a pair before anything is found."""
    return PairResult(task.a, task.b, task.group, task.track, task.repeat, key, failure=None)


def failure_sentence(error: Exception, task: Task | PairTask) -> str:
    """What went wrong, in words that are the same on every machine."""
    if isinstance(error, SmfevalError):
        return without_folders(str(error), task)
    if isinstance(error, MemoryError):
        return NO_MEMORY
    return without_folders(f"{BUG}: {type(error).__name__}: {error}", task)


def without_folders(text: str, task: Task | PairTask) -> str:
    """The text with the files of the task named without their folders."""
    files = {file for given in inputs_of(task) for file in files_of(given)}
    named = {str(file): file.name for file in files}
    named |= {given: given.rpartition("/")[2] for given in extrinsics_of(task) if given}
    for path in sorted(named, key=len, reverse=True):
        text = text.replace(path, named[path])
    return text


def _evaluate(task: Task) -> Evaluation:
    reference = _read_cached(task.reference)
    estimate = _read_with_origin(task.estimate, reference)
    extrinsic = _load_extrinsic(task.extrinsic)
    options = task.options if extrinsic is None else replace(task.options, extrinsic=extrinsic)
    return evaluate(estimate, reference, options=options)


def _collect(nothing: TaskResult, evaluation: Evaluation, task: Task) -> TaskResult:
    found = ((name, metric.of(evaluation)) for name, metric in METRICS.items())
    numbers = tuple((name, _plain_number(number)) for name, number in found if number is not None)
    return replace(
        nothing,
        scans=evaluation.pairs.scans,
        scored=len(evaluation.scored.residuals),
        verdict=evaluation.verdict.label,
        numbers=numbers,
        notes=tuple(without_folders(note, task) for note in evaluation.all_notes),
    )


def _compare(nothing: PairResult, task: PairTask) -> PairResult:
    """Both tracks about one body, compared without a reference."""
    from smfeval.compare import compare_pair  # noqa: PLC0415  many studies compare no pairs
    from smfeval.compare.frames import in_one_body  # noqa: PLC0415

    first = _read_cached(task.first)
    tracks = [first, _read_with_origin(task.second, first)]
    a, b = in_one_body(tracks, [_load_extrinsic(text) for text in task.extrinsics])
    pair = compare_pair(a, b, options=task.options)
    return replace(
        nothing,
        matched=len(pair.pairs),
        verdict=pair.claim.label,
        k_pair=_plain_number(pair.k),
        nees_median=_plain_number(pair.nees_median),
    )


def _scan_table(evaluation: Evaluation) -> "pl.DataFrame":
    """A row per scored scan; columns that a belief does not have are there, and empty."""
    import polars as pl  # noqa: PLC0415  slow to import

    from smfeval.io.results import per_scan_table  # noqa: PLC0415

    frame, axes = per_scan_table(evaluation), evaluation.options.axes
    rules = {*evaluation.options.rules, *REQUIRED_RULES}
    names = [
        *("stamp", "reference_stamp"),
        *(f"error_{axis}" for axis in axes),
        *(f"covariance_{row}{axis}" for i, row in enumerate(axes) for axis in axes[: i + 1]),
        *(rule for rule in RULES if rule in rules),
    ]
    empty = pl.lit(None, dtype=pl.Float64)
    return frame.select(name if name in frame.columns else empty.alias(name) for name in names)


def _load_extrinsic(text: str | None) -> se3.Pose | None:
    return None if text is None else read_extrinsic(text)


def _read_with_origin(given: Input, other: AnyTrack) -> AnyTrack:
    """Read a track; a GNSS solution about the origin of the other, as `smfeval score` does."""
    options = dict(given.reading)
    origin = dict(other.about.extra).get("ENU_ORIGIN")
    if origin and "origin" not in options and format_of(given.source, **options) == "rtklib":
        options["origin"] = origin
    return read(given.source, **options)


def _read_cached(given: Input) -> AnyTrack:
    """Read a track that the next tasks will want, too."""
    content = tuple(digest_path(file) for file in files_of(given))
    return _read_content(replace(given, reading=_hashable(given.reading)), content)


@lru_cache(maxsize=TRACKS_KEPT)
def _read_content(given: Input, content: tuple[str, ...]) -> AnyTrack:
    del content  # a file that has changed is another one
    return read(given.source, **dict(given.reading))


def _hashable(reading: Reading) -> Reading:
    return tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in reading)


def _plain_number(number: Number) -> Number:
    """The number in Python's own floats, which a file keeps exactly."""
    low, high, effective = (
        None if each is None else float(each)
        for each in (number.low, number.high, number.n_effective)
    )
    return Number(float(number.value), number.unit, low, high, effective, number.reason)
