"""The nearest points of a hashed map."""

from typing import TYPE_CHECKING

import numpy as np

from smfeval.lab.filters.compiled import compiled
from smfeval.lab.filters.ieskf.hashing import FREE, number_at, slot_of
from smfeval.maths.arrays import Floats, Ints

if TYPE_CHECKING:
    from smfeval.lab.filters.ieskf.voxel_map import Table

AROUND = (0, -1, 1)  # the voxel itself first: its points are the likely ones


@compiled
def nearest(places: Floats, table: "Table", most: int) -> tuple[Floats, Ints]:
    """The nearest points in the 27 voxels around each place, and how many there are.

    (n, 3) -> (n, most, 3), (n,)
    """
    n, size = len(places), table.voxel_m
    found, have = np.zeros((n, most, 3)), np.zeros(n, dtype=np.int64)
    square = np.empty(most)
    for q in range(n):
        x, y, z = places[q, 0], places[q, 1], places[q, 2]
        for m in range(most):
            square[m] = np.inf
        for step in range(27):
            i = int(np.floor(x / size)) + AROUND[step // 9]
            j = int(np.floor(y / size)) + AROUND[step // 3 % 3]
            k = int(np.floor(z / size)) + AROUND[step % 3]
            gap = beyond(x, i, size) ** 2 + beyond(y, j, size) ** 2 + beyond(z, k, size) ** 2
            if gap >= square[most - 1]:
                continue
            slot = slot_of(table.number, number_at(i, j, k))
            if table.number[slot] == FREE:
                continue
            for m in range(table.filled[slot]):
                a, b, c = table.point[slot, m, 0], table.point[slot, m, 1], table.point[slot, m, 2]
                far = (a - x) ** 2 + (b - y) ** 2 + (c - z) ** 2
                if far < square[most - 1]:
                    have[q] = min(have[q] + 1, most)
                    at = rank(square, far)
                    for p in range(most - 1, at, -1):
                        for axis in range(3):
                            found[q, p, axis] = found[q, p - 1, axis]
                    found[q, at, 0], found[q, at, 1], found[q, at, 2] = a, b, c
    return found, have


@compiled
def rank(square: Floats, far: float) -> int:
    """Put a squared distance into a sorted list, the last of which falls out; returns its place."""
    at = len(square) - 1
    while at > 0 and square[at - 1] > far:
        square[at] = square[at - 1]
        at -= 1
    square[at] = far
    return at


@compiled
def beyond(x: float, i: int, size: float) -> float:
    """How far a place lies outside of the i-th voxel along an axis."""
    return max(i * size - x, 0.0, x - (i + 1) * size)
