"""Two beliefs without a reference: against the authors' `pair`, and against scoring one track.

Both align A to B. Theirs fits with equal weights and scores what is left under the sum of the two
covariances; ours weighs the fit by that sum and grants the fit's own covariance. These are two
different numbers, and theirs aligns always: only the matched scans are compared.
"""

import json

from suite.cost import Command
from suite.files import Files
from suite.ours import verb
from suite.peers import program
from suite.rows import PEAK, Agreement, Goal, Limit, Pairing, Question, alike

OURS, SCORE, AUTHORS = "smfeval pair", "smfeval score of one of them", "authors' pair"


def commands(files: Files) -> tuple[Command, ...]:
    a, b, ref = (files.path(name) for name in ("est.square", "other.square", "ref.tum"))
    return (
        verb(OURS, "pair", a, b),
        verb(SCORE, "score", a, "--ref", ref),
        Command(AUTHORS, (program("authors", "smfeval"), "pair", a, b, "--json")),
    )


def matched(ours: str, theirs: str) -> tuple[Agreement, ...]:
    (pair,), authors = json.loads(ours)["pairs"], json.loads(theirs)
    return (alike("matched scans", pair["matched"], authors["n_matched"], 0.0),)


QUESTION = Question(
    "pairing",
    "`pair` as whole processes, against the authors' and against `score`.",
    commands,
    (
        Pairing(OURS, AUTHORS, matched),
        Pairing(OURS, SCORE, goal=Goal(0.5, 100_000)),
        Pairing(OURS, SCORE, goal=Limit(1_200.0, 1_000_000), measure=PEAK),
    ),
    grows=(OURS,),
)
