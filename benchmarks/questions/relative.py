"""Relative pose error over ten scans, all pairs."""

import json

from suite.checks import same_rmse
from suite.cost import Command
from suite.files import Files, script
from suite.ours import verb
from suite.peers import program
from suite.rows import Agreement, Pairing, Question

OURS = "smfeval score est.tum --rules ape --interval none --horizon 10"
EVO = "evo_rpe tum --delta 10 --all_pairs"
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


QUESTION = Question(
    "relative",
    "Relative pose error over ten scans, whole processes. Ours also aligns, and gives the APE.",
    commands,
    (Pairing(OURS, EVO, rmse),),
)
