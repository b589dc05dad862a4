"""Where the definitions are alike, are the authors' numbers and ours the same?

On a track whose body axes are the world's and whose worlds need no alignment. Elsewhere theirs
takes the standard deviations and samples of CRPS and energy score in the body's axes but the error
in the world's, so those two scores differ (a turn of the world would change theirs, and must not).
Their interval score is of the length of the error, sampled; ours is of each axis: never compared.
"""

import json

from suite.checks import ROUNDING
from suite.cost import Command
from suite.files import Files
from suite.ours import verb
from suite.peers import program
from suite.rows import Agreement, Pairing, Question, alike

OURS = "smfeval score --gauge none"
NEES, SCORE = "authors' nees --align none", "authors' score --align none"
SCANS = 1_000
SAMPLED = 5 * 0.05 / SCANS**0.5  # 5 standard errors: one sampled energy score is off by about 5 %


def commands(files: Files) -> tuple[Command, ...]:
    square, ref = files.path("level.square"), files.path("straight.tum")
    theirs = (square, ref, "--ref-body-frame", "imu", "--align", "none", "--json")
    authors = program("authors", "smfeval")
    return (
        verb(OURS, "score", square, "--ref", ref, "--gauge", "none"),
        Command(NEES, (authors, "nees", *theirs)),
        Command(SCORE, (authors, "score", *theirs)),
    )


def nees(ours: str, theirs: str) -> tuple[Agreement, ...]:
    a, b = json.loads(ours)["calibration"], json.loads(theirs)
    return (
        alike("median NEES", a["nees_median"]["value"], b["median_nees"], ROUNDING),
        alike("mean NEES", a["nees_mean"]["value"], b["anees"]["anees"], ROUNDING),
        alike("k", a["k"]["value"], b["k"], ROUNDING),
        alike("coverage", a["coverage"]["0.9"]["value"], b["coverage"], ROUNDING),
    )


def scores(ours: str, theirs: str) -> tuple[Agreement, ...]:
    a, b = json.loads(ours)["scores"], json.loads(theirs)["scores"]
    return (
        alike("log score", a["log"]["value"], b["log_score_translation"]["mean"], ROUNDING),
        alike("CRPS", a["crps"]["value"], b["translation_crps"]["mean"], ROUNDING),
        alike("energy score", a["energy"]["value"], b["energy_score"]["mean"], SAMPLED),
    )


QUESTION = Question(
    "where definitions agree",
    "The authors' numbers where their definitions are ours: a level track, no alignment.",
    commands,
    (Pairing(OURS, NEES, nees), Pairing(OURS, SCORE, scores)),
    sizes=(SCANS,),
)
