"""An IMU: what it would measure along a motion, with white noise and biases that wander.

gyro = rate + b_g + n_g,   acceleration = R^T (a - g) + b_a + n_a.

A density s in unit/sqrt(Hz) gives samples at rate f a white noise of sigma s sqrt(f), and a bias
with walk density w steps of sigma w / sqrt(f).
"""

from dataclasses import dataclass, field

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval_lab.motion import SimulatedMotion
from smfeval_lab.recording import GRAVITY_M_S2, Imu, ImuNoise

# A handheld unit of good quality.
HANDHELD = ImuNoise(gyro=2.4e-4, acceleration=1.6e-3, gyro_bias=1e-5, acceleration_bias=1e-4)


@dataclass(frozen=True)
class ImuModel:
    """Rate, noise, and the sigma of the biases at the start."""

    rate_hz: int = 200
    noise: ImuNoise = field(default=HANDHELD)
    gyro_bias: float = 3e-3  # rad/s
    acceleration_bias: float = 3e-2  # m/s^2


def simulate_imu(
    motion: SimulatedMotion, model: ImuModel, *, start: int, rng: np.random.Generator
) -> tuple[Imu, Ints]:
    """Samples over the whole motion, and their times in ns since its start."""
    count = int(np.floor(motion.duration_s * model.rate_hz + 1e-6)) + 1
    since = np.arange(count) * NANOSECONDS // model.rate_hz
    gyro, force = exact_measurements(motion, since / NANOSECONDS)

    def draw(density: float, walk: float, bias: float) -> Floats:
        """White noise and a bias that starts somewhere and wanders. -> (n, 3)."""
        step = rng.normal(size=(count, 3)) * walk / np.sqrt(model.rate_hz)
        step[0] = rng.normal(size=3) * bias
        white = rng.normal(size=(count, 3)) * density * np.sqrt(model.rate_hz)
        return np.cumsum(step, axis=0) + white

    noise = model.noise
    gyro = gyro + draw(noise.gyro, noise.gyro_bias, model.gyro_bias)
    force = force + draw(noise.acceleration, noise.acceleration_bias, model.acceleration_bias)
    return Imu(start + since, gyro, force), since


def exact_measurements(motion: SimulatedMotion, time: Floats) -> tuple[Floats, Floats]:
    """Angular rate and specific force in body axes, without noise. (n,) -> (n, 3), (n, 3)."""
    felt = motion.acceleration(time) + np.array([0.0, 0.0, GRAVITY_M_S2])
    return motion.rate(time), np.einsum("nji,nj->ni", motion.rotation(time), felt)
