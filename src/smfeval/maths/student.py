"""Student's t distribution with a whole number of degrees of freedom, as a finite sum.

With theta = arctan(t / sqrt(q)) the probability between -t and t is (Abramowitz and Stegun,
"Handbook of Mathematical Functions", 26.7.3 and 26.7.4)

    q even:  sin(theta) (1 + 1/2 cos^2 + (1 3)/(2 4) cos^4 + ...)           q / 2 terms
    q odd:   2/pi (theta + sin(theta) (cos + 2/3 cos^3 + (2 4)/(3 5) cos^5 + ...))

which takes a few multiplications where the incomplete beta function takes a continued fraction.
"""

from functools import lru_cache
from itertools import accumulate
from math import exp, lgamma, pi, sqrt
from operator import mul

import numpy as np

from smfeval.maths.arrays import Floats


def t_cdf(degrees: int, t: Floats) -> Floats:
    """Probability of at most t, to 1e-15 of 1. (...) -> (...)."""
    square = degrees + t * t
    cosine2, sine = degrees / square, t / np.sqrt(square)
    last, *before = _coefficients(degrees)
    series = np.full_like(t, last)
    for coefficient in before:
        series = series * cosine2 + coefficient
    if degrees % 2 == 0:
        return 0.5 + 0.5 * sine * series
    theta = np.arctan(t / np.sqrt(degrees))
    inner = sine * np.sqrt(cosine2) * series if degrees > 1 else 0.0
    return 0.5 + (theta + inner) / np.pi


@lru_cache(maxsize=32)
def _coefficients(degrees: int) -> tuple[float, ...]:
    """Of the powers of cos^2 in the sum, the highest first."""
    terms = range(2 + degrees % 2, degrees - 1, 2)
    return tuple(accumulate(((term - 1) / term for term in terms), mul, initial=1.0))[::-1]


def t_density(degrees: int, t: Floats) -> Floats:
    """Derivative of the probability. (...) -> (...)."""
    norm = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(pi * degrees)
    return norm * (1 + t * t / degrees) ** (-(degrees + 1) / 2)
