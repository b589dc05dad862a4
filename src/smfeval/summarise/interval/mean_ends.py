"""The mean: the low-frequency posterior, on a scale that bends with the skew of the series."""

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.mean_posterior import effective_samples, mean_posterior
from smfeval.maths.skewness import skew_rate, stretched
from smfeval.summarise.interval.ends import Ends, two_sided


def mean_ends(series: Floats, level: float) -> Ends:
    """Interval of the mean. (..., n) -> (...).

    Short dependent series with a long tail have seldom seen enough of it: their mean is too low and
    so is their spread. The end on the side of the tail moves out as it would on the logarithmic
    scale of a shifted log-normal of the same shape. Of a series without negative numbers, both ends
    are at least as skew as on its own logarithmic scale, and positive.
    """
    mean, variance = series.mean(axis=-1), series.var(axis=-1)
    posterior = mean_posterior(series)
    down, up = posterior.quantiles((1 - level) / 2, (1 + level) / 2)
    down, up = np.maximum(-down, 0), np.maximum(up, 0)

    rate = skew_rate(series, np.sqrt(variance))
    positive = series.min(axis=-1) >= 0
    own = np.where(positive, 1 / np.where(positive, mean, 1.0), 0.0)
    high = mean + stretched(up, np.maximum(np.maximum(rate, 0), own))
    low = mean - np.where(positive, _held(down, mean), stretched(down, np.maximum(-rate, 0)))
    return two_sided(low, high, effective_samples(variance, posterior.variance))


def _held(down: Floats, mean: Floats) -> Floats:
    """Step down from a positive mean on the logarithmic scale: never below zero."""
    safe = np.where(mean > 0, mean, 1.0)
    return safe * -np.expm1(-down / safe)


def rmse_ends(series: Floats, level: float) -> Ends:
    """Interval of the root mean square: that of the mean square, rooted. (..., n) -> (...)."""
    square = mean_ends(series**2, level)
    return two_sided(np.sqrt(square.low), np.sqrt(square.high), square.n_effective)
