"""How noisy a filter's residuals are, and which part of the noise is the map's: from residuals.

The noise of a map point is found again by every scan that sees it; that of a scan is new. Residuals
of one patch (a cell of space, surfaces that face alike) in two scans share the first and not the
second. With S_c(t) the sum of the residuals of scan t in patch c, and N rows::

    sum_c S_c(t) S_c(t') / N  ->  variance that repeats, times the rows that share it
    sum_c S_c(t)^2 / N        ->  the same of all noise

Rows of a patch err together, since they share map points: the sums count what this does to a pose,
as the design effect does for clusters (Kish 1965). Rows that rest on points born since the first
of the two scans are left out: their map noise is the noise of that scan itself.
"""

import numpy as np

from smfeval.maths.arrays import Floats, Ints

PATCH_M = 4.0  # residuals of one side of a cube of this size are relatives (as in ieskf/update.py)
PAIR_EVERY = 10  # scans
PAIR_APART = 5  # scans: half a second at 10 Hz
SLOWEST = 1 / 30  # weight of the newest pair: the last half minute counts
LEAST_PATCH = 0.05  # of the mean square of residuals: no map is without noise
FIRST_PATCH = 1 / 3  # of it, before two scans were compared: leverage of a plane through 5 points


NO_PAIR = np.zeros(3)


class PatchPairs:
    """Compares the residuals of pairs of scans, patch by patch."""

    def __init__(self) -> None:
        self._scans = 0
        self._first: tuple[Ints, Floats, int] | None = None  # patches, residuals, newest birth

    def moments(self, residual: Floats, place: Floats, normal: Floats, birth: Ints) -> Floats:
        """What repeats, all noise and the mean square of residuals, m^2; zeros if not compared.

        Of residuals (m,) of a scan at its posterior, where their points are, and the map's births.
        Call it once for each scan with matches. (3,).
        """
        phase = self._scans % PAIR_EVERY
        self._scans += 1
        if phase == 0:
            self._first = patches(place, normal), residual, int(birth.max())
        elif phase == PAIR_APART and self._first is not None:
            first, self._first = self._first, None
            old = birth.max(axis=1) < first[2]
            if old.any():
                return _compare(first[:2], (patches(place[old], normal[old]), residual[old]))
        return NO_PAIR


def _compare(first: tuple[Ints, Floats], second: tuple[Ints, Floats]) -> Floats:
    """The moments of two scans, of which patches and residuals are given."""
    before, residual = first[1], second[1]
    _, index = np.unique(np.concatenate([first[0], second[0]]), return_inverse=True)
    count = int(index.max()) + 1
    was = np.bincount(index[: len(before)], before, count) / np.sqrt(len(before))
    now = np.bincount(index[len(before) :], residual, count) / np.sqrt(len(residual))
    return np.array([was @ now, 0.5 * (was @ was + now @ now), np.mean(residual**2)])


class LearntNoise:
    """Variances of the noise of rows that is new in a scan and that repeats, m^2."""

    def __init__(self) -> None:
        self.scan_m2 = 0.0
        self.patch_m2 = 0.0
        self._scans = 0
        self._pairs = 0
        self._moments = np.zeros(3)

    def observe(self, square_m2: float, pair: Floats) -> None:
        """Learn from a scan: mean square of its residuals, and moments of a pair (`PatchPairs`).

        Call it once for each scan with matches, before its variances are used.
        """
        self._scans += 1
        if self._pairs == 0:
            self.scan_m2 += (square_m2 - self.scan_m2) / self._scans
            self.patch_m2 = FIRST_PATCH * self.scan_m2
        if pair.any():
            self._pairs += 1
            self._moments += max(1 / self._pairs, SLOWEST) * (pair - self._moments)
            repeats, whole, square = self._moments.tolist()
            self.patch_m2 = min(max(repeats, LEAST_PATCH * square), whole)
            self.scan_m2 = max(whole - repeats, LEAST_PATCH * square)


def patches(place: Floats, normal: Floats) -> Ints:
    """Number of the patch of each row: its cell and the axis that its normal is nearest to."""
    i, j, k = np.floor(place / PATCH_M).astype(np.int64).T + (1 << 19)
    return ((i << 40) | (j << 20) | k) * 3 + np.argmax(np.abs(normal), axis=1)
