"""Field: open ground with slight relief, and a few distant objects."""

import numpy as np

from smfeval.lab.motion import Route
from smfeval.lab.scene import Scene
from smfeval.lab.scene.box import box
from smfeval.lab.scene.ground import Ground
from smfeval.lab.scene.tube import pillar
from smfeval.lab.worlds.build import Built, Surface, clear_places, tree

LENGTH_M = 150.0
CLEARANCE_M = 14.0


def field(rng: np.random.Generator) -> Built:
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
    return Built(Scene(tuple(surfaces), relief(rng)), route)


def relief(rng: np.random.Generator) -> Ground:
    """Waves of 8 to 40 m length and a few centimetres height, in all directions."""
    length = rng.uniform(8, 40, size=5)
    turn = rng.uniform(0, 2 * np.pi, size=5)
    wave = 2 * np.pi / length * np.stack([np.cos(turn), np.sin(turn)])
    amplitude = rng.uniform(0.5, 1.0, size=5) * length / 300
    return Ground(0.0, amplitude, wave.T, rng.uniform(0, 2 * np.pi, size=5))
