"""`--fail-if "k>2"`: conditions on an evaluation or a study, for continuous integration."""

import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation
from smfeval.schema import unknown_word
from smfeval.summarise.numbers import NUMBERS, metrics

if TYPE_CHECKING:
    from smfeval.studies.result import Study

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
PATTERN = r"\s*(?P<name>[\w.]+)\s*(?P<sign>[<>]=?)\s*(?P<limit>[-+\d.eE]+)\s*"

COUNTS = ("matched", "scored")
FAILED = "failed"  # the number of runs that failed
MISSING = "missing"  # the number of estimators on tracks without a file
DIVERGED = "diverged"  # the number of tracks that a contender lost
OUTCOMES = (FAILED, MISSING, DIVERGED)


@dataclass(frozen=True)
class Condition:
    """A named number compared with a limit."""

    name: str
    sign: str
    limit: float

    def __str__(self) -> str:
        return f"{self.name} {self.sign} {words.exact(self.limit)}"

    def violation(self, evaluation: Evaluation) -> str | None:
        """A sentence with the value if the condition holds; raises where there is no number."""
        counts = {"matched": len(evaluation.pairs), "scored": len(evaluation.position.residuals)}
        if self.name in counts:
            value = float(counts[self.name])
        elif (found := evaluation.get(self.name)) is not None:
            value = found.value
        else:
            raise OptionError(f"--fail-if {self}: this estimate has no {self.name}")
        return self.violation_by(value, evaluation.estimate.provenance.name)

    def holds(self, value: float) -> bool:
        """Whether it holds for a value; for one that is not a number it does not."""
        return OPERATORS[self.sign](value, self.limit)

    def violation_by(self, value: float, who: str) -> str | None:
        """A sentence if it holds for a value; what is not a number is neither good nor bad."""
        if isnan(value):
            raise OptionError(f"--fail-if {self}: {self.name} of {who} is not a number")
        if not self.holds(value):
            return None
        return f"{who}: {self} ({words.exact(value)})"


def condition_names() -> tuple[str, ...]:
    """Everything about an evaluation that a condition may name."""
    rows = NUMBERS.values()
    return (*(name for row in rows for name in (row.name, *row.aliases)), *COUNTS)


def score_condition(text: str) -> Condition:
    """Read `k>2`, `coverage90<0.8`, `rmse >= 0.1`."""
    return parse_condition(text, condition_names())


def parse_condition(text: str, names: tuple[str, ...], *, example: str = "k>2") -> Condition:
    """A condition on one of these names."""
    match = re.fullmatch(PATTERN, text)
    try:
        limit = float(match["limit"]) if match else None
    except ValueError:
        limit = None
    if match is None or limit is None:
        raise OptionError(f"--fail-if {text!r} is no condition; write for example '{example}'")
    if not isfinite(limit):
        raise OptionError(f"--fail-if {text!r}: the limit is beyond all numbers; write a smaller")
    if match["name"] not in names:
        raise unknown_word("--fail-if:", match["name"], names)
    return Condition(match["name"], match["sign"], limit)


def exit_code(violations: Iterable[str | None]) -> int:
    """Print the conditions that hold; 1 if one does, else 0."""
    failed = [sentence for sentence in violations if sentence is not None]
    for sentence in failed:
        print(f"smfeval: --fail-if: {sentence}", file=sys.stderr)
    return 1 if failed else 0


@dataclass(frozen=True)
class ConditionOutcome:
    """What came of conditions, in words."""

    violations: tuple[str, ...]  # conditions that hold, each with where it does
    skipped: tuple[str, ...]  # where there is no number to hold to a condition
    untestable: tuple[str, ...]  # conditions on a number that nobody has


def study_condition(text: str) -> Condition:
    """Read `k>2`, `coverage_90<0.8`, `failed>0`, `missing>0`, `diverged>=3`."""
    return parse_condition(text, (*metrics(), *OUTCOMES))


DIFF_COUNTS = ("worse", "better", "failed", "missing", "overconfident", "verdicts")


def diff_condition(text: str) -> Condition:
    """Read `worse>0`, `worse.k>0`, `failed>0`: counts of what moved between two studies."""
    judged = [name for name, row in metrics().items() if row.loss is not None]
    of_one = (f"{side}.{name}" for side in ("worse", "better") for name in judged)
    return parse_condition(text, (*DIFF_COUNTS, *of_one), example="worse.k>0")


def condition_places(
    study: "Study", conditions: Sequence[Condition]
) -> list[tuple[Condition, str, float | None]]:
    """Every condition with every place where it is looked at, and the value there."""
    return [
        (condition, where, value)
        for condition in conditions
        for where, value in _values(study, condition.name)
    ]


def check_conditions(study: "Study", conditions: Sequence[Condition]) -> ConditionOutcome:
    """Hold the contenders to the conditions; who has no number somewhere is left out there."""
    every = condition_places(study, conditions)
    tested = {condition for condition, _, value in every if value is not None}
    return ConditionOutcome(
        violations=tuple(
            sentence
            for condition, where, value in every
            if value is not None and not isnan(value)
            if (sentence := condition.violation_by(value, where)) is not None
        ),
        skipped=tuple(
            f"{where}: there is no {condition.name}; not held to {condition}"
            for condition, where, value in every
            if value is None
        ),
        untestable=(
            *(
                f"{condition}: no contender has {condition.name} in any table"
                for condition in conditions
                if condition not in tested
            ),
            *(
                f"{condition}: {condition.name} of {where} is not a number"
                for condition, where, value in every
                if value is not None and isnan(value)
            ),
        ),
    )


def _values(study: "Study", name: str) -> Iterator[tuple[str, float | None]]:
    """Where a number stands in a study, and its value; None: there is none."""
    counted = {FAILED: study.failed_runs, MISSING: study.missing}.get(name)
    if counted is not None:
        yield "runs", float(len(counted))
        return
    for section in study.sections:
        if section.converged_only:
            continue
        if name == DIVERGED:
            values = {who: float(lost) for who, lost, _ in section.diverged}
        else:
            values = {
                cell.estimator: cell.median.value
                for column in section.columns
                if column.metric == name
                for cell in column.cells
                if cell.median is not None
            }
        for who in study.plan.contenders:
            yield f"{section.group}, {who}", values.get(who)
