"""`--fail-if "k>2"`: conditions on an evaluation, for a gate in continuous integration."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from smfeval import words
from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
PATTERN = re.compile(r"\s*(?P<name>[\w.]+)\s*(?P<sign>[<>]=?)\s*(?P<limit>[-+\d.eE]+)\s*")

SCORES = ("mae", "rmse", "energy", "log", "log_consistency", "log_sharpness", "crps", "interval")
CALIBRATION = ("nees_median", "nees_mean", "k", "factor_per_axis", "psi", "precision", "best_scale")
COVERAGES = {"coverage50": 0.5, "coverage68": 0.68, "coverage": 0.9, "coverage90": 0.9} | {
    "coverage95": 0.95,
    "coverage99": 0.99,
}
NAMES = (*SCORES, *CALIBRATION, *COVERAGES, "matched", "scored")


@dataclass(frozen=True)
class Condition:
    """A named number compared with a limit."""

    name: str
    sign: str
    limit: float

    def __str__(self) -> str:
        return f"{self.name} {self.sign} {words.exact(self.limit)}"

    def holds(self, evaluation: Evaluation) -> bool:
        """Whether the condition holds; raises where the number does not exist."""
        value = _value(evaluation, self.name)
        if value is None:
            raise OptionError(f"--fail-if {self}: this estimate has no {self.name}")
        return OPERATORS[self.sign](value, self.limit)


def score_condition(text: str) -> Condition:
    """Read `k>2`, `coverage90<0.8`, `rmse >= 0.1`."""
    return parse_condition(text, NAMES)


def parse_condition(text: str, names: tuple[str, ...]) -> Condition:
    """A condition on one of these names."""
    match = PATTERN.fullmatch(text)
    try:
        limit = float(match["limit"]) if match else None
    except ValueError:
        limit = None
    if match is None or limit is None:
        raise OptionError(f"--fail-if {text!r} is no condition; write for example 'k>2'")
    if match["name"] not in names:
        raise OptionError(
            f"--fail-if: {match['name']!r} is unknown; it is one of {', '.join(names)}"
        )
    return Condition(match["name"], match["sign"], limit)


def _value(evaluation: Evaluation, name: str) -> float | None:
    if name == "matched":
        return float(len(evaluation.pairs))
    if name == "scored":
        return float(len(evaluation.scored.residuals))
    if name in SCORES:
        found = getattr(evaluation.scores, name)
    elif evaluation.calibration is None:
        return None
    elif name in COVERAGES:
        found = evaluation.calibration.coverage[COVERAGES[name]]
    else:
        found = getattr(evaluation.calibration, name)
    return None if found is None else found.value
