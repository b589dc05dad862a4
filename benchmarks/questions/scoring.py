"""`score` against evo_ape, trajectopy and the authors' `nees` and `score`, and against polars.

Theirs takes the NEES of the logarithm of the relative pose, which turns the position error by half
the rotation error; ours takes the position error itself. So the two agree up to the mean rotation
error here, and to rounding where there is none (`alike.py`).
"""

import json
import sys

from suite.checks import ROUNDING, mean_turn, same_rmse
from suite.cost import Command
from suite.files import Files, script
from suite.ours import SMFEVAL, verb
from suite.peers import program
from suite.rows import CORES, PEAK, Agreement, Goal, Limit, Pairing, Question, alike

ALL = "smfeval score"
JSON = "smfeval score --json"
APE = "smfeval score est.tum --rules ape --interval none"
NEES = "smfeval score --rules nees --interval none"
EVO, TRAJECTOPY = "evo_ape tum -a", "trajectopy.ate"
AUTHORS_NEES, AUTHORS_SCORE = "authors' nees", "authors' score"
POLARS = "polars.read_csv of the estimate"
ODOMETRY = "smfeval score of dead reckoning"
TIGHT = "smfeval score of overconfident dead reckoning"
MAP = "smfeval score of a filter in a map"
EVO_ODOMETRY, EVO_MAP = "evo_ape tum -a of dead reckoning", "evo_ape tum -a of a filter in a map"
BLANKS = "smfeval score, a blank ends each line"
ALL_DIGITS = 100_000  # scans up to which evo runs once more, to save all digits, and drives exist


def commands(files: Files) -> tuple[Command, ...]:
    square, tum, ref = (files.path(name) for name in ("est.square", "est.tum", "ref.tum"))
    score = ("score", square, "--ref", ref)
    theirs = (square, ref, "--ref-body-frame", "imu", "--json")
    authors = program("authors", "smfeval")
    evo = (program("evo", "evo_ape"), "tum", ref, tum, "-a")
    digits = (program("evo"), script("evo_digits"), *evo)
    drive = files.path("drive.tum")

    def driven(name: str, track: str) -> Command:
        return verb(name, "score", files.path(f"{track}.square"), "--ref", drive)

    def evo_of(name: str, track: str) -> Command:
        return Command(name, (*evo[:2], drive, files.path(f"{track}.tum"), "-a"))

    drives = (
        driven(ODOMETRY, "odometry"),
        driven(TIGHT, "tight_odometry"),
        driven(MAP, "map_filter"),
        evo_of(EVO_ODOMETRY, "odometry"),
        evo_of(EVO_MAP, "map_filter"),
        verb(BLANKS, "score", files.path("blanks.square"), "--ref", ref),
    )
    return (
        *(drives if files.scans <= ALL_DIGITS else ()),
        verb(ALL, *score),
        Command(JSON, (SMFEVAL, *score, "--json")),
        verb(APE, "score", tum, "--ref", ref, "--rules", "ape", "--interval", "none"),
        verb(NEES, *score, "--rules", "nees", "--interval", "none"),
        Command(EVO, evo, proof=digits if files.scans <= ALL_DIGITS else None),
        Command(TRAJECTOPY, (program("trajectopy"), script("trajectopy_ate"), tum, ref)),
        Command(AUTHORS_NEES, (authors, "nees", *theirs)),
        Command(AUTHORS_SCORE, (authors, "score", *theirs)),
        Command(POLARS, (sys.executable, script("polars_parse"), square)),
    )


def rmse(ours: str, theirs: str) -> tuple[Agreement, ...]:
    return same_rmse(json.loads(ours)["scores"]["rmse"]["value"], theirs)


def nees(ours: str, theirs: str) -> tuple[Agreement, ...]:
    a, b = json.loads(ours), json.loads(theirs)
    limit, calibration = mean_turn(a), a["calibration"]
    return (
        alike("median NEES", calibration["nees_median"]["value"], b["median_nees"], limit),
        alike("k", calibration["k"]["value"], b["k"], limit),
        alike("mean NEES", calibration["nees_mean"]["value"], b["anees"]["anees"], limit),
        alike("coverage", calibration["coverage"]["0.9"]["value"], b["coverage"], limit),
    )


def same(ours: str, theirs: str) -> tuple[Agreement, ...]:
    a, b = (json.loads(text)["scores"]["energy"]["value"] for text in (ours, theirs))
    return (alike("energy score", a, b, ROUNDING),)


def log_score(ours: str, theirs: str) -> tuple[Agreement, ...]:
    a, b = json.loads(ours), json.loads(theirs)
    limit = mean_turn(a)
    coverage = a["calibration"]["coverage"]["0.9"]["value"]
    log = b["scores"]["log_score_translation"]["mean"]
    return (
        alike("mean log score", a["scores"]["log"]["value"], log, limit),
        alike("coverage", coverage, b["calibration"]["coverage"], limit),
    )


QUESTION = Question(
    "scoring",
    "Whole processes. `smfeval score` reads SQUARE, judges position, rotation and pose, and shows "
    "the numbers of the short report with intervals; `--json` has all rules and numbers. For the "
    "same files and work as evo it reads TUM and computes the APE. The last table sets the time on "
    "the clock against CPU of all cores.",
    commands,
    (
        Pairing(ALL, EVO, rmse, Goal(5.0, 100_000)),
        Pairing(MAP, EVO_MAP, rmse, Goal(5.0, 100_000)),
        Pairing(ODOMETRY, EVO_ODOMETRY, rmse, Goal(4.0, 100_000)),
        Pairing(TIGHT, EVO_ODOMETRY, rmse, Goal(4.0, 100_000)),
        Pairing(BLANKS, ALL, same),
        Pairing(JSON, EVO, rmse),
        Pairing(APE, EVO, rmse, Goal(10.0, 100_000)),
        Pairing(APE, TRAJECTOPY, rmse),
        Pairing(ALL, AUTHORS_NEES, nees),
        Pairing(NEES, AUTHORS_NEES, nees),
        Pairing(ALL, AUTHORS_SCORE, log_score),
        Pairing(ALL, POLARS, goal=Goal(1 / 1.5, 1_000_000)),
        Pairing(ALL, POLARS, goal=Limit(700.0, 1_000_000), measure=PEAK),
        Pairing(ALL, ALL, measure=CORES),
    ),
    grows=(ALL, ODOMETRY, TIGHT, MAP, APE),
)
