"""Why a run reports what it reports: credit, degeneracy and shared displacement of its updates."""

from dataclasses import dataclass

import numpy as np

from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.explain import credit, displacement
from smfeval.explain.credit import Budget, Parts
from smfeval.explain.degeneracy import Regression, geometry, regressions, sees_all
from smfeval.explain.displacement import (
    FEWEST_POINTS,
    PointResiduals,
    Updates,
    displacement_from_innovations,
)
from smfeval.lab.casestudy.result import CreditRow, Displacement, ExplanationRow, Outcome
from smfeval.lab.filters.run import Run, Telemetry
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.symmetric import symmetrise


@dataclass(frozen=True)
class Credit:
    """The precision of a run, from its configuration: medians over updates, in nats."""

    parts: Parts  # per update
    budget: Budget  # per update
    effective_points: float  # median of N / k
    excess_nats: float  # 3 log k: what the belief has too much


@dataclass(frozen=True)
class RunExplanation:
    """All of it, on the updates that were scored."""

    credit: Credit
    degeneracy: tuple[Regression, ...]
    displacement: Displacement
    updates: int
    left_out: int  # scored scans without an update that sees every direction


def explain_run(run: Run, evaluation: Evaluation) -> RunExplanation:
    """Explain a run that was evaluated; raises where it left no telemetry."""
    every = _telemetry(run)
    rows, scans, left_out = _scored_rows(every, evaluation)
    error = _in_filter_axes(evaluation)[scans]
    nees = evaluation.scored.series["nees"][scans]
    found = evaluation.calibration
    assert found is not None  # a run with telemetry reports a covariance
    return RunExplanation(
        credit=_credit(every, rows, found.k.value),
        degeneracy=regressions(nees, geometry(every.normals[rows])),
        displacement=_displacement(every, rows, error),
        updates=len(scans),
        left_out=left_out,
    )


def scored_updates(run: Run, evaluation: Evaluation) -> tuple[Telemetry, Ints, int]:
    """Updates that see every direction, their scored scans, and how many of these have none."""
    told = _telemetry(run)
    rows, scans, left_out = _scored_rows(told, evaluation)
    return _select_rows(told, rows), scans, left_out


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


def _telemetry(run: Run) -> Telemetry:
    if run.telemetry is None:
        raise SeriesError("the filter leaves no telemetry, so its updates cannot be explained")
    return run.telemetry


def _scored_rows(told: Telemetry, evaluation: Evaluation) -> tuple[Ints, Ints, int]:
    """Rows of updates that see every direction, their scored scans, how many of these have none."""
    stamps = evaluation.scored.estimate.stamp
    _, rows, scans = np.intersect1d(told.stamp, stamps, assume_unique=True, return_indices=True)
    good = _full_rank_updates(told)[rows]
    if not good.any():
        raise SeriesError("no scored scan has an update that sees every direction")
    return rows[good], scans[good], int(np.sum(~good))


def updates_of(told: Telemetry) -> Updates:
    """The updates with the information that they really gave the position.

    That is the credit less what the rotation takes; with it the recursion without a displacement
    is the run itself.
    """
    observed = credit.observed_credit(told.prior, told.posterior)
    return Updates(told.prior, told.posterior, project_semidefinite(observed))


def project_semidefinite(information: Floats) -> Floats:
    """Without what rounding makes negative where an update saw nothing. (n, 3, 3)."""
    value, direction = np.linalg.eigh(information)
    kept = direction * np.maximum(value, 0.0)[..., None, :]
    return symmetrise(kept @ direction.swapaxes(-1, -2))


def _credit(every: Telemetry, rows: Ints, k: float) -> Credit:
    told, claimed = _select_rows(every, rows), credit.credit(every.normals, every.sigma_m)
    return Credit(
        parts=credit.parts(told.matched, told.normals, told.sigma_m),
        budget=credit.budget(every.prior, every.posterior, claimed).at(rows),
        effective_points=float(np.median(credit.effective_points(told.matched, k))),
        excess_nats=credit.excess_nats(k),
    )


def _displacement(told: Telemetry, rows: Ints, error: Floats) -> Displacement:
    """Of all updates, since each rests on the one before; asked at the rows that were scored."""
    updates = updates_of(told)
    claimed = Updates(told.prior, told.posterior, credit.credit(told.normals, told.sigma_m))
    seen = PointResiduals(told.matched, told.normals, told.innovation_rms_m, told.residual_rms_m)
    shown = displacement_from_innovations(claimed, seen, rows=rows)

    def one(size_m: float) -> Floats:
        return displacement.single_update_posterior(
            updates, displacement.isotropic_covariance(size_m)
        )[rows]

    def every(size_m: float) -> Floats:
        return displacement.marginalised_posterior(
            updates, displacement.isotropic_covariance(size_m)
        )[rows]

    reported = updates.posterior[rows]
    return Displacement(
        shown=shown,
        recovered_one_nats=displacement.recovered_nats(one(shown.sigma_m), reported),
        recovered_every_nats=displacement.recovered_nats(every(shown.sigma_m), reported),
        needed_one_m=displacement.needed_displacement_m(error, one),
        needed_every_m=displacement.needed_displacement_m(error, every),
    )


def _full_rank_updates(told: Telemetry) -> Bools:
    """Updates that moved information, from points that see every direction."""
    gained = np.linalg.eigvalsh(credit.observed_credit(told.prior, told.posterior))[:, 0] > 0
    return (told.matched >= FEWEST_POINTS) & sees_all(told.normals) & gained


def _select_rows(told: Telemetry, rows: Ints) -> Telemetry:
    return Telemetry(**{name: values[rows] for name, values in vars(told).items()})


def _in_filter_axes(evaluation: Evaluation) -> Floats:
    """Position errors in the axes of the filter's own world, as its telemetry."""
    if evaluation.options.axes != "xyz":
        raise SeriesError(f"axes {evaluation.options.axes}: updates are explained on all three")
    alignment = evaluation.alignment
    return evaluation.scored.residuals.error @ alignment.rotation / alignment.scale
