"""The other verbs, whole processes, against `score` of the same files."""

from suite.cost import Command
from suite.files import Files
from suite.ours import SMFEVAL, verb
from suite.rows import Goal, Pairing, Question

SCORE = "smfeval score"
CHECK, HTML = "smfeval check", "smfeval score --html"
CALIBRATE, NIS = "smfeval calibrate --force-one", "smfeval nis, as many innovations"
WATCH, EXPLAIN = "smfeval watch --once", "smfeval explain"
VERBOSE, WHY = "smfeval score -v", "smfeval score --why, overconfident"
PAIR, TIGHT = "smfeval pair", "smfeval score, overconfident"


def commands(files: Files) -> tuple[Command, ...]:
    est, ref = files.path("est.square"), files.path("ref.tum")
    scored = ("score", est, "--ref", ref)
    page = (SMFEVAL, *scored, "--html", files.path("page.html"), "--force", "--json")
    wide = files.path("wide.square")  # no alarm, so that all of it is read
    watched = ("watch", wide, "--ref", ref, "--gauge", "none", "--once", "-q")
    return (
        verb(SCORE, *scored),
        verb(CHECK, "check", est),
        Command(HTML, page),
        verb(VERBOSE, *scored, "-v"),
        verb(TIGHT, "score", files.path("tight.square"), "--ref", ref),
        verb(WHY, "score", files.path("tight.square"), "--ref", ref, "--why"),
        verb(PAIR, "pair", est, files.path("other.square")),
        verb(CALIBRATE, "calibrate", est, "--ref", ref, "--force-one"),
        verb(NIS, "nis", files.path("innovations.parquet")),
        Command(WATCH, (SMFEVAL, *watched)),
        verb(EXPLAIN, "explain", est, "--telemetry", files.path("telemetry.parquet"), "--ref", ref),
    )


QUESTION = Question(
    "other verbs",
    "Whole processes. What another verb costs beside `score` of the same track.",
    commands,
    (
        Pairing(CHECK, SCORE, goal=Goal(1.0, 100_000)),
        Pairing(HTML, SCORE),
        Pairing(VERBOSE, SCORE),
        Pairing(WHY, TIGHT, goal=Goal(1 / 3, 100_000)),
        Pairing(PAIR, SCORE, goal=Goal(1 / 2, 100_000)),
        Pairing(CALIBRATE, SCORE),
        Pairing(NIS, SCORE),
        Pairing(WATCH, SCORE),
        Pairing(EXPLAIN, SCORE),
    ),
    sizes=(1_000, 10_000, 100_000),
)
