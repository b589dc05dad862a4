"""Relative pose error over ten scans, all pairs; and scores of relative motion, in memory."""

import json

from suite.checks import same_rmse
from suite.cost import Command
from suite.files import Files, script
from suite.ours import verb, work
from suite.peers import program
from suite.rows import Agreement, Pairing, Question

OURS = "smfeval score est.tum --rules ape --interval none --horizon 10"
EVO = "evo_rpe tum --delta 10 --all_pairs"
FLOOR = "R S R^T of every scan"
WINDOWS, NONE = "scores over ten scans, from each", "evaluate, no horizon"
HORIZONS = {
    "evaluate, horizon of ten scans": "evaluate 10",
    "evaluate, horizons 1s, 5s, 1m": "evaluate three",
}
ALL_DIGITS = 100_000  # scans up to which evo runs once more, to save all digits


def commands(files: Files) -> tuple[Command, ...]:
    tum, ref = files.path("est.tum"), files.path("ref.tum")
    few = ("--rules", "ape", "--interval", "none", "--horizon", "10")
    evo = (program("evo", "evo_rpe"), "tum", ref, tum, "--delta", "10", "--all_pairs")
    digits = (program("evo"), script("evo_digits"), *evo)
    return (
        verb(OURS, "score", tum, "--ref", ref, *few),
        Command(EVO, evo, proof=digits if files.scans <= ALL_DIGITS else None),
    )


def rmse(ours: str, theirs: str) -> tuple[Agreement, ...]:
    (relative,) = json.loads(ours)["scores"]["relative"]
    return same_rmse(relative["translation_rmse_m"], theirs)


def scored(files: Files) -> tuple[Command, ...]:
    steps = {FLOOR: "floor", WINDOWS: "scores", NONE: "evaluate"} | HORIZONS
    return tuple(work(name, "our_fit", step, str(files.scans)) for name, step in steps.items())


QUESTIONS = (
    Question(
        "relative",
        "Relative pose error over ten scans, whole processes. Ours also aligns, and gives the APE.",
        commands,
        (Pairing(OURS, EVO, rmse),),
    ),
    Question(
        "relative scores",
        "In memory, work alone, on a dead reckoning whose covariances imply those between scans: "
        "energy, log score and NEES of the motion over ten scans, from every scan on; and what "
        "horizons add to an evaluation, which scores over the first horizon that is usable if none "
        "is asked for.",
        scored,
        (Pairing(WINDOWS, FLOOR), *(Pairing(name, NONE) for name in HORIZONS)),
        sizes=(1_000, 10_000, 100_000),
    ),
)
