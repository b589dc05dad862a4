"""The case study from its plan to its findings: run what is missing, score all, explain."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from smfeval.compare.sensitivity import score_alternatives
from smfeval.compare.sweep import LOST_M
from smfeval.errors import OptionError, SeriesError, SmfevalError
from smfeval.evaluation import Options, evaluate
from smfeval.explain.updates import explain_updates
from smfeval_lab.casestudy.cache import RunCache, Walk
from smfeval_lab.casestudy.plan import FULL, OWN_FILTER, CaseStudyPlan, Job, filter_job, jobs_of
from smfeval_lab.casestudy.result import (
    CaseStudy,
    CreditReach,
    ExplanationRow,
    FailedRuns,
    Failures,
    Outcome,
    Outcomes,
    ScoreRow,
    SensitivityRow,
)
from smfeval_lab.casestudy.sweeps import credit_reach, knob_sweep, variant_rows, variant_sweep
from smfeval_lab.filters import RunFilter, run_filter

FOREIGN_ERRORS = (RuntimeError, np.linalg.LinAlgError)  # what packages of others raise
BASIC_OPTIONS = Options(rules=())  # errors, NEES and coverage; nobody asks for the other rules here
Progress = Callable[[int, int, str], None]  # called with: done, total, what is run next


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
    not_run = group_failures(failures)
    if not outcomes:
        raise OptionError(f"no filter came to an end; {not_run[0].filter}: {not_run[0].sentence}")

    jobs = [filter_job(track, name) for track in plan.worlds for name in plan.filters]
    usual = [outcomes[job] for job in jobs if job in outcomes]
    own = [outcome for outcome in usual if outcome.job.filter == OWN_FILTER]
    explanations, notes = _explanation_rows(own)
    reach, reach_notes = _credit_reach_rows(plan, outcomes)
    return CaseStudy(
        plan=plan,
        scores=tuple(score_row(plan, each) for each in usual),
        knobs=knob_sweep(plan, outcomes),
        credit_reach=reach,
        explanations=explanations,
        variants=tuple(variant_rows(plan, outcomes)),
        variant_sweep=variant_sweep(plan, outcomes),
        sensitivity=tuple(sensitivity_rows(usual)) if plan.sensitivity else (),
        not_run=not_run,
        notes=(*notes, *reach_notes),
        cpu_s=sum(each.run.cpu_s for each in outcomes.values()),
        outcomes=tuple(usual),
    )


def run_plan(
    plan: CaseStudyPlan, cache: RunCache, progress: Progress = lambda done, total, words: None
) -> tuple[Outcomes, Failures]:
    """Run and score all that the plan asks for, one track after the other."""
    jobs_on = {track: jobs_of(plan, track) for track in plan.worlds}
    total, done = sum(map(len, jobs_on.values())), 0
    outcomes: Outcomes = {}
    failures: Failures = {}
    for track, jobs in jobs_on.items():
        walk = Walk(track, plan.walk_s)  # its recording is let go before the next is made
        for job in jobs:
            progress(done, total, f"{track.name} {' '.join((job.filter, *job.settings))}")
            try:
                outcomes[job] = _score_job(job, walk, cache)
            except (SmfevalError, *FOREIGN_ERRORS) as error:
                failures[job] = str(error) or type(error).__name__
            done += 1
    return outcomes, failures


def _score_job(job: Job, walk: Walk, cache: RunCache) -> Outcome:
    run = cache.run(walk, job)
    return Outcome(job, run, evaluate(run.belief, cache.reference(walk), options=BASIC_OPTIONS))


def score_row(plan: CaseStudyPlan, outcome: Outcome) -> ScoreRow:
    """The numbers of one run."""
    found, job = outcome.evaluation, outcome.job
    return ScoreRow(
        set=plan.set_of(job.track),
        track=job.track.name,
        filter=job.filter,
        settings=job.settings,
        scans=len(found.position.residuals),
        mae=found["mae"],
        sigma_m=outcome.run.sigma_m,
        k=found.get("k"),
        coverage=found.get("coverage_90"),
        verdict=found.verdict.label,
        lost=outcome.mae_m > LOST_M,
        cpu_per_scan_s=outcome.run.cpu_s / outcome.run.scans,
    )


def sensitivity_rows(outcomes: Sequence[Outcome]) -> Iterator[SensitivityRow]:
    """Each run that has a k, under other gauges, clocks and the other kind of reference."""
    for outcome in outcomes:
        if outcome.k is not None:
            found = score_alternatives(outcome.evaluation)
            yield SensitivityRow(outcome.job.track.name, outcome.job.filter, outcome.k, found)


def _explanation_rows(
    outcomes: list[Outcome],
) -> tuple[tuple[ExplanationRow, ...], tuple[str, ...]]:
    """Rows of the runs that can be explained, and why the others cannot."""
    rows, notes = [], []
    for outcome in outcomes:
        try:
            found = explain_updates(outcome.run.updates, outcome.evaluation)
            rows.append(ExplanationRow(outcome.job.track.name, found))
        except SeriesError as error:
            notes.append(f"{outcome.job.track.name} is not explained: {error}")
    return tuple(rows), tuple(notes)


def _credit_reach_rows(
    plan: CaseStudyPlan, outcomes: Outcomes
) -> tuple[tuple[CreditReach, ...], tuple[str, ...]]:
    """How far knobs move the credit, or why that cannot be said."""
    try:
        return tuple(credit_reach(plan, outcomes)), ()
    except SeriesError as error:
        return (), (f"how far knobs move the credit is not told: {error}",)


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
