"""Cost of the continuous-time reference: CPU seconds, and whether they grow with the stamps.

The goal: a reference of 100,000 poses at 100,000 stamps, hyperparameters and rotations included,
in at most 2 s CPU.

Run: python benchmarks/interpolation.py
"""

import time

import numpy as np

from smfeval.associate.gp import interpolate
from smfeval.maths import so3
from smfeval.track import GaussianTrack, Track

SIZES = (10_000, 30_000, 100_000, 300_000)
STEP_NS = 10_000_000
REPEAT = 3


def walk(poses: int, rng: np.random.Generator) -> Track:
    """A walk with a gait of 2 Hz, seen at 100 Hz with 1 mm of noise."""
    stamp = STEP_NS * np.arange(poses, dtype=np.int64)
    t = stamp / 1e9
    position = np.stack([t, 5 * np.sin(0.2 * t), 0.02 * np.sin(12.5 * t)], axis=1)
    turn = np.stack([0.03 * np.sin(6.3 * t), 0.03 * np.cos(12.5 * t), np.sin(0.2 * t)], axis=1)
    return Track(stamp, position + 1e-3 * rng.normal(size=(poses, 3)), so3.exp(turn))


def with_covariance(track: Track, rng: np.random.Generator) -> GaussianTrack:
    """The same poses, each with a covariance of its own."""
    size = rng.uniform(0.5, 1.5, len(track))[:, None, None]
    covariance = size * np.diag([1e-6] * 3 + [1e-8] * 3)
    return GaussianTrack(track.stamp, track.position, track.rotation, covariance)


def cpu_seconds(reference: Track, repeat: int) -> float:
    asked = reference.stamp[:-1] + STEP_NS // 2
    times = []
    for _ in range(repeat):
        start = time.process_time()
        interpolate(reference, asked)
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"interpolation at as many stamps as the reference has poses, CPU (best of {REPEAT})")
    for poses in SIZES:
        seconds = cpu_seconds(walk(poses, rng), REPEAT)
        print(f"  {poses:>8,} poses  {seconds:6.2f} s  {1e6 * seconds / poses:6.1f} us per stamp")
    print("with a covariance for each pose, axes coupled (once)")
    for poses in SIZES[:3]:
        seconds = cpu_seconds(with_covariance(walk(poses, rng), rng), 1)
        print(f"  {poses:>8,} poses  {seconds:6.2f} s  {1e6 * seconds / poses:6.1f} us per stamp")


if __name__ == "__main__":
    main()
