"""`smfeval demo`: check and convert a belief track made on the spot; no files needed."""

import tempfile
from pathlib import Path

import numpy as np

from smfeval.cli import check, convert
from smfeval.cli.flags import parser
from smfeval.io import write
from smfeval.maths import so3
from smfeval.track import About, GaussianTrack

SEED = 1


def run(arguments: list[str]) -> int:
    """Show what smfeval does, on data of its own."""
    parser("demo", "Check and convert a belief track made on the spot.").parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="smfeval-demo-") as folder:
        square, parquet = Path(folder, "walk.square"), Path(folder, "walk.parquet")
        write(walk(600, rng=np.random.default_rng(SEED)), square)
        code = 0
        for verb, words in ((check, [square]), (convert, [square, parquet]), (check, [parquet])):
            name = verb.__name__.rsplit(".", 1)[-1]
            print(f"$ smfeval {name} {' '.join(word.name for word in words)}")
            code = max(code, verb.run([str(word) for word in words]))
            print()
    return code


def walk(scans: int, *, rng: np.random.Generator) -> GaussianTrack:
    """A walk on a figure of eight at 10 Hz whose uncertainty grows with the way."""
    time = np.arange(scans) * 0.1
    angle = 2 * np.pi * time / 60
    position = np.stack(
        [12 * np.sin(angle), 6 * np.sin(2 * angle), 0.03 * np.sin(8 * time)], axis=1
    )
    position += rng.normal(scale=1e-3, size=position.shape)
    forward = np.gradient(position, axis=0)
    heading = np.unwrap(np.arctan2(forward[:, 1], forward[:, 0]))
    rotation = so3.exp(np.stack([0 * heading, 0 * heading, heading], axis=1))
    sigma = np.array([0.01, 0.01, 0.02, 0.002, 0.002, 0.005]) * np.sqrt(1 + 0.1 * time[:, None])
    covariance = np.eye(6) * (sigma**2)[:, None, :]
    about = About(body="base_link", world="odom", gauge="se3", algorithm="demo", version="1")
    return GaussianTrack((time * 1e9).astype(np.int64), position, rotation, covariance, about=about)
