"""Courtyard: small and closed; the whole map is seen from the start, and laps show nothing new."""

import numpy as np

from smfeval.lab.motion import Route
from smfeval.lab.scene import Scene
from smfeval.lab.scene.ground import Ground
from smfeval.lab.worlds.build import Built, Surface, bench, clear_places, crate, tree
from smfeval.lab.worlds.facade import facade

HALF_M = (14.0, 11.0)
LAPS = 3


def courtyard(rng: np.random.Generator) -> Built:
    """Laps along an ellipse."""
    x, y = HALF_M
    turn = np.arange(0, LAPS * 2 * np.pi, 0.2) + rng.uniform(0, 2 * np.pi)
    size = np.array([x - 5, y - 5]) * rng.uniform(0.9, 1.1)
    route = Route(size * np.stack([np.cos(turn), np.sin(turn)], axis=-1))

    corner = [(-x, -y), (x, -y), (x, y), (-x, y)]
    surfaces: list[Surface] = []
    for i in range(4):
        surfaces += facade(corner[i], corner[(i + 1) % 4], rng)
    makers = [tree] * 4 + [bench] * 3 + [crate] * 2
    low, high = (2 - x, 2 - y), (x - 2, y - 2)
    places = clear_places(len(makers), low, high, route=route, clearance=1.8, rng=rng)
    for make, place in zip(makers, places, strict=False):
        surfaces += make(*place, rng)
    return Built(Scene(tuple(surfaces), Ground()), route)
