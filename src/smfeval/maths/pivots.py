"""S = L D L^T of small symmetric matrices, entry by entry: each entry is an array over scans.

L has a unit diagonal, D holds the pivots. Only the lower triangle of S is read.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Floats

Columns = list[Floats]  # one array over scans for each dimension


@dataclass(frozen=True)
class Pivots:
    """A factored chunk of covariances: lower triangle of S, of L (without its ones), and D."""

    matrix: list[Columns]
    factor: list[Columns]
    pivot: Columns

    def smallest(self) -> Floats:
        """Smallest pivot of the correlation matrix: near zero where S is nearly singular. (m,)."""
        least = np.ones_like(self.pivot[0])
        for row, pivot in zip(self.matrix[1:], self.pivot[1:], strict=True):
            np.minimum(least, pivot / row[-1], out=least)
        return least

    def minors(self) -> Floats:
        """Sum of the three principal minors of two rows; a sum of what is not negative. (m,)."""
        (d, e, f), ((x,), (y, z)) = self.pivot, self.factor[1:]
        return d * (e + f + z * z * e) + e * f + x * x * d * f + d * e * (y - x * z) ** 2

    def forward(self, error: Columns) -> Columns:
        """L^-1 e."""
        solved: Columns = []
        for own, row in zip(error, self.factor, strict=True):
            solved.append(_less(own, *zip(row, solved, strict=True)))
        return solved

    def square(self, error: Columns) -> Floats:
        """e^T S^-1 e. (m,)."""
        forward = self.forward(error)
        return np.asarray(sum(y * y / d for y, d in zip(forward, self.pivot, strict=True)))

    def solved(self, error: Columns) -> Columns:
        """S^-1 e."""
        solved = [y / d for y, d in zip(self.forward(error), self.pivot, strict=True)]
        for i in range(len(solved) - 2, -1, -1):
            for j in range(i + 1, len(solved)):
                solved[i] = solved[i] - self.factor[j][i] * solved[j]
        return solved


def factored(covariance: Floats) -> Pivots:
    """Factor a chunk of covariances. (m, d, d)."""
    dimension = covariance.shape[-1]
    matrix = [
        [np.ascontiguousarray(covariance[:, i, j]) for j in range(i + 1)] for i in range(dimension)
    ]
    factor: list[Columns] = []
    pivot: Columns = []
    for *beside, variance in matrix:
        scaled: Columns = []  # row of L D
        for entry, other in zip(beside, factor, strict=True):
            scaled.append(_less(entry, *zip(scaled, other, strict=True)))
        row = [entry / d for entry, d in zip(scaled, pivot, strict=True)]
        factor.append(row)
        pivot.append(_less(variance, *zip(row, scaled, strict=True)))
    return Pivots(matrix, factor, pivot)


def _less(value: Floats, *products: tuple[Floats, Floats]) -> Floats:
    """The value less the products of some pairs."""
    for one, other in products:
        value = value - one * other
    return value


def columns(error: Floats) -> Columns:
    """A chunk of vectors as one array for each dimension. (m, d)."""
    return list(np.ascontiguousarray(error.T))
