"""The IMU: integrated it gives the motion back, and its noise has the size that is stated."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from smfeval_lab.motion import Route, interpolate_motion, simulate_walk
from smfeval_lab.recording import ImuNoise
from smfeval_lab.sensors.imu import ImuModel, exact_measurements, simulate_imu

ROUTE = Route(np.array([(0.0, 0), (30, 0), (30, 25), (60, 30), (60, 60)]), rounding_m=2.5)
NOISELESS = ImuNoise(0.0, 0.0, 0.0, 0.0)
QUIET = ImuModel(noise=NOISELESS, gyro_bias=0.0, acceleration_bias=0.0)


def standing(duration_s):
    time = np.linspace(-1.0, duration_s + 1.0, 20)
    return interpolate_motion(time, np.zeros((len(time), 3)), np.zeros((len(time), 3)), duration_s)


def integrated(motion, duration_s, step=5e-3):
    """Strapdown by the classical Runge-Kutta method, from samples at every half step."""
    count = round(duration_s / step)
    gyro, force = exact_measurements(motion, np.arange(2 * count + 1) * step / 2)
    rotation = motion.rotation(np.zeros(1))[0]
    velocity, position = motion.velocity(np.zeros(1))[0], motion.position(np.zeros(1))[0]
    gravity = np.array([0, 0, -9.81])

    def change(turn, speed, k):
        x, y, z = gyro[k]
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return turn @ cross, turn @ force[k] + gravity, speed

    for i in range(count):
        a = change(rotation, velocity, 2 * i)
        b = change(rotation + step / 2 * a[0], velocity + step / 2 * a[1], 2 * i + 1)
        c = change(rotation + step / 2 * b[0], velocity + step / 2 * b[1], 2 * i + 1)
        d = change(rotation + step * c[0], velocity + step * c[1], 2 * i + 2)
        rotation, velocity, position = (
            now + step / 6 * (w + 2 * x + 2 * y + z)
            for now, w, x, y, z in zip((rotation, velocity, position), a, b, c, d, strict=True)
        )
    return rotation, velocity, position


def test_integrating_a_minute_of_exact_samples_gives_the_pose_to_a_millimetre(rng):
    motion = simulate_walk(ROUTE, rng=rng)
    rotation, velocity, position = integrated(motion, 60.0)
    end = np.array([60.0])
    np.testing.assert_allclose(position, motion.position(end)[0], atol=1e-3)
    np.testing.assert_allclose(velocity, motion.velocity(end)[0], atol=1e-4)
    turn = Rotation.from_matrix(motion.rotation(end)[0].T @ rotation).magnitude()
    assert turn < 1e-5


def test_samples_without_noise_are_the_exact_ones(rng):
    motion = simulate_walk(ROUTE, rng=rng)
    imu, since = simulate_imu(motion, QUIET, start=500, rng=rng)
    gyro, force = exact_measurements(motion, since / 1e9)
    np.testing.assert_array_equal(imu.gyro, gyro)
    np.testing.assert_array_equal(imu.acceleration, force)
    assert set(np.diff(imu.stamp)) == {5_000_000}
    assert imu.stamp[0] == 500
    assert since[-1] == round(motion.duration_s * 1e9)


def test_at_rest_the_specific_force_points_up(rng):
    imu, _ = simulate_imu(standing(1.0), QUIET, start=0, rng=rng)
    np.testing.assert_allclose(imu.acceleration, np.tile([0, 0, 9.81], (201, 1)), atol=1e-12)


def allan_variance(series, rate_hz, tau_s):
    """Half the mean square of the difference between averages over neighbouring spans."""
    span = round(tau_s * rate_hz)
    means = series[: len(series) // span * span].reshape(-1, span, 3).mean(axis=1)
    return 0.5 * np.mean(np.diff(means, axis=0) ** 2)


@pytest.mark.parametrize("part", ["gyro", "acceleration"])
def test_white_noise_has_the_density_that_is_stated(part, rng):
    """Allan variance of white noise: density^2 / tau."""
    noise = ImuNoise(gyro=2e-3, acceleration=3e-2, gyro_bias=0.0, acceleration_bias=0.0)
    imu, _ = simulate_imu(standing(600), ImuModel(noise=noise), start=0, rng=rng)
    for tau_s in (0.05, 0.5, 2.0):
        variance = allan_variance(getattr(imu, part), 200, tau_s)
        assert variance == pytest.approx(getattr(noise, part) ** 2 / tau_s, rel=0.15)


@pytest.mark.parametrize("part", ["gyro", "acceleration"])
def test_biases_walk_with_the_density_that_is_stated(part, rng):
    """Allan variance of a random walk: density^2 tau / 3."""
    noise = ImuNoise(gyro=0.0, acceleration=0.0, gyro_bias=1e-4, acceleration_bias=1e-3)
    imu, _ = simulate_imu(standing(4000), ImuModel(rate_hz=50, noise=noise), start=0, rng=rng)
    for tau_s in (2.0, 5.0):
        variance = allan_variance(getattr(imu, part), 50, tau_s)
        assert variance == pytest.approx(getattr(noise, f"{part}_bias") ** 2 * tau_s / 3, rel=0.15)


def test_biases_start_with_the_sigma_that_is_stated(rng):
    model = ImuModel(noise=NOISELESS, gyro_bias=3e-3, acceleration_bias=3e-2)
    starts = [simulate_imu(standing(0.1), model, start=0, rng=rng)[0] for _ in range(400)]
    gyro = np.array([imu.gyro[0] for imu in starts])
    force = np.array([imu.acceleration[0] - [0, 0, 9.81] for imu in starts])
    assert np.sqrt(np.mean(gyro**2)) == pytest.approx(3e-3, rel=0.08)
    assert np.sqrt(np.mean(force**2)) == pytest.approx(3e-2, rel=0.08)
