"""Shared displacement: all points of a scan are off together, and averaging them does not help.

If scan k is displaced by d_k ~ N(0, S_d), R = sigma^2 I + H S_d H^T and the information of the scan
is no longer J but

    J_d = (J^-1 + S_d)^-1 = J (I + S_d J)^-1,

at most S_d^-1 however many points there are. Two covariances follow, over the updates of a run
with what the motion added, G_k = P_prior,k - P_post,k-1, taken from the run:

    marginalised  P_k = ((P_k-1 + G_k)^-1 + J_d)^-1: what the filter would report if it knew S_d
    considered    the true covariance of a filter that does not know, P_k + D_k, with its own gain
                  A = (P_prior^-1 + J)^-1 J:  D_k = (I - A) D_k-1 (I - A)^T + A S_d A^T

The second is linear in S_d (Schmidt's consider filter). Time is a loop here: each update needs the
one before. Batches of S_d go through it together.
"""

from collections.abc import Callable

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.errors import SeriesError
from smfeval.explain.credit import log_det
from smfeval.maths import normal
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import bisect
from smfeval.maths.symmetric import symmetrise
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Intervals, Number

SMALLEST_M, LARGEST_M = 1e-7, 1e3  # displacements among which the one that is needed is looked for
STEPS = 30  # of bisection over ten decades: to 2e-8 of the displacement


CovarianceOf = Callable[[float], Floats]  # covariances (n, 3, 3) of a displacement in metres
PosteriorOf = Callable[["Updates", Floats], Floats]  # of updates and S_d


@dataclass(frozen=True)
class Updates:
    """The updates of a run: position covariances and the information that each scan brought."""

    prior: Floats  # (n, 3, 3)
    posterior: Floats  # (n, 3, 3)
    credit: Floats  # (n, 3, 3)

    @property
    def gain(self) -> Floats:
        """A = (P_prior^-1 + J)^-1 J: the share of a displacement that the position follows."""
        return _inverse(_inverse(self.prior) + self.credit) @ self.credit


def displaced_credit(credit: Floats, displacement: Floats) -> Floats:
    """(J^-1 + S_d)^-1, also for J that sees not every direction. (..., 3, 3), (..., 3, 3)."""
    inner = np.eye(3) + displacement @ credit
    return symmetrise(credit @ np.linalg.inv(inner))


def isotropic_covariance(sigma_m: Floats | float) -> Floats:
    """S_d = sigma^2 I. (...) -> (..., 3, 3)."""
    return np.asarray(sigma_m, dtype=np.float64)[..., None, None] ** 2 * np.eye(3)


def single_update_posterior(updates: Updates, displacement: Floats) -> Floats:
    """Posterior of each update alone, its prior as it was. (n, 3, 3)."""
    credit = displaced_credit(updates.credit, displacement)
    return _inverse(_inverse(updates.prior) + credit)


def marginalised_posterior(updates: Updates, displacement: Floats) -> Floats:
    """Posterior of each update when all before it knew S_d, too. S_d (..., 3, 3) -> (n, ..., 3, 3).

    The first prior is that of the run.
    """
    size = (len(updates.prior), *displacement.shape)
    between = np.ones(displacement.ndim - 2, dtype=int)  # batch axes stand between scans and rows
    credit = displaced_credit(updates.credit.reshape(-1, *between, 3, 3), displacement)
    growth, covariance = updates.prior[1:] - updates.posterior[:-1], np.empty(size)  # by motion
    prior = np.broadcast_to(updates.prior[0], displacement.shape)
    for k, brought in enumerate(credit):
        covariance[k] = np.linalg.inv(np.linalg.inv(prior) + brought)
        if k < len(growth):
            prior = covariance[k] + growth[k]
    return symmetrise(covariance)


def considered_excess(updates: Updates, shape: Floats | None = None) -> tuple[Floats, Floats]:
    """D before and after each update for S_d = shape (default I). (n, 3, 3) twice.

    The errors of a filter that does not know S_d = s^2 shape have covariance P + s^2 D.
    """
    shape = np.eye(3) if shape is None else shape
    gain = updates.gain
    before, after = np.zeros_like(gain), np.zeros_like(gain)
    for k, taken in enumerate(gain):
        if k:
            before[k] = after[k - 1]
        kept = np.eye(3) - taken
        after[k] = kept @ before[k] @ kept.T + taken @ shape @ taken.T
    return before, after


