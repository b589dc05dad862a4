"""Block length after Politis and White against arch."""

import json

from suite.checks import ROUNDING
from suite.cost import Command
from suite.files import Files, script
from suite.ours import work
from suite.peers import program
from suite.rows import Agreement, Pairing, Question, alike

OURS, ARCH = "block_length", "arch optimal_block_length"


def commands(files: Files) -> tuple[Command, ...]:
    series = files.path("series.npy")
    return (
        work(OURS, "our_block_length", series),
        Command(ARCH, (program("arch"), script("arch_block_length"), series), inside=True),
    )


def lengths(ours: str, theirs: str) -> tuple[Agreement, ...]:
    a, b = json.loads(ours), json.loads(theirs)
    return tuple(
        alike(f"{kind} length", a[kind], b[kind], ROUNDING) for kind in ("fixed", "geometric")
    )


QUESTION = Question(
    "block length",
    "In memory, work alone.",
    commands,
    (Pairing(OURS, ARCH, lengths),),
)
