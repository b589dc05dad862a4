"""The case study from its plan to its findings, on one screen."""

from pathlib import Path

from smfeval.errors import OptionError, SeriesError
from smfeval.lab.casestudy.explanations import explained_row
from smfeval.lab.casestudy.jobs import filter_job
from smfeval.lab.casestudy.measure import Outcome, Outcomes, Progress, measured
from smfeval.lab.casestudy.plan import FULL, OWN, Plan
from smfeval.lab.casestudy.result import CaseStudy, CreditReach, ExplainedRow
from smfeval.lab.casestudy.scores import not_run, score_row
from smfeval.lab.casestudy.shelf import RunFilter, Shelf, run_filter
from smfeval.lab.casestudy.turned import credit_reach, knob_sweep, variant_rows, variant_sweep


def case_study(
    folder: Path,
    plan: Plan = FULL,
    *,
    progress: Progress = lambda done, total, words: None,
    run: RunFilter = run_filter,
) -> CaseStudy:
    """Run what the folder does not hold yet, score all of it, and explain the lab's own filter.

    `run` may be given to study another filter under the names of the plan.
    """
    outcomes, failures = measured(plan, Shelf(folder, run), progress)
    missing = not_run(failures)
    if not outcomes:
        raise OptionError(f"no filter came to an end; {missing[0].filter}: {missing[0].sentence}")

    asked = [filter_job(track, name) for track in plan.worlds for name in plan.filters]
    usual = [outcomes[job] for job in asked if job in outcomes]
    rows, notes = _explained([each for each in usual if each.job.filter == OWN])
    reach, reach_notes = _reach(plan, outcomes)
    return CaseStudy(
        plan=plan,
        scores=tuple(score_row(plan, each) for each in usual),
        knobs=knob_sweep(plan, outcomes),
        credit_reach=reach,
        explained=rows,
        variants=tuple(variant_rows(plan, outcomes)),
        variant_sweep=variant_sweep(plan, outcomes),
        not_run=missing,
        notes=(*notes, *reach_notes),
        cpu_s=sum(each.run.cpu_s for each in outcomes.values()),
        outcomes=tuple(usual),
    )


def _reach(plan: Plan, outcomes: Outcomes) -> tuple[tuple[CreditReach, ...], tuple[str, ...]]:
    """How far knobs move the credit, or why that cannot be said."""
    try:
        return tuple(credit_reach(plan, outcomes)), ()
    except SeriesError as error:
        return (), (f"how far knobs move the credit is not told: {error}",)


def _explained(outcomes: list[Outcome]) -> tuple[tuple[ExplainedRow, ...], tuple[str, ...]]:
    """Rows of the runs that can be explained, and why the others cannot."""
    rows, notes = [], []
    for outcome in outcomes:
        try:
            rows.append(explained_row(outcome))
        except SeriesError as error:
            notes.append(f"{outcome.job.track.name} is not explained: {error}")
    return tuple(rows), tuple(notes)
