"""The updates of a filter: where the precision that it reports comes from, and what it lacks.

An `UpdateLog` has one row per scan, of any filter that tells how many points it matched, the noise
that it gives to each, and the information J that they brought. Where the covariance before an
update is not told, it follows from the one after it: the information of the pose, all else of the
state marginalised, is that of the prior plus J (see `implied_prior`).
"""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.explain import credit, displacement
from smfeval.explain.degeneracy import Regression, geometry, regressions, sees_all
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.symmetric import symmetrise


def rows_of(table: object, rows: Ints) -> dict[str, Any]:
    """Some of the rows of all arrays that a table has."""
    arrays = {name: each for name, each in vars(table).items() if isinstance(each, np.ndarray)}
    return {name: each[rows] for name, each in arrays.items()}


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
        return replace(self, **rows_of(self, rows))

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

    not_logged: int = 0  # no row of the log has their stamp
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
    prior: float | None = None  # -log det of the position's covariance before an update
    predicted: float | None = None  # log det(P_prior^-1 + J)
    unexplained: float | None = None  # posterior - predicted
    gained: float | None = None  # by an update
    lost: float | None = None  # between two updates
    effective_points: float | None = None  # N / k
    consistent_sigma_m: float | None = None  # sigma sqrt(k): that would be consistent
    excess: float | None = None  # 3 log k: nats above consistency


@dataclass(frozen=True)
class Displacement:
    """A shared displacement S_d = s^2 I: what the innovation shows, and what k = 1 needs."""

    shown: displacement.DisplacementVariance | None  # None: the innovations are not told
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
    k, error, regressed = None, None, tuple[Regression, ...]()
    if evaluation is not None:
        k, alignment = evaluation["k"].value, evaluation.alignment
        if not evaluation.options.space.is_whole:
            raise SeriesError(f"axes {evaluation.options.axes}: updates are explained on all three")
        # in the axes of the filter's own world, as its telemetry
        error = evaluation.position.residuals.error @ alignment.rotation / alignment.scale
        error = error[found.scans]
    if evaluation is not None and log.directions_known:
        nees = evaluation.position.series["nees"][found.scans]
        regressed = regressions(nees, geometry(log.normals[found.rows]))

    # each update follows from the one before, so budget and recursion run over all known priors
    known = log.prior_known
    run, kept = log.at(np.flatnonzero(known)), known[found.rows]
    rows = (np.cumsum(known) - 1)[found.rows[kept]]
    row, displaced = credit_row(log.at(found.rows), run, rows, k), None
    if len(rows):
        displaced = _displacement(run, rows, None if error is None else error[kept])
    return Explanation(len(found.rows), found.left_out, row, regressed, displaced, len(rows))


def scored_rows(log: UpdateLog, stamps: Ints) -> ScoredRows:
    """Rows with one of the stamps whose update sees every direction; the others are counted."""
    _, rows, scans = np.intersect1d(log.stamp, stamps, assume_unique=True, return_indices=True)
    there = log.at(rows)
    no_gain, known = np.zeros(len(rows), dtype=bool), there.prior_known
    observed = credit.observed_credit(there.prior[known], there.posterior[known])
    no_gain[known] = np.linalg.eigvalsh(observed)[:, 0] <= 0
    reasons = {
        "no_points": there.matched == 0,
        "few_points": there.matched < displacement.FEWEST_POINTS,
        "singular": ~sees_all(there.normals),
        "no_gain": no_gain,
    }
    left, counts = np.ones(len(rows), dtype=bool), {}
    for name, bad in reasons.items():
        counts[name] = int(np.sum(left & bad))
        left &= ~bad
    if not left.any():
        raise SeriesError("no scored scan has an update that sees every direction")
    not_logged = len(stamps) - len(rows)
    return ScoredRows(rows[left], scans[left], LeftOut(not_logged=not_logged, **counts))


def updates_of(log: UpdateLog) -> displacement.Updates:
    """The updates with the information that they really gave the position.

    That is the credit less what the rotation takes; with it the recursion without a displacement
    is the run itself. Negative eigenvalues, which rounding makes, are set to 0.
    """
    observed = credit.observed_credit(log.prior, log.posterior)
    value, direction = np.linalg.eigh(observed)
    kept = direction * np.maximum(value, 0.0)[..., None, :]
    return displacement.Updates(
        log.prior, log.posterior, symmetrise(kept @ direction.swapaxes(-1, -2))
    )


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


def credit_row(scored: UpdateLog, run: UpdateLog, rows: Ints, k: float | None) -> CreditRow:
    """Medians over scored updates; the budget is of those rows of a run whose priors are known."""
    parts = credit.parts(scored.matched, scored.normals, scored.sigma_m)
    given = credit.log_det(scored.credit)
    reported = -credit.regular_log_det(scored.posterior, "posterior")
    series: dict[str, Floats | Ints] = {
        "matched": scored.matched,
        "sigma_m": scored.sigma_m,
        **vars(parts),
        "credit": given,
        "posterior": reported,
        "above_credit": reported - given,
    }
    if len(rows):
        budget = credit.budget(run.prior, run.posterior, run.credit)
        names = ("prior", "predicted", "unexplained", "gained")
        series |= {name: getattr(budget, name)[rows] for name in names}
        lost = budget.motion_loss[rows[rows > 0] - 1]  # since the update before, explained or not
        series |= {"lost": lost} if len(lost) else {}
    if k is not None:
        series["effective_points"] = credit.effective_points(scored.matched, k)
        series["consistent_sigma_m"] = scored.sigma_m * np.sqrt(k)
    medians = {name: float(np.median(values)) for name, values in series.items()}
    return CreditRow(**medians, excess=None if k is None else float(3 * np.log(k)))


def _displacement(run: UpdateLog, rows: Ints, error: Floats | None) -> Displacement:
    """Shared displacement at rows of a run of updates with known priors."""
    updates, shown = updates_of(run), None
    if run.innovation_rms_m is not None and run.residual_rms_m is not None:
        residuals = displacement.PointResiduals(
            run.matched, run.normals, run.innovation_rms_m, run.residual_rms_m
        )
        claimed = displacement.Updates(run.prior, run.posterior, run.credit)
        shown = displacement.displacement_from_innovations(claimed, residuals, rows=rows)

    def effect(posterior: displacement.PosteriorOf) -> tuple[float | None, float | None]:
        """Nats that the shown displacement takes back, and the displacement that k = 1 needs."""

        def covariance_of(size_m: float) -> Floats:
            return posterior(updates, displacement.isotropic_covariance(size_m))[rows]

        reported, recovered, needed = updates.posterior[rows], None, None
        if shown is not None:
            recovered = displacement.recovered_nats(covariance_of(shown.sigma_m), reported)
        if error is not None:
            needed = displacement.needed_displacement_m(error, covariance_of)
        return recovered, needed

    one = effect(displacement.single_update_posterior)
    every = effect(displacement.marginalised_posterior)
    return Displacement(shown, one[0], every[0], error is not None, one[1], every[1])


def _scored_stamps(evaluation: Evaluation) -> Ints:
    return evaluation.position.estimate.stamp
