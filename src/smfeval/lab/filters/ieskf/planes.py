"""Planes through few points: the plane of least squares, and whether the points are flat."""

from typing import NamedTuple

import numpy as np

from smfeval.lab.filters.ieskf.rotations import cross_product
from smfeval.maths.arrays import Bools, Floats, Ints


class Planes(NamedTuple):
    """A plane n x + d = 0 for each of some points, where there is one."""

    normal: Floats  # (n, 3) world
    offset: Floats  # (n,) m
    good: Bools  # (n,)
    birth: Ints | None = None  # (n, k) which call of `add` brought each point of the plane


FLAT_M = 0.1  # no point may lie farther from the plane (Fast-LIO2)
LEAST_SPREAD = 0.02  # of the second direction, in squared voxels: points on a line are no plane


def planes_through(
    point: Floats,
    voxel_m: float,
    have: Ints | None = None,
    *,
    least_spread: float = LEAST_SPREAD,
) -> Planes:
    """Planes n x + d = 0 through sets of k points, good if the points are flat. (n, k, 3).

    `have` (n,) tells how many of the k points of a set there are, the first ones; all unless given.
    Points that spread less than `least_spread` in the second direction are on a line: no plane.
    """
    if have is None or (have == point.shape[1]).all():
        centre = point.mean(axis=1)
        apart = point - centre[:, None]
        C = np.einsum("nki,nkj->ijn", apart, apart) / point.shape[1]
    else:
        count = np.maximum(have, 1)
        there = np.arange(point.shape[1]) < count[:, None]
        centre = np.einsum("nki,nk->ni", point, there) / count[:, None]
        apart = (point - centre[:, None]) * there[:, :, None]
        C = np.einsum("nki,nkj->ijn", apart, apart) / count

    low, middle = lower_eigenvalues(C)
    normal = null_directions(C, low)
    farthest = np.abs(np.einsum("nki,ni->nk", apart, normal)).max(axis=1)
    good = (middle >= least_spread * voxel_m**2) & (farthest < FLAT_M)
    return Planes(normal, -np.einsum("ni,ni->n", normal, centre), good)


def lower_eigenvalues(C: Floats) -> tuple[Floats, Floats]:
    """The smallest and the middle eigenvalue of symmetric matrices, by angles (Smith 1961).

    (3, 3, n) -> (n,), (n,)
    """
    mean = (C[0, 0] + C[1, 1] + C[2, 2]) / 3
    a, b, c = C[0, 0] - mean, C[1, 1] - mean, C[2, 2] - mean
    d, e, f = C[0, 1], C[0, 2], C[1, 2]
    scale = np.sqrt((a * a + b * b + c * c + 2 * (d * d + e * e + f * f)) / 6)
    determinant = a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e)
    half = 0.5 * determinant / np.maximum(scale, np.finfo(np.float64).tiny ** 0.25) ** 3
    angle = np.arccos(np.clip(half, -1.0, 1.0)) / 3
    high = mean + 2 * scale * np.cos(angle)
    low = mean + 2 * scale * np.cos(angle + 2 * np.pi / 3)
    return low, 3 * mean - high - low


def null_directions(C: Floats, value: Floats) -> Floats:
    """Unit eigenvectors of single eigenvalues: across the two rows of C - value I that differ most.

    (3, 3, n), (n,) -> (n, 3); zero where all rows are alike.
    """
    A = np.ascontiguousarray(np.moveaxis(C, -1, 1))  # row, n, column
    for i in range(3):
        A[i, :, i] -= value
    across = np.stack([cross_product(A[i], A[(i + 1) % 3]) for i in range(3)])
    square = np.einsum("rni,rni->rn", across, across)
    best = np.argmax(square, axis=0)
    rows = np.arange(len(value))
    length = np.sqrt(square[best, rows])
    return across[best, rows] / np.where(length > 0, length, 1.0)[:, None]
