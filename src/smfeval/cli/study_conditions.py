"""`--fail-if "k>2"` on a study: the median of any contender in any table, or what failed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smfeval.cli.conditions import OPERATORS, Condition, parsed
from smfeval.compare.across.result import Section
from smfeval.study.metrics import METRICS
from smfeval.study.result import Study

FAILED = "failed"  # the number of runs that failed
MISSING = "missing"  # the number of estimators on tracks without a file
DIVERGED = "diverged"  # the number of tracks that a contender lost
NAMES = (*METRICS, FAILED, MISSING, DIVERGED)

Place = tuple[str, float | None]  # where a number stands, and the number; None: there is none


@dataclass(frozen=True)
class Held:
    """What came of conditions, in words."""

    broken: tuple[str, ...]  # conditions that hold, each with where it does
    skipped: tuple[str, ...]  # where there is no number to hold to a condition
    nowhere: tuple[str, ...]  # conditions on a number that nobody has


def study_condition(text: str) -> Condition:
    """Read `k>2`, `coverage_90<0.8`, `failed>0`, `missing>0`, `diverged>=3`."""
    return parsed(text, NAMES)


def held(study: Study, conditions: Sequence[Condition]) -> Held:
    """Hold the contenders to the conditions; who has no number somewhere is left out there."""
    places = [(condition, list(_places(study, condition))) for condition in conditions]
    every = [(condition, *place) for condition, some in places for place in some]
    return Held(
        broken=tuple(
            f"{where}: {condition} ({value:.4g})"
            for condition, where, value in every
            if value is not None and OPERATORS[condition.sign](value, condition.limit)
        ),
        skipped=tuple(
            f"{where}: there is no {condition.name}; not held to {condition}"
            for condition, where, value in every
            if value is None
        ),
        nowhere=tuple(
            f"{condition}: no contender has {condition.name} in any table"
            for condition, some in places
            if all(value is None for _, value in some)
        ),
    )


def _places(study: Study, condition: Condition) -> Iterator[Place]:
    counted = {FAILED: study.failed, MISSING: study.missing}.get(condition.name)
    if counted is not None:
        yield "runs", float(len(counted))
        return
    for section in study.sections:
        if not section.converged_only:
            yield from _in_section(section, study.plan.contenders, condition)


def _in_section(
    section: Section, contenders: tuple[str, ...], condition: Condition
) -> Iterator[Place]:
    if condition.name == DIVERGED:
        found = {name: float(lost) for name, lost, _ in section.diverged}
    else:
        found = _medians(section, condition.name)
    for name in contenders:
        yield f"{section.group}, {name}", found.get(name)


def _medians(section: Section, metric: str) -> dict[str, float]:
    return {
        cell.estimator: cell.median.value
        for column in section.columns
        if column.metric == metric
        for cell in column.cells
        if cell.median is not None
    }
