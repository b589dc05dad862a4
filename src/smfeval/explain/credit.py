"""Credit: how much of a reported precision comes from counting points.

A filter with point-to-plane residuals and R = sigma^2 I adds to its information, at every update,

    J = sigma^-2 sum n n^T,

whatever the residuals are. For a state that is the position alone the posterior is
P = (P_prior^-1 + J)^-1; in a filter the same points have to fix the rotation, too, which takes a
part of J away (or, where the prior ties position to rotation, adds to it). In nats, with N points
and M = sum n n^T (tr M = N),

    log det J = 3 log(N / 3) - 6 log sigma + log(27 det M / N^3),

a part for the count, one for the noise as configured, and one for the directions of the normals,
which is at most 0. All matrices are in one frame, whichever.
"""

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import SeriesError
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.symmetric import symmetrise

BLIND = 1e-12  # smallest over largest eigenvalue of M: below, a direction is not seen at all


@dataclass(frozen=True)
class CreditParts:
    """log det J in nats, by where it comes from. (n,) each; -inf where a direction is not seen."""

    count: Floats  # 3 log(N / 3)
    noise: Floats  # -6 log sigma
    shape: Floats  # log(27 det M / N^3), at most 0

    @property
    def total(self) -> Floats:
        """log det J."""
        return self.count + self.noise + self.shape


@dataclass(frozen=True)
class Budget:
    """Information of the position about one update, as -log det of its covariance. (n,) nats."""

    prior: Floats  # read from the covariance before the update
    posterior: Floats  # and after it
    credit: Floats  # log det J alone; -inf where a direction is not seen
    predicted: Floats  # log det(P_prior^-1 + J): prior and credit
    motion_loss: Floats  # (n - 1,) what the motion took since the update before; the first has none

    @property
    def gained(self) -> Floats:
        """What the update gave."""
        return self.posterior - self.prior

    @property
    def unexplained(self) -> Floats:
        """Posterior minus predicted: what the rest of the state takes away, or adds."""
        return self.posterior - self.predicted


def credit(normals: Floats, sigma_m: Floats) -> Floats:
    """J = M / sigma^2. (n, 3, 3), (n,) -> (n, 3, 3)."""
    if not (np.asarray(sigma_m) > 0).all():
        raise SeriesError("the noise of a residual is to be positive in every scan")
    return normals / (sigma_m**2)[..., None, None]


def observed_credit(prior: Floats, posterior: Floats) -> Floats:
    """The information that an update really gave: P_post^-1 - P_prior^-1. (n, 3, 3)."""
    return symmetrise(np.linalg.inv(posterior) - np.linalg.inv(prior))


def parts(matched: Ints, normals: Floats, sigma_m: Floats) -> CreditParts:
    """log det J from the count, the noise and the normals. (n,), (n, 3, 3), (n,)."""
    points = np.maximum(matched, 1).astype(np.float64)
    mean = normals / points[:, None, None]
    shape = np.where(matched > 0, log_det(3 * mean), -np.inf)
    return CreditParts(3 * np.log(points / 3), -6 * np.log(sigma_m), shape)


def budget(prior: Floats, posterior: Floats, credited: Floats) -> Budget:
    """Prior, credit and posterior of every update. (n, 3, 3) each."""
    before, after = -regular_log_det(prior, "prior"), -regular_log_det(posterior, "posterior")
    return Budget(
        prior=before,
        posterior=after,
        credit=log_det(credited),
        predicted=log_det(np.linalg.inv(prior) + credited),
        motion_loss=after[:-1] - before[1:],
    )


def effective_points(matched: Ints, k: float) -> Floats:
    """N / k: as many independent points would have given an honest covariance. (n,)."""
    if not k > 0:
        raise SeriesError(f"an inflation k of {words.exact(k)} leaves no number of points")
    return matched / k


def log_det(matrix: Floats) -> Floats:
    """log det of positive semi-definite matrices; -inf where one is singular. (n, d, d) -> (n,)."""
    values = np.linalg.eigvalsh(matrix)
    singular = values[..., 0] <= BLIND * np.maximum(values[..., -1], 0)
    safe = np.where(singular[..., None], 1.0, values)
    return np.where(singular, -np.inf, np.log(safe).sum(axis=-1))


def regular_log_det(covariance: Floats, what: str) -> Floats:
    """log det of covariances, refused where one is singular."""
    found = log_det(covariance)
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        raise SeriesError(
            f"the {what} covariance is singular in {len(bad)} of {len(found)} scans, "
            f"first in scan {bad[0]}"
        )
    return found
