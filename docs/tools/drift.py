"""Consistent dead reckoning: measured steps added up, each scan with its exact covariance."""

import numpy as np

from smfeval.maths import se3, so3
from smfeval.track import About, GaussianTrack, Track

SCANS, RATE_HZ, STEP_M = 900, 10.0, 0.15
NOISE = np.array([0.01, 0.01, 0.006, 3e-4, 3e-4, 1.5e-3])  # sigma of each step: m, rad
START = 1e-9  # variance of the first pose, which defines the world
SEED = 11


def drive() -> se3.Pose:
    """The truth: 135 m along three bends. -> position (n, 3), rotation (n, 4)."""
    phase = np.linspace(0, 1, SCANS)
    heading = np.stack([0 * phase, 0 * phase, 1.2 * np.sin(2 * np.pi * 1.5 * phase)], axis=1)
    rotation = so3.exp(heading)
    step = so3.rotate(rotation, np.tile([STEP_M, 0.0, 0.0], (SCANS, 1)))
    return np.cumsum(step, axis=0) - step[0], rotation


def dead_reckoning(seed: int = SEED) -> tuple[GaussianTrack, Track]:
    """Return estimate and reference: T_t = T_(t-1) dT Exp(noise), P_t = Ad P_(t-1) Ad^T + Q."""
    position, rotation = drive()
    noise = NOISE * np.random.default_rng(seed).normal(size=(SCANS, 6))
    pose, P = (position[0], rotation[0]), START * np.eye(6)
    poses, reported = [pose], [P]
    for i in range(1, SCANS):
        before, after = ((position[k], rotation[k]) for k in (i - 1, i))
        step = se3.compose(se3.compose(se3.inverse(before), after), se3.exp(noise[i]))
        carry = se3.adjoint(se3.inverse(step))
        pose, P = se3.compose(pose, step), carry @ P @ carry.T + np.diag(NOISE**2)
        poses.append(pose)
        reported.append(P)
    stamp = (np.arange(SCANS) / RATE_HZ * 1e9).astype(np.int64)
    reckoned = [np.array(part) for part in zip(*poses, strict=True)]
    estimate = GaussianTrack(
        stamp, *reckoned, np.array(reported), about=About(body="base_link", gauge="se3")
    )
    return estimate, Track(stamp, position, rotation, about=About(body="base_link"))
