"""From one scan to the next by the IMU alone."""

from dataclasses import replace

import numpy as np

from smfeval.lab.filters.gtsam_smoother.window import Leg
from smfeval.lab.filters.ieskf.motion import knots
from smfeval.lab.filters.ieskf.propagation import Way, integrated
from smfeval.lab.filters.ieskf.state import State
from smfeval.lab.recording import Imu


def moved(state: State, imu: Imu, end: int) -> tuple[State, Way, Leg]:
    """The state at `end` as the IMU predicts it, the way there, and what the IMU measured."""
    time, gyro, force = knots(imu, state.stamp, end)
    gyro, force = 0.5 * (gyro[:-1] + gyro[1:]), 0.5 * (force[:-1] + force[1:])
    way = integrated(state, time, gyro - state.gyro_bias, force - state.acceleration_bias)
    guess = replace(
        state,
        stamp=end,
        position=way.position[-1],
        rotation=way.rotation[-1],
        velocity=way.velocity[-1],
    )
    return guess, way, Leg(np.diff(time), gyro, force)
