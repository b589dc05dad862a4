"""Courtyards with facades and furniture: one alone, and rows and loops of them (a college)."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from smfeval_lab.motion import Route
from smfeval_lab.scene import Ground, Scene
from smfeval_lab.worlds.parts import (
    BuiltWorld,
    Place,
    Surface,
    bench,
    clear_places,
    crate,
    facade,
    tree,
)

HALF_M = (14.0, 11.0)
LAPS = 3


def courtyard(rng: np.random.Generator) -> BuiltWorld:
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
    return BuiltWorld(Scene(tuple(surfaces), Ground()), route)


CELL_M = 28.0
CLEARANCE_M = 2.5  # between the route and what stands in a courtyard
Cell = tuple[int, int]
EAST, NORTH, SOUTH, WEST = (1, 0), (0, 1), (0, -1), (-1, 0)
LOOP = (EAST, EAST, NORTH, WEST, WEST, SOUTH)


def one_way_college(cells: int, rng: np.random.Generator) -> BuiltWorld:
    """A walk through so many courtyards that never comes back."""
    return _college(_one_way_cells(cells, rng), rng)


def college_loop(rng: np.random.Generator) -> BuiltWorld:
    """A walk round six courtyards that ends in the first."""
    return _college(_cells_along((0, 0), LOOP), rng)


def _one_way_cells(count: int, rng: np.random.Generator) -> list[Cell]:
    """East again and again, with turns to the north or south in between: no cell comes twice."""
    moves: list[Cell] = [EAST]
    while len(moves) < count - 1:
        sideways = moves[-1] == EAST and rng.random() < 0.7
        moves.append((NORTH, SOUTH)[int(rng.integers(2))] if sideways else EAST)
    return _cells_along((0, 0), moves)


def _cells_along(start: Cell, moves: list[Cell] | tuple[Cell, ...]) -> list[Cell]:
    cells = [start]
    for east, north in moves:
        cells.append((cells[-1][0] + east, cells[-1][1] + north))
    return cells


def _college(cells: list[Cell], rng: np.random.Generator) -> BuiltWorld:
    route = _route(cells, rng)
    surfaces: list[Surface] = []
    for cell in dict.fromkeys(cells):
        surfaces += _walls(cell, cells, rng)
        surfaces += _furniture(cell, route, rng)
    return BuiltWorld(Scene(tuple(surfaces), Ground()), route)


def _cell_centre(cell: Cell) -> Place:
    return CELL_M * cell[0], CELL_M * cell[1]


def _route(cells: list[Cell], rng: np.random.Generator) -> Route:
    """Through the gates, and past a place near the middle of each courtyard."""
    stops = []
    for cell, following in zip(cells, [*cells[1:], None], strict=True):
        here = np.array(_cell_centre(cell))
        stops.append(here + rng.uniform(-2, 2, size=2))
        if following is not None:
            stops.append((here + np.array(_cell_centre(following))) / 2)
    return Route(np.array(stops), rounding_m=2.8)


def _walls(cell: Cell, cells: list[Cell], rng: np.random.Generator) -> Iterator[Surface]:
    """Four walls that face the courtyard, with gates to the cells before and after."""
    x, y = _cell_centre(cell)
    reach = CELL_M / 2
    corner = [(x - reach, y - reach), (x + reach, y - reach), (x + reach, y + reach),
              (x - reach, y + reach)]  # fmt: skip
    sides = ((0, -1), (1, 0), (0, 1), (-1, 0))
    open_to = _neighbours(cell, cells)
    for i, (east, north) in enumerate(sides):
        gate = reach if (cell[0] + east, cell[1] + north) in open_to else None
        yield from facade(corner[i], corner[(i + 1) % 4], rng, gate=gate)


def _neighbours(cell: Cell, cells: list[Cell]) -> set[Cell]:
    """Cells that the route enters from this one or leaves to it."""
    steps = list(pairwise(cells))
    return {b for a, b in steps if a == cell} | {a for a, b in steps if b == cell}


def _furniture(cell: Cell, route: Route, rng: np.random.Generator) -> Iterator[Surface]:
    x, y = _cell_centre(cell)
    reach = CELL_M / 2 - 2.5
    low, high = (x - reach, y - reach), (x + reach, y + reach)
    makers = [tree] * int(rng.integers(2, 6)) + [bench] * 3 + [crate] * 2
    places = clear_places(len(makers), low, high, route=route, clearance=CLEARANCE_M, rng=rng)
    for make, place in zip(makers, places, strict=False):
        yield from make(*place, rng)
