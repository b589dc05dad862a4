"""Scenes, and the nearest of their surfaces along each ray."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smfeval.lab.scene.box import Box
from smfeval.lab.scene.footprint import Footprints, stacked
from smfeval.lab.scene.ground import Ground
from smfeval.lab.scene.sectors import candidates
from smfeval.lab.scene.tube import Tube
from smfeval.maths.arrays import Floats

BATCH = 2**15  # rays that are cast together: their coordinates stay in cache


@dataclass(frozen=True, eq=False)
class Scene:
    """Surfaces that stand on the ground."""

    surfaces: tuple[Box | Tube, ...]
    ground: Ground | None = None

    @cached_property
    def footprints(self) -> Footprints:
        """What each surface covers, seen from above."""
        return stacked([surface.footprint for surface in self.surfaces])


def cast(scene: Scene, origin: Floats, direction: Floats, farthest_m: float) -> Floats:
    """Distance to the first surface along each ray, inf if none is near enough.

    Rays (n, 3) with unit directions; neighbours should start near each other. -> (n,).
    """
    out = np.empty(len(origin))
    for first in range(0, len(origin), BATCH):
        part = slice(first, first + BATCH)
        out[part] = _batch(scene, origin[part], direction[part], farthest_m)
    return out


def _batch(scene: Scene, origin: Floats, direction: Floats, farthest_m: float) -> Floats:
    azimuth = np.arctan2(direction[:, 1], direction[:, 0])
    order = np.argsort(azimuth, kind="stable")
    azimuth, start, step = azimuth[order], origin[order].T.copy(), direction[order].T.copy()
    centre = (start[:2].min(axis=1) + start[:2].max(axis=1)) / 2
    spread = float(np.hypot(*(start[:2] - centre[:, None])).max())

    nearest = np.full(len(order), np.nextafter(farthest_m, np.inf))
    for i, rays in candidates(scene.footprints, centre, spread, azimuth, farthest_m):
        met = scene.surfaces[i].hit(start[:, rays], step[:, rays])
        np.minimum(nearest[rays], met, out=nearest[rays])
    if scene.ground is not None:
        np.minimum(nearest, scene.ground.hit(start, step, nearest), out=nearest)

    out = np.empty(len(order))
    out[order] = np.where(nearest <= farthest_m, nearest, np.inf)
    return out
