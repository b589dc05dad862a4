"""The variance of a residual, learned from the residuals: two ways beyond the published filter.

Both are told how a scan was matched and give the variance for the next one, so that no residual
judges itself.
"""

from collections.abc import Callable

import numpy as np

from smfeval.lab.filters.ieskf.settings import Noise
from smfeval.lab.filters.ieskf.state import POSE
from smfeval.lab.filters.ieskf.update import Look, Update
from smfeval.maths.arrays import Floats, Ints

MEMORY = 0.1  # weight of the newest scan: a second of scans at 10 Hz
PATCH_M = 4.0  # residuals of one side of a cube of this size are relatives
FEWEST = 20  # residuals that a spread is taken from
LEAST = 1e-8  # m^2: no range finder is better than 0.1 mm
WIDEST = 10.0  # factor by which one scan may change the variance at most, before MEMORY


def _fixed(update: Update) -> float:
    return update.variance


def _by_residuals(update: Update) -> float:
    """Spread of the residuals, times the design effect of those that share an error.

    Residuals of one patch (near each other, alike in normal) err together, through the map and
    through the undistortion; m of them with a correlation c carry the information of
    m / (1 + (m - 1) c) (Kish 1965), so the variance of each is raised by that factor.
    """
    if update.last is None or update.matched < FEWEST:
        return update.variance
    residual = update.last.residual
    seen = float(np.mean(residual**2)) * design_effect(residual, patches(update.last))
    return max((1 - MEMORY) * update.variance + MEMORY * seen, LEAST)


def _by_innovations(update: Update) -> float:
    """Raise or lower the variance until the displacement of scans is as large as it predicts.

    With A and b at the prior, the displacement A^-1 b has covariance P + A^-1 if all is right, so
    q = b^T (A + A P A)^-1 b / 6 is one on average.
    """
    if update.first is None or update.last is None:
        return update.variance
    floor = float(np.mean(update.last.residual**2))
    factor = np.clip(displacement_nis(update.first, update.prior.covariance), 1 / WIDEST, WIDEST)
    return max(update.variance * float(factor) ** MEMORY, floor, LEAST)


def displacement_nis(look: Look, covariance: Floats) -> float:
    """b^T (A + A P A)^-1 b / 6 with the covariance P of the pose."""
    A, b = look.information.matrix, look.information.vector
    expected = A + A @ covariance[POSE, POSE] @ A
    return float(b @ np.linalg.lstsq(expected, b, rcond=None)[0]) / 6


def patches(look: Look) -> Ints:
    """A number for each residual; equal ones lie near each other on surfaces that face alike."""
    cube = np.floor(look.place / PATCH_M).astype(np.int64)
    facing = np.argmax(np.abs(look.H[:, :3]), axis=1)
    i, j, k = (cube - cube.min(axis=0)).T
    return ((i << 40) | (j << 20) | k) * 3 + facing


def design_effect(residual: Floats, group: Ints) -> float:
    """1 + (m - 1) c with c the correlation within groups, by the analysis of variance."""
    _, index, count = np.unique(group, return_inverse=True, return_counts=True)
    n, groups = len(residual), len(count)
    if groups < 2 or groups == n:
        return 1.0
    mean = np.bincount(index, residual) / count
    between = count @ (mean - residual.mean()) ** 2 / (groups - 1)
    within = np.sum((residual - mean[index]) ** 2) / (n - groups)
    size = (n - count @ count / n) / (groups - 1)
    spread = between + (size - 1) * within
    alike = max(float((between - within) / spread), 0.0) if spread > 0 else 0.0
    return 1 + (float(count @ count) / n - 1) * alike


LEARNED: dict[Noise, Callable[[Update], float]] = {
    "fixed": _fixed,
    "residuals": _by_residuals,
    "innovations": _by_innovations,
}
