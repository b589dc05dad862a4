"""Maps that points are matched with: known surfaces, or points in voxels with a plane near each.

A voxel map grows in place, unlike all other data here: a copy per scan would cost more than the
filter. Its loops are compiled by numba.
"""

from dataclasses import dataclass, field
from time import process_time
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from scipy.spatial import cKDTree

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval_lab.compiled import jit_compile
from smfeval_lab.filters.ieskf.planes import (
    LEAST_SPREAD,
    PlaneFit,
    Planes,
    fit_planes,
    planes_through,
)


class Map(Protocol):
    """Surfaces near places in the world."""

    def planes(self, point: Floats) -> Planes:
        """The plane near each point. (n, 3) world."""

    def add(self, point: Floats, seen_from: Floats) -> int:
        """Learn points on surfaces, and say how many were kept. (n, 3), (3,) world."""


@dataclass(frozen=True)
class KnownMap:
    """The true surfaces, as points on them with normals; nothing is learned."""

    point: Floats  # (m, 3)
    normal: Floats  # (m, 3) of length one
    reach_m: float = 1.0  # a place farther from all points has no plane
    _tree: cKDTree = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.point) == 0 or self.point.shape != self.normal.shape:
            raise OptionError("a known map needs points (m, 3) and as many normals")
        object.__setattr__(self, "_tree", cKDTree(self.point))

    def planes(self, point: Floats) -> Planes:
        """The tangent plane at the nearest known point."""
        if len(point) == 0:
            return Planes(np.empty((0, 3)), np.empty(0), np.empty(0, dtype=np.bool_))
        distance, nearest = self._tree.query(point)
        near: Bools = np.less(distance, self.reach_m)
        normal = self.normal[nearest]
        offset = -np.einsum("ni,ni->n", normal, self.point[nearest])
        return Planes(normal, offset, near)

    def add(self, point: Floats, seen_from: Floats) -> int:
        """Keeps nothing: the map is complete."""
        return 0


FIRST_SIZE = 1 << 16  # slots of the table at the start
FIRST_BIRTHS = 1024  # insertions that there is room for at the start
MAX_LOAD = 0.5  # share of slots in use before the table doubles
PER_VOXEL = 4  # points that a voxel keeps
MIN_SPACING = 0.4  # voxels: points of a voxel are not nearer to each other
LONG_COMPILE_S = 1.0  # compiling is worth a word; reading what was compiled before is not
NEIGHBOURS = 5  # points that make a plane (Fast-LIO2)


MapRule = Literal["keep", "replace", "nearer", "first"]
RULES: dict[MapRule, int] = {"keep": 0, "replace": 1, "nearer": 2, "first": 3}
KEEP, REPLACE, NEARER, _ = RULES.values()

Search = Literal["7", "19", "27", "125"]
CUBE = 27  # voxels around one and itself


def search_steps(search: Search) -> Ints:
    """Voxels around one, itself among them, the nearest first; faces and edges, or a cube. (s, 3).

    7 and 19 are the neighbourhoods of iVox that are named by 6 and 18.
    """
    reach = 2 if search == "125" else 1
    step = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * 3), axis=-1).reshape(-1, 3)
    order = np.lexsort((np.sum(step**2, axis=1), np.abs(step).max(axis=1)))
    return np.ascontiguousarray(step[order][: int(search)])


class VoxelMap:
    """Points in voxels, found by hash.

    Rules: `keep` the first few points of a voxel, if they are apart; `replace` the one point of a
    voxel by one that is nearer to its centre (as the tree of Fast-LIO2 does); keep those that are
    `nearer` to the centre than all before them, and these too (as Faster-LIO does); keep only the
    `first` (as Point-LIO does).
    """

    def __init__(
        self,
        voxel_m: float,
        rule: MapRule = "keep",
        *,
        search: Search = "27",
        fewest: int = NEIGHBOURS,
        least_spread: float = LEAST_SPREAD,
        plane_fit: PlaneFit = "principal",
    ):
        self._table = empty_table(voxel_m, FIRST_SIZE)
        self._rule = RULES[rule]
        self._steps, self._fewest, self._least = search_steps(search), fewest, least_spread
        self._fit: PlaneFit = plane_fit
        self._used = 0
        self._births = 0
        self._seen_from = np.zeros((FIRST_BIRTHS, 3))

    def __len__(self) -> int:
        return self._used

    @property
    def search(self) -> "PointSearch":
        """For compiled loops that look for neighbours themselves."""
        return PointSearch(self._table, self._steps, self._fit == "offset")

    def planes(self, point: Floats) -> Planes:
        """The plane through the five nearest points of the map, near enough and flat.

        Where fewer are near, but not too few, it goes through these.
        """
        found, have, birth = nearest_points(point, self._table, self._steps)
        size, least = self._table.voxel_m, self._least
        if self._fewest == NEIGHBOURS:
            planes = planes_through(found, size, least_spread=least, fit=self._fit)
        else:
            planes = planes_through(found, size, have, least_spread=least, fit=self._fit)
            there = np.arange(NEIGHBOURS) < have[:, None]
            birth = np.where(there, birth, birth[:, :1])
            found = np.where(there[:, :, None], found, found[:, :1])
        good = planes.good & (have >= self._fewest)
        return planes._replace(good=good, point=found, birth=birth, seen_from=self._seen_from)

    def add(self, point: Floats, seen_from: Floats) -> int:
        """Put points into their voxels by the map's rule; returns how many it keeps."""
        size = len(self._table.number)
        while self._used + len(point) > MAX_LOAD * size:
            size *= 2
        if size > len(self._table.number):
            table = empty_table(self._table.voxel_m, size)
            copy_voxels(self._table, table)
            self._table = table
        number = voxel_number(point, self._table.voxel_m)
        fresh, kept = insert_points(point, number, self._table, self._births, self._rule)
        self._used += fresh
        if self._births == len(self._seen_from):
            self._seen_from = np.concatenate([self._seen_from, np.zeros_like(self._seen_from)])
        self._seen_from[self._births] = seen_from
        self._births += 1
        return kept


