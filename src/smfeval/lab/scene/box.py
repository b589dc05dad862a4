"""Boxes: walls, piers, benches, rooms from inside; with a half size of zero, rectangles."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from smfeval.lab.scene.footprint import Footprint
from smfeval.maths.arrays import Floats


@dataclass(frozen=True, eq=False)
class Box:
    """All points c + R x with |x_i| <= half_i; its faces are met from outside and from inside."""

    centre: Floats  # (3,) m
    half: Floats  # (3,) m; one of them may be zero
    rotation: Floats = field(default_factory=lambda: np.eye(3))  # world_R_box

    @cached_property
    def footprint(self) -> Footprint:
        """Exact for a box that is only turned about the vertical."""
        yaw = float(np.arctan2(self.rotation[1, 0], self.rotation[0, 0]))
        cos, sin = np.cos(yaw), np.sin(yaw)
        level = np.array([[cos, sin, 0], [-sin, cos, 0]]) @ self.rotation
        half_x, half_y = np.abs(level) @ self.half
        return Footprint(self.centre[0], self.centre[1], half_x, half_y, yaw)

    def hit(self, origin: Floats, direction: Floats) -> Floats:
        """Distance to the first face along each ray, inf without one. (3, n), (3, n) -> (n,).

        Along axis i the ray is inside while |o_i + t d_i| <= half_i (slab method); it is inside
        the box while it is so along all three.
        """
        back = self.rotation.T
        start, half = back @ (origin - self.centre[:, None]), self.half[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):  # a ray in a face: NaN, a miss
            inverse = 1 / (back @ direction)
            one, other = (-half - start) * inverse, (half - start) * inverse
            enter = np.minimum(one, other).max(axis=0)
            leave = np.maximum(one, other).min(axis=0)
            first = np.where(enter > 0, enter, leave)
            met = (enter <= leave) & (first > 0)
        return np.where(met, first, np.inf)


def box(
    centre: tuple[float, float, float], size: tuple[float, float, float], yaw: float = 0
) -> Box:
    """A box of full edge lengths `size` that stands upright, turned by `yaw` in radians."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    rotation = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1.0]])
    return Box(np.array(centre, dtype=float), np.array(size) / 2, rotation)
