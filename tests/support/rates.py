"""Consistent beliefs along a walk, and references of any rate whose stamps do not meet theirs."""

import numpy as np

from smfeval.maths import se3, so3
from smfeval.track import GaussianTrack, Track
from support.drifting import accumulate
from support.motion import walk

DENSE_HZ, SCAN_HZ = 200, 10
FILTER = np.array([0.01, 0.01, 0.01, 0.003, 0.003, 0.003])  # m, rad: errors that stay
DRIFT = np.array([4e-3, 4e-3, 3e-3, 1e-4, 1e-4, 8e-4])  # of a step; heading drifts most
MEMORY = 0.95  # of the errors that stay, from scan to scan


def bounded(truth, rng):
    """Errors of a filter with absolute updates: stationary, correlated over two seconds."""
    n = len(truth[0])
    unit = rng.normal(size=(n, 6))
    for i in range(1, n):
        unit[i] = MEMORY * unit[i - 1] + np.sqrt(1 - MEMORY**2) * unit[i]
    rotation = so3.compose(truth[1], so3.exp(-FILTER[3:] * unit[:, 3:]))
    position = truth[0] - so3.rotate(rotation, FILTER[:3] * unit[:, :3])
    return position, rotation, np.broadcast_to(np.diag(FILTER**2), (n, 6, 6)).copy()


def drifting(truth, rng):
    """Dead reckoning: position and heading drift, with the exact marginal covariance."""
    before, after = (tuple(part[cut] for part in truth) for cut in (slice(-1), slice(1, None)))
    step = se3.compose(se3.inverse(before), after)
    step = tuple(np.concatenate([a[:1], b]) for a, b in zip(truth, step, strict=True))
    position, rotation = accumulate(
        se3.compose(step, se3.exp(DRIFT * rng.normal(size=(len(step[0]), 6))))
    )
    adjoint = se3.adjoint((position, rotation))
    left = np.cumsum(adjoint @ np.diag(DRIFT**2) @ np.swapaxes(adjoint, 1, 2), axis=0)
    back = se3.adjoint(se3.inverse((position, rotation)))
    return position, rotation, se3.sandwich(back, left)


def tracks(errors, rate_hz, shift, *, seconds=60, scale=1.0, rng):
    """Estimate and exact reference; `shift` is that of the reference's stamps, in its steps."""
    time = np.arange(seconds * DENSE_HZ) / DENSE_HZ
    position, turn = walk(time, rng)
    truth, stamp = (position, so3.exp(turn)), np.round(time * 1e9).astype(np.int64)
    scans, step = slice(0, None, DENSE_HZ // SCAN_HZ), DENSE_HZ // rate_hz
    poses = slice(round(shift * step), None, step)
    *belief, covariance = errors(tuple(part[scans] for part in truth), rng)
    estimate = GaussianTrack(stamp[scans], *belief, scale * covariance)
    return estimate, Track(stamp[poses], *(part[poses] for part in truth))
