"""Protection levels of a belief, and the regions of the Stanford diagram that its errors fall in.

A protection level bounds one component of the error of a scan, by the belief alone. Of a Gaussian
it is PL = K sigma, with sigma^2 the largest eigenvalue of the covariance of the component and K^2
the chi-squared quantile of its d dimensions at 1 - risk:

d = 1
    vertical, along and cross track: K is the two-sided normal quantile, and P(|e| > PL) = risk.
d = 2
    horizontal: K = sqrt(-2 ln risk), of the Rayleigh distribution. P(|e| > PL) is the risk for a
    round covariance and below it for any other, down to that of K in one dimension: at a risk of
    1e-4, 4.29 instead of 3.89. RTCA DO-229 bounds non-precision approaches alike, K = 6.18 at 5e-9.
d = 3
    attitude, the angle of the rotation error: K of the Maxwell distribution, a bound in that way.

Of particles it is the quantile of their distances from their mean at 1 - risk; of fewer than
1 / risk, which have no such quantile, at least K sigma of their sample covariance with Hotelling's
F instead of chi-squared (`score.pit`).

With an alert limit AL, an estimator is available where PL <= AL. There the information is nominal
(e <= PL), misleading (PL < e <= AL) or hazardously misleading (e > AL): RTCA DO-229; Tossaint et
al. 2007, "The Stanford-ESA integrity diagram". Where there are several components, all of them
have to be available, and one is enough to mislead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from smfeval.align.quantities import RISK, check_risk
from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.maths.symmetric import chunks
from smfeval.score.interval import quantiles
from smfeval.score.pit import honest_quantile
from smfeval.score.residuals import Ensemble, Residuals

BEYOND = 1 + 1e-9  # just above what is still within a limit
TINY = 1e-300  # instead of a level of zero, in a quotient


def multiplier(dimension: int, risk: float) -> float:
    """K of a protection level K sigma: the root of the chi-squared quantile at 1 - risk."""
    check_risk(risk)
    return sqrt(chi_squared_tail_quantile(dimension, risk))


def protection_level(covariance: ArrayLike, *, risk: float = RISK) -> Floats:
    """Radius that a Gaussian error leaves with a probability of at most `risk`.

    Parameters
    ----------
    covariance : (..., d, d)
        Of the component: d = 1 (vertical, along or cross track), 2 (horizontal) or 3.
    risk : float
        Probability of an error beyond the level, per scan.

    Returns
    -------
    (...)
        K(d, risk) times the root of the largest eigenvalue.
    """
    matrix = np.asarray(covariance, dtype=np.float64)
    return multiplier(matrix.shape[-1], risk) * np.sqrt(largest_eigenvalue(matrix))


def largest_eigenvalue(covariance: Floats) -> Floats:
    """At least zero; of one and two dimensions in closed form. (..., d, d) -> (...)."""
    if covariance.shape[-1] == 1:
        value = covariance[..., 0, 0]
    elif covariance.shape[-1] == 2:
        a, b, c = covariance[..., 0, 0], covariance[..., 0, 1], covariance[..., 1, 1]
        value = 0.5 * (a + c) + np.hypot(0.5 * (a - c), b)
    else:
        flat = covariance.reshape(-1, *covariance.shape[-2:])
        value = np.empty(len(flat))
        for part in chunks(len(flat)):
            value[part] = np.linalg.eigvalsh(flat[part])[:, -1]
        value = value.reshape(covariance.shape[:-2])
    return np.maximum(value, 0.0)


def level_of(residuals: Residuals, risk: float) -> Floats:
    """Protection level of any belief in the axes of its residuals. (n,)."""
    covariance = residuals.covariance if residuals.reported is None else residuals.reported
    if covariance is None:
        raise ValueError("plain poses protect from nothing")
    if residuals.ensemble is None:
        return protection_level(covariance, risk=risk)
    return _particle_level(
        residuals, residuals.ensemble, np.sqrt(largest_eigenvalue(covariance)), risk
    )


def _particle_level(residuals: Residuals, ensemble: Ensemble, sigma: Floats, risk: float) -> Floats:
    """The distance of the k-th farthest of K particles, k / (K + 1) <= risk; bounded from below.

    The reference is one more draw: it is farther with probability k / (K + 1). A particle is
    nearer to the mean than to that of the others, 1 - 1 / K times. Of too few particles (k = 0) the
    level is at least Hotelling's, by their sample covariance. (n,).
    """
    effective = 1 / ensemble.sum(ensemble.probability**2)
    mean = ensemble.sum(ensemble.probability[:, None] * ensemble.difference)
    away = _length(ensemble.difference - np.repeat(mean, ensemble.count, axis=0))
    beyond = np.maximum(risk - (1 - risk) / effective, 0.0)  # (k - 1) / K at least
    distance = Ensemble(ensemble.offset, away[:, None], ensemble.probability)
    wanted = np.repeat(beyond, ensemble.count)
    level = quantiles(distance, wanted, from_above=True)[:, 0]
    level = level / (1 - 1 / np.maximum(effective, 2.0))
    hotelling = np.sqrt(honest_quantile(residuals, 1 - risk)) * sigma
    return np.where(risk * (effective + 1) < 1, np.maximum(level, hotelling), level)


def _length(error: Floats) -> Floats:
    return np.sqrt(np.einsum("nd,nd->n", error, error))


@dataclass(frozen=True)
class ProtectedError:
    """One component of the errors with its protection levels, in metres or radians.

    Where a scan has no level, it is infinite: the estimator is not available.
    """

    name: str  # one of `schema.PROTECTED`
    limit: float
    error: Floats  # (n,)
    level: Floats  # (n,)
    own: bool = False  # the estimator gives the levels itself


def component_of(
    name: str, limit: float, residuals: Residuals, risk: float, own: Floats | None = None
) -> ProtectedError:
    """The length of the errors with the levels of the belief, or the estimator's own. (n,)."""
    level = level_of(residuals, risk) if own is None else np.where(np.isnan(own), np.inf, own)
    return ProtectedError(name, limit, _length(residuals.error), level, own is not None)


