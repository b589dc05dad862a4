"""A study: a task beside a bare loop, two workers, and what is known already."""

from suite.cost import Command
from suite.files import Files
from suite.ours import work
from suite.rows import WALL, Goal, Limit, Pairing, Question, Rate

TASKS, SCANS = 30, 3_000
BARE, ONE, TWO = "read and evaluate in a loop", "study, one worker", "study, two workers"
KNOWN = "study, all known"
WAYS = {BARE: "bare", ONE: "one", TWO: "two", KNOWN: "known"}


def commands(files: Files) -> tuple[Command, ...]:
    given = (str(files.folder), str(TASKS))
    return tuple(work(name, "our_study", *given, how) for name, how in WAYS.items())


QUESTION = Question(
    "study",
    f"{TASKS} tasks of as many scans, imports left out; CPU of all processes. A study also digests "
    "its inputs, and writes the scans and the result of each task.",
    commands,
    (
        Pairing(ONE, BARE, goal=Limit(0.060, SCANS, TASKS)),
        Pairing(KNOWN, ONE, goal=Limit(0.001, SCANS, TASKS)),
        Pairing(TWO, ONE, goal=Goal(1.6, SCANS), measure=WALL),
    ),
    sizes=(SCANS,),
    rate=Rate("ms a task", lambda _, seconds: 1e3 * seconds / TASKS),
)
