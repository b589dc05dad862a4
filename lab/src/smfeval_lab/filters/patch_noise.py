"""How noisy a filter's residuals are, and which part of the noise is the map's: from residuals.

The noise of a map point is found again by every scan that sees it; that of a scan is new. Residuals
of one patch (a cell of space, surfaces that face alike) in two scans share the first and not the
second. What a patch c does to the pose is u_c = sum w h r over its rows, in units of the filter's
own covariance z_c = A^-1/2 u_c, A = sum w h h^T::

    E_all = sum_c z_c z_c^T         all noise: the identity if rows erred alone, with variance 1 / w
    E_rep = sum_c z_c(t) z_c(t')^T  the part of it that repeats

This is the sandwich of clustered errors (Liang and Zeger 1986), a matrix: a field has 98 % of its
rows on the ground, and its error from a few trees. Rows that rest on points born since the first
of the two scans are left out: their map noise is the noise of that scan itself.
"""

from typing import TYPE_CHECKING

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.symmetric import symmetrise
from smfeval_lab.compiled import jit_compile
from smfeval_lab.filters.normals import positive_part, square_roots, world_axes

if TYPE_CHECKING:
    from smfeval_lab.filters.scan_sums import Matches

PATCH_M = 4.0  # residuals of one side of a cube of this size are relatives (as in ieskf/update.py)
PAIR_EVERY = 10  # scans
PAIR_APART = 5  # scans: half a second at 10 Hz
SLOWEST = 1 / 30  # weight of the newest pair: the last half minute counts
LEAST_PATCH = 0.05  # of the mean square of residuals: no map is without noise
FIRST_PATCH = 1 / 3  # of it, before two scans were compared: leverage of a plane through 5 points
NO_PAIR = np.zeros((2, 6, 6))


class PatchPairs:
    """Compares the residuals of pairs of scans, patch by patch."""

    def __init__(self) -> None:
        self._scans = 0
        self._first: tuple[Ints, Floats, int] | None = None  # patches, z, newest birth

    def moments(self, rows: "Matches", information: Floats, rotation: Floats) -> Floats:
        """E_rep and E_all in world axes; zeros if this scan is not the second of a pair.

        Of rows with all their information, rotation in body axes. Call it once for each scan with
        matches. (2, 6, 6).
        """
        phase = self._scans % PAIR_EVERY
        self._scans += 1
        if phase == 0:
            every = np.ones(len(rows.residual), dtype=np.bool_)
            patch, was = patch_sums(rows, every, information, rotation)
            self._first = patch, was, int(rows.birth.max())
        elif phase == PAIR_APART and self._first is not None:
            (before, was, newest), self._first = self._first, None
            old = rows.birth.max(axis=1) < newest
            if old.any():
                patch, now = patch_sums(rows, old, information, rotation)
                _, i, j = np.intersect1d(before, patch, assume_unique=True, return_indices=True)
                both = 0.5 * (was.T @ was + now.T @ now)
                return np.stack([symmetrise(was[i].T @ now[j]), both])
        return NO_PAIR


def patch_sums(
    rows: "Matches", used: Bools, information: Floats, rotation: Floats
) -> tuple[Ints, Floats]:
    """Numbers of the patches, and z_c of each, as if all rows were used. (c,), (c, 6)."""
    H, turn = rows.H[used], world_axes(rotation)
    patch, index = np.unique(patches(rows.place[used], H[:, :3]), return_inverse=True)
    pull = H * (rows.weight * rows.residual)[used, None]
    u = sum_by_group(pull, index, len(patch))
    inverse = square_roots(turn @ information @ turn.T)[1]
    return patch, u @ turn.T @ inverse * np.sqrt(len(used) / used.sum())


class LearntNoise:
    """The noise of a scan's rows that is new and that repeats: 1 is that of the filter. (6, 6)."""

    def __init__(self) -> None:
        self.scan = np.zeros((6, 6))
        self.patch = np.zeros((6, 6))
        self._scans = 0
        self._pairs = 0
        self._square = 0.0
        self._moments = NO_PAIR

    def observe(self, square: float, pair: Floats) -> None:
        """Learn from a scan: mean square of its residuals / sigma, and `PatchPairs.moments`.

        Call it once for each scan with matches, before its noise is used.
        """
        self._scans += 1
        if self._pairs == 0:
            self._square += (square - self._square) / self._scans
            self.scan = self._square * np.eye(6)
            self.patch = FIRST_PATCH * self.scan
        if pair.any():
            self._pairs += 1
            newest = max(1 / self._pairs, SLOWEST)
            self._square += newest * (square - self._square)
            self._moments = self._moments + newest * (pair - self._moments)
            repeats, whole = self._moments
            self.patch = positive_part(repeats, LEAST_PATCH * self._square)
            self.scan = positive_part(whole - repeats, LEAST_PATCH * self._square)


@jit_compile
def patches(place: Floats, normal: Floats) -> Ints:
    """Number of the patch of each row: its cell, and along which axis its normal points."""
    out = np.empty(len(place), dtype=np.int64)
    for row in range(len(place)):
        cell = 0
        for i in range(3):
            cell = (cell << 20) | (int(np.floor(place[row, i] / PATCH_M)) + (1 << 19))
        axis = np.argmax(np.abs(normal[row]))
        out[row] = cell * 6 + axis + (3 if normal[row, axis] < 0 else 0)
    return out


@jit_compile
def sum_by_group(pull: Floats, group: Ints, groups: int) -> Floats:
    """(m, 6), (m,) -> (groups, 6)."""
    out = np.zeros((groups, pull.shape[1]))
    for row in range(len(pull)):
        for i in range(pull.shape[1]):
            out[group[row], i] += pull[row, i]
    return out
