"""WORLDS: scenes and routes by name, drawn from a seed; the easy, adversarial, hand-held sets."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from smfeval.errors import OptionError
from smfeval.schema import suggest_word
from smfeval_lab.sensors.faults import HANDHELD_FAULTS, TYPICAL_FAULTS, Faults
from smfeval_lab.worlds import courtyards, featureless, outdoors
from smfeval_lab.worlds.parts import Builder, BuiltWorld


@dataclass(frozen=True)
class World:
    """How a scene and a route through it are built from a seed, and the faults of the sensors."""

    name: str
    description: str
    builder: Builder
    faults: Faults = TYPICAL_FAULTS

    def build(self, seed: int, faults: Faults | None = None) -> BuiltWorld:
        """The scene and route of one seed; with hand-held faults, as such a scanner meets it."""
        built = self.builder(np.random.default_rng([seed, 0]))
        if faults == HANDHELD_FAULTS != self.faults:
            return outdoors.held_by_hand(built, np.random.default_rng([seed, 6]))
        return built


@dataclass(frozen=True)
class SeededWorld:
    """A world with a seed: one recording of a set."""

    world: str
    seed: int

    @property
    def name(self) -> str:
        """Name of the recording."""
        return f"{self.world}_{self.seed}"


EASY = tuple(
    SeededWorld(*each) for each in (("college_short", 1), ("college_short", 2), ("college_loop", 3))
)
ADVERSARIAL = tuple(SeededWorld(name, 1) for name in ("tunnel_ribs", "tunnel", "corridor", "field"))
HANDHELD = tuple(SeededWorld(name, 1) for name in ("park", "street", "campus", "campus_loop"))

COLLEGE, SHORT = (partial(courtyards.one_way_college, cells) for cells in (15, 7))
ROWS: dict[str, tuple[str, Builder]] = {
    "college": ("courtyards in a row, 400 m of new ground", COLLEGE),
    "college_short": ("the same for 165 m", SHORT),
    "college_loop": ("six courtyards, ends in the first", courtyards.college_loop),
    "courtyard": ("small and closed, seen whole from the start", courtyards.courtyard),
    "tunnel": ("smooth, clutter only near the start: the axis is lost", featureless.smooth_tunnel),
    "tunnel_ribs": ("sparse ribs and clutter: degenerate but trackable", featureless.ribbed_tunnel),
    "field": ("open ground, few distant objects", featureless.field),
    "corridor": ("indoors, few features, one corner", featureless.corridor),
    "park": ("400 m over grass among leafy trees, with people", outdoors.park),
    "street": ("300 m of street with cars and people", outdoors.street),
    "campus": ("courtyards, gardens and streets, 1.2 km of new ground", outdoors.campus),
    "campus_loop": (
        "the same in a ring of 900 m, ends in the first courtyard", outdoors.campus_loop
    ),
}  # fmt: skip
BY_HAND = {each.world for each in HANDHELD}
WORLDS = {
    name: World(name, words, builder, HANDHELD_FAULTS if name in BY_HAND else TYPICAL_FAULTS)
    for name, (words, builder) in ROWS.items()
}


def world_named(name: str) -> World:
    """The world of a name; raises on one that is not in the table."""
    if name not in WORLDS:
        raise OptionError(f"{name!r} is no world; {suggest_word(name, WORLDS)}")
    return WORLDS[name]
