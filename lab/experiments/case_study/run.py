"""The case study from its plan to its findings: run what is missing, score all, explain."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from case_study.plan import FULL, OWN_FILTER, CaseStudyPlan
from case_study.result import CaseStudy, FailedRuns, Outcome, Outcomes, ScoreRow
from smfeval.compare.slopes import Failure, Point, Who, point_of, scan_series
from smfeval.compare.sweep import LOST_M, Sweep, sweep_of
from smfeval.errors import OptionError, SeriesError, SmfevalError
from smfeval.evaluation import Evaluation, Options, evaluate
from smfeval.explain.credit import log_det
from smfeval.explain.updates import Explanation, explain_updates, scored_rows
from smfeval.studies.run import Progress
from smfeval.studies.sweep import split_outcomes
from smfeval_lab.filters import RunFilter, run_filter
from smfeval_lab.kept_runs import Job, RunCache, Walk

POINT_NUMBERS = ("precision", "nees_median", "mae", "k_rotation", "k_pose")
FOREIGN_ERRORS = (RuntimeError, np.linalg.LinAlgError)  # what packages of others raise
BASIC_OPTIONS = Options(numbers=("k", "coverage_90", *POINT_NUMBERS))


def case_study(
    folder: Path,
    plan: CaseStudyPlan = FULL,
    *,
    progress: Progress = lambda done, failed, total: None,
    run: RunFilter = run_filter,
) -> CaseStudy:
    """Run what the folder does not hold yet, score all of it, and explain the lab's own filter.

    `run` may be given to study another filter under the names of the plan.
    """
    outcomes, failures = run_plan(plan, RunCache(folder, run), progress)
    not_run = group_failures(failures)
    if not outcomes:
        raise OptionError(f"no filter came to an end; {not_run[0].filter}: {not_run[0].sentence}")

    named = [each for track in plan.worlds for each in plan.named_jobs(track).items()]
    scored = [(name, outcomes[job]) for name, job in named if job in outcomes]
    shipped = tuple(each for _, each in scored if not each.job.settings)
    explanations, notes = explain_own(shipped)
    reach: dict[str, float] = {}
    try:
        reach = credit_reach(plan, outcomes)
    except SeriesError as error:
        notes.append(f"how far knobs move the credit is not known: {error}")
    return CaseStudy(
        plan=plan,
        scores=tuple(score_row(name, each) for name, each in scored),
        sweep=sweep_outcomes(plan, outcomes),
        credit_reach=reach,
        explanations=explanations,
        not_run=not_run,
        notes=tuple(notes),
        cpu_s=sum(each.run.cpu_s for each in outcomes.values()),
        outcomes=shipped,
    )


def run_plan(
    plan: CaseStudyPlan, cache: RunCache, progress: Progress
) -> tuple[Outcomes, dict[Job, str]]:
    """Run and score all that the plan asks for, one track after the other; and why runs failed."""
    jobs_on = {track: plan.jobs(track) for track in plan.worlds}
    total = sum(map(len, jobs_on.values()))
    outcomes: Outcomes = {}
    failures: dict[Job, str] = {}
    for track, jobs in jobs_on.items():
        walk = Walk(track, plan.walk_s)  # its recording is let go before the next is made
        for job in jobs:
            progress(len(outcomes) + len(failures), len(failures), total)
            try:
                run, reference = cache.run(walk, job), cache.reference(walk)
                scored = evaluate(run.belief, reference, options=BASIC_OPTIONS)
                outcomes[job] = Outcome(job, run, scored)
            except (SmfevalError, *FOREIGN_ERRORS) as error:
                failures[job] = str(error) or type(error).__name__
    return outcomes, failures


def score_row(name: str, outcome: Outcome) -> ScoreRow:
    """The numbers of one run."""
    found, job = outcome.evaluation, outcome.job
    return ScoreRow(
        track=job.track.name,
        filter=name,
        settings=job.settings,
        scans=len(found.position.residuals),
        mae=found["mae"],
        sigma_m=outcome.run.sigma_m,
        k=found.get("k"),
        coverage_90=found.get("coverage_90"),
        verdict=found.verdict.label,
        lost=found["mae"].value > LOST_M,
        cpu_per_scan_s=outcome.run.cpu_s / outcome.run.scans,
    )


def explain_own(outcomes: Sequence[Outcome]) -> tuple[dict[str, Explanation], list[str]]:
    """Runs of the lab's own filter that can be explained, by track, and why others cannot."""
    rows, notes = {}, []
    for outcome in outcomes:
        name = outcome.job.track.name
        if outcome.job.filter == OWN_FILTER:
            try:
                rows[name] = explain_updates(outcome.run.updates, outcome.evaluation)
            except SeriesError as error:
                notes.append(f"{name} is not explained: {error}")
    return rows, notes


