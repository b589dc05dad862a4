"""Voxels by number, and a table of such numbers with open addressing."""

from typing import Any

import numpy as np

from smfeval.lab.filters.compiled import compiled
from smfeval.maths.arrays import Floats, Ints

HALF = 1 << 20  # voxels to either side of the origin along an axis: 524 km at 0.5 m
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: neighbours land far apart
FREE = -1  # no voxel has this number


def voxel_number(point: Floats, voxel_m: float) -> Ints:
    """Number of the voxel that holds each point. (n, 3) -> (n,)."""
    i, j, k = np.floor(point / voxel_m).astype(np.int64).T + HALF
    return (i << 42) | (j << 21) | k


@compiled
def number_at(i: int, j: int, k: int) -> int:
    """Number of the voxel in a place of the grid, 21 bits along each axis; never negative."""
    return ((i + HALF) << 42) | ((j + HALF) << 21) | (k + HALF)


@compiled
def slot_of(numbers: Ints, number: int) -> int:
    """Where a number is in the table, or where it would go. The size is a power of two."""
    mask = len(numbers) - 1
    slot: Any = np.int64((np.uint64(number) * SPREAD) >> np.uint64(32)) & mask
    while numbers[slot] != FREE and numbers[slot] != number:
        slot = (slot + 1) & mask
    return slot
