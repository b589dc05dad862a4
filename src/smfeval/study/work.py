"""Doing one task: read, evaluate, collect. Whatever goes wrong becomes a sentence in the result."""

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from smfeval.errors import SmfevalError
from smfeval.evaluation import ALWAYS, Evaluation, evaluate
from smfeval.io import format_of, read
from smfeval.io.extrinsic import read_extrinsic
from smfeval.maths import se3
from smfeval.score import RULES
from smfeval.study.inputs import digest_of, extrinsics_of, files_of, inputs_of
from smfeval.study.metrics import METRICS
from smfeval.study.plan import Reading
from smfeval.study.result import PairResult, TaskResult
from smfeval.study.task import Input, PairTask, Task
from smfeval.summarise.number import Number
from smfeval.track import AnyTrack

if TYPE_CHECKING:
    import polars as pl

TRACKS_KEPT = 4  # per process; estimators on one track come after each other

BUG = "a bug of ours"
NO_MEMORY = "there is not enough memory for it"


def do(task: Task, key: str = "") -> "tuple[TaskResult, pl.DataFrame | None]":
    """Score an estimate; the second is a row per scored scan, None if the task failed."""
    nothing = blank(task, key)
    try:
        evaluation = _evaluated(task)
        return _collected(nothing, evaluation, task), _per_scan(evaluation)
    except Exception as error:
        return replace(nothing, failure=sentence(error, task)), None


def do_pair(task: PairTask, key: str = "") -> tuple[PairResult, None]:
    """Compare two estimates; there are no rows per scan."""
    nothing = blank_pair(task, key)
    try:
        return _compared(nothing, task), None
    except Exception as error:
        return replace(nothing, failure=sentence(error, task)), None


def blank(task: Task, key: str) -> TaskResult:
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


def blank_pair(task: PairTask, key: str) -> PairResult:
    """The result of a pair before anything is found."""
    return PairResult(task.a, task.b, task.group, task.track, task.repeat, key, failure=None)


def sentence(error: Exception, task: Task | PairTask) -> str:
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


def _evaluated(task: Task) -> Evaluation:
    reference = _read_once(task.reference)
    estimate = _read_about(task.estimate, reference)
    extrinsic = _extrinsic(task.extrinsic)
    options = task.options if extrinsic is None else replace(task.options, extrinsic=extrinsic)
    return evaluate(estimate, reference, options=options)


def _collected(nothing: TaskResult, evaluation: Evaluation, task: Task) -> TaskResult:
    found = ((name, metric.of(evaluation)) for name, metric in METRICS.items())
    numbers = tuple((name, _plain(number)) for name, number in found if number is not None)
    return replace(
        nothing,
        scans=evaluation.pairs.scans,
        scored=len(evaluation.scored.residuals),
        verdict=evaluation.verdict.label,
        numbers=numbers,
        notes=tuple(without_folders(note, task) for note in evaluation.all_notes),
    )


def _compared(nothing: PairResult, task: PairTask) -> PairResult:
    """Both tracks about one body, compared without a reference."""
    from smfeval.compare import compare_pair  # noqa: PLC0415  many studies compare no pairs
    from smfeval.compare.frames import in_one_body  # noqa: PLC0415

    first = _read_once(task.first)
    tracks = [first, _read_about(task.second, first)]
    a, b = in_one_body(tracks, [_extrinsic(text) for text in task.extrinsics])
    pair = compare_pair(a, b, options=task.options)
    return replace(
        nothing,
        matched=len(pair.pairs),
        verdict=pair.claim.label,
        k_pair=_plain(pair.k),
        nees_median=_plain(pair.nees_median),
    )


def _per_scan(evaluation: Evaluation) -> "pl.DataFrame":
    """A row per scored scan; columns that a belief does not have are there, and empty."""
    import polars as pl  # noqa: PLC0415  slow to import

    from smfeval.io.per_scan import per_scan_table  # noqa: PLC0415

    frame, axes = per_scan_table(evaluation), evaluation.options.axes
    rules = {*evaluation.options.rules, *ALWAYS}
    names = [
        *("stamp", "reference_stamp"),
        *(f"error_{axis}" for axis in axes),
        *(f"covariance_{row}{axis}" for i, row in enumerate(axes) for axis in axes[: i + 1]),
        *(rule for rule in RULES if rule in rules),
    ]
    empty = pl.lit(None, dtype=pl.Float64)
    return frame.select(name if name in frame.columns else empty.alias(name) for name in names)


def _extrinsic(text: str | None) -> se3.Pose | None:
    return None if text is None else read_extrinsic(text)


def _read_about(given: Input, other: AnyTrack) -> AnyTrack:
    """Read a track; a GNSS solution about the origin of the other, as `smfeval score` does."""
    options = dict(given.reading)
    origin = dict(other.about.extra).get("ENU_ORIGIN")
    if origin and "origin" not in options and format_of(given.source, **options) == "rtklib":
        options["origin"] = origin
    return read(given.source, **options)


def _read_once(given: Input) -> AnyTrack:
    """Read a track that the next tasks will want, too."""
    content = tuple(digest_of(file) for file in files_of(given))
    return _kept(replace(given, reading=_hashable(given.reading)), content)


@lru_cache(maxsize=TRACKS_KEPT)
def _kept(given: Input, content: tuple[str, ...]) -> AnyTrack:
    del content  # a file that has changed is another one
    return read(given.source, **dict(given.reading))


def _hashable(reading: Reading) -> Reading:
    return tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in reading)


def _plain(number: Number) -> Number:
    """The number in Python's own floats, which a file keeps exactly."""
    low, high, effective = (
        None if each is None else float(each)
        for each in (number.low, number.high, number.n_effective)
    )
    return Number(float(number.value), number.unit, low, high, effective, number.reason)
