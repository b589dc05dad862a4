"""Probability integral transform: which probability an honest belief gives to errors this small.

Gaussians: the chi-squared distribution of the NEES. Particles: the weight of the particles that lie
deeper (closer to the mean in the sample covariance's metric) than the reference; ties count half.
With an uncertain reference, particles too use the chi-squared distribution, under S + S_ref.
Uniform on (0, 1) if honest; the share of scans at or below p is the coverage at level p.
"""

import numpy as np

from smfeval.maths import normal
from smfeval.maths.arrays import Floats
from smfeval.score.residuals import Residuals


def pit(residuals: Residuals) -> Floats:
    """Depth of the reference in the belief, 0 at its centre and 1 far outside. (n,)."""
    if residuals.ensemble is not None and residuals.noise is None:
        return _depth(residuals)
    return normal.probability_within(residuals.fit.nees, residuals.dimension)


def _depth(residuals: Residuals) -> Floats:
    ensemble = residuals.ensemble
    assert ensemble is not None
    away = ensemble.difference - np.repeat(residuals.error, ensemble.count, axis=0)
    metric = np.repeat(residuals.predicted, ensemble.count, axis=0)
    particle = normal.fit(away, metric).nees
    reference = np.repeat(residuals.fit.nees, ensemble.count)
    deeper = (particle < reference) + 0.5 * (particle == reference)
    return ensemble.sum(ensemble.probability * deeper)
