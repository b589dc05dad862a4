"""What points are matched with: a map that grows, or one that is known."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from scipy.spatial import cKDTree

from smfeval.errors import OptionError
from smfeval.maths.arrays import Bools, Floats


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
        """Nothing: all is known."""
