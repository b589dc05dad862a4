"""Results kept by content: what was done once is not done again, and a run that was cut resumes.

::

    <output>/cache/<2 digits>/<key>.json      what was found, and a check of it
    <output>/cache/<2 digits>/<key>.parquet   the scores of every scan, of a task

The JSON is written last: where it stands and its checks hold, the result is whole. Anything else
is done again. Failures are not kept.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval.compare.sensitivity import Alternative
from smfeval.errors import FormatError, OptionError
from smfeval.io import split_source
from smfeval.io.atomic import replacing
from smfeval.io.formats import sidecar_options
from smfeval.io.remote import local_path
from smfeval.io.source import is_file
from smfeval.judge.evidence import TrackEvidence
from smfeval.studies.digest import (
    code_version,
    digest_bytes,
    digest_path,
    digest_value,
    forget_digests,
    library_versions,
    unchanged,
)
from smfeval.studies.result import PAIR_NUMBERS, PairResult, TaskResult
from smfeval.studies.task import (
    Input,
    PairTask,
    Task,
    evaluate_pair,
    evaluate_task,
    failure_sentence,
    files_of,
)
from smfeval.summarise.number import Number

if TYPE_CHECKING:
    import polars as pl

SCHEMA = "smfeval.cache/1"

Result = TaskResult | PairResult


@dataclass(frozen=True)
class TaskOutcome:
    """The result of a task, and whether it was known before."""

    result: Result
    cached: bool


def load_or_evaluate(
    task: Task | PairTask,
    cache: "Cache",
    *,
    fresh: bool = False,
    version: str | None = None,
    run: str = "",
) -> TaskOutcome:
    """The result of a task: known before (unless a fresh one is wanted), or done and kept.

    What is kept under a key was computed from files that had the digests of the key before and
    after. Raises where nothing can be kept, and where who asks has another `version` of smfeval.
    `run` names the run of the study: digests are remembered within it only.
    """
    if version not in (None, code_version()):
        raise OptionError(f"a worker has smfeval {code_version()}; the study is run by {version}")
    forget_digests(run)
    try:
        with unchanged(lambda: files_of(task)):
            key = task_key(task)
            known = None if fresh else cache.load(task.empty_result(key))
            result, frame = (known, None) if known is not None else _evaluate(task, key)
    except Exception as error:
        return TaskOutcome(failed_result(task, failure_sentence(error, task)), cached=False)

    if known is None and result.failure is None:
        cache.save(result, frame)
    return TaskOutcome(result, cached=known is not None)


def _evaluate(task: Task | PairTask, key: str) -> "tuple[Result, pl.DataFrame | None]":
    return evaluate_task(task, key) if isinstance(task, Task) else evaluate_pair(task, key)


def failed_result(task: Task | PairTask, why: str) -> Result:
    """The result of a task that came to nothing."""
    return replace(task.empty_result(""), failure=why)


def task_key(task: Task | PairTask) -> str:
    """The key of a task: of the code, its libraries, the options and every file that it reads.

    Of a file its name and its bytes count, not its folder, so that a study may move. Raises where
    a file cannot be read.
    """
    parts = (
        code_version(),
        library_versions(),
        type(task).__name__,
        tuple(_input_key(given) for given in task.inputs),
        tuple(_extrinsic_key(text) for text in task.extrinsics),
        task.options,
        task.reference_offset_s if isinstance(task, PairTask) else None,
        task.sensitivity,
    )
    return digest_value(parts)


def _input_key(given: Input) -> tuple[Any, ...]:
    _, topic = split_source(given.source)
    reading = tuple(pair for pair in given.reading if pair[0] not in sidecar_options())
    return topic, reading, tuple((file.name, digest_path(file)) for file in given.files)


def _extrinsic_key(text: str | None) -> tuple[Any, ...] | str | None:
    if text is None or not is_file(path := local_path(text)):
        return text
    return path.name, digest_path(path)


@dataclass(frozen=True)
class Cache:
    """The folder of known results."""

    folder: Path

    def scans(self, key: str) -> Path:
        """Where the scores of every scan of a task lie."""
        return self._file(key, ".parquet")

    def load(self, nothing: Result) -> Result | None:
        """What is known of a task, put into its blank result; None where nothing sound is."""
        try:
            document = json.loads(self._file(nothing.key, ".json").read_bytes())
            found, scans = document["found"], document["scans"]
            if document["schema"] != SCHEMA or document["check"] != _checksum(found, scans):
                return None
            if scans is not None and digest_path(self.scans(nothing.key)) != scans:
                return None
            return replace(nothing, **dict(_decode(found)))
        except (OSError, FormatError, ValueError, KeyError, TypeError):
            return None

    def save(self, result: Result, frame: "pl.DataFrame | None") -> None:
        """Keep a result; raises where the folder is not there or cannot be written."""
        if not self.folder.is_dir():
            raise OptionError(
                f"{self.folder}: there is no such folder where a task runs; every worker must see "
                "the inputs and the output folder of the study under the same names"
            )
        _make_folder(self._file(result.key, "").parent)
        scans = None if frame is None else self._save_scans(result.key, frame)
        found = _encode(result)
        document = {
            "schema": SCHEMA,
            "check": _checksum(found, scans),
            "found": found,
            "scans": scans,
        }
        with replacing(self._file(result.key, ".json")) as temporary:
            temporary.write_text(json.dumps(document, allow_nan=False))

    def _save_scans(self, key: str, frame: "pl.DataFrame") -> str:
        memory = BytesIO()
        frame.write_parquet(memory)
        with replacing(self.scans(key)) as temporary:
            temporary.write_bytes(memory.getvalue())
        return digest_bytes(memory.getvalue())

    def _file(self, key: str, ending: str) -> Path:
        return self.folder / key[:2] / f"{key}{ending}"


def _encode(result: Result) -> dict[str, Any]:
    """What was found, as JSON data; who the task was is not part of it."""
    if isinstance(result, TaskResult):
        return {
            "scans": result.scans,
            "scored": result.scored,
            "verdict": result.verdict,
            "numbers": [[name, _encode_number(number)] for name, number in result.numbers],
            "notes": list(result.notes),
            "gauge": result.gauge,
            "joint": result.joint,
            "scored_under": result.scored_under,
            "alternatives": [asdict(each) for each in result.alternatives],
            "withheld": result.withheld,
            "at_least": result.at_least,
            "comparable": result.comparable,
            "evidence": None if result.evidence is None else asdict(result.evidence),
            "guard": list(result.guard),
        }
    return {
        "matched": result.matched,
        "verdict": result.verdict,
        "unchecked": result.unchecked,
        "alternatives": [asdict(each) for each in result.alternatives],
        **{
            name: None if number is None else _encode_number(number)
            for name, number in result.numbers.items()
        },
    }


def _decode(found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in found.items():
        if name == "numbers":
            yield name, tuple((metric, _decode_number(listed)) for metric, listed in value)
        elif name in PAIR_NUMBERS:
            yield name, None if value is None else _decode_number(value)
        elif name == "alternatives":
            yield name, tuple(Alternative(**each) for each in value)
        elif name == "evidence":
            yield name, None if value is None else TrackEvidence(**value)
        else:
            yield name, tuple(value) if name in ("notes", "guard") else value


def _encode_number(number: Number) -> list[Any]:
    floats = [number.value, number.low, number.high, number.n_effective]
    return [*map(_text_if_not_finite, floats), number.unit, number.reason]


def _text_if_not_finite(value: float | None) -> float | str | None:
    """JSON has no infinity; its name is read back by `float`."""
    return value if value is None or isfinite(value) else repr(value)


def _decode_number(listed: list[Any]) -> Number:
    *floats, unit, reason = listed
    value, low, high, effective = (None if each is None else float(each) for each in floats)
    if value is None:
        raise ValueError("a number without a value")
    return Number(value, unit, low, high, effective, reason)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OptionError(f"{folder}: cannot be made ({error.strerror or error})") from error


def _checksum(found: Any, scans: str | None) -> str:
    return digest_bytes(json.dumps([found, scans], sort_keys=True).encode())
