"""CRPS of a normal belief against scoringrules: the same formula."""

from suite.checks import scores_apart
from suite.cost import Command
from suite.files import Files, script
from suite.ours import work
from suite.peers import program
from suite.rows import Agreement, Pairing, Question

OURS, THEIRS = "smfeval.crps", "scoringrules crps_normal"
LIMIT = 1e-12


def commands(files: Files) -> tuple[Command, ...]:
    given = (files.path("error.npy"), files.path("covariance.npy"))
    theirs = (program("scoringrules"), script("scoringrules_crps"), *given)
    return (
        work(OURS, "our_crps", *given, files.path("crps.npy")),
        Command(THEIRS, (*theirs, files.path("their_crps.npy")), inside=True),
    )


def same(ours: str, theirs: str) -> tuple[Agreement, ...]:
    return (Agreement("largest of all scans", scores_apart(ours, theirs)["largest"], LIMIT),)


QUESTION = Question(
    "CRPS",
    "Three axes a scan; in memory, work alone.",
    commands,
    (Pairing(OURS, THEIRS, same),),
)
