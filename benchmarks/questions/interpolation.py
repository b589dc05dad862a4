"""The reference as a continuous motion, against the spline that a user would draw through it."""

import sys

from suite.checks import scores_apart
from suite.cost import Command
from suite.files import Files, script
from suite.ours import work
from suite.rows import Agreement, Pairing, Question

PLAIN, UNCERTAIN = "interpolate", "interpolate, a covariance for each pose"
SCIPY = "scipy CubicSpline and Slerp"
APART_M = 2e-3  # the poses carry noise of 1 mm, which the spline passes through


def commands(files: Files) -> tuple[Command, ...]:
    poses, spline = str(files.scans), files.path("spline.npy")
    ours = (
        work(name, "our_interpolation", poses, kind, files.path(f"{kind}.npy"))
        for name, kind in ((PLAIN, "plain"), (UNCERTAIN, "uncertain"))
    )
    scipy = (sys.executable, script("scipy_interpolation"), poses, spline)
    return *ours, Command(SCIPY, scipy, inside=True)


def near(ours: str, theirs: str) -> tuple[Agreement, ...]:
    return (Agreement("rms, in m", scores_apart(ours, theirs)["rms"], APART_M),)


QUESTION = Question(
    "interpolation",
    "At as many stamps as the reference has poses. Ours also fits the noise and gives a covariance "
    "for each stamp; the goal was 2 s CPU for 100,000.",
    commands,
    (Pairing(PLAIN, SCIPY, near), Pairing(UNCERTAIN, SCIPY, near)),
    sizes=(10_000, 100_000),
)
