"""`--fail-if "k>2"` on a study: the median of any contender in any table, or what failed."""

from collections.abc import Iterator, Sequence

from smfeval.cli.conditions import OPERATORS, Condition, parsed
from smfeval.compare.across.result import Section
from smfeval.errors import OptionError
from smfeval.study.metrics import METRICS
from smfeval.study.result import Study

FAILED = "failed"  # the number of runs that failed or have no file
DIVERGED = "diverged"  # the number of tracks that a contender lost
NAMES = (*METRICS, FAILED, DIVERGED)


def study_condition(text: str) -> Condition:
    """Read `k>2`, `coverage_90<0.8`, `failed>0`, `diverged>=3`."""
    return parsed(text, NAMES)


def holding(study: Study, conditions: Sequence[Condition]) -> list[str]:
    """The conditions that hold, each with where it does."""
    return [
        f"{where}: {condition} ({value:.4g})"
        for condition in conditions
        for where, value in _values(study, condition)
        if OPERATORS[condition.sign](value, condition.limit)
    ]


def _values(study: Study, condition: Condition) -> Iterator[tuple[str, float]]:
    if condition.name == FAILED:
        yield "runs", float(sum(each.failure is not None for each in study.results))
        return
    for section in study.sections:
        if not section.converged_only:
            yield from _in_section(section, study.plan.contenders, condition)


def _in_section(
    section: Section, contenders: tuple[str, ...], condition: Condition
) -> Iterator[tuple[str, float]]:
    if condition.name == DIVERGED:
        for name, lost, _ in section.diverged:
            if name in contenders:
                yield f"{section.group}, {name}", float(lost)
        return
    columns = {column.metric: column for column in section.columns}
    column = columns.get(condition.name)
    medians = {cell.estimator: cell.median for cell in column.cells} if column else {}
    for name in contenders:
        median = medians.get(name)
        if median is None:
            raise OptionError(
                f"--fail-if {condition}: {name} has no {condition.name} in {section.group}"
            )
        yield f"{section.group}, {name}", median.value
