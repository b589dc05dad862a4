"""Courtyards with facades and furniture: one alone, and rows and loops of them (a college)."""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval_lab.motion import Route
from smfeval_lab.scene import Ground, Scene
from smfeval_lab.worlds import parts
from smfeval_lab.worlds.parts import BuiltWorld, Place, Surface, clear_places

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
        surfaces += parts.facade(corner[i], corner[(i + 1) % 4], rng)
    makers = [parts.tree] * 4 + [parts.bench] * 3 + [parts.crate] * 2
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
    """A walk through so many courtyards that never comes back.

    East again and again, with turns to the north or south in between: no cell comes twice.
    """
    moves: list[Cell] = [EAST]
    while len(moves) < cells - 1:
        sideways = moves[-1] == EAST and rng.random() < 0.7
        moves.append((NORTH, SOUTH)[int(rng.integers(2))] if sideways else EAST)
    return _college(moves, rng)


def college_loop(rng: np.random.Generator) -> BuiltWorld:
    """A walk round six courtyards that ends in the first."""
    return _college(LOOP, rng)


def _college(moves: Sequence[Cell], rng: np.random.Generator) -> BuiltWorld:
    cells: list[Cell] = [(0, 0)]
    for move in moves:
        cells.append(moved(cells[-1], move))
    route = _route(cells, rng)
    surfaces: list[Surface] = []
    for cell in dict.fromkeys(cells):
        surfaces += walls(cell, cells, rng)
        makers = [parts.tree] * int(rng.integers(2, 6)) + [parts.bench] * 3 + [parts.crate] * 2
        for make, place in zip(makers, spots(cell, len(makers), route, rng), strict=False):
            surfaces += make(*place, rng)
    return BuiltWorld(Scene(tuple(surfaces), Ground()), route)


def moved(cell: Cell, move: Cell) -> Cell:
    """The cell so many to the east and north."""
    return cell[0] + move[0], cell[1] + move[1]


def cell_centre(cell: Cell) -> Floats:
    """Its middle. (2,) m."""
    return CELL_M * np.array(cell, dtype=float)


def _route(cells: list[Cell], rng: np.random.Generator) -> Route:
    """Through the gates, and past a place near the middle of each courtyard."""
    stops = []
    for cell, following in zip(cells, [*cells[1:], None], strict=True):
        stops.append(cell_centre(cell) + rng.uniform(-2, 2, size=2))
        if following is not None:
            stops.append((cell_centre(cell) + cell_centre(following)) / 2)
    return Route(np.array(stops), rounding_m=2.8)


def walls(
    cell: Cell, cells: Sequence[Cell], rng: np.random.Generator, *, without: Collection[Cell] = ()
) -> Iterator[Surface]:
    """Facades that face the cell, but for sides `without`; gates to the cells before and after.

    `cells` are those of the route, in the order of the walk.
    """
    x, y = cell_centre(cell)
    reach = CELL_M / 2
    corner = [(x - reach, y - reach), (x + reach, y - reach), (x + reach, y + reach),
              (x - reach, y + reach)]  # fmt: skip
    steps = list(pairwise(cells))
    open_to = {b for a, b in steps if a == cell} | {a for a, b in steps if b == cell}
    for i, side in enumerate((SOUTH, EAST, NORTH, WEST)):
        if side not in without:
            gate = reach if moved(cell, side) in open_to else None
            yield from parts.facade(corner[i], corner[(i + 1) % 4], rng, gate=gate)


def spots(cell: Cell, count: int, route: Route, rng: np.random.Generator) -> list[Place]:
    """Places in a cell for what stands there, away from the route."""
    (x, y), reach = cell_centre(cell), CELL_M / 2 - 2.5
    low, high = (x - reach, y - reach), (x + reach, y + reach)
    return clear_places(count, low, high, route=route, clearance=CLEARANCE_M, rng=rng)
