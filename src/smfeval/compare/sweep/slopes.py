"""Slopes of parallel lines through few points, and of tracks.

On one track the lines of a knob share a slope and have offsets of their own,

    y_lj = a_l + b x_lj + r_lj,   b = S_xy / S_xx (centred within lines),
    (b_hat - b) / sqrt(RSS / (n - L - 1) / S_xx) ~ t with n - L - 1 degrees of freedom,

if the deviations r from the line are normal, alike and independent from setting to setting. They
are not independent if neighbouring settings make the same errors; then the interval is too narrow.

Over tracks the slope is the mean of the slopes of the tracks, and its interval Student's t over
them: tracks are independent, whatever settings do to each other, so only this interval speaks of
tracks that were not run.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from smfeval.compare.sweep.points import Line
from smfeval.maths.arrays import Floats
from smfeval.summarise.number import Number

UNIT = "1/nat"  # decades per nat of precision
FEWEST_TRACKS = 2

Quantity = Literal["log_nees", "log_error"]


def common_slope(lines: Sequence[Line], quantity: Quantity, level: float) -> Number:
    """Slope that the lines of one track share, per nat, with its interval at a level."""
    x = _centred([line.precision for line in lines])
    y = _centred([getattr(line, quantity) for line in lines])
    square = float(x @ x)
    slope = float(x @ y) / square
    degrees = len(x) - len(lines) - 1
    if degrees < 1:
        reason = f"settings: {len(x)} on {len(lines)} lines; an interval needs one more"
        return Number(slope, UNIT, reason=reason)
    left = y - slope * x
    error = float(np.sqrt(left @ left / degrees / square))
    return _with_ends(slope, error, degrees, level)


def slope_over_tracks(slopes: Sequence[float], level: float) -> Number:
    """Mean slope of the tracks, its interval from how much they differ."""
    count, mean = len(slopes), float(np.mean(slopes))
    if count < FEWEST_TRACKS:
        return Number(mean, UNIT, reason=f"tracks: {count}; an interval needs {FEWEST_TRACKS}")
    error = float(np.std(slopes, ddof=1) / np.sqrt(count))
    return _with_ends(mean, error, count - 1, level)


def _with_ends(value: float, error: float, degrees: int, level: float) -> Number:
    reach = -float(stdtrit(degrees, (1 - level) / 2)) * error
    return Number(value, UNIT, value - reach, value + reach)


def _centred(parts: Sequence[Floats]) -> Floats:
    return np.concatenate([part - part.mean() for part in parts])
