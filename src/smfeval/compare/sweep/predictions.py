"""What a sweep shows if the covariance tells the truth, and if it only shrinks.

With S scaled by c in d dimensions the precision P = -log det S grows by d log(1/c). If the error
shrinks along, |e| ~ sqrt(c) = exp(-P / 2d) and NEES stays: the sharpening is earned. If the error
stays, NEES ~ 1/c = exp(P / d): it is not. In between, the slopes of the logarithms are bound by

    slope of log10 NEES = log10(e) / d + 2 (slope of log10 |e|).
"""

import numpy as np

EARNED = 0.0  # slope of log10 NEES per nat; of log10 |e| where errors stay as they are
MOVES_NATS = 0.5  # less moves NEES by at most 18 %, which running a filter again may do as well


def unearned_slope(dimension: int = 3) -> float:
    """Slope of log10 NEES per nat if errors do not change: log10(e) / d, 0.1448 in space."""
    return float(np.log10(np.e)) / dimension


def earned_error_slope(dimension: int = 3) -> float:
    """Slope of log10 |e| per nat if errors shrink as reported: -log10(e) / 2d, -0.0724 in space."""
    return -unearned_slope(dimension) / 2
