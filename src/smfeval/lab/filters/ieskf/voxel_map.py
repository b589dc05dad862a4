"""A map that grows: a few points per voxel in a hash table; planes through the five nearest.

The one thing here that changes in place: a copy per scan would cost more than the filter.
"""

from time import process_time
from typing import NamedTuple

import numpy as np

from smfeval.lab.filters.compiled import compiled
from smfeval.lab.filters.ieskf.hashing import FREE, slot_of, voxel_number
from smfeval.lab.filters.ieskf.maps import Planes
from smfeval.lab.filters.ieskf.neighbours import nearest
from smfeval.lab.filters.ieskf.planes import planes_through
from smfeval.maths.arrays import Floats, Ints

FIRST_SIZE = 1 << 16  # slots of the table at the start
FULLEST = 0.5  # share of slots in use before the table doubles
PER_VOXEL = 4  # points that a voxel keeps
APART = 0.4  # voxels: points of a voxel are not nearer to each other
LONG_S = 1.0  # compiling is worth a word; reading what was compiled before is not
NEIGHBOURS = 5  # points that make a plane (Fast-LIO2)


class Table(NamedTuple):
    """Voxels by hash: the number of a voxel or FREE, its points, and how many there are."""

    voxel_m: float
    number: Ints  # (size,)
    point: Floats  # (size, PER_VOXEL, 3)
    filled: Ints  # (size,)


def emptied(voxel_m: float, size: int) -> Table:
    """A table without voxels; its size is a power of two."""
    number = np.full(size, FREE, dtype=np.int64)
    return Table(voxel_m, number, np.empty((size, PER_VOXEL, 3)), np.zeros(size, dtype=np.int64))


def compile_loops() -> tuple[str, ...]:
    """Run every compiled loop once; a word if that took long, as it does at the first use."""
    begin = process_time()
    table, origin = emptied(1.0, 2), np.zeros((1, 3))
    inserted(origin, voxel_number(origin, 1.0), table)
    nearest(origin, table, NEIGHBOURS)
    moved(table, emptied(1.0, 4))
    waited = process_time() - begin
    return (f"loops compiled in {waited:.1f} s, once",) if waited > LONG_S else ()


class VoxelMap:
    """Points in voxels, found by hash."""

    def __init__(self, voxel_m: float):
        self._table = emptied(voxel_m, FIRST_SIZE)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def planes(self, point: Floats) -> Planes:
        """The plane through the five nearest points of the map, near enough and flat."""
        found, have = nearest(point, self._table, NEIGHBOURS)
        planes = planes_through(found, self._table.voxel_m)
        return planes._replace(good=planes.good & (have == NEIGHBOURS))

    def add(self, point: Floats) -> None:
        """Keep points in voxels that are not full, if they are not close to one that is there."""
        size = len(self._table.number)
        while self._used + len(point) > FULLEST * size:
            size *= 2
        if size > len(self._table.number):
            table = emptied(self._table.voxel_m, size)
            moved(self._table, table)
            self._table = table
        number = voxel_number(point, self._table.voxel_m)
        self._used += inserted(point, number, self._table)


@compiled
def moved(old: Table, new: Table) -> None:
    """Put every voxel of one table into another."""
    for i in range(len(old.number)):
        if old.number[i] != FREE:
            slot = slot_of(new.number, old.number[i])
            new.number[slot], new.filled[slot] = old.number[i], old.filled[i]
            for m in range(old.filled[i]):
                for axis in range(3):
                    new.point[slot, m, axis] = old.point[i, m, axis]


@compiled
def inserted(new: Floats, number: Ints, table: Table) -> int:
    """Add points, given with the numbers of their voxels; returns how many voxels are new."""
    fresh = 0
    for i in range(len(new)):
        slot = slot_of(table.number, number[i])
        if table.number[slot] == FREE:
            table.number[slot] = number[i]
            fresh += 1
        room = table.filled[slot] < table.point.shape[1]
        for j in range(table.filled[slot]):
            square = 0.0
            for axis in range(3):
                square += (table.point[slot, j, axis] - new[i, axis]) ** 2
            room = room and square > (APART * table.voxel_m) ** 2
        if room:
            for axis in range(3):
                table.point[slot, table.filled[slot], axis] = new[i, axis]
            table.filled[slot] += 1
    return fresh
