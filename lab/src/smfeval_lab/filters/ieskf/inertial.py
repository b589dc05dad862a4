"""Propagation through IMU intervals, and the derivative of its error state.

With rate w and force a, freed of their biases, over a short time h, the turn taken at its middle::

    R' = R Exp(w h)
    v' = v + (R Exp(w h / 2) a + g) h
    t' = t + v h + (R Exp(w h / 2) a + g) h^2 / 2
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.so3 import hat
from smfeval.maths.stamps import NANOSECONDS
from smfeval.maths.symmetric import symmetrise
from smfeval_lab.filters.ieskf import state as at
from smfeval_lab.filters.ieskf.rotations import exp, right_jacobian
from smfeval_lab.filters.ieskf.state import AttitudeTransition, Settings, State
from smfeval_lab.recording import GRAVITY_M_S2, Imu, ImuNoise


class ImuTrajectory(NamedTuple):
    """Poses at knots in time; from a knot on, a constant rate and acceleration."""

    time: Floats  # (k + 1,) s
    position: Floats  # (k + 1, 3)
    rotation: Floats  # (k + 1, 3, 3)
    velocity: Floats  # (k + 1, 3)
    rate: Floats  # (k, 3) rad/s, body
    acceleration: Floats  # (k, 3) m/s^2, world

    @property
    def end(self) -> dict[str, Any]:
        """The last knot, as fields of a `State`."""
        return {name: getattr(self, name)[-1] for name in ("position", "rotation", "velocity")}


def gravity(tilt: Floats) -> Floats:
    """Gravity in the world, m/s^2. (2,) -> (3,)."""
    return -GRAVITY_M_S2 * np.append(tilt, np.sqrt(1 - tilt @ tilt))


def integrate(state: State, time: Floats, rate: Floats, force: Floats) -> ImuTrajectory:
    """The way from a state on: (k + 1,) times of knots, (k, 3) rates and forces between them."""
    h = np.diff(time)[:, None]
    turns, rotation = exp(h * rate), np.empty((len(time), 3, 3))
    rotation[0] = state.rotation
    for i, turn in enumerate(turns):
        rotation[i + 1] = rotation[i] @ turn
    middle = rotation[:-1] @ exp(0.5 * h * rate)
    pull = np.einsum("kij,kj->ki", middle, force) + gravity(state.tilt)

    velocity = state.velocity + _running_sums(h * pull)
    position = state.position + _running_sums(h * velocity[:-1] + 0.5 * h**2 * pull)
    return ImuTrajectory(time, position, rotation, velocity, rate, pull)


def _running_sums(steps: Floats) -> Floats:
    """Sums of none, one, two ... steps. (k, 3) -> (k + 1, 3)."""
    return np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])


def transitions(h: Floats, rotation: Floats, rate: Floats, force: Floats, tilt: Floats) -> Floats:
    """F: how an error of the state at a knot becomes one at the next. (k,) ... -> (k, 17, 17)."""
    h = h[:, None, None]
    middle = exp(0.5 * h[:, 0] * rate)
    moved = np.zeros((len(h), 3, at.SIZE))  # the acceleration, by the error at the knot
    moved[:, :, at.ROTATION] = -rotation @ hat(np.einsum("kij,kj->ki", middle, force))
    turned = rotation @ middle @ hat(force) @ right_jacobian(0.5 * h[:, 0] * rate)
    moved[:, :, at.GYRO_BIAS] = 0.5 * h * turned
    moved[:, :, at.ACCELERATION_BIAS] = -rotation @ middle
    moved[:, :2, at.TILT] = -GRAVITY_M_S2 * np.eye(2)
    moved[:, 2, at.TILT] = GRAVITY_M_S2 * tilt / np.sqrt(1 - tilt @ tilt)

    F = np.tile(np.eye(at.SIZE), (len(h), 1, 1))
    F[:, at.POSITION] += 0.5 * h**2 * moved
    F[:, at.VELOCITY] += h * moved
    F[:, at.POSITION, at.VELOCITY] += h * np.eye(3)
    F[:, at.ROTATION, at.ROTATION] = exp(-h[:, 0] * rate)
    F[:, at.ROTATION, at.GYRO_BIAS] = -h * right_jacobian(h[:, 0] * rate)
    return F


def process_noise(F: Floats, h: Floats, density: Floats) -> Floats:
    """Q of each interval: white noise enters as a bias does, and the biases walk. (k, 17, 17).

    A density s is a variance s^2 / h of a sample that stands for h seconds, and s^2 h of a walk.
    `density` (4,): gyro, acceleration, their walks.
    """
    entry = F[:, :, at.GYRO_BIAS.start : at.ACCELERATION_BIAS.stop].copy()
    entry[:, at.GYRO_BIAS.start : at.ACCELERATION_BIAS.stop] = 0.0
    entry *= np.repeat(density[:2], 3) / np.sqrt(h)[:, None, None]
    Q = entry @ entry.swapaxes(1, 2)
    walk = np.arange(at.GYRO_BIAS.start, at.ACCELERATION_BIAS.stop)
    Q[:, walk, walk] += np.repeat(density[2:], 3) ** 2 * h[:, None]
    return Q


def propagate_covariance(covariance: Floats, F: Floats, Q: Floats) -> Floats:
    """F P F^T + Q over all intervals. (17, 17)."""
    for transition, noise in zip(F, Q, strict=True):
        covariance = transition @ covariance @ transition.T + noise
    return symmetrise(covariance)


def transition_product(F: Iterable[Floats]) -> Floats:
    """The transition over all intervals, the last one leftmost. (k, 17, 17) -> (17, 17)."""
    product = np.eye(at.SIZE)
    for transition in F:
        product = transition @ product
    return product


def predict(
    state: State, imu: Imu, end: int, density: Floats, attitude: AttitudeTransition = "exact"
) -> tuple[State, ImuTrajectory, Floats]:
    """The state carried to `end` by the IMU, the way it took, and what became of its error.

    The way is timed from the state's stamp; the transition of the error state is (17, 17). Its
    block of the rotation is Exp(-w h); `identity` is what an integer division makes of it in
    filters of the Fast-LIO2 family.
    """
    time, gyro, force = knots(imu, state.stamp, end)
    h = np.diff(time)
    rate = 0.5 * (gyro[:-1] + gyro[1:]) - state.gyro_bias
    force = 0.5 * (force[:-1] + force[1:]) - state.acceleration_bias

    way = integrate(state, time, rate, force)
    F = transitions(h, way.rotation[:-1], rate, force, state.tilt)
    if attitude == "identity":
        F[:, at.ROTATION, at.ROTATION] = np.eye(3)
    covariance = propagate_covariance(state.covariance, F, process_noise(F, h, density))
    arrived = replace(state, stamp=end, covariance=covariance, **way.end)
    return arrived, way, transition_product(F)


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
    gyro, acceleration = (
        np.stack([np.interp(time, sampled, column) for column in value[near].T], axis=1)
        for value in (imu.gyro, imu.acceleration)
    )
    return time, gyro, acceleration


def densities(noise: ImuNoise, scale: float) -> Floats:
    """Noise densities of gyro, accelerometer and their walks; `scale` is on their squares. (4,)."""
    density = [noise.gyro, noise.acceleration, noise.gyro_bias, noise.acceleration_bias]
    return np.sqrt(scale) * np.array(density)


def chosen_densities(imu: Imu, noise: ImuNoise, settings: Settings) -> Floats:
    """Densities of the process noise as the settings choose them. (4,).

    Filters of the Fast-LIO2 family take Q as the variance of a sample, (dt G) Q (dt G)^T in a step
    of dt: a density of sqrt(Q dt), so that the same Q says less at a higher rate of the IMU.
    """
    if settings.process == "told":
        return densities(noise, settings.process_scale)
    names = ("gyro", "acceleration", "gyro_bias", "acceleration_bias")
    variance = np.array([getattr(settings, f"{name}_variance") for name in names])
    step_s = float(np.median(np.diff(imu.stamp))) / NANOSECONDS
    return np.sqrt(settings.process_scale * variance * step_s)
