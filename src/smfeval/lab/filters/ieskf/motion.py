"""The motion between two scans as the IMU tells it, and the state at its end."""

from dataclasses import replace

import numpy as np

from smfeval.lab.filters.ieskf.propagation import (
    Way,
    grown,
    integrated,
    process_noise,
    transitions,
)
from smfeval.lab.filters.ieskf.state import State
from smfeval.lab.recording import Imu, ImuNoise
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS


def moved(state: State, imu: Imu, end: int, density: Floats) -> tuple[State, Way]:
    """The state carried to `end` by the IMU, and the way it took, timed from the state's stamp."""
    time, gyro, force = knots(imu, state.stamp, end)
    h = np.diff(time)
    rate = 0.5 * (gyro[:-1] + gyro[1:]) - state.gyro_bias
    force = 0.5 * (force[:-1] + force[1:]) - state.acceleration_bias

    way = integrated(state, time, rate, force)
    F = transitions(h, way.rotation[:-1], rate, force, state.tilt)
    arrived = replace(
        state,
        stamp=end,
        position=way.position[-1],
        rotation=way.rotation[-1],
        velocity=way.velocity[-1],
        covariance=grown(state.covariance, F, process_noise(F, h, density)),
    )
    return arrived, way


def knots(imu: Imu, begin: int, end: int) -> tuple[Floats, Floats, Floats]:
    """Times in s since `begin` and IMU values: at both ends and at the samples in between.

    At the ends the neighbouring samples are interpolated; before the first and after the last
    sample they are held.
    """
    first, last = np.searchsorted(imu.stamp, [begin + 1, end])
    near = slice(max(first - 1, 0), last + 1)
    stamp: Ints = np.concatenate([[begin], imu.stamp[first:last], [end]])
    time = (stamp - begin) / NANOSECONDS
    sampled = (imu.stamp[near] - begin) / NANOSECONDS
    return time, _at(time, sampled, imu.gyro[near]), _at(time, sampled, imu.acceleration[near])


def _at(time: Floats, sampled: Floats, value: Floats) -> Floats:
    return np.stack([np.interp(time, sampled, column) for column in value.T], axis=1)


def densities(noise: ImuNoise, scale: float) -> Floats:
    """Noise densities of gyro, accelerometer and their walks; `scale` is on their squares. (4,)."""
    told = [noise.gyro, noise.acceleration, noise.gyro_bias, noise.acceleration_bias]
    return np.sqrt(scale) * np.array(told)
