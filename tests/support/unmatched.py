"""A vehicle whose estimate and reference have stamps of their own, with beliefs that are exact.

The truth is a smooth drive, known at any time. Errors of an estimate are those of an absolute
filter (AR(1)) or of dead reckoning; its covariance is their true marginal, times a factor.
"""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from smfeval.maths import se3, so3
from smfeval.track import GaussianTrack, Track

FINE_HZ = 200  # of the truth's spline: turns take seconds
EDGE_S = 2.0
MEMORY = 0.7  # of the errors of an absolute filter from scan to scan
ANGLE_PER_M = 0.1  # rad of rotation error per metre of position error
DRIFT = np.array([0.01, 0.01, 0.006, 3e-4, 3e-4, 1.5e-3])  # of dead reckoning, per scan: m, rad


@dataclass(frozen=True)
class Drive:
    """Position (3) and yaw, pitch, roll of a vehicle at any time."""

    position: CubicSpline
    angles: CubicSpline

    def at(self, time_s):
        """Positions (n, 3) and quaternions (n, 4)."""
        yaw, pitch, roll = self.angles(time_s).T
        rotation, zero = np.tile([0.0, 0.0, 0.0, 1.0], (len(yaw), 1)), np.zeros(len(yaw))
        for vector in ([zero, zero, yaw], [zero, pitch, zero], [roll, zero, zero]):
            rotation = so3.compose(rotation, so3.exp(np.stack(vector, axis=1)))
        return self.position(time_s), rotation


def drive(rng, duration_s, speed):
    """A drive that turns at up to 0.5 rad/s, brakes and accelerates, over gentle hills."""
    time = np.arange(-EDGE_S, duration_s + EDGE_S, 1 / FINE_HZ)

    def wave(low_s, high_s):
        return np.sin(2 * np.pi * time / rng.uniform(low_s, high_s) + rng.uniform(0, 6))

    yaw = np.cumsum(0.3 * wave(8, 20) + 0.2 * wave(3, 7)) / FINE_HZ
    pace = speed * (1 + 0.3 * wave(5, 15))
    velocity = np.stack([pace * np.cos(yaw), pace * np.sin(yaw), 0.05 * pace * wave(6, 12)], 1)
    position = np.cumsum(velocity, axis=0) / FINE_HZ
    angles = np.stack([yaw, 0.04 * wave(4, 9), 0.05 * wave(3, 8)], axis=1)
    return Drive(CubicSpline(time, position), CubicSpline(time, angles))


def autoregressive(rng, count, memory, axes):
    """AR(1) of unit variance. (n, axes)."""
    value = rng.normal(size=(count, axes))
    for t in range(1, count):
        value[t] = memory * value[t - 1] + np.sqrt(1 - memory**2) * value[t]
    return value


def absolute(rng, truth, time_s, sigma, *, factor=1.0, memory=MEMORY):
    """An estimate whose errors are stationary, sigma metres on each axis."""
    scale = sigma * np.array([1, 1, 1, ANGLE_PER_M, ANGLE_PER_M, ANGLE_PER_M])
    error = scale * autoregressive(rng, len(time_s), memory, 6)
    pose = se3.compose(truth.at(time_s), se3.exp(error))
    return _belief(time_s, pose, np.tile(factor * np.diag(scale**2), (len(time_s), 1, 1)))


def dead_reckoning(rng, truth, time_s, *, factor=1.0, drift=DRIFT):
    """An estimate whose world errors are the sum of independent errors of its steps."""
    pose = truth.at(time_s)
    adjoint = se3.adjoint(pose)
    steps = np.einsum("nij,nj->ni", adjoint, drift * rng.normal(size=(len(time_s), 6)))
    left = np.cumsum(adjoint @ np.diag(drift**2) @ np.swapaxes(adjoint, 1, 2), axis=0)
    pose = se3.compose(se3.exp(np.cumsum(steps, axis=0)), pose)
    back = se3.adjoint(se3.inverse(pose))
    return _belief(time_s, pose, factor * se3.sandwich(back, left))


def reference(truth, time_s):
    """The truth itself."""
    return Track(nanoseconds(time_s), *truth.at(time_s))


def uncertain_reference(rng, truth, time_s, sigma, memory_s):
    """A reference that reports its covariance, with errors that it shares between neighbours."""
    memory = np.exp(-float(np.median(np.diff(time_s))) / memory_s) if memory_s else 0.0
    return absolute(rng, truth, time_s, sigma, memory=memory)


def _belief(time_s, pose, covariance):
    return GaussianTrack(nanoseconds(time_s), *pose, 0.5 * (covariance + covariance.mT))


def nanoseconds(time_s):
    return np.round(1e9 * np.asarray(time_s)).astype(np.int64)
