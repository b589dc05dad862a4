"""`watch`: how many scans a second, against parsing the same lines."""

import json

from suite.cost import Command
from suite.files import Files
from suite.ours import work
from suite.rows import Agreement, Pairing, Question, Rate, alike

WATCHED = {
    "two streams, SQUARE": ("square", "polars.read_csv of both"),
    "two streams, JSON lines": ("json", "json.loads of every line"),
    "two streams, ros2 topic echo --csv": ("ros", "polars.read_csv of both, CSV"),
}


def commands(files: Files) -> tuple[Command, ...]:
    folder = str(files.folder)
    return tuple(
        work(each, "our_watch", folder, kind, what)
        for name, (kind, floor) in WATCHED.items()
        for each, what in ((name, "watch"), (floor, "floor"))
    )


def scans(ours: str, theirs: str) -> tuple[Agreement, ...]:
    return (alike("scans", json.loads(ours)["scans"], json.loads(theirs)["scans"], 0.0),)


QUESTION = Question(
    "watch",
    "Two beliefs about one motion from streams of lines, in memory, work alone: read, matched in "
    "time, compared and weighed. The floor parses the same lines into numbers.",
    commands,
    tuple(Pairing(name, floor, scans) for name, (_, floor) in WATCHED.items()),
    sizes=(1_000, 10_000, 100_000),
    rate=Rate("scans a second", lambda scans, seconds: scans / seconds),
)
