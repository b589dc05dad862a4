"""Worlds with few features: an open field, a corridor, and a tunnel, smooth or with ribs."""

from collections.abc import Iterator

import numpy as np

from smfeval_lab.motion import Route
from smfeval_lab.scene import Ground, Scene, Tube, box, pillar
from smfeval_lab.worlds.parts import BuiltWorld, Surface, clear_places, crate, tree, wall

LENGTH_M = 150.0
CLEARANCE_M = 14.0


def field(rng: np.random.Generator) -> BuiltWorld:
    """A walk in wide bends across the field."""
    x = np.arange(0.0, LENGTH_M + 1, 15.0)
    y = np.cumsum(rng.uniform(-6, 6, size=len(x)))
    route = Route(np.column_stack([x, y]), rounding_m=4.0)

    low, high = (-45.0, float(y.min()) - 45), (LENGTH_M + 45, float(y.max()) + 45)
    places = clear_places(14, low, high, route=route, clearance=CLEARANCE_M, rng=rng)
    surfaces: list[Surface] = []
    for x_tree, y_tree in places[:8]:
        surfaces += tree(x_tree, y_tree, rng)
    surfaces += [pillar(x, y, 0.12, -1.0, 6.0) for x, y in places[8:12]]
    for x_hut, y_hut in places[12:]:
        surfaces.append(box((x_hut, y_hut, 1.0), (5.0, 4.0, 4.0), rng.uniform(0, np.pi)))
    return BuiltWorld(Scene(tuple(surfaces), relief(rng)), route)


def relief(rng: np.random.Generator, waves: int = 5) -> Ground:
    """Waves of 8 to 40 m length and a few centimetres height, in all directions."""
    length = rng.uniform(8, 40, size=waves)
    turn = rng.uniform(0, 2 * np.pi, size=waves)
    wave = 2 * np.pi / length * np.stack([np.cos(turn), np.sin(turn)])
    amplitude = rng.uniform(0.5, 1.0, size=waves) * length / 300
    return Ground(0.0, amplitude, wave.T, rng.uniform(0, 2 * np.pi, size=waves))


HALF_WIDTH_M = 1.3
HEIGHT_M = 2.8
FIRST_M, SECOND_M = 62.0, 60.0  # from the start to the corner, from the corner to the end
BEYOND_M = 6.0  # walls go on behind the start and after the end


def corridor(rng: np.random.Generator) -> BuiltWorld:
    """East to the corner, then north."""
    drift = rng.uniform(-0.2, 0.2, size=6)
    east = [(x, d) for x, d in zip((0.0, 20.0, 40.0), drift[:3], strict=True)]
    north = [(FIRST_M + d, y) for y, d in zip((20.0, 40.0, SECOND_M), drift[3:], strict=True)]
    route = Route(np.array([*east, (FIRST_M, 0.0), *north]), rounding_m=1.9)
    x, y = FIRST_M + 20, SECOND_M + 20
    ceiling = box((x / 2 - 10, y / 2 - 10, HEIGHT_M), (x + 20, y + 20, 0.0))
    surfaces = (*_walls(), ceiling, *_doors(rng))
    return BuiltWorld(Scene(surfaces, Ground()), route)


def _walls() -> Iterator[Surface]:
    w, x, y = HALF_WIDTH_M, FIRST_M, SECOND_M + BEYOND_M
    corners = [
        ((-BEYOND_M, -w), (x + w, -w)),
        ((x + w, -w), (x + w, y)),
        ((-BEYOND_M, w), (x - w, w)),
        ((x - w, w), (x - w, y)),
        ((-BEYOND_M, -w), (-BEYOND_M, w)),
        ((x - w, y), (x + w, y)),
    ]
    for start, end in corners:
        yield wall(start, end, HEIGHT_M, thickness=0.0, low=-0.2)


def _doors(rng: np.random.Generator) -> Iterator[Surface]:
    """Door frames that stand out by a few centimetres, some 9 m apart on each side."""
    w = HALF_WIDTH_M
    for side in (-w, w):
        for along in np.cumsum(rng.uniform(6, 12, size=9)):
            depth = float(rng.uniform(0.06, 0.15))
            if along < FIRST_M - 3:
                yield box((float(along), side, 1.05), (1.0, 2 * depth, 2.1))
            if along < SECOND_M:
                yield box((FIRST_M + side, float(along) + 3, 1.05), (2 * depth, 1.0, 2.1))


RADIUS_M = 3.0
AXIS_HEIGHT_M = 1.6  # height of the axis over the floor
BACK_M, WALK_M, AHEAD_M = 14.0, 132.0, 90.0  # the far end is never seen


def smooth_tunnel(rng: np.random.Generator) -> BuiltWorld:
    """Clutter near the start only; from there on the walls are the same everywhere."""
    route = _tunnel_route(rng)
    clutter = _clutter(route, -8.0, 12.0, 6, rng)
    return BuiltWorld(Scene((_tube(), _back_wall(), *clutter), Ground()), route)


def ribbed_tunnel(rng: np.random.Generator) -> BuiltWorld:
    """Sparse ribs and clutter all along: degenerate, but it can be tracked."""
    route = _tunnel_route(rng)
    end = WALK_M + AHEAD_M
    clutter = [*_clutter(route, -8.0, 12.0, 6, rng), *_clutter(route, 12.0, end, 24, rng)]
    return BuiltWorld(Scene((_tube(), _back_wall(), *_ribs(end, rng), *clutter), Ground()), route)


def _tunnel_route(rng: np.random.Generator) -> Route:
    """Along the tunnel, drifting a little from side to side."""
    x = np.arange(0.0, WALK_M + 1, 12.0)
    y = rng.uniform(-0.4, 0.4, size=len(x))
    return Route(np.column_stack([x, y]), rounding_m=2.5)


def _tube() -> Tube:
    half = (BACK_M + WALK_M + AHEAD_M) / 2
    centre = np.array([half - BACK_M, 0.0, AXIS_HEIGHT_M])
    return Tube(centre, np.array([1.0, 0, 0]), RADIUS_M, half)


def _back_wall() -> Surface:
    return wall((-BACK_M, -RADIUS_M), (-BACK_M, RADIUS_M), AXIS_HEIGHT_M + RADIUS_M, low=-2)


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
