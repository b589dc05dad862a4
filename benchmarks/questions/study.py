"""A study: its overhead over a bare loop, two workers, parts, and what is known already."""

from suite.cost import Command
from suite.files import Files
from suite.ours import work
from suite.rows import WALL, Goal, Pairing, Question, Rate

TASKS, SCANS = 120, 3_000
BARE, ONE, TWO = "read and evaluate in a loop", "study, one worker", "study, two workers"
PART, PARTS, KNOWN = "study, part 1/2", "study, both parts and gathering", "study, all known"
WAYS = {BARE: "bare", ONE: "one", TWO: "two", PART: "part", PARTS: "parts", KNOWN: "known"}


def commands(files: Files) -> tuple[Command, ...]:
    given = (str(files.folder), str(TASKS))
    return tuple(work(name, "our_study", *given, how) for name, how in WAYS.items())


QUESTION = Question(
    "study",
    f"{TASKS} tasks of as many scans, imports left out; CPU of all processes. A study also digests "
    "its inputs, and writes the scans and the result of each task. Half of the tasks should take "
    "half the time. The goal for a task of 3,000 scans is 30 ms.",
    commands,
    (
        Pairing(ONE, BARE, goal=Goal(1 / 1.15, SCANS)),
        Pairing(TWO, ONE),
        Pairing(PARTS, ONE),
        Pairing(KNOWN, ONE),
        Pairing(TWO, ONE, goal=Goal(1.8, SCANS), measure=WALL),
        Pairing(PART, ONE, measure=WALL),
    ),
    sizes=(1_000, SCANS),
    rate=Rate("ms a task", lambda _, seconds: 1e3 * seconds / TASKS),
)
