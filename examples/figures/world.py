"""Beliefs made on the spot, for the examples: the same errors, reported honestly or not."""

import numpy as np

from smfeval import About, Evaluation, GaussianTrack, Track, evaluate
from smfeval.maths import so3
from smfeval.track.beliefs import Provenance

SCANS, RATE_HZ, MEMORY = 1200, 10.0, 0.95
SIGMA_M = np.array([0.03, 0.02, 0.02])  # along the way, to the left, up
SIGMA_RAD = 0.003  # about each axis


def reference(scans: int = SCANS) -> Track:
    """A drive around a figure of eight, heading forward."""
    time = np.arange(scans) / RATE_HZ
    angle = 2 * np.pi * time / 60
    position = np.stack([20 * np.sin(angle), 8 * np.sin(2 * angle), 0 * angle], axis=1)
    forward = np.gradient(position, axis=0)
    heading = np.arctan2(forward[:, 1], forward[:, 0])
    rotation = np.stack([0 * angle, 0 * angle, np.sin(heading / 2), np.cos(heading / 2)], axis=1)
    return Track((time * 1e9).astype(np.int64), position, rotation, about=About(body="imu"))


def estimate(
    truth: Track, name: str, *, tightness: float = 1.0, seed: int = 0, drift_m: float = 0.0
) -> GaussianTrack:
    """The drive with errors that remember, its covariance `tightness` times too small.

    `drift_m` is added along x from the middle of the way on, growing to its full size at the end.
    """
    rng = np.random.default_rng(seed)
    error, turn = remembered(len(truth), rng), remembered(len(truth), rng.spawn(1)[0])
    lost = drift_m * np.clip(np.linspace(-1, 1, len(truth)), 0, None)
    sigma = np.array([*SIGMA_M, SIGMA_RAD, SIGMA_RAD, SIGMA_RAD])
    covariance = np.tile(np.diag(sigma**2) / tightness, (len(truth), 1, 1))
    _, _, z, w = truth.rotation.T
    cosine, sine = w**2 - z**2, 2 * z * w
    along, left, up = (SIGMA_M * error).T
    off = np.stack([cosine * along - sine * left + lost, sine * along + cosine * left, up], axis=1)
    about = About(body="imu", gauge="fixed")
    source = Provenance(name=name)
    return GaussianTrack(
        truth.stamp,
        truth.position + off,
        so3.compose(truth.rotation, so3.exp(SIGMA_RAD * turn)),
        covariance,
        about=about,
        provenance=source,
    )


def remembered(scans: int, rng: np.random.Generator) -> np.ndarray:
    """Three series of standard normal numbers that remember the last one. (scans, 3)."""
    shocks = rng.normal(size=(scans, 3))
    error = np.empty_like(shocks)
    error[0] = shocks[0]
    for i in range(1, scans):
        error[i] = MEMORY * error[i - 1] + np.sqrt(1 - MEMORY**2) * shocks[i]
    return error


def honest(**changes: float) -> Evaluation:
    """An estimate that reports the errors it makes."""
    truth = reference()
    return evaluate(estimate(truth, "honest", **changes), truth)


def overconfident(**changes: float) -> Evaluation:
    """The same errors, reported five times too small on each axis."""
    truth = reference()
    return evaluate(estimate(truth, "overconfident", tightness=25.0, **changes), truth)


def dead_reckoning(*, tightness: float = 1.0, seed: int = 0) -> Evaluation:
    """Errors that add up from step to step, the covariance `tightness` times too small."""
    truth = reference()
    steps = SIGMA_M * np.random.default_rng(seed).normal(size=(len(truth), 3))
    covariance = np.zeros((len(truth), 6, 6))
    covariance[:, 3:, 3:] = 1e-6 * np.eye(3)
    position = np.cumsum(np.ones(len(truth)))[:, None, None] * np.diag(SIGMA_M**2)
    _, _, z, w = truth.rotation.T
    cosine, sine, zero = w**2 - z**2, 2 * z * w, 0 * z
    turn = np.stack([cosine, sine, zero, -sine, cosine, zero, zero, zero, zero + 1], axis=1)
    turn = turn.reshape(-1, 3, 3)  # from the world to the body
    covariance[:, :3, :3] = turn @ position @ np.swapaxes(turn, 1, 2) / tightness
    estimated = GaussianTrack(
        truth.stamp,
        truth.position + np.cumsum(steps, axis=0),
        truth.rotation,
        covariance,
        about=About(body="imu", gauge="fixed"),
        provenance=Provenance(name="dead reckoning"),
    )
    return evaluate(estimated, truth)
