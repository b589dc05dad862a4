"""The updates of a filter: where the precision that it reports comes from, and what it lacks.

An `UpdateLog` has one row per scan, of any filter that tells how many points it matched, the noise
that it gives to each, and the information J that they brought. Where the covariance before an
update is not told, it follows from the one after it: the information of the pose, all else of the
state marginalised, is that of the prior plus J (see `implied_prior`).
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.explain import credit, displacement
from smfeval.explain.degeneracy import Regression, geometry, regressions, sees_all
from smfeval.explain.displacement import (
    FEWEST_POINTS,
    DisplacementVariance,
    PointResiduals,
    Updates,
    displacement_from_innovations,
)
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.symmetric import symmetrise


@dataclass(frozen=True)
class UpdateLog:
    """One row per scan, in the order of stamps; matrices are in world axes.

    With R = sigma^2 I the credit of an update is J = sigma^-2 sum n n^T.
    """

    stamp: Ints  # (n,) ns
    matched: Ints  # (n,) points
    normals: Floats  # (n, 3, 3) sum of n n^T over the matched points: sigma^2 J
    sigma_m: Floats  # (n,) of one residual, as used
    prior: Floats  # (n, 3, 3) covariance of the position before the update; NaN: not known
    posterior: Floats  # (n, 3, 3) and after it
    residual_rms_m: Floats | None  # (n,) of the residuals at the posterior
    innovation_rms_m: Floats | None  # (n,) and at the prior
    directions_known: bool = True  # False: only N is known, and normals are N / 3 I

    def at(self, rows: Ints) -> "UpdateLog":
        """Some of the rows."""
        arrays = {name: value for name, value in vars(self).items() if np.ndim(value)}
        return replace(self, **{name: value[rows] for name, value in arrays.items()})

    @property
    def prior_known(self) -> Bools:
        """Rows that have a prior. (n,)."""
        return np.isfinite(self.prior[:, 0, 0])

    @property
    def credit(self) -> Floats:
        """J of every row. (n, 3, 3)."""
        return credit.credit(self.normals, self.sigma_m)


@dataclass(frozen=True)
class LeftOut:
    """Scans that are not explained, by the first reason that applies."""

    untold: int = 0  # no row of the log has their stamp
    no_points: int = 0  # N = 0
    few_points: int = 0  # too few to tell a displacement from noise
    singular: int = 0  # the normals leave a direction unseen
    no_gain: int = 0  # the covariance did not shrink in every direction

    @property
    def total(self) -> int:
        """All of them."""
        return sum(getattr(self, each.name) for each in fields(self))


@dataclass(frozen=True)
class CreditRow:
    """Where the precision of a run comes from: medians over updates, nats unless said.

    None where no prior is known, or no reference tells k.
    """

    matched: float  # points
    sigma_m: float  # of a point
    count: float  # 3 log(N / 3)
    noise: float  # -6 log sigma
    shape: float  # log(27 det M / N^3)
    credit: float  # log det J: the sum of the three, from N, normals and sigma alone
    posterior: float  # -log det of the covariance after an update, as the filter reports
    above_credit: float  # posterior - credit
    prior: float | None  # -log det of the position's covariance before an update
    predicted: float | None  # log det(P_prior^-1 + J)
    unexplained: float | None  # posterior - predicted
    gained: float | None  # by an update
    lost: float | None  # between two updates
    effective_points: float | None  # N / k
    honest_sigma_m: float | None  # sigma sqrt(k): noise per point that would make it honest
    excess: float | None  # 3 log k: nats above consistency


@dataclass(frozen=True)
class Displacement:
    """A shared displacement S_d = s^2 I: what the innovation shows, and what k = 1 needs."""

    shown: DisplacementVariance | None  # None: the innovations are not told
    recovered_one_nats: float | None  # by the shown one, at one update
    recovered_every_nats: float | None  # and at every update
    known: bool  # whether errors are known, which the next two are from
    needed_one_m: float | None  # None: not even without the update's information
    needed_every_m: float | None


@dataclass(frozen=True)
class Explanation:
    """Credit, degeneracy and shared displacement of the updates of a run."""

    updates: int
    left_out: LeftOut
    credit: CreditRow
    degeneracy: tuple[Regression, ...]  # none without a reference, or without normals
    displacement: Displacement | None  # None: no update has a known prior
    displaced_updates: int  # that the displacement is from


@dataclass(frozen=True)
class ScoredRows:
    """Rows of a log whose update sees every direction, and the scans that they belong to."""

    rows: Ints
    scans: Ints
    left_out: LeftOut


def explain_updates(
    log: UpdateLog, evaluation: Evaluation | None = None, *, stamps: Ints | None = None
) -> Explanation:
    """Explain the scans that were scored; without a reference those of `stamps`, or of the log."""
    asked = log.stamp if stamps is None else stamps
    found = scored_rows(log, asked if evaluation is None else _scored_stamps(evaluation))
    k = None if evaluation is None else evaluation["k"].value
    error = None if evaluation is None else errors_in_filter_axes(evaluation)[found.scans]
    regressed: tuple[Regression, ...] = ()
    if evaluation is not None and log.directions_known:
        nees = evaluation.position.series["nees"][found.scans]
        regressed = regressions(nees, geometry(log.normals[found.rows]))
    known = log.prior_known[found.rows]
    return Explanation(
        updates=len(found.rows),
        left_out=found.left_out,
        credit=credit_row(log, found.rows, k),
        degeneracy=regressed,
        displacement=_displacement(log, found.rows[known], None if error is None else error[known])
        if known.any()
        else None,
        displaced_updates=int(known.sum()),
    )


def condition_and_nees(log: UpdateLog, evaluation: Evaluation) -> tuple[Floats, Floats]:
    """Condition number of the matched normals and NEES of every update. (n,), (n,)."""
    found = scored_rows(log, _scored_stamps(evaluation))
    condition = geometry(log.normals[found.rows]).condition
    return condition, evaluation.position.series["nees"][found.scans]


def credit_nats(log: UpdateLog, evaluation: Evaluation) -> float:
    """Median of log det J over the updates that see every direction."""
    rows = scored_rows(log, _scored_stamps(evaluation)).rows
    return float(np.median(credit.log_det(log.credit[rows])))


def scored_rows(log: UpdateLog, stamps: Ints) -> ScoredRows:
    """Rows with one of the stamps whose update sees every direction; the others are counted."""
    _, rows, scans = np.intersect1d(log.stamp, stamps, assume_unique=True, return_indices=True)
    there = log.at(rows)
    reasons = {
        "no_points": there.matched == 0,
        "few_points": there.matched < FEWEST_POINTS,
        "singular": ~sees_all(there.normals),
        "no_gain": _gained_nothing(there),
    }
    left, counts = np.ones(len(rows), dtype=bool), {}
    for name, bad in reasons.items():
        counts[name] = int(np.sum(left & bad))
        left &= ~bad
    if not left.any():
        raise SeriesError("no scored scan has an update that sees every direction")
    untold = len(stamps) - len(rows)
    return ScoredRows(rows[left], scans[left], LeftOut(untold=untold, **counts))


def updates_of(log: UpdateLog) -> Updates:
    """The updates with the information that they really gave the position.

    That is the credit less what the rotation takes; with it the recursion without a displacement
    is the run itself.
    """
    observed = credit.observed_credit(log.prior, log.posterior)
    return Updates(log.prior, log.posterior, project_semidefinite(observed))


def project_semidefinite(information: Floats) -> Floats:
    """The matrices with negative eigenvalues, which rounding makes, set to 0. (n, 3, 3)."""
    value, direction = np.linalg.eigh(information)
    kept = direction * np.maximum(value, 0.0)[..., None, :]
    return symmetrise(kept @ direction.swapaxes(-1, -2))


def implied_prior(posterior: Floats, information: Floats) -> Floats:
    """Covariance of the position before an update that brought J. (n, d, d) twice -> (n, 3, 3).

    With Lambda the information of all states before the update, the posterior's of the pose is
    (Lambda_pp + J) - Lambda_po Lambda_oo^-1 Lambda_op: that of the prior plus J. So P_prior =
    (P^-1 - J)^-1, exactly for d = 6, the whole pose that the points constrain; for d = 3 as if they
    told nothing of the rotation. NaN where P^-1 - J is not positive definite.
    """
    after = np.linalg.inv(posterior)
    before = symmetrise(after - information)
    scale = 1 / np.sqrt(np.diagonal(after, axis1=-2, axis2=-1))  # radians beside metres
    scaled = before * scale[..., :, None] * scale[..., None, :]
    good = (np.linalg.eigvalsh(scaled)[..., 0] > credit.BLIND)[..., None, None]
    safe = np.where(good, before, np.eye(before.shape[-1]))
    return np.where(good, symmetrise(np.linalg.inv(safe))[..., :3, :3], np.nan)


def errors_in_filter_axes(evaluation: Evaluation) -> Floats:
    """Position errors in the axes of the filter's own world, as its telemetry. (n, 3)."""
    if not evaluation.options.space.is_whole:
        raise SeriesError(f"axes {evaluation.options.axes}: updates are explained on all three")
    alignment = evaluation.alignment
    return evaluation.position.residuals.error @ alignment.rotation / alignment.scale


