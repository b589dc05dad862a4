"""Cost of the exact energy score: time per scan, and against 128 samples per scan.

Run: python benchmarks/energy.py
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import scoringrules

from smfeval.maths.normal_distance import Floats, energy_score

SAMPLES = 128
SCANS = 100_000  # for the ratio
AT_ONCE = 32  # scans per call of scoringrules, its fastest: it holds (scans, 128, 128, 3)


def beliefs(scans: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    root = rng.standard_normal((scans, 3, 3))
    return 3 * rng.standard_normal((scans, 3)), root @ root.swapaxes(1, 2)


def sampled_energy_score(error: Floats, covariance: Floats, rng: np.random.Generator) -> Floats:
    """Draw from N(error, S) and score against the truth at 0."""
    score = np.empty(len(error))
    for at in range(0, len(error), AT_ONCE):
        scans = slice(at, at + AT_ONCE)
        normal = rng.standard_normal((len(error[scans]), SAMPLES, 3))
        draws = error[scans, None] + normal @ np.linalg.cholesky(covariance[scans]).swapaxes(1, 2)
        truth = np.zeros_like(error[scans])
        score[scans] = scoringrules.es_ensemble(truth, draws, backend="numpy")
    return score


def cpu_seconds(call: Callable[[], Floats], repeat: int) -> tuple[float, Floats]:
    times = []
    for _ in range(repeat):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return min(times), result


def main() -> None:
    rng = np.random.default_rng(0)
    print("exact energy score, d = 3, beta = 1, CPU time (best of 3)")
    for scans in (10_000, 100_000, 1_000_000):
        error, covariance = beliefs(scans, rng)
        seconds, _ = cpu_seconds(partial(energy_score, error, covariance), 3)
        print(f"  {scans:>9,} scans  {seconds:7.3f} s  {seconds / scans * 1e9:5.0f} ns per scan")

    error, covariance = beliefs(SCANS, rng)
    exact_s, exact = cpu_seconds(partial(energy_score, error, covariance), 3)
    sampled_s, sampled = cpu_seconds(partial(sampled_energy_score, error, covariance, rng), 1)
    rms = np.sqrt(np.mean((sampled / exact - 1) ** 2))
    print(f"against {SAMPLES} samples per scan (scoringrules, numpy), {SCANS:,} scans")
    print(f"  sampled {sampled_s:.2f} s, exact {exact_s:.3f} s: ratio {sampled_s / exact_s:.0f}")
    print(f"  relative error of one sampled score: {rms:.1%} rms")


if __name__ == "__main__":
    main()
