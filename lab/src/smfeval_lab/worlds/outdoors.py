"""Worlds as hard as those of hand-held data sets: a park, a street, a campus of a kilometre.

Trees have porous crowns, the ground has texture, people and cars move, and the scanner is held
in the hand.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval_lab.motion import HANDHELD, Route
from smfeval_lab.scene import KNOT_S, Crown, Ground, Moving, Scene, Tufts, box, pillar
from smfeval_lab.worlds import courtyards, parts
from smfeval_lab.worlds.courtyards import EAST, NORTH, SOUTH, WEST, Cell
from smfeval_lab.worlds.featureless import relief
from smfeval_lab.worlds.parts import BuiltWorld, Place, Surface, clear_places

PARK_LENGTH_M = 400.0
PARK_CLEARANCE_M = 3.5  # between the route and what stands in the park
GRASS_RMS_M, GRAVEL_RMS_M = 0.02, 0.008
TUFT_M = 0.25


@dataclass
class _Things:
    """What a scene is filled with."""

    surfaces: list[Surface] = field(default_factory=list)
    crowns: list[Crown] = field(default_factory=list)
    moving: list[Moving] = field(default_factory=list)

    def plant_tree(self, place: Place, rng: np.random.Generator) -> None:
        trunk, crown = parts.leafy_tree(*place, rng)
        self.surfaces.append(trunk)
        self.crowns.append(crown)

    def scene(self, ground: Ground) -> Scene:
        return Scene(tuple(self.surfaces), ground, tuple(self.crowns), tuple(self.moving))


def park(rng: np.random.Generator) -> BuiltWorld:
    """Wide bends over grass among trees, bushes and a few huts; people walk the same way."""
    x = np.arange(0.0, PARK_LENGTH_M + 1, 20.0)
    y = np.cumsum(rng.uniform(-9, 9, size=len(x)))
    route = Route(np.column_stack([x, y]), rounding_m=4.0)
    ground = _textured(relief(rng, waves=2), GRASS_RMS_M, rng)

    things = _Things()
    for left, right in pairwise(np.arange(-40.0, PARK_LENGTH_M + 41, 20.0)):
        middle = float(np.interp((left + right) / 2, x, y))
        low, high = (float(left), middle - 30), (float(right), middle + 30)
        places = clear_places(22, low, high, route=route, clearance=PARK_CLEARANCE_M, rng=rng)
        for place in places[:14]:
            things.plant_tree(place, rng)
        things.crowns += [parts.bush(*place, rng) for place in places[14:20]]
        for place in places[20:]:
            things.surfaces += parts.bench(*place, rng)
    huts = clear_places(5, (0, y.min() - 30), (PARK_LENGTH_M, y.max() + 30), route=route,
                        clearance=12.0, rng=rng)  # fmt: skip
    things.surfaces += [box((*hut, 1.0), (5.0, 4.0, 4.0), rng.uniform(0, np.pi)) for hut in huts]
    things.moving += people(route, ground, every_m=60.0, rng=rng)
    return BuiltWorld(things.scene(ground), route, HANDHELD)


def _textured(ground: Ground, rms_m: float, rng: np.random.Generator, size: float = 1.0) -> Ground:
    """The ground with tufts, its waves made smaller or larger."""
    tufts = Tufts(rms_m, TUFT_M, int(rng.integers(2**31)))
    return Ground(ground.level, size * ground.amplitude, ground.wave, ground.phase, tufts)


PERSON_SPEED = 1.25  # m/s
MET_FOR_S = 40.0  # how long a person walks before and after being met
FOLLOWED_S = 60.0  # how long a person walks ahead


def people(
    route: Route, ground: Ground, *, every_m: float, rng: np.random.Generator
) -> Iterator[Moving]:
    """People who come towards one or walk ahead for a minute, a metre or more to the side."""
    for met in np.arange(every_m / 2, route.length_m, every_m):
        met_m = float(met + rng.uniform(-0.3, 0.3) * every_m)
        beside = float(rng.choice([-1, 1]) * rng.uniform(1.1, 1.4))
        met_s = 4.0 + met_m / PERSON_SPEED
        time = np.arange(0.0, met_s + max(MET_FOR_S, FOLLOWED_S), KNOT_S)
        if rng.random() < 0.6:  # comes towards
            walked = met_m - PERSON_SPEED * np.clip(time - met_s, -MET_FOR_S, MET_FOR_S)
        else:  # waits some metres ahead, then walks on
            ahead = rng.uniform(3.0, 8.0)
            walked = met_m + ahead + PERSON_SPEED * np.clip(time - met_s, 0, FOLLOWED_S)
        walked = np.clip(walked, 0, route.length_m)
        along = route.path.derivative(1)(walked)
        along = along / np.hypot(*along.T)[:, None]
        place = route.path(walked) + beside * np.stack([-along[:, 1], along[:, 0]], axis=-1)
        yaw = np.unwrap(np.arctan2(along[:, 1], along[:, 0]))
        yield person(np.column_stack([place, ground.height(*place.T), yaw]))


def person(pose: Floats) -> Moving:
    """Someone 1.75 m tall along a path of poses (knots, 4)."""
    return Moving((pillar(0, 0, 0.22, 0.0, 1.5), pillar(0, 0, 0.1, 1.5, 1.75)), pose)


WALL_RMS_M = 5e-3  # unfinished walls may be 10 mm off over a metre (DIN 18202)
BUSH_EVERY_M, BUSH_ASIDE_M = 8.0, (3.2, 5.0)


def held_by_hand(built: BuiltWorld, rng: np.random.Generator) -> BuiltWorld:
    """Another world as a scanner in the hand meets it.

    Walls and ground are rough, bushes stand beside the route, people walk there.
    """
    route, scene = built.route, built.scene
    ground = _textured(scene.ground or Ground(), GRAVEL_RMS_M, rng)
    walked = np.arange(0.0, route.length_m, BUSH_EVERY_M)
    along = route.path.derivative(1)(walked)
    across = np.stack([-along[:, 1], along[:, 0]], axis=-1) / np.hypot(*along.T)[:, None]
    aside = rng.choice([-1, 1], size=len(walked)) * rng.uniform(*BUSH_ASIDE_M, size=len(walked))
    places = route.path(walked) + aside[:, None] * across
    clear = [p for p in places if np.hypot(*(route.places - p).T).min() > BUSH_ASIDE_M[0] - 0.5]
    crowns = [parts.bush(float(x), float(y), rng) for x, y in clear]
    moving = people(route, ground, every_m=45.0, rng=rng)
    held = replace(
        scene,
        ground=ground,
        crowns=(*scene.crowns, *crowns),
        moving=(*scene.moving, *moving),
        relief_m=WALL_RMS_M,
    )
    return BuiltWorld(held, route, HANDHELD)


COURT, GARDEN, STREET = "court", "garden", "street"
SIDES = (SOUTH, EAST, NORTH, WEST)
Plan = list[tuple[Cell, str]]  # cells in the order of the walk, and what they are

ONE_WAY = ((COURT, 9), (GARDEN, 6), (STREET, 7), (COURT, 8), (GARDEN, 5), (STREET, 7), (COURT, 4))
LOOP = (
    (EAST, COURT, 5), (EAST, STREET, 6), (NORTH, COURT, 5),
    (WEST, GARDEN, 5), (WEST, STREET, 6), (SOUTH, COURT, 5),
)  # fmt: skip


def campus(rng: np.random.Generator) -> BuiltWorld:
    """Courtyards, gardens and streets, one after the other, never to come back."""
    plan: Plan = [((0, 0), COURT)]
    for kind, count in ONE_WAY:
        for i in range(count):
            sideways = kind != STREET and i > 0 and plan[-1][0][1] == plan[-2][0][1]
            move = (NORTH, SOUTH)[int(rng.integers(2))] if sideways and rng.random() < 0.6 else EAST
            plan.append((courtyards.moved(plan[-1][0], move), kind))
    return _built(plan, rng)


def campus_loop(rng: np.random.Generator) -> BuiltWorld:
    """Round a campus, back to the first courtyard."""
    plan: Plan = [((0, 0), COURT)]
    for move, kind, count in LOOP:
        for _ in range(count):
            plan.append((courtyards.moved(plan[-1][0], move), kind))
    return _built(plan, rng)


def street(rng: np.random.Generator) -> BuiltWorld:
    """From one courtyard along a street to another."""
    plan: Plan = [((i, 0), STREET) for i in range(1, 10)]
    return _built([((0, 0), COURT), *plan, ((10, 0), COURT)], rng)


def _built(plan: Plan, rng: np.random.Generator) -> BuiltWorld:
    route = _route(plan, rng)
    ground = _textured(relief(rng, waves=2), GRAVEL_RMS_M, rng, size=0.3)
    things, cells = _Things(), [cell for cell, _ in plan]
    kinds = dict(reversed(plan))  # a cell that is met again is what it was at first
    for cell, kind in kinds.items():
        without = {SOUTH, NORTH} if kind == GARDEN else set()  # gardens are open to their sides
        if kind != COURT:  # and streets go on
            without |= {side for side in SIDES if kinds.get(courtyards.moved(cell, side)) == kind}
        things.surfaces += courtyards.walls(cell, cells, rng, without=without)
        FURNISH[kind](things, cell, route, rng)
    for kind, stretch in groupby(plan, key=lambda each: each[1]):
        if kind == STREET:
            things.moving += cars([cell for cell, _ in stretch], route, ground, rng)
    things.moving += people(route, ground, every_m=45.0, rng=rng)
    return BuiltWorld(things.scene(ground), route, HANDHELD)


PAVEMENT_M = 7.5  # from the middle of a street


def _route(plan: Plan, rng: np.random.Generator) -> Route:
    """Through the gates, past a place near the middle of each cell, along the pavement."""
    stops = []
    for (cell, kind), following in zip(plan, [*plan[1:], None], strict=True):
        aside = np.array([0.0, PAVEMENT_M]) if kind == STREET else np.zeros(2)
        stray = 0.5 if kind == STREET else 2.0  # how far the route passes from where it would
        stops.append(courtyards.cell_centre(cell) + aside + rng.uniform(-1, 1, size=2) * stray)
        if following is not None:
            gate = (courtyards.cell_centre(cell) + courtyards.cell_centre(following[0])) / 2
            stops.append(gate + (aside if following[1] == kind else 0.0))
    return Route(np.array(stops), rounding_m=2.8)


def _furnish_court(things: _Things, cell: Cell, route: Route, rng: np.random.Generator) -> None:
    places = iter(courtyards.spots(cell, 9, route, rng))
    for place, _ in zip(places, range(int(rng.integers(1, 4))), strict=False):
        things.plant_tree(place, rng)
    for make, place in zip([parts.bench] * 3 + [parts.crate] * 2, places, strict=False):
        things.surfaces += make(*place, rng)


def _furnish_garden(things: _Things, cell: Cell, route: Route, rng: np.random.Generator) -> None:
    places = courtyards.spots(cell, 12, route, rng)
    for place in places[:7]:
        things.plant_tree(place, rng)
    things.crowns += [parts.bush(*place, rng) for place in places[7:10]]
    for place in places[10:]:
        things.surfaces += parts.bench(*place, rng)


PARKED_M, LANE_M, KERB_TREE_M = 3.6, 1.3, 10.8  # from the middle of the street
CAR_CLEARANCE_M = 3.0  # from the middle of a parked car to the route
CAR_SPEED = (5.0, 10.0)  # m/s
CARS_EVERY_S = 7.0
HIDDEN_M = -20.0  # where a car waits below the ground until it comes, and goes when it is gone


def _furnish_street(things: _Things, cell: Cell, route: Route, rng: np.random.Generator) -> None:
    x, y = courtyards.cell_centre(cell)
    for side in (-1, 1):
        for along in (-9.0, -3.0, 3.0, 9.0):
            place = np.array([x + along + rng.uniform(-0.5, 0.5), y + side * PARKED_M])
            free = np.hypot(*(route.places - place).T).min() > CAR_CLEARANCE_M
            if rng.random() < 0.6 and free:
                things.surfaces += car(*place.tolist())
        things.plant_tree((float(x + rng.uniform(-8, 8)), y + side * KERB_TREE_M), rng)


FURNISH: dict[str, Callable[[_Things, Cell, Route, np.random.Generator], None]] = {
    COURT: _furnish_court,
    GARDEN: _furnish_garden,
    STREET: _furnish_street,
}


def car(x: float, y: float) -> list[Surface]:
    """A body and a cabin, along x."""
    return [box((x, y, 0.6), (4.3, 1.75, 0.8)), box((x - 0.2, y, 1.2), (2.2, 1.6, 0.5))]


def cars(
    cells: list[Cell], route: Route, ground: Ground, rng: np.random.Generator
) -> Iterator[Moving]:
    """Cars along a straight street in both lanes while one walks there."""
    near, far = (courtyards.cell_centre(cell)[0] for cell in (cells[0], cells[-1]))
    ends, y = np.sort([near, far]) + np.array([2.0, -2.0]), courtyards.cell_centre(cells[0])[1]
    walked = np.arange(0.0, route.length_m)
    inside = np.abs(route.path(walked) - [np.mean(ends), y + PAVEMENT_M]) < [np.ptp(ends) / 2, 3.0]
    here = walked[inside.all(axis=1)] / PERSON_SPEED
    for start in np.arange(here.min() - 20.0, here.max() + 40.0, CARS_EVERY_S):
        lane = int(rng.choice([-1, 1]))
        speed = float(rng.uniform(*CAR_SPEED))
        first, last = ends if lane < 0 else ends[::-1]
        begin = max(0.0, start + rng.uniform(0, 3))
        time = np.arange(0.0, begin + abs(last - first) / speed + 2 * KNOT_S, KNOT_S)
        gone = np.clip((time - begin) * speed, 0, abs(last - first))
        x = first + np.sign(last - first) * gone
        drives = (gone > 0) & (gone < abs(last - first))
        z = np.where(drives, ground.height(x, y + 0 * x), HIDDEN_M)
        yaw = np.full(len(x), 0.0 if lane < 0 else np.pi)
        yield Moving(tuple(car(0.0, 0.0)), np.column_stack([x, y + lane * LANE_M + 0 * x, z, yaw]))
