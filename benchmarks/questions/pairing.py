"""Two beliefs without a reference: against the authors' `pair`, and against scoring one track.

Both align A to B, but theirs adds the covariance of A in A's body axes to that of B in B's, which
is ours up to the rotation between the two bodies; their residual is as in `scoring.py`.
"""

import json

from suite.cost import Command
from suite.files import Files
from suite.ours import verb, work
from suite.peers import program
from suite.rows import Agreement, Goal, Pairing, Question, alike

OURS, AUTHORS = "smfeval pair", "authors' pair"
PAIR, SCORE = "compare_pair in memory", "evaluate in memory"
TURN_RAD = 5e-3  # the two beliefs differ by 2.3e-3 rad on average, and by the alignment


def commands(files: Files) -> tuple[Command, ...]:
    a, b, ref = (files.path(name) for name in ("est.square", "other.square", "ref.tum"))
    return (
        verb(OURS, "pair", a, b),
        Command(AUTHORS, (program("authors", "smfeval"), "pair", a, b, "--json")),
        work(PAIR, "our_judging", "pair", a, b),
        work(SCORE, "our_judging", "score", a, ref),
    )


def k_pair(ours: str, theirs: str) -> tuple[Agreement, ...]:
    (pair,), authors = json.loads(ours)["pairs"], json.loads(theirs)
    return (
        alike("k", pair["k_pair"]["value"], authors["k_pair_lower_bound"], TURN_RAD),
        alike("log score", pair["log"]["value"], authors["log_score_mean"], TURN_RAD),
    )


QUESTION = Question(
    "pairing",
    "`pair` as whole processes; below, in memory with intervals against scoring one track.",
    commands,
    (Pairing(OURS, AUTHORS, k_pair), Pairing(PAIR, SCORE, goal=Goal(0.5, 1_000_000))),
)
