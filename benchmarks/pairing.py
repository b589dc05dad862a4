"""`pair` against scoring one track, as a ratio of CPU time in one process.

    python benchmarks/pairing.py [scans]

The goal is a ratio of at most 2 at 1,000,000 scans. Both work on tracks in memory with intervals.
"""

import os
import sys
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does

import numpy as np

from smfeval.compare import compare_pair
from smfeval.evaluation import evaluate
from smfeval.track import About, GaussianTrack, Track

SCANS = 1_000_000
RUNS = 3
GOAL = 2.0
ABOUT = About(body="imu", world="world", gauge="se3")


def made(scans: int) -> tuple[GaussianTrack, GaussianTrack, Track]:
    """Two beliefs about one random walk, and the walk."""
    rng = np.random.default_rng(0)
    stamp = 1_700_000_000_000_000_000 + 100_000_000 * np.arange(scans)
    position = np.cumsum(0.1 * rng.normal(size=(scans, 3)), axis=0)
    rotation = rng.normal(size=(scans, 4))
    rotation /= np.linalg.norm(rotation, axis=1, keepdims=True)

    def belief() -> GaussianTrack:
        root = 0.01 * rng.normal(size=(scans, 6, 8))
        error = 0.03 * rng.normal(size=(scans, 3))
        covariance = root @ root.swapaxes(1, 2)
        return GaussianTrack(stamp, position + error, rotation, covariance, about=ABOUT)

    return belief(), belief(), Track(stamp, position, rotation, about=ABOUT)


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of the cheapest of a few runs: noise only adds."""
    costs = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        costs.append(time.process_time() - start)
    return min(costs)


def main() -> None:
    scans = int(float(sys.argv[1])) if len(sys.argv) > 1 else SCANS
    a, b, truth = made(scans)
    score = cpu_s(lambda: evaluate(a, truth))
    pair = cpu_s(lambda: compare_pair(a, b))
    print(f"{scans:,} scans: score one track {score:.2f} s CPU, pair {pair:.2f} s CPU")
    print(f"ratio {pair / score:.2f} (goal at most {GOAL:g})")


if __name__ == "__main__":
    main()
