"""Results in little memory, for there may be very many of them.

What comes from another process is unpickled: each object has a dictionary and each text is a copy
of its own. Made anew, objects share their layout, and equal texts are one.
"""

from dataclasses import replace
from sys import intern

from smfeval.study.result import PairResult, TaskResult
from smfeval.summarise.number import Number


def lean_task(result: TaskResult, *, source: str) -> TaskResult:
    """The same result, with its source named so."""
    return TaskResult(
        estimator=intern(result.estimator),
        group=intern(result.group),
        track=intern(result.track),
        repeat=result.repeat,
        key=result.key,
        source=source,
        failure=_text(result.failure),
        scans=result.scans,
        scored=result.scored,
        verdict=_text(result.verdict),
        numbers=tuple((intern(name), _number(number)) for name, number in result.numbers),
        notes=tuple(map(intern, result.notes)),
    )


def lean_pair(result: PairResult) -> PairResult:
    """The same result."""
    return replace(
        result,
        a=intern(result.a),
        b=intern(result.b),
        group=intern(result.group),
        track=intern(result.track),
        verdict=_text(result.verdict),
        k_pair=None if result.k_pair is None else _number(result.k_pair),
        nees_median=None if result.nees_median is None else _number(result.nees_median),
    )


def _number(number: Number) -> Number:
    return replace(number, unit=intern(number.unit), reason=_text(number.reason))


def _text(text: str | None) -> str | None:
    return None if text is None else intern(text)
