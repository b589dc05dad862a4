"""Folders of runs whose sharpness was turned, and whose errors did or did not follow."""

from pathlib import Path

import numpy as np

from smfeval.maths import so3
from smfeval.track import GaussianTrack
from support.beliefs import ABOUT
from support.study_folders import SCANS, SIGMA_M, put, truth

VALUES = ("0.01", "0.1", "1", "10", "100")  # factors on the reported variance

PLAN = """\
[options]
interval = "none"
gauge = "none"

[[knobs]]
name = "R"
values = ["0.01", "0.1", "1", "10", "100"]

[[tracks]]
names = ["one", "two", "three"]
reference = "truth/{track}.tum"

[[estimators]]
name = "bold"
path = "bold/{track}_R{R}.square"

[[estimators]]
name = "honest"
path = "honest/{track}_R{R}.square"
"""


def belief(factor: float, size: float, seed: int) -> GaussianTrack:
    """A variance that is `factor` times the usual, errors that are `size` times the usual."""
    exact = truth()
    error = size * SIGMA_M * np.random.default_rng(seed).normal(size=(SCANS, 3))
    turn = size * SIGMA_M * np.random.default_rng([seed, 1]).normal(size=(SCANS, 3))  # rad
    covariance = np.broadcast_to(np.eye(6) * factor * SIGMA_M**2, (SCANS, 6, 6)).copy()
    return GaussianTrack(
        exact.stamp,
        exact.position + error,
        so3.compose(exact.rotation, so3.exp(turn)),
        covariance,
        about=ABOUT,
    )


def turned(folder: Path, tracks: tuple[str, ...] = ("one", "two", "three")) -> Path:
    """bold/ has the same errors whatever R; those of honest/ follow it."""
    for i, track in enumerate(tracks):
        put(truth(), folder / "truth" / f"{track}.tum")
        for j, value in enumerate(VALUES):
            factor, seed = float(value), 100 * i + j
            put(belief(factor, 1.0, seed), folder / "bold" / f"{track}_R{value}.square")
            honest = belief(factor, factor**0.5, seed + 50)
            put(honest, folder / "honest" / f"{track}_R{value}.square")
    return folder
