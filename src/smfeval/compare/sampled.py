"""What NEES honest beliefs have if their covariances come from samples.

The covariance of K particles is itself uncertain, and their mean is off by S / K. For a sum of two
such covariances with shares w of its trace, the difference has

    r = sum w (K + 1) / (K - 1)          times the covariance reported for it,
    1 / v = sum w^2 / (K - 1)            degrees of freedom v (Satterthwaite 1946),

and NEES / r is d v / (v - d + 1) F(d, v - d + 1), Hotelling's law. For one particle belief alone it
is that of `score.pit`; for two Gaussians r = 1, v is infinite, and the law is chi-squared.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import chi_squared_exceeded
from smfeval.score import Residuals
from smfeval.track import AnyTrack, ParticleTrack


@dataclass(frozen=True)
class Sampled:
    """Kish's number of particles of both beliefs at each scan; None for Gaussians."""

    a: Floats | None
    b: Floats | None

    def at(self, a: Ints, b: Ints) -> "Sampled":
        """Of chosen scans of either track."""
        return Sampled(None if self.a is None else self.a[a], None if self.b is None else self.b[b])

    def honest_median(self, residuals: Residuals) -> Floats:
        """Median NEES of honest beliefs; `residuals` has S_A as covariance, S_B as noise. (n,)."""
        d = residuals.dimension
        if self.a is None and self.b is None:
            return np.full(len(residuals), chi_squared_exceeded(d, 0.5))
        from scipy.special import fdtri  # noqa: PLC0415  slow to import, for particles only

        stretch, spread = np.zeros(len(residuals)), np.zeros(len(residuals))
        share = share_of_a(residuals)
        for particles, part in ((self.a, share), (self.b, 1 - share)):
            few = np.full(len(residuals), np.inf) if particles is None else particles - 1
            stretch += part * (1 + 2 / few)
            spread += part**2 / few
        freedom = np.maximum(1 / np.maximum(spread, np.finfo(float).tiny), float(d))
        left = freedom - d + 1
        return stretch * d * freedom / left * np.asarray(fdtri(d, left, 0.5))

    def inflation(self, residuals: Residuals) -> float:
        """k: median of NEES over what honest beliefs have."""
        return float(np.median(residuals.fit.nees / self.honest_median(residuals)))


GAUSSIANS = Sampled(None, None)


def sampled(a: AnyTrack, b: AnyTrack) -> Sampled:
    """The numbers of particles of two tracks."""
    return Sampled(effective_particles(a), effective_particles(b))


def effective_particles(track: AnyTrack) -> Floats | None:
    """Kish's number of each scan, at least 2; None for Gaussians. (n,)."""
    if not isinstance(track, ParticleTrack):
        return None
    square = np.add.reduceat(track.probability**2, track.offset[:-1])
    return np.maximum(1 / square, 2.0)


def share_of_a(residuals: Residuals) -> Floats:
    """Part of the summed variance that is A's. (n,)."""
    assert residuals.covariance is not None
    own = np.trace(residuals.covariance, axis1=1, axis2=2)
    return own / np.trace(residuals.predicted, axis1=1, axis2=2)
