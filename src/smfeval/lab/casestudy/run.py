"""The case study from its plan to its findings, on one screen."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from smfeval.compare.sweep import LOST_M
from smfeval.errors import OptionError, SeriesError
from smfeval.explain.degeneracy import geometry
from smfeval.lab.casestudy.measure import (
    Failures,
    Outcome,
    Outcomes,
    Progress,
    RunCache,
    RunFilter,
    run_filter,
    run_plan,
)
from smfeval.lab.casestudy.plan import FULL, OWN_FILTER, CaseStudyPlan, Job, filter_job
from smfeval.lab.casestudy.result import (
    CaseStudy,
    CreditReach,
    CreditRow,
    ExplanationRow,
    FailedRuns,
    ScoreRow,
)
from smfeval.lab.casestudy.sweeps import credit_reach, knob_sweep, variant_rows, variant_sweep
from smfeval.lab.explanation import Credit, explain_run, scored_updates
from smfeval.maths.arrays import Floats
from smfeval.study.metrics import NOMINAL


def explanation_row(outcome: Outcome) -> ExplanationRow:
    """Credit, degeneracy and shared displacement of one run."""
    found = explain_run(outcome.run, outcome.evaluation)
    told, _, _ = scored_updates(outcome.run, outcome.evaluation)
    return ExplanationRow(
        track=outcome.job.track.name,
        updates=found.updates,
        left_out=found.left_out,
        credit=credit_row(found.credit, float(np.median(told.matched))),
        degeneracy=found.degeneracy,
        displacement=found.displacement,
    )


def credit_row(credit: Credit, matched: float) -> CreditRow:
    """Medians over updates."""
    parts, budget = credit.parts, credit.budget
    return CreditRow(
        matched=matched,
        count=_median(parts.count),
        noise=_median(parts.noise),
        shape=_median(parts.shape),
        credit=_median(budget.credit),
        prior=_median(budget.prior),
        predicted=_median(budget.predicted),
        posterior=_median(budget.posterior),
        unexplained=_median(budget.unexplained),
        gained=_median(budget.gain),
        lost=_median(budget.motion_loss) if len(budget.motion_loss) else 0.0,
        effective_points=credit.effective_points,
        excess=credit.excess_nats,
    )


def condition_and_nees(outcome: Outcome) -> tuple[Floats, Floats]:
    """Condition number of the matched normals and NEES of every update. (n,), (n,)."""
    told, scans, _ = scored_updates(outcome.run, outcome.evaluation)
    return geometry(told.normals).condition, outcome.evaluation.scored.series["nees"][scans]


def _median(values: Floats) -> float:
    return float(np.median(values))


def score_row(plan: CaseStudyPlan, outcome: Outcome) -> ScoreRow:
    """The numbers of one run."""
    found, job = outcome.evaluation, outcome.job
    calibration = found.calibration
    return ScoreRow(
        set=plan.set_of(job.track),
        track=job.track.name,
        filter=job.filter,
        settings=job.settings,
        scans=len(found.scored.residuals),
        mae=found.scores.mae,
        sigma_m=outcome.run.sigma_m,
        k=None if calibration is None else calibration.k,
        coverage=None if calibration is None else calibration.coverage[NOMINAL],
        verdict=found.verdict.label,
        lost=outcome.mae_m > LOST_M,
        cpu_per_scan_s=outcome.run.cpu_s / len(outcome.run.belief),
    )


def group_failures(failures: Failures) -> tuple[FailedRuns, ...]:
    """Runs that failed, those of one filter with one reason together."""
    alike: dict[tuple[str, str], list[Job]] = {}
    for job, sentence in failures.items():
        alike.setdefault((job.filter, sentence), []).append(job)
    return tuple(
        FailedRuns(name, sentence, _tracks(jobs), len(jobs))
        for (name, sentence), jobs in alike.items()
    )


def _tracks(jobs: Sequence[Job]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(job.track.name for job in jobs))


def case_study(
    folder: Path,
    plan: CaseStudyPlan = FULL,
    *,
    progress: Progress = lambda done, total, words: None,
    run: RunFilter = run_filter,
) -> CaseStudy:
    """Run what the folder does not hold yet, score all of it, and explain the lab's own filter.

    `run` may be given to study another filter under the names of the plan.
    """
    outcomes, failures = run_plan(plan, RunCache(folder, run), progress)
    missing = group_failures(failures)
    if not outcomes:
        raise OptionError(f"no filter came to an end; {missing[0].filter}: {missing[0].sentence}")

    asked = [filter_job(track, name) for track in plan.worlds for name in plan.filters]
    usual = [outcomes[job] for job in asked if job in outcomes]
    rows, notes = _explanation_rows([each for each in usual if each.job.filter == OWN_FILTER])
    reach, reach_notes = _credit_reach_rows(plan, outcomes)
    return CaseStudy(
        plan=plan,
        scores=tuple(score_row(plan, each) for each in usual),
        knobs=knob_sweep(plan, outcomes),
        credit_reach=reach,
        explanations=rows,
        variants=tuple(variant_rows(plan, outcomes)),
        variant_sweep=variant_sweep(plan, outcomes),
        not_run=missing,
        notes=(*notes, *reach_notes),
        cpu_s=sum(each.run.cpu_s for each in outcomes.values()),
        outcomes=tuple(usual),
    )


def _credit_reach_rows(
    plan: CaseStudyPlan, outcomes: Outcomes
) -> tuple[tuple[CreditReach, ...], tuple[str, ...]]:
    """How far knobs move the credit, or why that cannot be said."""
    try:
        return tuple(credit_reach(plan, outcomes)), ()
    except SeriesError as error:
        return (), (f"how far knobs move the credit is not told: {error}",)


def _explanation_rows(
    outcomes: list[Outcome],
) -> tuple[tuple[ExplanationRow, ...], tuple[str, ...]]:
    """Rows of the runs that can be explained, and why the others cannot."""
    rows, notes = [], []
    for outcome in outcomes:
        try:
            rows.append(explanation_row(outcome))
        except SeriesError as error:
            notes.append(f"{outcome.job.track.name} is not explained: {error}")
    return tuple(rows), tuple(notes)
