"""Reading a SQUARE file against the floor: polars parsing the same text into numbers."""

import sys

from suite.cost import Command
from suite.files import Files, script
from suite.rows import Agreement, Goal, Pairing, Question, alike

OURS, FLOOR = "smfeval.read", "polars.read_csv"


def commands(files: Files) -> tuple[Command, ...]:
    square = files.path("est.square")
    return (
        Command(OURS, (sys.executable, script("our_read"), square)),
        Command(FLOOR, (sys.executable, script("polars_parse"), square)),
    )


def scans(ours: str, theirs: str) -> tuple[Agreement, ...]:
    return (alike("scans", float(ours), float(theirs), 0.0),)


QUESTION = Question(
    "reading",
    "Whole processes. Ours also checks the numbers and lays out poses and 6x6 covariances: arrays "
    "of 352 bytes a scan, and the goal for the peak is three times that (1,056 MB for 1,000,000).",
    commands,
    (Pairing(OURS, FLOOR, scans, Goal(1 / 1.5, 1_000_000)),),
)
