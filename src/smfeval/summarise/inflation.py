"""The yardstick of k, the shape and the scale: do the errors scatter as the covariance says?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import exp

import numpy as np
from numpy.typing import ArrayLike

from smfeval.maths import normal
from smfeval.maths.arrays import Floats, spaced_indices
from smfeval.maths.special import chi_squared_tail_quantile, golden_section
from smfeval.maths.symmetric import chunks

FLAT = 1e-12  # errors with less spread in one direction have no shape to speak of
LOG_SCALES = (-30.0, 30.0)  # range of log c
TRIES = 38  # of a golden section: to 1e-6 of log c
SEARCHED = 2000  # scans that tell the best scale of a long track roughly
STEPS = (0.2, 0.01, 0.003, 0.003)  # in log c: a parabola's error is of the order of its square
FARTHEST = 1.0  # in log c, by one parabola


def median_chi_squared(dimension: int) -> float:
    """Median of the chi-squared distribution: 2.366 for three freedoms."""
    return chi_squared_tail_quantile(dimension, 0.5)


def inflation(error: ArrayLike, covariance: ArrayLike) -> Floats:
    """k = median NEES / median chi-squared, over the scans: 1 is honest, above 1 overconfident.

    Parameters
    ----------
    error : (..., n, d) or (d,)
        Mean of the belief minus reference, scan by scan; d = 1 to 6.
    covariance : (..., n, d, d) or (d, d)
        S, positive definite. With an uncertain reference pass S + S_ref.

    Returns
    -------
    (...)
        One number per track: the last axis of scans is summarised. Of one scan, its own.
    """
    d = np.shape(error)[-1]
    return _over_scans(np.median, normal.nees(error, covariance)) / median_chi_squared(d)


def coverage(error: ArrayLike, covariance: ArrayLike, *, level: float = 0.9) -> Floats:
    """Share of scans whose error lies in the belief's central region of a nominal level.

    Parameters
    ----------
    error : (..., n, d) or (d,)
        Mean of the belief minus reference, scan by scan; d = 1 to 6.
    covariance : (..., n, d, d) or (d, d)
        S, positive definite. With an uncertain reference pass S + S_ref.
    level : float
        Nominal level, between 0 and 1.

    Returns
    -------
    (...)
        One share per track; it equals the level, up to chance, if the belief is honest.
    """
    limit = chi_squared_tail_quantile(np.shape(error)[-1], 1 - level)
    inside = normal.nees(error, covariance) <= limit
    return _over_scans(np.mean, inside.astype(np.float64))


def _over_scans(statistic: Callable[..., Floats], series: Floats) -> Floats:
    return np.asarray(statistic(series, axis=-1)) if series.ndim else series


def moment_shape(moment: Floats) -> float:
    """psi = (tr W / d) / det(W)^(1/d) with W the mean of S^(-1/2) e e^T S^(-1/2). (d, d).

    1 if the errors scatter in the proportions of the covariance, whatever its scale; more if some
    direction is tighter than another. The symmetric root is taken in the axes given (body axes).
    """
    mean = float(np.trace(moment)) / len(moment)
    values = np.linalg.eigvalsh(moment)
    if values[0] <= FLAT * values[-1]:
        return float("inf")
    return float(np.exp(np.log(mean) - np.log(values).mean()))


def best_scale(error: Floats, covariance: Floats, noise: Floats | None = None) -> float:
    """The factor c for which N(mean, c S) has the least mean log score.

    With an exact reference c = mean NEES / d; else found by search over log c, of a long track on
    some of its scans, and from there by parabolas over all.
    """
    dimension = error.shape[1]
    if noise is None:
        return float(np.mean(normal.likelihood_terms(error, covariance).nees)) / dimension

    some = spaced_indices(len(error), SEARCHED)
    few = partial(scaled_log_score, error[some], covariance[some], noise=noise[some])
    x = golden_section(lambda x: few(scale=exp(x)), *LOG_SCALES, TRIES)
    if len(some) < len(error):
        every = partial(scaled_log_score, error, covariance, noise=noise)
        for step in STEPS:
            x += _to_vertex([every(scale=exp(x + at)) for at in (-step, 0.0, step)], step)
    return exp(x)


def _to_vertex(values: list[float], step: float) -> float:
    """From the middle of three values, a step apart, to the vertex of their parabola."""
    left, middle, right = values
    bend = left - 2 * middle + right
    if bend <= 0:  # no valley here: down by as much as is allowed
        return FARTHEST * ((left > right) - (left < right))
    return max(-FARTHEST, min(FARTHEST, step * (left - right) / (2 * bend)))


def scaled_log_score(
    error: Floats, covariance: Floats, scale: float, noise: Floats | None = None
) -> float:
    """Mean log score of the same errors under N(mean, c S), or c S + S_ref. (n, d), (n, d, d)."""
    density = np.empty(len(error))
    for part in chunks(len(error)):
        scaled = scale * covariance[part]
        scaled = scaled if noise is None else scaled + noise[part]
        terms = normal.likelihood_terms(error[part], scaled)
        density[part] = normal.log_density(terms, error.shape[1])
    return -float(np.mean(density))
