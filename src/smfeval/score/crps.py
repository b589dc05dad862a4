"""Continuous ranked probability score of each axis: the energy score in one dimension, in metres.

For N(m, s^2) and error e, with z = e / s:

CRPS = E|X - t| - 1/2 E|X - X'| = s (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi))

(Gneiting and Raftery 2007, equation 21). A pose without uncertainty scores |e|.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from smfeval.maths.arrays import Floats
from smfeval.maths.special import erf
from smfeval.maths.symmetric import chunks
from smfeval.score.energy import energy, sorted_spread
from smfeval.score.residuals import Ensemble, Residuals


def crps(error: ArrayLike, sigma: ArrayLike) -> Floats:
    """Continuous ranked probability score of N(t + error, sigma^2) in one dimension.

    Parameters
    ----------
    error : (...)
        Mean of the belief minus reference t.
    sigma : (...)
        Standard deviation, positive.

    Returns
    -------
    (...)
        In the unit of error; lower is better.
    """
    error, sigma = np.asarray(error, np.float64), np.asarray(sigma, np.float64)
    z = error / sigma
    density = np.exp(-0.5 * z * z) * np.sqrt(2 / np.pi)
    return sigma * (z * erf(z / np.sqrt(2)) + density - 1 / np.sqrt(np.pi))


def crps_of_axes(residuals: Residuals) -> Floats:
    """CRPS of every axis of any belief. (n, d)."""
    if residuals.ensemble is not None:
        return _particles(residuals)
    if residuals.covariance is None:
        return np.abs(residuals.error)
    variance = np.diagonal(residuals.predicted_covariance, axis1=1, axis2=2)
    score = np.empty_like(residuals.error)
    for part in chunks(len(score)):
        score[part] = crps(residuals.error[part], np.sqrt(variance[part]))
    return score


def _particles(residuals: Residuals) -> Floats:
    """Exact for weighted particles, in a sorted pass; kernels N(0, S_ref) are handled by pairs."""
    ensemble = residuals.ensemble
    assert ensemble is not None
    axes = range(residuals.dimension)
    if residuals.noise is None:
        spread = np.stack([sorted_spread(ensemble, axis) for axis in axes], axis=1)
        distance = np.abs(ensemble.difference) * ensemble.probability[:, None]
        return ensemble.sum(distance) - 0.5 * spread
    columns = [_axis_crps(ensemble, axis, residuals.noise[:, axis, axis]) for axis in axes]
    return np.stack(columns, axis=1)


def _axis_crps(ensemble: Ensemble, axis: int, noise: Floats) -> Floats:
    line = replace(ensemble, difference=ensemble.difference[:, axis, None])
    mean = line.sum(line.probability[:, None] * line.difference)
    return energy(Residuals(mean, None, noise[:, None, None], line))
