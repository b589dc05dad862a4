"""What more of `score`, and another verb, cost beside `score` of the same files."""

from suite.cost import Command
from suite.files import Files
from suite.ours import verb
from suite.rows import Goal, Pairing, Question

SCORE, CHECK, VERBOSE = "smfeval score", "smfeval check", "smfeval score -v"
TIGHT, WHY = "smfeval score, overconfident", "smfeval score --why, overconfident"
ODOMETRY = "smfeval score, overconfident dead reckoning"
WHY_ODOMETRY = "smfeval score --why, overconfident dead reckoning"


def commands(files: Files) -> tuple[Command, ...]:
    est, ref = files.path("est.square"), files.path("ref.tum")
    tight = ("score", files.path("tight.square"), "--ref", ref)
    odometry = ("score", files.path("tight_odometry.square"), "--ref", files.path("drive.tum"))
    return (
        verb(SCORE, "score", est, "--ref", ref),
        verb(CHECK, "check", est),
        verb(VERBOSE, "score", est, "--ref", ref, "-v"),
        verb(TIGHT, *tight),
        verb(WHY, *tight, "--why"),
        verb(ODOMETRY, *odometry),
        verb(WHY_ODOMETRY, *odometry, "--why"),
    )


QUESTION = Question(
    "more than the short report",
    "Whole processes, against `score` of the same track.",
    commands,
    (
        Pairing(CHECK, SCORE, goal=Goal(1.0, 100_000)),
        Pairing(VERBOSE, SCORE),
        Pairing(WHY, TIGHT, goal=Goal(1 / 3, 100_000)),
        Pairing(WHY_ODOMETRY, ODOMETRY, goal=Goal(1 / 3, 100_000)),
    ),
    sizes=(1_000, 100_000),
)