def credit_row(log: UpdateLog, rows: Ints, k: float | None) -> CreditRow:
    """Medians over the rows; the budget needs all, for each update follows from the one before."""
    scored = log.at(rows)
    parts = credit.parts(scored.matched, scored.normals, scored.sigma_m)
    given = credit.log_det(scored.credit)
    reported = -credit.regular_log_det(scored.posterior, "posterior")
    budget = _budget(log, rows)
    return CreditRow(
        matched=_median(scored.matched),
        sigma_m=_median(scored.sigma_m),
        count=_median(parts.count),
        noise=_median(parts.noise),
        shape=_median(parts.shape),
        credit=_median(given),
        posterior=_median(reported),
        above_credit=_median(reported - given),
        prior=None if budget is None else _median(budget.prior),
        predicted=None if budget is None else _median(budget.predicted),
        unexplained=None if budget is None else _median(budget.unexplained),
        gained=None if budget is None else _median(budget.gain),
        lost=None if budget is None or not len(budget.motion_loss) else _median(budget.motion_loss),
        effective_points=None if k is None else _median(credit.effective_points(scored.matched, k)),
        honest_sigma_m=None if k is None else _median(scored.sigma_m * np.sqrt(k)),
        excess=None if k is None else credit.excess_nats(k),
    )


