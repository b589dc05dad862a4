"""Classes of map points by when they were born, and the share of an update that rests on each."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval_lab.compiled import jit_compile


@dataclass
class BirthClasses:
    """Classes of births, oldest first; row i is anchor i."""

    first: Ints  # number of the first birth
    place: Floats  # (k, 3) about which the anchor turns
    information: Floats  # (k, 6, 6) of its points, each seen once
    points: Floats  # (k,) how many
    used: Ints  # (k,) scan of the last match
    begin_m: Floats  # (k,) way walked at the first birth
    end_m: Floats  # (k,) and at the last
    count: int = 0

    @classmethod
    def empty(cls, size: int) -> "BirthClasses":
        """Room for so many classes."""
        whole, real = np.zeros(size, dtype=np.int64), np.zeros(size)
        matrix = np.zeros((size, 6, 6))
        return cls(whole, np.zeros((size, 3)), matrix, real, whole.copy(), real.copy(), real.copy())

    def remove(self, at: int) -> None:
        """Close the gap that a joined class leaves."""
        for name in ("first", "place", "information", "points", "used", "begin_m", "end_m"):
            array = getattr(self, name)
            array[at : self.count - 1] = array[at + 1 : self.count]
        self.count -= 1


def levers(arm: Floats) -> Floats:
    """M = [I, -[arm]x; 0, I]: displacement and turn about p, carried to p + arm. (k, 6, 6)."""
    M = np.zeros((len(arm), 6, 6))
    M[:] = np.eye(6)
    x, y, z = arm.T
    M[:, 0, 4], M[:, 0, 5] = z, -y
    M[:, 1, 3], M[:, 1, 5] = -z, x
    M[:, 2, 3], M[:, 2, 4] = y, -x
    return M


LOWER = np.tril_indices(6)


def class_information(H: Floats, weight: Floats, birth: Ints, first: Ints) -> Floats:
    """A_a = sum of weight h h^T times the share of a row's map points that are of class a.

    `first` (k,) are the first births of the classes, ascending. (m, 6), (m,), (m, j) -> (k, 6, 6).
    """
    out = np.empty((len(first), 6, 6))
    out[:, LOWER[0], LOWER[1]] = _lower_information(H, weight, birth, first)
    out[:, LOWER[1], LOWER[0]] = out[:, LOWER[0], LOWER[1]]
    return out


@jit_compile
def _lower_information(H: Floats, weight: Floats, birth: Ints, first: Ints) -> Floats:
    """The lower triangles, row by row. (k, 21)."""
    points = birth.shape[1]
    out, product = np.zeros((len(first), 21)), np.empty(21)
    share, a = np.zeros(len(first)), 0
    for row in range(len(H)):
        at = 0
        for i in range(6):
            left = weight[row] * H[row, i] / points
            for j in range(i + 1):
                product[at] = left * H[row, j]
                at += 1
        for m in range(points):
            a = _class_of(birth[row, m], first, a)
            share[a] += 1.0
        for b in range(len(first)):
            if share[b] > 0.0:
                for at in range(21):
                    out[b, at] += share[b] * product[at]
                share[b] = 0.0
    return out


@jit_compile
def _class_of(birth: int, first: Ints, guess: int) -> int:
    """The class that a birth is in, the last that begins with it or before; often the guess."""
    while guess > 0 and first[guess] > birth:
        guess -= 1
    while guess + 1 < len(first) and first[guess + 1] <= birth:
        guess += 1
    return guess
