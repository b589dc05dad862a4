"""The first state: learned while the body stands still, or taken from a reference.

Standing, the accelerometer shows -gravity plus its bias and the gyroscope its bias. The world is
levelled by what the accelerometer shows; what its bias hides of the level is the state's `tilt`,
tied to the bias: tilt = -(R ba) / G, horizontal part.
"""

from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.maths.stamps import NANOSECONDS
from smfeval_lab.filters.ieskf import state as at
from smfeval_lab.filters.ieskf.state import Settings, State
from smfeval_lab.recording import GRAVITY_M_S2, Recording

FEWEST_SAMPLES = 10  # IMU samples that a mean is taken from
STILL_RAD_S = 0.1  # faster turns than this are no stand
BIAS_RAD_S = 0.1  # nor is a steady rate above this the bias of any gyroscope in use
STILL_M_S2 = 0.5  # nor are stronger shakes
VELOCITY_M_S = 0.02  # sigma of the first velocity: hands that hold a sensor are never quite still
LEAST_SIGMA = 1e-6  # nothing is known for certain: the covariance is inverted
LEAST_UPRIGHT = 0.5  # of the axis z of a body whose axes are those of the world
PLAUSIBLE_GRAVITY = (0.8, 1.2)  # of gravity: what an accelerometer at rest may show


def state_from_standstill(
    recording: Recording, settings: Settings
) -> tuple[State, tuple[str, ...]]:
    """The state at the end of the first stand, and what is to be said about it."""
    imu = recording.imu
    end = int(imu.stamp[0]) + round(settings.standing_s * NANOSECONDS)
    still = slice(0, int(np.searchsorted(imu.stamp, end, side="right")))
    gyro, force = imu.gyro[still], imu.acceleration[still]
    if len(gyro) < FEWEST_SAMPLES:
        raise OptionError(
            f"{len(gyro)} IMU samples in the first {words.exact(settings.standing_s)} s are few"
        )
    length = float(np.linalg.norm(force.mean(axis=0)))
    if not PLAUSIBLE_GRAVITY[0] < length / GRAVITY_M_S2 < PLAUSIBLE_GRAVITY[1]:
        raise OptionError(
            f"the acceleration at the start is {words.number(length)} m/s^2, not about "
            f"{GRAVITY_M_S2}: the body does not stand still, or the unit is another"
        )
    up = force.mean(axis=0) / np.linalg.norm(force.mean(axis=0))
    if not settings.level and up[2] < LEAST_UPRIGHT:
        raise OptionError("level=false needs an IMU whose axis z points up; level=true runs on any")
    rotation = level_rotation(up) if settings.level else np.eye(3)
    state = State(
        stamp=end,
        position=np.zeros(3),
        rotation=rotation,
        velocity=np.zeros(3),
        gyro_bias=gyro.mean(axis=0),
        acceleration_bias=np.zeros(3),
        tilt=np.zeros(2) if settings.level else up[:2],
        covariance=first_covariance(recording, rotation, settings),
    )
    return state, tuple(standstill_warnings(gyro, force))


def standstill_warnings(gyro: Floats, force: Floats) -> list[str]:
    """A word if the body moves while it should stand."""
    turn, shake = gyro.std(axis=0).max(), force.std(axis=0).max()
    if turn >= STILL_RAD_S or shake >= STILL_M_S2:
        return [
            f"the body does not stand still at the start (spread {words.fixed(turn, 2)} rad/s, "
            f"{words.fixed(shake, 2)} m/s^2): gravity and biases start wrong"
        ]
    steady = float(np.linalg.norm(gyro.mean(axis=0)))
    if steady > BIAS_RAD_S:
        return [
            f"the gyroscope shows a steady {words.fixed(steady, 2)} rad/s at the start, which is "
            "taken as its bias: if the body turns, all that follows is wrong"
        ]
    return []


def level_rotation(force: Floats) -> Floats:
    """The rotation, without yaw, that turns a force at rest upward. (3,) -> (3, 3)."""
    up = force / np.linalg.norm(force)
    axis = np.cross(up, [0.0, 0.0, 1.0])
    angle = np.arctan2(np.linalg.norm(axis), up[2])
    length = np.linalg.norm(axis)
    turn = axis * (angle / length) if length > 1e-12 else np.array([angle, 0.0, 0.0])
    return so3.matrix(so3.exp(turn))


def first_covariance(recording: Recording, rotation: Floats, settings: Settings) -> Floats:
    """Covariance of the first state; tilt and bias of the accelerometer go together. (17, 17)."""
    if settings.start_covariance == "shipped":  # by Fast-LIO2 and Faster-LIO
        variance = np.ones(at.SIZE)
        variance[at.GYRO_BIAS], variance[at.ACCELERATION_BIAS], variance[at.TILT] = 1e-4, 1e-3, 1e-5
        return np.diag(variance)
    noise, span = recording.imu_noise, settings.standing_s
    sigma = np.empty(at.SIZE)
    sigma[at.POSITION] = settings.start_m
    sigma[at.ROTATION] = settings.start_rad
    sigma[at.VELOCITY] = VELOCITY_M_S
    sigma[at.GYRO_BIAS] = np.hypot(noise.gyro / np.sqrt(span), noise.gyro_bias * np.sqrt(span))
    sigma[at.ACCELERATION_BIAS] = settings.start_acceleration_bias
    sigma[at.TILT] = noise.acceleration / np.sqrt(span) / GRAVITY_M_S2
    P = np.diag(np.maximum(sigma, LEAST_SIGMA) ** 2)
    tilt_by_bias = np.eye(at.SIZE)
    tilt_by_bias[at.TILT, at.ACCELERATION_BIAS] = -rotation[:2] / GRAVITY_M_S2
    return tilt_by_bias @ P @ tilt_by_bias.T


def state_from_reference(recording: Recording, settings: Settings) -> State:
    """The first state at the first pose of the exact reference, for a map that is known."""
    state, _ = state_from_standstill(recording, settings)
    reference = recording.reference
    if reference is None:
        raise OptionError("a known map needs a reference that says where the body starts in it")
    near = int(np.argmin(np.abs(reference.stamp - state.stamp)))
    P = state.covariance.copy()  # the world is level for certain: the tilt depends on nothing
    P[at.TILT] = 0.0
    P[:, at.TILT] = 0.0
    P[at.TILT, at.TILT] = LEAST_SIGMA**2 * np.eye(2)
    position, rotation = reference.position[near].copy(), so3.matrix(reference.rotation[near])
    return replace(state, position=position, rotation=rotation, tilt=np.zeros(2), covariance=P)