def _budget(log: UpdateLog, rows: Ints) -> credit.Budget | None:
    """The budget of those rows whose prior is known; what the motion took spans the others."""
    known = log.prior_known
    kept = rows[known[rows]]
    if not len(kept):
        return None
    place = np.cumsum(known) - 1  # of a row among the known ones
    there = log.at(np.flatnonzero(known))
    return credit.budget(there.prior, there.posterior, there.credit).at(place[kept])


def _displacement(log: UpdateLog, rows: Ints, error: Floats | None) -> Displacement:
    """Shared displacement at rows with a known prior; the recursion runs over all that have one."""
    known = log.prior_known
    place = np.cumsum(known) - 1
    rows, log = place[rows], log.at(np.flatnonzero(known))
    updates = updates_of(log)

    def at_one(size_m: float) -> Floats:
        S = displacement.isotropic_covariance(size_m)
        return displacement.single_update_posterior(updates, S)[rows]

    def at_every(size_m: float) -> Floats:
        S = displacement.isotropic_covariance(size_m)
        return displacement.marginalised_posterior(updates, S)[rows]

    def recovered(covariance: Floats) -> float:
        return displacement.recovered_nats(covariance, updates.posterior[rows])

    def needed(covariance_of: displacement.CovarianceOf) -> float | None:
        return None if error is None else displacement.needed_displacement_m(error, covariance_of)

    shown = _shown(log, rows)
    return Displacement(
        shown=shown,
        recovered_one_nats=None if shown is None else recovered(at_one(shown.sigma_m)),
        recovered_every_nats=None if shown is None else recovered(at_every(shown.sigma_m)),
        known=error is not None,
        needed_one_m=needed(at_one),
        needed_every_m=needed(at_every),
    )


def _shown(log: UpdateLog, rows: Ints) -> DisplacementVariance | None:
    """The displacement that innovations and residuals show; None where they are not told."""
    if log.innovation_rms_m is None or log.residual_rms_m is None:
        return None
    residuals = PointResiduals(log.matched, log.normals, log.innovation_rms_m, log.residual_rms_m)
    claimed = Updates(log.prior, log.posterior, log.credit)
    return displacement_from_innovations(claimed, residuals, rows=rows)


def _gained_nothing(log: UpdateLog) -> Bools:
    """Updates with a known prior that gave no information in some direction. (n,)."""
    found, known = np.zeros(len(log.stamp), dtype=bool), log.prior_known
    observed = credit.observed_credit(log.prior[known], log.posterior[known])
    found[known] = np.linalg.eigvalsh(observed)[:, 0] <= 0
    return found


def _scored_stamps(evaluation: Evaluation) -> Ints:
    return evaluation.position.estimate.stamp


def _median(values: Floats | Ints) -> float:
    return float(np.median(values))
