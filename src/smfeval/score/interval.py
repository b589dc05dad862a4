"""Interval score of the central interval of each axis, in metres.

For an interval [l, u] of level 1 - a: IS = (u - l) + 2/a (l - t)^+ + 2/a (t - u)^+. Proper for the
two quantiles (Gneiting and Raftery 2007, equation 43). Gaussians use mean +- z sigma; particles
their weighted quantiles (with an uncertain reference, mean +- z sigma as well).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.special import normal_quantile
from smfeval.maths.symmetric import chunks
from smfeval.score.residuals import Ensemble, Residuals

LEVEL = 0.9


def interval_score(error: ArrayLike, sigma: ArrayLike, *, level: float = LEVEL) -> Floats:
    """Interval score of the central interval of N(t + error, sigma^2) in one dimension.

    Parameters
    ----------
    error : (...)
        Mean of the belief minus reference t.
    sigma : (...)
        Standard deviation, positive.
    level : float
        Nominal coverage of the interval, between 0 and 1.

    Returns
    -------
    (...)
        In the unit of error; lower is better.
    """
    tail = (1 - level) / 2
    reach = -normal_quantile(tail) * np.asarray(sigma, np.float64)
    outside = np.maximum(np.abs(np.asarray(error, np.float64)) - reach, 0)
    return 2 * reach + outside / tail


def interval_score_of_axes(residuals: Residuals, *, level: float = LEVEL) -> Floats:
    """Interval score of every axis of any belief. (n, d)."""
    tail = (1 - level) / 2
    if residuals.ensemble is None or residuals.noise is not None:
        return _gaussian(residuals, level)
    low = quantiles(residuals.ensemble, tail)
    high = quantiles(residuals.ensemble, tail, from_above=True)  # so that no sign is preferred
    outside = np.maximum(low, 0) + np.maximum(-high, 0)  # the reference is at zero
    return (high - low) + outside / tail


def _gaussian(residuals: Residuals, level: float) -> Floats:
    variance = np.diagonal(residuals.predicted_covariance, axis1=1, axis2=2)
    score = np.empty_like(residuals.error)
    for part in chunks(len(score)):
        score[part] = interval_score(residuals.error[part], np.sqrt(variance[part]), level=level)
    return score


def quantiles(
    ensemble: Ensemble, probability: float | Floats, *, from_above: bool = False
) -> Floats:
    """Weighted quantile of each axis: the smallest particle with enough weight below. (n, d).

    The probability is one for all scans, or one for each particle's scan, (m,).
    From above, the largest particle with enough weight above: the quantile of the mirror image.
    """
    row = np.arange(len(ensemble.difference))
    if from_above:
        row = np.repeat(ensemble.offset[:-1] + ensemble.offset[1:] - 1, ensemble.count) - row
    columns = []
    for x, ascending in zip(ensemble.difference.T, ensemble.ascending_by_axis, strict=True):
        order = ascending[row]
        passed = np.cumsum(ensemble.probability[order])
        start = np.concatenate([[0.0], passed[ensemble.offset[1:-1] - 1]])
        passed -= np.repeat(start, ensemble.count)
        short = passed < probability - 1e-9  # sums of many weights are off by 1e-11
        columns.append(x[order[ensemble.offset[:-1] + _count(ensemble, short)]])
    return np.stack(columns, axis=1)


def _count(ensemble: Ensemble, mask: Bools) -> Ints:
    """True entries in each scan, at most all but one."""
    counted = np.add.reduceat(mask.astype(np.int64), ensemble.offset[:-1])
    return np.minimum(counted, ensemble.count - 1)
