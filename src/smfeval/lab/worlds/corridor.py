"""Corridor: indoors, two straight halves and one corner of 90 degrees, few features."""

from collections.abc import Iterator

import numpy as np

from smfeval.lab.motion import Route
from smfeval.lab.scene import Scene
from smfeval.lab.scene.box import box
from smfeval.lab.scene.ground import Ground
from smfeval.lab.worlds.build import Built, Surface, wall

HALF_WIDTH_M = 1.3
HEIGHT_M = 2.8
FIRST_M, SECOND_M = 62.0, 60.0  # from the start to the corner, from the corner to the end
BEYOND_M = 6.0  # walls go on behind the start and after the end


def corridor(rng: np.random.Generator) -> Built:
    """East to the corner, then north."""
    drift = rng.uniform(-0.2, 0.2, size=6)
    east = [(x, d) for x, d in zip((0.0, 20.0, 40.0), drift[:3], strict=True)]
    north = [(FIRST_M + d, y) for y, d in zip((20.0, 40.0, SECOND_M), drift[3:], strict=True)]
    route = Route(np.array([*east, (FIRST_M, 0.0), *north]), rounding_m=1.9)
    surfaces = (*_walls(), _ceiling(), *_doors(rng))
    return Built(Scene(surfaces, Ground()), route)


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


def _ceiling() -> Surface:
    x, y = FIRST_M + 20, SECOND_M + 20
    return box((x / 2 - 10, y / 2 - 10, HEIGHT_M), (x + 20, y + 20, 0.0))


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
