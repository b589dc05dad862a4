"""Parts that worlds are built of: walls, facades, trees, benches, crates, and places for them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval_lab.motion import Gait, Route
from smfeval_lab.scene import Box, Crown, Scene, Tube, box, pillar

Surface = Box | Tube  # what does not let rays through and does not move
Place = tuple[float, float]


@dataclass(frozen=True, eq=False)
class BuiltWorld:
    """A scene, the way through it, and how it is walked."""

    scene: Scene
    route: Route
    gait: Gait = field(default_factory=Gait)


Builder = Callable[[np.random.Generator], BuiltWorld]


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


def leafy_tree(x: float, y: float, rng: np.random.Generator) -> tuple[Tube, Crown]:
    """A trunk, and a crown that half to nine tenths of the level rays through it do not pass."""
    half = np.array([*rng.uniform(1.3, 2.8, size=2), rng.uniform(1.2, 2.5)])
    low = rng.uniform(1.9, 2.8)
    crown = Crown(np.array([x, y, low + half[2]]), half, extinction(rng.uniform(0.1, 0.5), half))
    return pillar(x, y, rng.uniform(0.12, 0.3), -1.0, low + half[2]), crown


def bush(x: float, y: float, rng: np.random.Generator) -> Crown:
    """Dense leaves down to the ground."""
    half = np.array([*rng.uniform(0.6, 1.2, size=2), rng.uniform(0.6, 1.1)])
    return Crown(np.array([x, y, 0.6 * half[2]]), half, extinction(rng.uniform(0.02, 0.1), half))


def extinction(porosity: float, half: Floats) -> float:
    """The extinction at which this share of level rays through the middle of a crown pass it.

    exp(-mu L) = porosity for L twice the geometric mean of the level semi-axes.
    """
    return float(-np.log(porosity) / (2 * np.sqrt(half[0] * half[1])))


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
    count: int, low: Place, high: Place, *, route: Route, clearance: float, rng: np.random.Generator
) -> list[Place]:
    """Random places in a rectangle that keep away from the route; at most `count`."""
    path = route.places
    near = ((path >= np.array(low) - clearance) & (path <= np.array(high) + clearance)).all(axis=1)
    tried = rng.uniform(low, high, size=(8 * count, 2))
    apart = np.hypot(*(tried[:, None] - path[near]).transpose(2, 0, 1))
    gap = apart.min(axis=1, initial=np.inf)
    return [(float(x), float(y)) for x, y in tried[gap > clearance][:count]]


RECESS_M = 0.3  # how far windows are set back
GATE_M = 3.0
GATE_HEIGHT_M = 3.2


def facade(
    start: Place, end: Place, rng: np.random.Generator, *, gate: float | None = None
) -> list[Surface]:
    """A wall that faces left of its way from `start`; a gate at this distance from the start."""
    (x0, y0), (x1, y1) = start, end
    length, yaw = float(np.hypot(x1 - x0, y1 - y0)), float(np.arctan2(y1 - y0, x1 - x0))
    height = rng.uniform(5.0, 8.0)
    parts: list[Surface] = []

    def add(first: float, last: float, depth: float, low: float, high: float) -> None:
        """A block along the wall, whose face stands `depth` in front of the windows."""
        along, across = (first + last) / 2, depth - RECESS_M - (depth + 0.3) / 2
        x = x0 + along * np.cos(yaw) - across * np.sin(yaw)
        y = y0 + along * np.sin(yaw) + across * np.cos(yaw)
        size = (last - first, depth + 0.3, high - low)
        parts.append(box((float(x), float(y), (low + high) / 2), size, yaw))

    stretches = [(0.0, length)]
    if gate is not None:
        stretches = [(0.0, gate - GATE_M / 2), (gate + GATE_M / 2, length)]
    for first, last in stretches:
        add(first, last, 0.0, 0.0, height)
        add(first, last, RECESS_M, -0.5, rng.uniform(0.7, 1.1))
        add(first, last, RECESS_M, rng.uniform(2.6, 3.4), height)
        count = max(1, round((last - first) / 5))  # piers, some 5 m apart
        even = first + (np.arange(count) + 0.5) * (last - first) / count
        for middle in (even + rng.uniform(-0.8, 0.8, size=count)).tolist():
            half = rng.uniform(0.3, 0.8)
            add(middle - half, middle + half, RECESS_M + rng.uniform(0, 0.6), -0.5, height)
    if gate is not None:
        add(gate - GATE_M / 2, gate + GATE_M / 2, RECESS_M, GATE_HEIGHT_M, height)
    return parts
