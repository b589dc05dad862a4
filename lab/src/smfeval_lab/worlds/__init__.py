"""WORLDS: scenes and routes by name, drawn from a seed; the easy, adversarial, hand-held sets."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from smfeval.errors import OptionError
from smfeval.schema import suggest_word
from smfeval_lab.sensors.faults import HANDHELD_FAULTS, TYPICAL_FAULTS, Faults
from smfeval_lab.worlds import courtyards, featureless, outdoors
from smfeval_lab.worlds.parts import Builder, BuiltWorld

__all__ = [
    "ADVERSARIAL",
    "EASY",
    "HANDHELD",
    "WORLDS",
    "BuiltWorld",
    "SeededWorld",
    "World",
    "world_named",
]


@dataclass(frozen=True)
class World:
    """How a scene and a route through it are built from a seed, and the faults of the sensors."""

    name: str
    description: str
    builder: Builder
    faults: Faults = TYPICAL_FAULTS

    def build(self, seed: int) -> BuiltWorld:
        """The scene and route of one seed."""
        return self.builder(np.random.default_rng([seed, 0]))


@dataclass(frozen=True)
class SeededWorld:
    """A world with a seed: one recording of a set."""

    world: str
    seed: int

    @property
    def name(self) -> str:
        """Name of the recording."""
        return f"{self.world}_{self.seed}"


WORLDS = {
    world.name: world
    for world in (
        World(
            "college",
            "courtyards in a row, 400 m of new ground",
            partial(courtyards.one_way_college, 15),
        ),
        World("college_short", "the same for 165 m", partial(courtyards.one_way_college, 7)),
        World("college_loop", "six courtyards, ends in the first", courtyards.college_loop),
        World("courtyard", "small and closed, seen whole from the start", courtyards.courtyard),
        World(
            "tunnel",
            "smooth, clutter only near the start: the axis is lost",
            featureless.smooth_tunnel,
        ),
        World(
            "tunnel_ribs",
            "sparse ribs and clutter: degenerate but trackable",
            featureless.ribbed_tunnel,
        ),
        World("field", "open ground, few distant objects", featureless.field),
        World("corridor", "indoors, few features, one corner", featureless.corridor),
        World(
            "park",
            "400 m over grass among leafy trees, with people",
            outdoors.park,
            HANDHELD_FAULTS,
        ),
        World("street", "300 m of street with cars and people", outdoors.street, HANDHELD_FAULTS),
        World(
            "campus",
            "courtyards, gardens and streets, 1.2 km of new ground",
            outdoors.campus,
            HANDHELD_FAULTS,
        ),
        World(
            "campus_loop",
            "the same in a ring of 900 m, ends in the first courtyard",
            outdoors.campus_loop,
            HANDHELD_FAULTS,
        ),
    )
}

EASY = (
    SeededWorld("college_short", 1),
    SeededWorld("college_short", 2),
    SeededWorld("college_loop", 3),
)
ADVERSARIAL = tuple(SeededWorld(name, 1) for name in ("tunnel_ribs", "tunnel", "corridor", "field"))


HANDHELD = (
    SeededWorld("park", 1),
    SeededWorld("street", 1),
    SeededWorld("campus", 1),
    SeededWorld("campus_loop", 1),
)


def world_named(name: str) -> World:
    """The world of a name; raises on one that is not in the table."""
    if name not in WORLDS:
        raise OptionError(f"{name!r} is no world; {suggest_word(name, WORLDS)}")
    return WORLDS[name]
