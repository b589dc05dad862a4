"""How wrong each filter is on each track, and how wrong it says it is."""

from collections.abc import Sequence

from smfeval.compare.sweep.effects import LOST_M
from smfeval.lab.casestudy.jobs import Job
from smfeval.lab.casestudy.measure import Failures, Outcome
from smfeval.lab.casestudy.plan import Plan
from smfeval.lab.casestudy.result import NotRun, ScoreRow
from smfeval.study.metrics import NOMINAL


def score_row(plan: Plan, outcome: Outcome) -> ScoreRow:
    """The numbers of one run."""
    found, job = outcome.evaluation, outcome.job
    calibration = found.calibration
    return ScoreRow(
        set=plan.set_of(job.track),
        track=job.track.name,
        filter=job.filter,
        settings=job.words,
        scans=len(found.scored.residuals),
        mae=found.scores.mae,
        sigma_m=outcome.run.sigma_m,
        k=None if calibration is None else calibration.k,
        coverage=None if calibration is None else calibration.coverage[NOMINAL],
        verdict=found.verdict.label,
        lost=outcome.mae_m > LOST_M,
        cpu_per_scan_s=outcome.run.cpu_s / len(outcome.run.belief),
    )


def not_run(failures: Failures) -> tuple[NotRun, ...]:
    """Runs that failed, those of one filter with one reason together."""
    alike: dict[tuple[str, str], list[Job]] = {}
    for job, sentence in failures.items():
        alike.setdefault((job.filter, sentence), []).append(job)
    return tuple(
        NotRun(name, sentence, _tracks(jobs), len(jobs)) for (name, sentence), jobs in alike.items()
    )


def _tracks(jobs: Sequence[Job]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(job.track.name for job in jobs))
