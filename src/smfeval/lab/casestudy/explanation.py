"""Why a run reports what it reports: credit, degeneracy and shared displacement of its updates."""

from dataclasses import dataclass

import numpy as np

from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.explain import credit, displacement
from smfeval.explain.credit import Budget, CreditParts
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

    parts: CreditParts  # per update
    budget: Budget  # per update
    effective_points: float  # median of N / k
    excess_nats: float  # 3 log k: what the belief has too much


@dataclass(frozen=True)
class RunExplanation:
    """Credit, degeneracy and shared displacement, on the updates that were scored."""

    credit: Credit
    degeneracy: tuple[Regression, ...]
    displacement: Displacement
    updates: int
    left_out: int  # scored scans without an update that sees every direction


def explain_run(run: Run, evaluation: Evaluation) -> RunExplanation:
    """Explain a run that was evaluated; raises where it left no telemetry."""
    telemetry = _telemetry(run)
    rows, scans, left_out = _scored_rows(telemetry, evaluation)
    error = _in_filter_axes(evaluation)[scans]
    nees = evaluation.position.series["nees"][scans]
    return RunExplanation(
        credit=_credit(telemetry, rows, evaluation["k"].value),
        degeneracy=regressions(nees, geometry(telemetry.normals[rows])),
        displacement=_displacement(telemetry, rows, error),
        updates=len(scans),
        left_out=left_out,
    )


def scored_updates(run: Run, evaluation: Evaluation) -> tuple[Telemetry, Ints, int]:
    """Updates that see every direction, their scored scans, and how many of these have none."""
    telemetry = _telemetry(run)
    rows, scans, left_out = _scored_rows(telemetry, evaluation)
    return _select_rows(telemetry, rows), scans, left_out


def explanation_row(outcome: Outcome) -> ExplanationRow:
    """Credit, degeneracy and shared displacement of one run."""
    found = explain_run(outcome.run, outcome.evaluation)
    telemetry, _, _ = scored_updates(outcome.run, outcome.evaluation)
    return ExplanationRow(
        track=outcome.job.track.name,
        updates=found.updates,
        left_out=found.left_out,
        credit=credit_row(found.credit, float(np.median(telemetry.matched))),
        degeneracy=found.degeneracy,
        displacement=found.displacement,
    )


def credit_row(credit: Credit, matched: float) -> CreditRow:
    """The credit of a run as medians over its updates."""
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
    telemetry, scans, _ = scored_updates(outcome.run, outcome.evaluation)
    return geometry(telemetry.normals).condition, outcome.evaluation.position.series["nees"][scans]


def _median(values: Floats) -> float:
    return float(np.median(values))


def _telemetry(run: Run) -> Telemetry:
    if run.telemetry is None:
        raise SeriesError("the filter leaves no telemetry, so its updates cannot be explained")
    return run.telemetry


def _scored_rows(telemetry: Telemetry, evaluation: Evaluation) -> tuple[Ints, Ints, int]:
    """Rows of updates that see every direction, their scored scans, how many of these have none."""
    stamps = evaluation.position.estimate.stamp
    _, rows, scans = np.intersect1d(
        telemetry.stamp, stamps, assume_unique=True, return_indices=True
    )
    good = _full_rank_updates(telemetry)[rows]
    if not good.any():
        raise SeriesError("no scored scan has an update that sees every direction")
    return rows[good], scans[good], int(np.sum(~good))


def updates_of(telemetry: Telemetry) -> Updates:
    """The updates with the information that they really gave the position.

    That is the credit less what the rotation takes; with it the recursion without a displacement
    is the run itself.
    """
    observed = credit.observed_credit(telemetry.prior, telemetry.posterior)
    return Updates(telemetry.prior, telemetry.posterior, project_semidefinite(observed))


def project_semidefinite(information: Floats) -> Floats:
    """The matrices with negative eigenvalues, which rounding makes, set to 0. (n, 3, 3)."""
    value, direction = np.linalg.eigh(information)
    kept = direction * np.maximum(value, 0.0)[..., None, :]
    return symmetrise(kept @ direction.swapaxes(-1, -2))


def _credit(telemetry: Telemetry, rows: Ints, k: float) -> Credit:
    """Credit of the rows; the budget needs all updates, for each follows from the one before."""
    scored = _select_rows(telemetry, rows)
    claimed = credit.credit(telemetry.normals, telemetry.sigma_m)
    return Credit(
        parts=credit.parts(scored.matched, scored.normals, scored.sigma_m),
        budget=credit.budget(telemetry.prior, telemetry.posterior, claimed).at(rows),
        effective_points=float(np.median(credit.effective_points(scored.matched, k))),
        excess_nats=credit.excess_nats(k),
    )


def _displacement(telemetry: Telemetry, rows: Ints, error: Floats) -> Displacement:
    """Shared displacement at the scored rows; the recursion runs over all updates."""
    updates = updates_of(telemetry)
    claimed = Updates(
        telemetry.prior, telemetry.posterior, credit.credit(telemetry.normals, telemetry.sigma_m)
    )
    residuals = PointResiduals(
        telemetry.matched, telemetry.normals, telemetry.innovation_rms_m, telemetry.residual_rms_m
    )
    shown = displacement_from_innovations(claimed, residuals, rows=rows)

    def at_one(size_m: float) -> Floats:
        S = displacement.isotropic_covariance(size_m)
        return displacement.single_update_posterior(updates, S)[rows]

    def at_every(size_m: float) -> Floats:
        S = displacement.isotropic_covariance(size_m)
        return displacement.marginalised_posterior(updates, S)[rows]

    reported = updates.posterior[rows]
    return Displacement(
        shown=shown,
        recovered_one_nats=displacement.recovered_nats(at_one(shown.sigma_m), reported),
        recovered_every_nats=displacement.recovered_nats(at_every(shown.sigma_m), reported),
        needed_one_m=displacement.needed_displacement_m(error, at_one),
        needed_every_m=displacement.needed_displacement_m(error, at_every),
    )


def _full_rank_updates(telemetry: Telemetry) -> Bools:
    """Updates that moved information, from points that see every direction."""
    gained = (
        np.linalg.eigvalsh(credit.observed_credit(telemetry.prior, telemetry.posterior))[:, 0] > 0
    )
    return (telemetry.matched >= FEWEST_POINTS) & sees_all(telemetry.normals) & gained


def _select_rows(telemetry: Telemetry, rows: Ints) -> Telemetry:
    return Telemetry(**{name: values[rows] for name, values in vars(telemetry).items()})


def _in_filter_axes(evaluation: Evaluation) -> Floats:
    """Position errors in the axes of the filter's own world, as its telemetry."""
    if not evaluation.options.space.is_whole:
        raise SeriesError(f"axes {evaluation.options.axes}: updates are explained on all three")
    alignment = evaluation.alignment
    return evaluation.position.residuals.error @ alignment.rotation / alignment.scale
