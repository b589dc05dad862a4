"""Parts that worlds are built of."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from smfeval.lab.motion import Gait, Route
from smfeval.lab.scene import Box, Scene, Tube
from smfeval.lab.scene.box import box
from smfeval.lab.scene.tube import pillar
from smfeval.maths.arrays import Floats

Surface = Box | Tube
Place = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Built:
    """A scene, the way through it, and how it is walked."""

    scene: Scene
    route: Route
    gait: Gait = field(default_factory=Gait)


Builder = Callable[[np.random.Generator], Built]


def wall(start: Place, end: Place, height: float, *, thickness: float = 0.4, low: float = 0) -> Box:
    """An upright wall between two places on the ground, from height `low` to `height`."""
    (x0, y0), (x1, y1) = start, end
    size = (float(np.hypot(x1 - x0, y1 - y0)), thickness, height - low)
    centre = ((x0 + x1) / 2, (y0 + y1) / 2, (low + height) / 2)
    return box(centre, size, float(np.arctan2(y1 - y0, x1 - x0)))


def tree(x: float, y: float, rng: np.random.Generator) -> list[Surface]:
    """A trunk and a clipped crown."""
    crown_low = rng.uniform(2.2, 3.0)
    size = (rng.uniform(1.5, 3.0), rng.uniform(1.5, 3.0), rng.uniform(1.5, 2.5))
    crown = box((x, y, crown_low + size[2] / 2), size, rng.uniform(0, np.pi))
    return [pillar(x, y, rng.uniform(0.12, 0.3), -1.0, crown_low), crown]


def bench(x: float, y: float, rng: np.random.Generator) -> list[Surface]:
    """A seat and its back."""
    yaw = rng.uniform(0, 2 * np.pi)
    back_x, back_y = x - 0.25 * np.sin(yaw), y + 0.25 * np.cos(yaw)
    seat = box((x, y, 0.25), (rng.uniform(1.2, 2.0), 0.5, 0.5), yaw)
    return [seat, box((back_x, back_y, 0.45), (1.5, 0.08, 0.9), yaw)]


def crate(x: float, y: float, rng: np.random.Generator) -> list[Surface]:
    """A box that stands about."""
    size = (rng.uniform(0.4, 1.0), rng.uniform(0.4, 1.0), rng.uniform(0.5, 1.2))
    return [box((x, y, size[2] / 2), size, rng.uniform(0, np.pi))]


def clear_places(
    count: int,
    low: Place,
    high: Place,
    *,
    route: Route,
    clearance: float,
    rng: np.random.Generator,
) -> list[Place]:
    """Random places in a rectangle that keep away from the route; at most `count`."""
    path: Floats = route.path(np.arange(0.0, route.length_m, 0.5))
    tried = rng.uniform(low, high, size=(8 * count, 2))
    gap = np.hypot(*(tried[:, None] - path).transpose(2, 0, 1)).min(axis=1)
    return [(float(x), float(y)) for x, y in tried[gap > clearance][:count]]