def compile_loops() -> tuple[str, ...]:
    """Run every compiled loop once; a word if that took long, as it does at the first use."""
    begin = process_time()
    table, origin = empty_table(1.0, 2), np.zeros((1, 3))
    insert_points(origin, voxel_number(origin, 1.0), table, 0, KEEP)
    found, have, _ = nearest_points(origin, table, search_steps("7"))
    fit_planes(found, have, False)
    copy_voxels(table, empty_table(1.0, 4))
    waited = process_time() - begin
    return (f"loops compiled in {words.duration(waited)}, once",) if waited > LONG_COMPILE_S else ()


HALF_EXTENT = 1 << 20  # voxels to either side of the origin along an axis: 524 km at 0.5 m
HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: neighbours land far apart
FREE = -1  # no voxel has this number


class VoxelTable(NamedTuple):
    """Voxels by hash: the number of a voxel or FREE, its points, and how many there are."""

    voxel_m: float
    number: Ints  # (size,)
    point: Floats  # (size, PER_VOXEL, 3)
    point_count: Ints  # (size,)
    birth: Ints  # (size, PER_VOXEL) int32: the insertion that brought each point


class PointSearch(NamedTuple):
    """Where neighbours are looked for, and how a plane goes through them."""

    table: VoxelTable
    steps: Ints  # to the voxels around one
    by_offset: bool  # see `fit_plane`


def empty_table(voxel_m: float, size: int) -> VoxelTable:
    """A table without voxels; its size is a power of two."""
    number = np.full(size, FREE, dtype=np.int64)
    return VoxelTable(
        voxel_m,
        number,
        np.empty((size, PER_VOXEL, 3)),
        np.zeros(size, dtype=np.int64),
        np.zeros((size, PER_VOXEL), dtype=np.int32),
    )


def voxel_number(point: Floats, voxel_m: float) -> Ints:
    """Number of the voxel that holds each point. (n, 3) -> (n,)."""
    i, j, k = np.floor(point / voxel_m).astype(np.int64).T + HALF_EXTENT
    return (i << 42) | (j << 21) | k


@jit_compile
def voxel_number_at(i: int, j: int, k: int) -> int:
    """Number of the voxel in a place of the grid, 21 bits along each axis; never negative."""
    return ((i + HALF_EXTENT) << 42) | ((j + HALF_EXTENT) << 21) | (k + HALF_EXTENT)


@jit_compile
def find_slot(numbers: Ints, number: int) -> int:
    """Where a number is in the table, or where it would go. The size is a power of two."""
    mask = len(numbers) - 1
    slot: Any = np.int64((np.uint64(number) * HASH_MULTIPLIER) >> np.uint64(32)) & mask
    while numbers[slot] != FREE and numbers[slot] != number:
        slot = (slot + 1) & mask
    return slot


@jit_compile
def insert_points(
    new: Floats, number: Ints, table: VoxelTable, birth: int, rule: int
) -> tuple[int, int]:
    """Add points, given with the numbers of their voxels, by a rule of `RULES`.

    Returns how many voxels are new, and how many points were kept.
    """
    fresh, kept = 0, 0
    for i in range(len(new)):
        slot = find_slot(table.number, number[i])
        empty = table.number[slot] == FREE
        if empty:
            table.number[slot] = number[i]
            fresh += 1
        if empty or rule == KEEP:
            at = table.point_count[slot]
            if at < table.point.shape[1] and is_apart(new[i], slot, table):
                put_point(new[i], slot, at, table, birth)
                table.point_count[slot] += 1
                kept += 1
        elif rule == REPLACE:
            if is_nearer_centre(new[i], table.point[slot, 0], table.voxel_m):
                put_point(new[i], slot, 0, table, birth)
                kept += 1
        elif rule == NEARER:
            at = table.point_count[slot]
            nearest = table.point[slot, at - 1]
            if at < table.point.shape[1] and is_nearer_centre(new[i], nearest, table.voxel_m):
                put_point(new[i], slot, at, table, birth)
                table.point_count[slot] += 1
                kept += 1
    return fresh, kept


