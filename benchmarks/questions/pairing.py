"""Two beliefs without a reference: against the authors' `pair`, and against scoring one track.

Both align A to B. Theirs fits with equal weights and scores what is left under the sum of the two
covariances; ours weighs the fit by that sum and grants the fit's own covariance. These are two
different numbers, and theirs aligns always: only the matched scans are compared.
"""

import json

from suite.cost import Command
from suite.files import Files
from suite.ours import verb, work
from suite.peers import program
from suite.rows import Agreement, Goal, Pairing, Question, alike

OURS, AUTHORS = "smfeval pair", "authors' pair"
PAIR, SCORE = "compare_pair in memory", "evaluate in memory"


def commands(files: Files) -> tuple[Command, ...]:
    a, b, ref = (files.path(name) for name in ("est.square", "other.square", "ref.tum"))
    return (
        verb(OURS, "pair", a, b),
        Command(AUTHORS, (program("authors", "smfeval"), "pair", a, b, "--json")),
        work(PAIR, "our_judging", "pair", a, b),
        work(SCORE, "our_judging", "score", a, ref),
    )


def matched(ours: str, theirs: str) -> tuple[Agreement, ...]:
    (pair,), authors = json.loads(ours)["pairs"], json.loads(theirs)
    return (alike("matched scans", pair["matched"], authors["n_matched"], 0.0),)


QUESTION = Question(
    "pairing",
    "`pair` as whole processes; below, in memory with intervals against scoring one track.",
    commands,
    (Pairing(OURS, AUTHORS, matched), Pairing(PAIR, SCORE, goal=Goal(0.5, 1_000_000))),
)