def recovered_nats(covariance: Floats, reported: Floats) -> float:
    """Median precision that a displacement takes back from the posteriors reported. (n, 3, 3)."""
    return float(np.median(log_det(covariance) - log_det(reported)))


def needed_displacement_m(error: Floats, covariance_of: CovarianceOf) -> float | None:
    """Displacement at which k = 1, by bisection; None where none does. (n, 3).

    `covariance_of` grows with the displacement: that of `single_update_posterior`, of
    `marginalised_posterior`, or P + s^2 D. An error that is honest already needs 0.
    """
    honest = median_chi_squared(error.shape[-1])

    def too_tight(size_m: float) -> bool:
        return bool(np.median(normal.likelihood_terms(error, covariance_of(size_m)).nees) > honest)

    if not too_tight(0.0):
        return 0.0
    if too_tight(LARGEST_M):
        return None
    ends = np.log(SMALLEST_M), np.log(LARGEST_M)
    return float(np.exp(bisect(lambda log_m: too_tight(float(np.exp(log_m))), *ends, STEPS)))


def _inverse(matrix: Floats) -> Floats:
    return symmetrise(np.asarray(np.linalg.inv(matrix), dtype=np.float64))


FEWEST_POINTS = 4  # three fix a position; the rest tells their own noise


@dataclass(frozen=True)
class PointResiduals:
    """What was matched in each scan, and how far off it was. (n,) each, normals (n, 3, 3)."""

    matched: Ints
    normals: Floats  # sum of n n^T
    innovation_rms_m: Floats  # at the prior
    residual_rms_m: Floats  # at the posterior


@dataclass(frozen=True)
class DisplacementVariance:
    """Mean over scans; a variance may come out negative where the filter expects too much."""

    displacement: Number  # s^2 of S_d = s^2 I, m^2
    point_noise: Number  # w^2 of a point, m^2

    @property
    def sigma_m(self) -> float:
        """s, or 0 where the innovations are smaller than the filter expects."""
        return float(np.sqrt(max(self.displacement.value, 0.0)))


def displacement_from_innovations(
    updates: Updates,
    residuals: PointResiduals,
    *,
    rows: Ints | None = None,
    intervals: Intervals | None = None,
) -> DisplacementVariance:
    """Variances of a shared displacement and of the points' own noise.

    Updates are all of a run, since a displacement lasts from one to the next; the mean is over
    `rows` of them (default: all), which need enough points.
    """
    rows = np.arange(len(updates.prior)) if rows is None else rows
    if not (residuals.matched[rows] >= FEWEST_POINTS).all():
        raise SeriesError(
            f"every scan needs {FEWEST_POINTS} matched points or more; leave the others out"
        )
    before, _ = considered_excess(updates)
    gain, points = updates.gain, residuals.matched.astype(np.float64)
    kept = np.eye(3) - gain
    left = kept.swapaxes(-1, -2) @ residuals.normals @ kept

    seen = np.stack([residuals.normals, left])  # (2, n, 3, 3): at the prior, at the posterior
    square = points * np.stack([residuals.innovation_rms_m, residuals.residual_rms_m]) ** 2
    rest = square - _trace(seen @ updates.prior)
    shared = _trace(seen @ (before + np.eye(3)))
    alone = np.stack([points, points - 2 * _trace(gain) + _trace(gain @ gain)])

    made = intervals or Intervals()
    rest, shared, alone = rest[:, rows], shared[:, rows], alone[:, rows]
    determinant = _pair_determinant(shared, alone)
    return DisplacementVariance(
        made.of(_pair_determinant(rest, alone) / determinant, "mean", "m^2"),
        made.of(_pair_determinant(shared, rest) / determinant, "mean", "m^2"),
    )


def _pair_determinant(one: Floats, other: Floats) -> Floats:
    """Determinants of pairs of columns. (2, n), (2, n) -> (n,)."""
    return one[0] * other[1] - one[1] * other[0]


def _trace(matrix: Floats) -> Floats:
    return np.trace(matrix, axis1=-2, axis2=-1)
