"""Maps that points are matched with: known surfaces, or points in voxels with a plane near each.

A voxel map grows in place, unlike all other data here: a copy per scan would cost more than the
filter. Its loops are compiled by numba.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import process_time
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from scipy.spatial import cKDTree

from smfeval import words
from smfeval.errors import OptionError
from smfeval.lab.filters.ieskf.rotations import cross_product
from smfeval.maths.arrays import Bools, Floats, Ints


class Planes(NamedTuple):
    """A plane n x + d = 0 for each of some points, where there is one."""

    normal: Floats  # (n, 3) world
    offset: Floats  # (n,) m
    good: Bools  # (n,)


class Map(Protocol):
    """Surfaces near places in the world."""

    def planes(self, point: Floats) -> Planes:
        """The plane near each point. (n, 3) world."""

    def add(self, point: Floats) -> None:
        """Learn points on surfaces. (n, 3) world."""


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

    def add(self, point: Floats) -> None:
        """Does nothing: the map is complete."""


FIRST_SIZE = 1 << 16  # slots of the table at the start
MAX_LOAD = 0.5  # share of slots in use before the table doubles
PER_VOXEL = 4  # points that a voxel keeps
MIN_SPACING = 0.4  # voxels: points of a voxel are not nearer to each other
LONG_COMPILE_S = 1.0  # compiling is worth a word; reading what was compiled before is not
NEIGHBOURS = 5  # points that make a plane (Fast-LIO2)


class VoxelMap:
    """Points in voxels, found by hash."""

    def __init__(self, voxel_m: float):
        self._table = empty_table(voxel_m, FIRST_SIZE)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def planes(self, point: Floats) -> Planes:
        """The plane through the five nearest points of the map, near enough and flat."""
        found, have = nearest_points(point, self._table, NEIGHBOURS)
        planes = planes_through(found, self._table.voxel_m)
        return planes._replace(good=planes.good & (have == NEIGHBOURS))

    def add(self, point: Floats) -> None:
        """Keep points in voxels that are not full, if they are not close to one that is there."""
        size = len(self._table.number)
        while self._used + len(point) > MAX_LOAD * size:
            size *= 2
        if size > len(self._table.number):
            table = empty_table(self._table.voxel_m, size)
            copy_voxels(self._table, table)
            self._table = table
        number = voxel_number(point, self._table.voxel_m)
        self._used += insert_points(point, number, self._table)


def compile_loops() -> tuple[str, ...]:
    """Run every compiled loop once; a word if that took long, as it does at the first use."""
    begin = process_time()
    table, origin = empty_table(1.0, 2), np.zeros((1, 3))
    insert_points(origin, voxel_number(origin, 1.0), table)
    nearest_points(origin, table, NEIGHBOURS)
    copy_voxels(table, empty_table(1.0, 4))
    waited = process_time() - begin
    return (f"loops compiled in {words.duration(waited)}, once",) if waited > LONG_COMPILE_S else ()


FLAT_M = 0.1  # no point may lie farther from the plane (Fast-LIO2)
LEAST_SPREAD = 0.02  # of the second direction, in squared voxels: points on a line are no plane


def planes_through(point: Floats, voxel_m: float) -> Planes:
    """Planes n x + d = 0 through sets of k points, good if the points are flat. (n, k, 3)."""
    centre = point.mean(axis=1)
    apart = point - centre[:, None]
    C = np.einsum("nki,nkj->ijn", apart, apart) / point.shape[1]

    low, middle = lower_eigenvalues(C)
    normal = null_directions(C, low)
    farthest = np.abs(np.einsum("nki,ni->nk", apart, normal)).max(axis=1)
    good = (middle > LEAST_SPREAD * voxel_m**2) & (farthest < FLAT_M)
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


F = TypeVar("F", bound=Callable[..., Any])


def jit_compile(function: F) -> F:
    """The function in machine code: compiled at its first call, read from disk at later ones."""
    try:
        from numba import njit  # noqa: PLC0415  an extra: the sentence below is said if it is missing
    except ImportError as error:
        raise OptionError(
            "the lab's filter needs numba: pip install numba (or '.[lab]' in the checkout)"
        ) from error
    return cast(F, njit(cache=True)(function))


HALF_EXTENT = 1 << 20  # voxels to either side of the origin along an axis: 524 km at 0.5 m
HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: neighbours land far apart
FREE = -1  # no voxel has this number


class VoxelTable(NamedTuple):
    """Voxels by hash: the number of a voxel or FREE, its points, and how many there are."""

    voxel_m: float
    number: Ints  # (size,)
    point: Floats  # (size, PER_VOXEL, 3)
    point_count: Ints  # (size,)


def empty_table(voxel_m: float, size: int) -> VoxelTable:
    """A table without voxels; its size is a power of two."""
    number = np.full(size, FREE, dtype=np.int64)
    return VoxelTable(
        voxel_m, number, np.empty((size, PER_VOXEL, 3)), np.zeros(size, dtype=np.int64)
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
def insert_points(new: Floats, number: Ints, table: VoxelTable) -> int:
    """Add points, given with the numbers of their voxels; returns how many voxels are new."""
    fresh = 0
    for i in range(len(new)):
        slot = find_slot(table.number, number[i])
        if table.number[slot] == FREE:
            table.number[slot] = number[i]
            fresh += 1
        room = table.point_count[slot] < table.point.shape[1]
        for j in range(table.point_count[slot]):
            square = 0.0
            for axis in range(3):
                square += (table.point[slot, j, axis] - new[i, axis]) ** 2
            room = room and square > (MIN_SPACING * table.voxel_m) ** 2
        if room:
            for axis in range(3):
                table.point[slot, table.point_count[slot], axis] = new[i, axis]
            table.point_count[slot] += 1
    return fresh


@jit_compile
def copy_voxels(old: VoxelTable, new: VoxelTable) -> None:
    """Put every voxel of one table into another."""
    for i in range(len(old.number)):
        if old.number[i] != FREE:
            slot = find_slot(new.number, old.number[i])
            new.number[slot], new.point_count[slot] = old.number[i], old.point_count[i]
            for m in range(old.point_count[i]):
                for axis in range(3):
                    new.point[slot, m, axis] = old.point[i, m, axis]


NEIGHBOUR_STEPS = (0, -1, 1)  # the voxel itself first: its points are the likely ones


@jit_compile
def nearest_points(places: Floats, table: "VoxelTable", most: int) -> tuple[Floats, Ints]:
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
            i = int(np.floor(x / size)) + NEIGHBOUR_STEPS[step // 9]
            j = int(np.floor(y / size)) + NEIGHBOUR_STEPS[step // 3 % 3]
            k = int(np.floor(z / size)) + NEIGHBOUR_STEPS[step % 3]
            gap = (
                distance_outside(x, i, size) ** 2
                + distance_outside(y, j, size) ** 2
                + distance_outside(z, k, size) ** 2
            )
            if gap >= square[most - 1]:
                continue
            slot = find_slot(table.number, voxel_number_at(i, j, k))
            if table.number[slot] == FREE:
                continue
            for m in range(table.point_count[slot]):
                a, b, c = table.point[slot, m, 0], table.point[slot, m, 1], table.point[slot, m, 2]
                far = (a - x) ** 2 + (b - y) ** 2 + (c - z) ** 2
                if far < square[most - 1]:
                    have[q] = min(have[q] + 1, most)
                    at = insert_sorted(square, far)
                    for p in range(most - 1, at, -1):
                        for axis in range(3):
                            found[q, p, axis] = found[q, p - 1, axis]
                    found[q, at, 0], found[q, at, 1], found[q, at, 2] = a, b, c
    return found, have


@jit_compile
def insert_sorted(square: Floats, far: float) -> int:
    """Put a squared distance into a sorted list, the last of which falls out; returns its place."""
    at = len(square) - 1
    while at > 0 and square[at - 1] > far:
        square[at] = square[at - 1]
        at -= 1
    square[at] = far
    return at


@jit_compile
def distance_outside(x: float, i: int, size: float) -> float:
    """How far a place lies outside of the i-th voxel along an axis."""
    return max(i * size - x, 0.0, x - (i + 1) * size)
