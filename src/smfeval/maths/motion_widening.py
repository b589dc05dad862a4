"""How far off a motion prior is between observations, measured on observations left out.

Real motion is no integrated Wiener process: a gait is far smoother between two samples than white
noise of the size that its predictions need, and a dropout may be worse than it. So runs of
observations are left out and predicted from the rest, for gaps of 2, 4, 8 ... steps, and the
covariance is multiplied by the factor that lets the 90 % region hold 90 % of them. The factor
belongs to a length of gap and is one where the prior is right.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.motion_fit import windows
from smfeval.maths.motion_gp import Instants, Motion, principal_axes, separable

WINDOWS = 48  # of the curve; a quarter of their 6000 observations is left out for gaps of 2 steps
GAPS = (2, 4, 8, 16, 32)  # steps; a window of 129 observations holds two gaps of 32
LEVEL = 0.9  # the region that is made to hold what it promises
LEAST_LEFT_OUT = 50  # observations; a quantile of 90 % from fewer is chance


@dataclass(frozen=True)
class Widening:
    """Factor on the covariance by length of the gap; constant beyond the ends. (j,) each."""

    gap_s: Floats
    factor: Floats

    def __call__(self, gap_s: Floats) -> Floats:
        """Factor for gaps of any length, linear in the logarithms. (...) -> (...)."""
        if len(self.gap_s) == 0:
            return np.ones_like(gap_s)
        return np.exp(np.interp(np.log(gap_s), np.log(self.gap_s), np.log(self.factor)))


NO_WIDENING = Widening(np.empty(0), np.empty(0))


def widening(step: Floats, observed: Floats, motion: Motion) -> Widening:
    """Factors of a curve under its fitted prior. (n - 1,), (n, d)."""
    axes = principal_axes(motion.density)[0] if motion.density.any() else None
    index = windows(len(observed), WINDOWS)
    gaps = [
        gap for gap in GAPS if _left_out(len(index), gap).sum() * index.shape[1] >= LEAST_LEFT_OUT
    ]
    if axes is None or not gaps:
        return NO_WIDENING
    white = np.linalg.inv(np.linalg.cholesky(axes.T @ motion.density @ axes))
    seen = observed[index] @ axes @ white.T
    time = np.concatenate([np.zeros((1, index.shape[1])), np.cumsum(step[index[:-1]], axis=0)])
    measured = [_factor(time, seen, motion, _left_out(len(index), gap)) for gap in gaps]
    gap_s, factor = np.array(measured).T
    return Widening(gap_s, factor)


def _left_out(count: int, gap: int) -> Bools:
    """Every other run of `gap` steps has its inner observations left out. -> (count,)."""
    place = np.arange(count)
    inner = place % (2 * gap) > gap
    inner[(count - 1) // (2 * gap) * 2 * gap :] = False
    return inner


def _factor(time: Floats, seen: Floats, motion: Motion, left_out: Bools) -> tuple[float, float]:
    """Mean length of the gaps, and the quantile of squared whitened errors over what it should be.

    (n, w), (n, w, r).
    """
    kept, asked = np.flatnonzero(~left_out), np.flatnonzero(left_out)
    left = np.searchsorted(kept, asked) - 1
    at = Instants(left, time[asked] - time[kept[left]], time[kept[left + 1]] - time[asked])
    mean, variance = separable(np.diff(time[kept], axis=0), seen[kept], motion, at)
    square = ((seen[asked] - mean) ** 2).sum(axis=-1) / (variance + motion.ratio)
    factor = np.quantile(square, LEVEL) / chi2.ppf(LEVEL, seen.shape[-1])
    return float(np.exp(np.log(at.before + at.after).mean())), float(factor)