@jit_compile
def is_apart(new: Floats, slot: int, table: VoxelTable) -> bool:
    """Whether a point is not close to one that its voxel has."""
    least = (MIN_SPACING * table.voxel_m) ** 2
    for j in range(table.point_count[slot]):
        square = 0.0
        for axis in range(3):
            square += (table.point[slot, j, axis] - new[axis]) ** 2
        if square <= least:
            return False
    return True


@jit_compile
def put_point(new: Floats, slot: int, at: int, table: VoxelTable, birth: int) -> None:
    """Write a point of a voxel, and when it was born."""
    table.point[slot, at] = new
    table.birth[slot, at] = birth


@jit_compile
def is_nearer_centre(new: Floats, old: Floats, voxel_m: float) -> bool:
    """Whether a point is nearer to the centre of its voxel than another in it."""
    new_square, old_square = 0.0, 0.0
    for axis in range(3):
        centre = (np.floor(new[axis] / voxel_m) + 0.5) * voxel_m
        new_square += (new[axis] - centre) ** 2
        old_square += (old[axis] - centre) ** 2
    return new_square < old_square


@jit_compile
def copy_voxels(old: VoxelTable, new: VoxelTable) -> None:
    """Put every voxel of one table into another."""
    for i in range(len(old.number)):
        if old.number[i] != FREE:
            slot = find_slot(new.number, old.number[i])
            new.number[slot], new.point_count[slot] = old.number[i], old.point_count[i]
            new.birth[slot], new.point[slot] = old.birth[i], old.point[i]


@jit_compile
def nearest_points(places: Floats, table: "VoxelTable", steps: Ints) -> tuple[Floats, Ints, Ints]:
    """The nearest points in the voxels around each place, how many there are, and their births.

    `steps` (s, 3) lead to these voxels; those beyond the first 27 are looked into only where the
    cube has too few. (n, 3) -> (n, NEIGHBOURS, 3), (n,), (n, NEIGHBOURS)
    """
    n, most, size = len(places), NEIGHBOURS, table.voxel_m
    found, have = np.zeros((n, most, 3)), np.zeros(n, dtype=np.int64)
    birth: Ints = np.zeros((n, most), dtype=np.int64)
    square, where = np.empty(most), np.empty(most, dtype=np.int64)
    cell, gaps = np.empty(3, dtype=np.int64), np.empty((3, 5))
    for q in range(n):
        x, y, z = places[q, 0], places[q, 1], places[q, 2]
        for m in range(most):
            square[m] = np.inf
        locate_place(places[q], size, cell, gaps)
        for step in range(len(steps)):
            if step == CUBE and have[q] == most:
                break
            i, j, k = steps[step, 0], steps[step, 1], steps[step, 2]
            gap = gaps[0, i + 2] + gaps[1, j + 2] + gaps[2, k + 2]
            if gap >= square[most - 1]:
                continue
            number = voxel_number_at(cell[0] + i, cell[1] + j, cell[2] + k)
            slot = find_slot(table.number, number)
            if table.number[slot] == FREE:
                continue
            for m in range(table.point_count[slot]):
                a, b, c = table.point[slot, m, 0], table.point[slot, m, 1], table.point[slot, m, 2]
                far = (a - x) ** 2 + (b - y) ** 2 + (c - z) ** 2
                if far < square[most - 1]:
                    have[q] = min(have[q] + 1, most)
                    at = insert_sorted(square, far)
                    for p in range(most - 1, at, -1):
                        where[p] = where[p - 1]
                    where[at] = slot * PER_VOXEL + m
        gather_points(where[: have[q]], table, found[q], birth[q])
    return found, have, birth


@jit_compile
def locate_place(place: Floats, size: float, cell: Ints, gaps: Floats) -> None:
    """Write the voxel of a place, and squared distances to slabs up to two voxels away. (3, 5)."""
    for axis in range(3):
        cell[axis] = int(np.floor(place[axis] / size))
        for away in range(5):
            x, i = place[axis], cell[axis] + away - 2
            far = max(i * size - x, 0.0, x - (i + 1) * size)  # outside of the i-th voxel
            gaps[axis, away] = far * far


@jit_compile
def gather_points(where: Ints, table: "VoxelTable", found: Floats, birth: Ints) -> None:
    """Copy points and births from their places slot * PER_VOXEL + m in the table."""
    for p in range(len(where)):
        slot, m = where[p] // PER_VOXEL, where[p] % PER_VOXEL
        birth[p], found[p] = table.birth[slot, m], table.point[slot, m]


@jit_compile
def insert_sorted(square: Floats, far: float) -> int:
    """Put a squared distance into a sorted list, the last of which falls out; returns its place."""
    at = len(square) - 1
    while at > 0 and square[at - 1] > far:
        square[at] = square[at - 1]
        at -= 1
    square[at] = far
    return at
