"""Folders of small tracks, and plans about them."""

from pathlib import Path
from typing import Any

import numpy as np

from smfeval.io import write
from smfeval.track import GaussianTrack, Track
from support.beliefs import ABOUT, circuit

SCANS = 60
SIGMA_M = 0.05


def truth(turn: float = 0.0) -> Track:
    stamp, position, rotation = circuit(SCANS)
    return Track(stamp, position * (1 + turn), rotation, about=ABOUT)


def estimate(seed: int, error_m: float = SIGMA_M, turn: float = 0.0) -> GaussianTrack:
    """Errors of a given size under a covariance that promises `SIGMA_M`."""
    exact = truth(turn)
    error = error_m * np.random.default_rng(seed).normal(size=(SCANS, 3))
    covariance = np.broadcast_to(np.eye(6) * SIGMA_M**2, (SCANS, 6, 6)).copy()
    return GaussianTrack(
        exact.stamp, exact.position + error, exact.rotation, covariance, about=ABOUT
    )


def put(track: Track | GaussianTrack, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write(track, path, lossy=True)
    return path


def simple(folder: Path, tracks: tuple[str, ...] = ("one", "two")) -> Path:
    """truth/<track>.tum and good/, bold/<track>.square; returns the folder."""
    for i, name in enumerate(tracks):
        put(truth(), folder / "truth" / f"{name}.tum")
        put(estimate(10 + i), folder / "good" / f"{name}.square")
        put(estimate(20 + i, 4 * SIGMA_M), folder / "bold" / f"{name}.square")
    return folder


PLAN = """\
[[tracks]]
names = ["one", "two"]
reference = "truth/{track}.tum"

[[estimators]]
name = "good"
path = "good/{track}.square"

[[estimators]]
name = "bold"
path = "bold/{track}.square"
"""


def planned(folder: Path, text: str = PLAN, name: str = "study.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


FAST = f"[options]\ninterval = 'none'\n{PLAN}"
HERE = ("--workers", "1")


def entered(folder: Path, monkeypatch: Any) -> Path:
    """Two tracks, an honest estimator and one whose errors are four times larger; and go there."""
    monkeypatch.chdir(folder)
    simple(folder)
    planned(folder, FAST)
    return folder
