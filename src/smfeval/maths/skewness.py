"""How lopsided is a series, seen from its deciles and its median?

If x = a + exp(b + s z), z normal, then s = log((x_90 - x_50) / (x_50 - x_10)) / 1.2816, where x_p
is the p-th percentile. The third moment of a short dependent series is biased towards zero; this
is hardly.
"""

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.order import quantile

NORMAL_DECILE = 1.2815515655446004  # the 90th percentile of the standard normal
SHAPE_MAX = 2.0  # skewness 400; nothing can be learnt about the mean of such a series
GROWTH_MAX = 3.0  # an end is moved out by a factor of at most (exp(3) - 1) / 3 = 6.4


def skew_rate(series: Floats, deviation: Floats | None = None) -> Floats:
    """Rate, per unit of the series, at which its logarithm-like scale bends. (..., n) -> (...).

    1 / (mean - a) of the shifted log-normal with the same shape s and standard deviation, negative
    if the long tail is on the left, zero for a symmetric series. `deviation` is the standard
    deviation, where it is known already.
    """
    low, middle, high = (quantile(series, share) for share in (0.1, 0.5, 0.9))
    tiny = np.finfo(float).tiny
    ratio = np.log(np.maximum(high - middle, tiny)) - np.log(np.maximum(middle - low, tiny))
    shape = np.clip(ratio / NORMAL_DECILE, -SHAPE_MAX, SHAPE_MAX)
    deviation = series.std(axis=-1) if deviation is None else deviation
    return np.sign(shape) * np.sqrt(np.expm1(shape**2)) / deviation


def stretched(offset: Floats, rate: Floats) -> Floats:
    """Offset on a scale that bends at the rate: (exp(rate * offset) - 1) / rate. (...) -> (...)."""
    growth = np.clip(rate * offset, -GROWTH_MAX, GROWTH_MAX)
    straight = np.abs(growth) < 1e-9
    return offset * np.where(straight, 1.0, np.expm1(growth) / np.where(straight, 1.0, growth))
