"""Classes of map points by when they were born, and the share of an update that rests on each."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval_lab.compiled import jit_compile

LINGER = 50  # scans since the last match in which a class counts as in use
IN_USE = 2.0  # factor on the span of a class in use: joined last


@dataclass
class BirthClass:
    """A contiguous interval of births."""

    first: int  # number of its first birth
    used: int  # scan of the last match
    begin_m: float  # way walked at the first birth
    end_m: float  # and at the last


class BirthClasses:
    """Which births are one class, oldest first; when there are too many, two are joined."""

    def __init__(self, most: int):
        self.most = most  # beside the newest
        self.classes = list[BirthClass]()

    @property
    def first(self) -> Ints:
        """Number of the first birth of each class. (k,)."""
        return np.array([each.first for each in self.classes], dtype=np.int64)

    def add(self, birth: int, scan: int, walked_m: float) -> int:
        """A birth is a new class. Returns the older of the two that were joined for it, or -1."""
        joined = -1
        if len(self.classes) == self.most + 1:
            joined = self._pair_to_join(scan)
            older, newer = self.classes[joined], self.classes.pop(joined + 1)
            older.used, older.end_m = max(older.used, newer.used), newer.end_m
        self.classes.append(BirthClass(birth, scan, walked_m, walked_m))
        return joined

    def _pair_to_join(self, scan: int) -> int:
        """The older of the two neighbours that span the shortest way; those in use come last.

        The first class holds the gauge and the newest is not known yet: neither is joined.
        """

        def span(at: int) -> float:
            older, newer = self.classes[at : at + 2]
            in_use = scan - max(older.used, newer.used) <= LINGER
            return (newer.end_m - older.begin_m + 1e-3) * (IN_USE if in_use else 1.0)

        return min(range(1, len(self.classes) - 2), key=span)


@jit_compile
def levers(arm: Floats) -> Floats:
    """M = [I, -[arm]x; 0, I]: displacement and turn about p, carried to p + arm. (k, 6, 6)."""
    M = np.zeros((len(arm), 6, 6))
    for a in range(len(arm)):
        for i in range(6):
            M[a, i, i] = 1.0
        x, y, z = arm[a]
        M[a, 0, 4], M[a, 0, 5] = z, -y
        M[a, 1, 3], M[a, 1, 5] = -z, x
        M[a, 2, 3], M[a, 2, 4] = y, -x
    return M


LOWER = np.tril_indices(6)


def class_information(H: Floats, weight: Floats, birth: Ints, first: Ints) -> Floats:
    """A_a = sum of weight h h^T times the share of a row's map points that are of class a.

    `first` (k,) are the first births of the classes, ascending. (m, 6), (m,), (m, j) -> (k, 6, 6).
    """
    newest = max(int(birth.max(initial=0)), int(first[-1]))
    class_of = np.searchsorted(first, np.arange(newest + 1), "right") - 1
    out = np.empty((len(first), 6, 6))
    out[:, LOWER[0], LOWER[1]] = _lower_information(H, weight, birth, class_of, len(first))
    out[:, LOWER[1], LOWER[0]] = out[:, LOWER[0], LOWER[1]]
    return out


@jit_compile
def _lower_information(
    H: Floats, weight: Floats, birth: Ints, class_of: Ints, classes: int
) -> Floats:
    """The lower triangles, row by row; `class_of` each birth. (k, 21)."""
    points = birth.shape[1]
    out, product = np.zeros((classes, 21)), np.empty(21)
    for row in range(len(H)):
        at, each = 0, weight[row] / points
        for i in range(6):
            left = each * H[row, i]
            for j in range(i + 1):
                product[at] = left * H[row, j]
                at += 1
        m = 0
        while m < points:  # neighbours are often of one class
            a, share = class_of[birth[row, m]], 1.0
            m += 1
            while m < points and class_of[birth[row, m]] == a:
                share += 1.0
                m += 1
            for at in range(21):
                out[a, at] += share * product[at]
    return out