@dataclass(frozen=True)
class StanfordRegions:
    """Where each scan lies in the Stanford diagram, over all components together. (n,) each."""

    components: Sequence[ProtectedError]

    @cached_property
    def error(self) -> Floats:
        """Errors over their limits. (c, n)."""
        return np.stack([each.error / each.limit for each in self.components])

    @cached_property
    def level(self) -> Floats:
        """Protection levels over their limits. (c, n)."""
        return np.stack([each.level / each.limit for each in self.components])

    @cached_property
    def available(self) -> Bools:
        """Every protection level is within its limit."""
        return np.all(self.level <= 1, axis=0)

    @cached_property
    def hazardous(self) -> Bools:
        """Available, and an error is beyond its limit."""
        return self.available & np.any(self.error > 1, axis=0)

    @cached_property
    def unbounded(self) -> Bools:
        """An error is beyond its protection level, available or not."""
        return np.any(self.error > self.level, axis=0)

    @property
    def misleading(self) -> Bools:
        """Available, an error is beyond its protection level and none beyond its limit."""
        return self.available & self.unbounded & ~self.hazardous

    @cached_property
    def counts(self) -> dict[str, int]:
        """Scans by region; those that mislead while they are not available are among the latter."""
        hazardous, misleading = int(self.hazardous.sum()), int(self.misleading.sum())
        available, scans = int(self.available.sum()), len(self.available)
        return {
            "scans": scans,
            "nominal": available - misleading - hazardous,
            "misleading": misleading,
            "hazardously_misleading": hazardous,
            "unavailable": scans - available,
            "unavailable_and_misleading": int((self.unbounded & ~self.available).sum()),
        }

    @property
    def ratio(self) -> Floats:
        """Errors over their protection levels; the largest is the safety index of SBAS. (c, n)."""
        return self.error / np.maximum(self.level, TINY)

    def least_factor(self, risk: float) -> float:
        """The least factor on the levels, 1 or more, that leaves `risk` of scans hazardous.

        A wider level makes a scan unavailable beyond min AL / PL: of the scans with an error beyond
        a limit, all but risk n have to become so.
        """
        beyond = (self.error > 1).any(axis=0)
        level = self.level.max(axis=0)[beyond]
        until = np.sort(np.divide(1, level, out=np.full(len(level), np.inf), where=level > 0))[::-1]
        allowed = int(risk * self.error.shape[1])
        return max(1.0, BEYOND * float(until[allowed])) if len(until) > allowed else 1.0
