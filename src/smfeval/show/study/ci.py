"""A study as cases of JUnit, and its contenders' verdicts for a badge."""

from collections.abc import Iterable
from math import isnan

from smfeval import words
from smfeval.judge.decide import Label
from smfeval.show.ci import Case
from smfeval.studies.result import Study

HeldCondition = tuple[str, str, float | None, bool]  # condition, where, the value, whether it holds


def run_cases(study: Study) -> list[Case]:
    """Every run: scored, with its verdict; failed is an error, without a file skipped."""
    return [
        Case(
            each.estimator,
            f"{each.group}/{each.track}{f', run {each.repeat + 1}' if each.repeat else ''}",
            "passed" if each.failure is None else "skipped" if each.is_gap else "error",
            each.failure or each.verdict or "scored",
        )
        for each in study.results
    ]


def condition_cases(held: Iterable[HeldCondition]) -> list[Case]:
    """Every condition of --fail-if, everywhere."""
    cases = []
    for condition, where, value, holds in held:
        if value is None:
            case = Case(where, f"not {condition}", "skipped", "there is no such number")
        elif isnan(value):
            case = Case(where, f"not {condition}", "error", "it is not a number")
        else:
            said = f"{words.exact(value)}"
            case = Case(where, f"not {condition}", "failure" if holds else "passed", said)
        cases.append(case)
    return cases


def contender_labels(study: Study) -> list[Label]:
    """Verdicts of the contenders over all tracks; of all estimators where nobody competes."""
    whole = [section for section in study.sections if not section.converged_only][-1]
    known = {each.estimator: each.label for each in whole.pooled}
    names = study.plan.contenders or tuple(each.name for each in study.plan.estimators)
    return [known.get(name, "cannot tell") for name in names]
