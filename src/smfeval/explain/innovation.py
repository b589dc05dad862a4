"""What the innovations show of a shared displacement.

With A the filter's gain, M = sum n n^T, w^2 the variance that points have on their own, and
P + s^2 D the covariance of its prior under a displacement S_d = s^2 I in every scan (see
`displacement`),

    E sum r^2 at the prior      = tr M (P + s^2 (D + I)) + N w^2
    E sum r^2 at the posterior  = tr F (P + s^2 (D + I)) + (N - 2 tr A + tr A^2) w^2
    F = (I - A)^T M (I - A)

are two equations per scan for s^2 and w^2. Turning errors look like displacements, so s^2 is
rather too large. A map that drifts along with the scans is not seen: that is why a displacement
which would make a belief honest can be far larger than the one that innovations show.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.errors import SeriesError
from smfeval.explain.displacement import Updates, excess
from smfeval.maths.arrays import Floats, Ints
from smfeval.summarise.number import Intervals, Number

FEWEST_POINTS = 4  # three fix a position; the rest tells their own noise


@dataclass(frozen=True)
class Residuals:
    """What was matched in each scan, and how far off it was. (n,) each, normals (n, 3, 3)."""

    matched: Ints
    normals: Floats  # sum of n n^T
    innovation_rms_m: Floats  # at the prior
    residual_rms_m: Floats  # at the posterior


@dataclass(frozen=True)
class Shown:
    """Mean over scans; a variance may come out negative where the filter expects too much."""

    displacement: Number  # s^2 of S_d = s^2 I, m^2
    own: Number  # w^2 of a point, m^2

    @property
    def sigma_m(self) -> float:
        """s, or 0 where the innovations are smaller than the filter expects."""
        return float(np.sqrt(max(self.displacement.value, 0.0)))


def shown_by_innovation(
    updates: Updates,
    residuals: Residuals,
    *,
    rows: Ints | None = None,
    intervals: Intervals | None = None,
) -> Shown:
    """Variances of a shared displacement and of the points' own noise.

    Updates are all of a run, since a displacement lasts from one to the next; the mean is over
    `rows` of them (default: all), which need enough points.
    """
    rows = np.arange(len(updates.prior)) if rows is None else rows
    if not (residuals.matched[rows] >= FEWEST_POINTS).all():
        raise SeriesError(
            f"every scan needs {FEWEST_POINTS} matched points or more; leave the others out"
        )
    before, _ = excess(updates)
    gain, points = updates.gain, residuals.matched.astype(np.float64)
    kept = np.eye(3) - gain
    left = kept.swapaxes(-1, -2) @ residuals.normals @ kept

    seen = np.stack([residuals.normals, left])  # (2, n, 3, 3): at the prior, at the posterior
    square = points * np.stack([residuals.innovation_rms_m, residuals.residual_rms_m]) ** 2
    rest = square - _trace(seen @ updates.prior)
    shared = _trace(seen @ (before + np.eye(3)))
    alone = np.stack([points, points - 2 * _trace(gain) + _trace(gain @ gain)])

    made = intervals or Intervals()
    rest, shared, alone = rest[:, rows], shared[:, rows], alone[:, rows]
    determinant = _crossed(shared, alone)
    return Shown(
        made.of(_crossed(rest, alone) / determinant, "mean", "m^2"),
        made.of(_crossed(shared, rest) / determinant, "mean", "m^2"),
    )


def _crossed(one: Floats, other: Floats) -> Floats:
    """Determinants of pairs of columns. (2, n), (2, n) -> (n,)."""
    return one[0] * other[1] - one[1] * other[0]


def _trace(matrix: Floats) -> Floats:
    return np.trace(matrix, axis1=-2, axis2=-1)
