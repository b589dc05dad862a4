"""`smfeval demo`: the main job on data made on the spot; no files needed.

A walk is made, and two estimators of it with the very same errors: one reports the covariance that
its errors have, the other one that is 25 times too small. Position errors cannot tell them apart.
"""

import tempfile
from collections.abc import Callable
from contextlib import chdir

import numpy as np

from smfeval.cli import check, score
from smfeval.cli.flags import add_output_flags, parser
from smfeval.io import write
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.track import About, GaussianTrack, Track

SEED = 7
REFERENCE = ("--ref", "truth.tum")
SCANS = 3000
RATE_HZ = 10.0
MEMORY = 0.9  # correlation of the errors from scan to scan
SIGMA_M = np.array([0.02, 0.02, 0.03])
TOO_TIGHT = 25.0  # each axis five times


def run(arguments: list[str]) -> int:
    """Show what smfeval does, on data of its own."""
    flags = parser("demo", "Score two beliefs made on the spot.")
    add_output_flags(flags)
    chosen = flags.parse_args(arguments)
    reference, honest = walk(rng=np.random.default_rng(SEED))
    bold = honest.replaced({"covariance": honest.covariance / TOO_TIGHT})
    with tempfile.TemporaryDirectory(prefix="smfeval-demo-") as folder, chdir(folder):
        files = {"truth.tum": reference, "honest.square": honest, "overconfident.square": bold}
        for name, track in files.items():
            write(track, name)
        if chosen.json:
            return score.run(["honest.square", "overconfident.square", *REFERENCE, "--json"])
        more = [flag for flag, on in (("-q", chosen.quiet), ("-v", chosen.verbose)) if on]
        codes = [
            _shown(check.run, "check", "honest.square", *more),
            _shown(score.run, "score", "honest.square", *REFERENCE, *more),
            _shown(score.run, "score", "overconfident.square", *REFERENCE, *more),
        ]
    return max(codes)


def _shown(run_verb: Callable[[list[str]], int], name: str, *words: str) -> int:
    """Print a command line as a user would type it, and run it."""
    print(f"$ smfeval {name} {' '.join(words)}")
    code = run_verb(list(words))
    print()
    return code


def walk(*, rng: np.random.Generator) -> tuple[Track, GaussianTrack]:
    """A walk around figures of eight, and an honest estimate of it with dependent errors."""
    time = np.arange(SCANS) / RATE_HZ
    angle = 2 * np.pi * time / 60
    sway = 0.03 * np.sin(8 * time)
    position = np.stack([12 * np.sin(angle), 6 * np.sin(2 * angle), sway], axis=1)
    forward = np.gradient(position, axis=0)
    heading = np.unwrap(np.arctan2(forward[:, 1], forward[:, 0]))
    rotation = so3.exp(np.stack([0 * heading, 0 * heading, heading], axis=1))

    covariance = np.zeros((SCANS, 6, 6))
    body = np.array([1.5, 1.0, 1.0]) * SIGMA_M  # less certain along the way than across it
    covariance[:, range(6), range(6)] = np.concatenate([body, [0.002, 0.002, 0.005]]) ** 2
    error = so3.rotate(rotation, body * dependent(SCANS, rng=rng))
    about = About(body="base_link", world="odom", gauge="se3", algorithm="demo", version="1")
    stamp = (time * 1e9).astype(np.int64)
    reference = Track(stamp, position, rotation, about=About(body="base_link", world="map"))
    return reference, GaussianTrack(stamp, position + error, rotation, covariance, about=about)


def dependent(scans: int, *, rng: np.random.Generator) -> Floats:
    """Three series of standard normal numbers, each correlated from scan to scan. (scans, 3)."""
    shocks = np.sqrt(1 - MEMORY**2) * rng.normal(size=(scans, 3))
    series = np.empty((scans, 3))
    series[0] = rng.normal(size=3)
    for i in range(1, scans):
        series[i] = MEMORY * series[i - 1] + shocks[i]
    return series
