"""The worlds of the lab, as text and as a JSON document."""

from dataclasses import asdict
from typing import Any

from smfeval.lab.worlds import ADVERSARIAL, EASY, WORLDS
from smfeval.show.words import aligned

SCHEMA = "smfeval.worlds/1"
SETS = {"easy": EASY, "adversarial": ADVERSARIAL}


def text() -> str:
    """One line for each world and each set."""
    worlds = aligned([(world.name, world.words) for world in WORLDS.values()])
    members = ", ".join
    sets = aligned([(name, members(each.name for each in chosen)) for name, chosen in SETS.items()])
    return f"worlds\n{worlds}\nsets (world_seed)\n{sets}\n"


def document() -> dict[str, Any]:
    """The same as strict JSON data."""
    return {
        "schema": SCHEMA,
        "worlds": [{"name": world.name, "words": world.words} for world in WORLDS.values()],
        "sets": {name: [asdict(each) for each in chosen] for name, chosen in SETS.items()},
    }
