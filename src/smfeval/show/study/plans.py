"""A plan in words: how large it is, what is missing, what it would do, what came of it.

For continuous integration a study is cases of JUnit, and its contenders' verdicts for a badge.
"""

from collections.abc import Iterable
from math import isnan

from smfeval import words
from smfeval.judge.decide import Label
from smfeval.show.ci import Case, CaseOutcome
from smfeval.show.study.remarks import MAX_FAILURES, format_tracks, run_name, whole_section
from smfeval.studies.find import StudyTasks
from smfeval.studies.plan import Plan
from smfeval.studies.result import Study, is_failure
from smfeval.studies.run import PartRun, StudyRun


def plan_extent(plan: Plan, found: StudyTasks) -> str:
    """One line: `4 estimators, 10 tracks in 3 groups, 36 runs, 4 files missing, 54 pairs`."""
    groups = f" in {len(plan.groups)} groups" if len(plan.groups) > 1 else ""
    parts = [
        words.count(len(plan.estimators), "estimator"),
        words.count(len(plan.tracks), "track") + groups,
        words.count(len(found.tasks), "run"),
        *([f"{words.count(len(found.missing), 'file')} missing"] if found.missing else []),
        *([words.count(len(found.pair_tasks), "pair")] if plan.pairs else []),
    ]
    return ", ".join(parts)


def missing_lines(plan: Plan, found: StudyTasks) -> list[str]:
    """One line for each estimator without a file on some tracks."""
    lines = []
    for each in plan.estimators:
        tracks = [gap.track for gap in found.missing if gap.estimator == each.name]
        if tracks:
            lines.append(f"{each.name} has no file on {format_tracks(tracks, len(plan.tracks))}")
    return lines


def listing(plan: Plan, found: StudyTasks) -> str:
    """Every run and every gap, a line each; then notes and the extent."""
    rows = [
        (task.group, task.track, task.estimator, str(task.repeat + 1), task.estimate.source)
        for task in found.tasks
    ]
    rows += [
        (gap.group, gap.track, gap.estimator, "-", f"no file: {gap.pattern}")
        for gap in found.missing
    ]
    lines = words.table([("group", "track", "estimator", "run", "file"), *rows])
    notes = [f"note: {note}" for note in found.notes]
    return "\n".join([*lines, "", *notes, plan_extent(plan, found)]) + "\n"


def summary(done: StudyRun) -> str:
    """The last line: how many runs were scored, how many were not, and where all of it lies."""
    study = done.study
    pairs, failed_pairs = study.pair_results, len(study.failed_pairs)
    without = sum(bool(each.without_covariance) for each in pairs)
    compared = len(pairs) - failed_pairs - without
    failed, missing = len(study.failed_runs), len(study.missing)
    parts = [
        f"{words.count(len(study.results) - failed - missing, 'run')} scored",
        f"{failed} failed",
        *([f"{missing} without a file"] if missing else []),
        *([f"{words.count(compared, 'pair')} compared", f"{failed_pairs} failed"] if pairs else []),
        *([f"{without} left out (no covariance)"] if without else []),
        *([f"{done.known} of them known from an earlier run"] if done.known else []),
        *([f"{done.removed} old files of scans removed"] if done.removed else []),
    ]
    return f"{', '.join(parts)}; results in {study.plan.output}"


def part_summary(done: PartRun, plan: Plan) -> str:
    """How much of the study this part was, and how it is gathered."""
    failed = sum(map(is_failure, done.results))
    parts = [
        f"part {done.part}: {words.count_of(len(done.results), done.total, 'run')} and pairs",
        f"{failed} failed",
        *([f"{done.known} known from an earlier run"] if done.known else []),
    ]
    return f"{', '.join(parts)}; kept in {plan.output}, to be gathered by a run without a part"


def part_failures(done: PartRun) -> list[str]:
    """A sentence for each of the first runs and pairs that failed."""
    failed = [each for each in done.results if is_failure(each)]
    return [f"{run_name(each)}: {each.failure}" for each in failed[:MAX_FAILURES]]


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
        outcome: tuple[CaseOutcome, str] = ("skipped", "there is no such number")
        if value is not None and isnan(value):
            outcome = ("error", "it is not a number")
        elif value is not None:
            outcome = ("failure" if holds else "passed", words.exact(value))
        cases.append(Case(where, f"not {condition}", *outcome))
    return cases


def contender_labels(study: Study) -> list[Label]:
    """Verdicts of the contenders over all tracks; of all estimators where nobody competes."""
    whole = whole_section(study)
    known = {each.estimator: each.label for each in (whole.pooled if whole else ())}
    names = study.plan.contenders or tuple(each.name for each in study.plan.estimators)
    return [known.get(name, "cannot tell") for name in names]