def group_failures(failures: dict[Job, str]) -> tuple[FailedRuns, ...]:
    """Runs that failed, those of one filter with one reason together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for job, sentence in failures.items():
        alike.setdefault((job.filter, sentence), []).append(job.track.name)
    return tuple(
        FailedRuns(name, sentence, tuple(dict.fromkeys(tracks)), len(tracks))
        for (name, sentence), tracks in alike.items()
    )


def credit_reach(plan: CaseStudyPlan, outcomes: Outcomes) -> dict[str, float]:
    """How far each knob moves the credit, log det J, which is what an update brings (median).

    Largest less smallest over its values, on the track where this is most; of runs in which no
    other knob is turned and that tell of their updates.
    """
    reach: dict[str, float] = {}
    own = next(who for who in plan.turned if who.name == OWN_FILTER)
    for knob in own.knobs:
        for track in plan.swept:
            runs = [
                outcomes[job]
                for _, job in plan.turned_jobs(own, track)
                if job in outcomes
                and outcomes[job].run.telemetry is not None
                and all(word.startswith(f"{knob.name}=") for word in job.settings)
            ]
            if len(runs) > 1:
                nats = [median_credit(each) for each in runs]
                reach[knob.name] = max(reach.get(knob.name, 0.0), float(np.ptp(nats)))
    return reach


def median_credit(outcome: Outcome) -> float:
    """Of log det J over the updates that see every direction, nat."""
    log = outcome.run.updates
    rows = scored_rows(log, outcome.evaluation.position.estimate.stamp).rows
    return float(np.median(log_det(log.credit[rows])))


def sweep_outcomes(plan: CaseStudyPlan, outcomes: Outcomes) -> Sweep | None:
    """The sweep of those runs that there are; None where no knob has two values."""
    found = []
    for who in plan.turned:
        for track in plan.worlds:
            for settings, job in plan.turned_jobs(who, track):
                if job in outcomes:
                    point = (who.name, track.name, settings)
                    run, evaluation = outcomes[job].run, outcomes[job].evaluation
                    found.append(point_of_evaluation(point, evaluation, notes=run.notes))
    points, failures = split_outcomes(found)
    try:
        return sweep_of(points, name="case study", failures=failures)
    except SeriesError:
        return None  # the study lists what did not run


def point_of_evaluation(
    who: Who, evaluation: Evaluation, *, notes: tuple[str, ...]
) -> Point | Failure:
    """The point of a run that was scored."""
    numbers = {name: evaluation.get(name) for name in POINT_NUMBERS}
    known = {name: number for name, number in numbers.items() if number is not None}
    scored, scans = evaluation.position, None
    stamp, series = scored.estimate.stamp, scored.series
    if scored.residuals.covariance is not None:
        scans = scan_series(stamp, series["nees"], series["ape"], scored.residuals.covariance)
    count = len(scored.residuals)
    return point_of(who, known, source="simulated", scored=count, notes=notes, scans=scans)
