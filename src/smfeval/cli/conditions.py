"""`--fail-if "k>2"`: conditions on an evaluation, for a gate in continuous integration."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, isnan

from smfeval import words
from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation
from smfeval.schema import unknown_word
from smfeval.summarise.numbers import NUMBERS

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
PATTERN = re.compile(r"\s*(?P<name>[\w.]+)\s*(?P<sign>[<>]=?)\s*(?P<limit>[-+\d.eE]+)\s*")

COUNTS = ("matched", "scored")


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
        value = _value(evaluation, self.name)
        if value is None:
            raise OptionError(f"--fail-if {self}: this estimate has no {self.name}")
        return self.violation_by(value, evaluation.estimate.provenance.name)

    def violation_by(self, value: float, who: str) -> str | None:
        """The same of a value; one that is not a number is neither good nor bad."""
        if isnan(value):
            raise OptionError(f"--fail-if {self}: {self.name} of {who} is not a number")
        if not OPERATORS[self.sign](value, self.limit):
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
    match = PATTERN.fullmatch(text)
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


def _value(evaluation: Evaluation, name: str) -> float | None:
    if name == "matched":
        return float(len(evaluation.pairs))
    if name == "scored":
        return float(len(evaluation.position.residuals))
    found = evaluation.get(name)
    return None if found is None else found.value
