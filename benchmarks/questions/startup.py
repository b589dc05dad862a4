"""How long until the help appears, and until a short track is scored?"""

import sys

from suite.cost import Command
from suite.files import Files
from suite.ours import SMFEVAL
from suite.peers import program
from suite.rows import Goal, Limit, Pairing, Question

OURS, EVO = "smfeval --help", "evo_ape --help"
FLOOR, NUMPY = "python -c pass", "python -c 'import numpy'"
SCORE, IMPORTS = "smfeval score, a short track", "the imports of smfeval score"
SCANS = 1_000
MODULES = "smfeval.cli.verb_flags, smfeval.cli.score, smfeval.io.square, smfeval.io.tum"


def commands(files: Files) -> tuple[Command, ...]:
    scored = ("score", files.path("est.square"), "--ref", files.path("ref.tum"))
    return (
        Command(OURS, (SMFEVAL, "--help")),
        Command(EVO, (program("evo", "evo_ape"), "--help")),
        Command(FLOOR, (sys.executable, "-c", "pass")),
        Command(NUMPY, (sys.executable, "-c", "import numpy")),
        Command(IMPORTS, (sys.executable, "-c", f"import {MODULES}")),
        Command(SCORE, (SMFEVAL, *scored)),
    )


QUESTION = Question(
    "start-up",
    "Whole processes. The floors are an interpreter that does nothing, and one that imports numpy.",
    commands,
    (
        Pairing(OURS, EVO, goal=Goal(3.0, SCANS)),
        Pairing(OURS, FLOOR, goal=Goal(1 / 3, SCANS)),
        Pairing(IMPORTS, NUMPY, goal=Limit(0.045, SCANS, beyond_peer=True)),
        Pairing(SCORE, NUMPY, goal=Limit(0.160, SCANS)),
    ),
    sizes=(SCANS,),
)
