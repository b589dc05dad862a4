"""Propagation without an IMU: the body goes on as it went, in its own axes (I2EKF-LO).

The slot `velocity` of the state holds the velocity v in body axes and `gyro_bias` the rate w, of
which process noise makes random walks; the slots behind them are not used::

    R' = R Exp(w h),   t' = t + R' v h

A scan is undistorted by the motion from the last pose to the present one, and again when the update
has moved the present one.
"""

from dataclasses import replace

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.so3 import hat
from smfeval.maths.stamps import NANOSECONDS
from smfeval.maths.symmetric import symmetrise
from smfeval_lab.filters.ieskf import state as at
from smfeval_lab.filters.ieskf.inertial import ImuTrajectory
from smfeval_lab.filters.ieskf.rotations import exp, log, right_jacobian
from smfeval_lab.filters.ieskf.start import LEAST_SIGMA
from smfeval_lab.filters.ieskf.state import State
from smfeval_lab.filters.scan_sums import Motion
from smfeval_lab.recording import Recording

RATE = at.GYRO_BIAS  # the slot that holds the rate
FIRST_RATE_VARIANCE = 1e-5  # (rad/s)^2, as I2EKF-LO ships it; all before it starts at 1


def state_at_rest(recording: Recording) -> State:
    """At the origin when the first scan begins, taken to stand still."""
    variance = np.ones(at.SIZE)
    variance[RATE] = FIRST_RATE_VARIANCE
    variance[RATE.stop :] = LEAST_SIGMA**2
    zero = np.zeros(3)
    start = int(recording.scans.start[0])
    return State(start, zero, np.eye(3), zero, zero, zero, np.zeros(2), np.diag(variance))


def predict_constant(
    state: State, end: int, variance: tuple[float, float]
) -> tuple[State, ImuTrajectory, Floats]:
    """The state at `end`, the way there, and what became of its error.

    `variance` is that of velocity and rate, times h^2 as filters of the Fast-LIO2 family have it.
    """
    h = (end - state.stamp) / NANOSECONDS
    turn = h * state.gyro_bias
    rotation = state.rotation @ exp(turn)
    F = np.eye(at.SIZE)
    F[at.ROTATION, at.ROTATION] = exp(-turn)
    F[at.ROTATION, RATE] = h * right_jacobian(turn)
    F[at.POSITION, at.VELOCITY] = h * rotation
    F[at.POSITION] -= h * rotation @ hat(state.velocity) @ F[at.ROTATION]
    Q = np.zeros(at.SIZE)
    Q[at.VELOCITY], Q[RATE] = h**2 * variance[0], h**2 * variance[1]
    arrived = replace(
        state,
        stamp=end,
        position=state.position + h * rotation @ state.velocity,
        rotation=rotation,
        covariance=symmetrise(F @ state.covariance @ F.T + np.diag(Q)),
    )
    return arrived, way_between(state, arrived), F


def way_between(before: State, after: State) -> ImuTrajectory:
    """The way with a constant rate and velocity that leads from one pose to another."""
    h = (after.stamp - before.stamp) / NANOSECONDS
    velocity = (after.position - before.position) / h
    return ImuTrajectory(
        time=np.array([0.0, h]),
        position=np.stack([before.position, after.position]),
        rotation=np.stack([before.rotation, after.rotation]),
        velocity=np.stack([velocity, velocity]),
        rate=log(before.rotation.T @ after.rotation)[None] / h,
        acceleration=np.zeros((1, 3)),
    )


def motion_of(state: State, way: ImuTrajectory, scan_s: float) -> Motion:
    """The motion at the end of a scan, and what a wrong velocity or rate does to its points.

    A point taken a time tau before the end is moved by -tau R v and turned by -tau w; tau is half
    the scan on average.
    """
    sweep, tau = np.zeros((6, at.SIZE)), 0.5 * scan_s
    sweep[:3, at.VELOCITY] = -tau * state.rotation
    sweep[3:, RATE] = -tau * state.rotation
    velocity = state.rotation @ state.velocity
    return Motion(state.position, velocity, way.rate[-1], sweep)
