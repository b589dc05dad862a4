"""How long until the help appears?"""

import sys

from suite.cost import Command
from suite.files import Files
from suite.ours import SMFEVAL
from suite.peers import program
from suite.rows import Goal, Pairing, Question

OURS, EVO, AUTHORS = "smfeval --help", "evo_ape --help", "authors' smfeval --help"
FLOOR = "python -c pass"


def commands(_: Files) -> tuple[Command, ...]:
    return (
        Command(OURS, (SMFEVAL, "--help")),
        Command(EVO, (program("evo", "evo_ape"), "--help")),
        Command(AUTHORS, (program("authors", "smfeval"), "--help")),
        Command(FLOOR, (sys.executable, "-c", "pass")),
    )


QUESTION = Question(
    "start-up",
    "`--help`, whole process. The floor is an interpreter that does nothing.",
    commands,
    (
        Pairing(OURS, EVO, goal=Goal(3.0, 0)),
        Pairing(OURS, AUTHORS),
        Pairing(OURS, FLOOR, goal=Goal(1 / 3, 0)),
    ),
    sizes=(0,),
)
