"""Interval score of the central interval of each axis, in metres.

For an interval [l, u] of level 1 - a: IS = (u - l) + 2/a (l - t)^+ + 2/a (t - u)^+. Proper for the
two quantiles (Gneiting and Raftery 2007, equation 43). Gaussians use mean +- z sigma; particles
their weighted quantiles (with an uncertain reference, mean +- z sigma as well).
"""

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.special import normal_quantile
from smfeval.maths.symmetric import chunks
from smfeval.score.residuals import Ensemble, Residuals

LEVEL = 0.9


def interval_score(residuals: Residuals, *, level: float = LEVEL) -> Floats:
    """Interval score of every axis. (n, d)."""
    tail = (1 - level) / 2
    if residuals.ensemble is None or residuals.noise is not None:
        return _gaussian(residuals, tail)
    low = quantiles(residuals.ensemble, tail)
    high = -quantiles(residuals.ensemble.mirror_image, tail)  # so that no axis has a preferred sign
    outside = np.maximum(low, 0) + np.maximum(-high, 0)  # the reference is at zero
    return (high - low) + outside / tail


def _gaussian(residuals: Residuals, tail: float) -> Floats:
    variance = np.diagonal(residuals.predicted_covariance, axis1=1, axis2=2)
    far = -normal_quantile(tail)
    score = np.empty_like(residuals.error)
    for part in chunks(len(score)):
        reach = far * np.sqrt(variance[part])
        outside = np.maximum(np.abs(residuals.error[part]) - reach, 0)
        score[part] = 2 * reach + outside / tail
    return score


def quantiles(ensemble: Ensemble, probability: float) -> Floats:
    """Weighted quantile of each axis: the smallest particle with enough weight below. (n, d)."""
    scan = np.repeat(np.arange(len(ensemble.count)), ensemble.count)
    columns = []
    for x in ensemble.difference.T:
        order = np.lexsort((x, scan))
        below = np.cumsum(ensemble.probability[order])
        start = np.repeat(np.concatenate([[0.0], below[ensemble.offset[1:-1] - 1]]), ensemble.count)
        short = below - start < probability - 1e-9  # sums of many weights are off by 1e-11
        columns.append(x[order][ensemble.offset[:-1] + _count(ensemble, short)])
    return np.stack(columns, axis=1)


def _count(ensemble: Ensemble, mask: Floats) -> Floats:
    """True entries in each scan, at most all but one."""
    counted = np.add.reduceat(mask.astype(np.int64), ensemble.offset[:-1])
    return np.minimum(counted, ensemble.count - 1)
