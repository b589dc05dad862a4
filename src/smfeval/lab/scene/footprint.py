"""The rectangle that a surface covers when seen from above."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Floats


@dataclass(frozen=True)
class Footprint:
    """A rectangle on the ground, turned by `yaw`, that contains all of a surface."""

    x: float
    y: float
    half_x: float
    half_y: float
    yaw: float


@dataclass(frozen=True)
class Footprints:
    """The rectangles of many surfaces. All (k,) but `corner`, (k, 4, 2)."""

    centre: Floats  # (k, 2)
    half: Floats  # (k, 2)
    yaw: Floats  # (k,)
    corner: Floats  # (k, 4, 2)

    def gap(self, point: Floats) -> Floats:
        """Distance from a point (2,) to each rectangle, zero inside. -> (k,)."""
        to_point = point - self.centre
        cos, sin = np.cos(self.yaw), np.sin(self.yaw)
        along = np.abs(cos * to_point[:, 0] + sin * to_point[:, 1]) - self.half[:, 0]
        across = np.abs(cos * to_point[:, 1] - sin * to_point[:, 0]) - self.half[:, 1]
        return np.hypot(np.maximum(along, 0), np.maximum(across, 0))


def stacked(prints: list[Footprint]) -> Footprints:
    """Many rectangles as arrays."""
    rows = np.array([(f.x, f.y, f.half_x, f.half_y, f.yaw) for f in prints]).reshape(-1, 5)
    centre, half, yaw = rows[:, :2], rows[:, 2:4], rows[:, 4]
    signs = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1)])
    local = half[:, None] * signs
    cos, sin = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    turned = [cos * local[..., 0] - sin * local[..., 1], sin * local[..., 0] + cos * local[..., 1]]
    return Footprints(centre, half, yaw, centre[:, None] + np.stack(turned, axis=-1))
