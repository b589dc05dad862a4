"""Scores of particles. STEP SCANS PARTICLES OUT.npy

`rules`: all that a position has; `energy`: the energy score alone; `floor`: a square root for each
pair of particles, in the cache.
"""

import sys

import numpy as np
from clouds import clouds
from timing import best, tell

from smfeval.score import Ensemble, Residuals, RuleSettings, scores

AT_ONCE = 32_768  # square roots at a time

step, out = sys.argv[1], sys.argv[4]
scans, particles = (int(word) for word in sys.argv[2:4])
x = clouds(scans, particles)
mean = x.mean(axis=1)
away = x - mean[:, None]
covariance = away.swapaxes(1, 2) @ away / particles


def scored(*rules: str) -> np.ndarray:
    """Energy scores, with those of other rules or without; nothing is known from before."""
    offset = particles * np.arange(scans + 1)
    cloud = Ensemble(offset, x.reshape(-1, 3), np.full(scans * particles, 1 / particles))
    given = Residuals(mean, covariance, None, cloud)
    return dict(scores(given, RuleSettings(), *([rules] if rules else [])))["energy"]  # all read


def square_roots() -> np.ndarray:
    """As many as there are pairs in all scans."""
    square = np.linspace(0.1, 1.0, AT_ONCE)
    root = np.empty_like(square)
    for _ in range(scans * particles * (particles - 1) // 2 // AT_ONCE):
        np.sqrt(square, out=root)
    return root


work = {"rules": scored, "energy": lambda: scored("energy"), "floor": square_roots}
cpu_s, found = best(work[step])
np.save(out, found)
tell(cpu_s, scores=out)
