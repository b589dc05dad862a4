"""Tunnels: nothing fixes the way along the axis but what stands in them."""

from collections.abc import Iterator

import numpy as np

from smfeval.lab.motion import Route
from smfeval.lab.scene import Scene, Tube
from smfeval.lab.scene.box import box
from smfeval.lab.scene.ground import Ground
from smfeval.lab.worlds.build import Built, Surface, clear_places, crate, wall

RADIUS_M = 3.0
AXIS_M = 1.6  # height of the axis over the floor
BACK_M, WALK_M, AHEAD_M = 14.0, 132.0, 90.0  # the far end is never seen


def smooth(rng: np.random.Generator) -> Built:
    """Clutter near the start only; from there on the walls are the same everywhere."""
    route = _route(rng)
    clutter = _clutter(route, -8.0, 12.0, 6, rng)
    return Built(Scene((_tube(), _back(), *clutter), Ground()), route)


def ribbed(rng: np.random.Generator) -> Built:
    """Sparse ribs and clutter all along: degenerate, but it can be tracked."""
    route = _route(rng)
    end = WALK_M + AHEAD_M
    clutter = [*_clutter(route, -8.0, 12.0, 6, rng), *_clutter(route, 12.0, end, 24, rng)]
    return Built(Scene((_tube(), _back(), *_ribs(end, rng), *clutter), Ground()), route)


def _route(rng: np.random.Generator) -> Route:
    """Along the tunnel, drifting a little from side to side."""
    x = np.arange(0.0, WALK_M + 1, 12.0)
    y = rng.uniform(-0.4, 0.4, size=len(x))
    return Route(np.column_stack([x, y]), rounding_m=2.5)


def _tube() -> Tube:
    half = (BACK_M + WALK_M + AHEAD_M) / 2
    return Tube(np.array([half - BACK_M, 0.0, AXIS_M]), np.array([1.0, 0, 0]), RADIUS_M, half)


def _back() -> Surface:
    return wall((-BACK_M, -RADIUS_M), (-BACK_M, RADIUS_M), AXIS_M + RADIUS_M, low=-2)


def _ribs(end: float, rng: np.random.Generator) -> Iterator[Surface]:
    """Two posts and a beam, every 7 to 15 m."""
    side = 2.55
    for x in np.cumsum(rng.uniform(7, 15, size=int(end / 7))):
        if x > end:
            return
        for y in (-side, side):
            yield box((float(x), y, 1.5), (0.3, 0.5, 3.0))
        yield box((float(x), 0.0, 4.2), (0.3, 3.6, 0.4))


def _clutter(
    route: Route, low: float, high: float, count: int, rng: np.random.Generator
) -> Iterator[Surface]:
    for x, y in clear_places(count, (low, -2.3), (high, 2.3), route=route, clearance=1.1, rng=rng):
        yield from crate(x, y, rng)
