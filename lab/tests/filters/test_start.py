"""The first state: what standing still tells, and how well."""

from dataclasses import replace

import numpy as np
import pytest

from lab_support import room
from smfeval.errors import OptionError
from smfeval.maths import so3
from smfeval_lab.filters.ieskf.start import (
    level_rotation,
    state_from_reference,
    state_from_standstill,
)
from smfeval_lab.filters.ieskf.state import ACCELERATION_BIAS, GYRO_BIAS, TILT, Settings
from smfeval_lab.recording import GRAVITY_M_S2, Imu

SETTINGS = Settings(start_acceleration_bias=0.02)


def stood(rng, turn, bias, seconds=1.5):
    """A recording that stands, turned against the level, with a bias of the accelerometer."""
    n = round(seconds * 200)
    force = np.tile(so3.matrix(turn).T @ [0, 0, GRAVITY_M_S2] + bias, (n, 1))
    force = force + rng.normal(0, room.NOISE.acceleration * np.sqrt(200), (n, 3))
    gyro = rng.normal([0.01, 0.02, -0.03], room.NOISE.gyro * np.sqrt(200), (n, 3))
    stamp = room.START + np.arange(n) * (room.NS // 200)
    return replace(room.recording(1, duration_s=0.5), imu=Imu(stamp, gyro, force))


@pytest.mark.parametrize("up", [[0, 0, 1], [0.3, -0.2, 0.9], [1, 0, 0], [0, 0, -1.0]])
def test_levelling_turns_the_force_upward(up):
    force = GRAVITY_M_S2 * np.array(up) / np.linalg.norm(up)
    rotation = level_rotation(force)
    np.testing.assert_allclose(rotation @ force, [0, 0, GRAVITY_M_S2], atol=1e-9)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)


def test_tilt_and_biases_are_as_uncertain_as_the_covariance_says(rng):
    nees = []
    for _ in range(200):
        bias = rng.normal(0, SETTINGS.start_acceleration_bias, 3)
        turn = so3.exp(rng.normal(0, 0.1, 3))
        state, notes = state_from_standstill(stood(rng, turn, bias), SETTINGS)
        assert notes == ()
        # the level of the filter's world against the true one: up of the world in both
        true_up = state.rotation @ so3.matrix(turn).T @ [0, 0, 1]
        error = np.concatenate([state.tilt - true_up[:2], state.acceleration_bias - bias])
        cut = np.r_[TILT, ACCELERATION_BIAS]
        nees.append(error @ np.linalg.solve(state.covariance[np.ix_(cut, cut)], error) / 5)
    assert np.mean(nees) == pytest.approx(1.0, abs=4 * np.sqrt(2 / 5 / 200))


def test_the_mean_rate_is_the_bias_of_the_gyroscope(rng):
    state, _ = state_from_standstill(stood(rng, so3.exp(np.zeros(3)), np.zeros(3)), SETTINGS)
    sigma = np.sqrt(np.diag(state.covariance)[GYRO_BIAS])
    assert (np.abs(state.gyro_bias - [0.01, 0.02, -0.03]) < 4 * sigma).all()
    assert sigma.max() < 2 * room.NOISE.gyro


def test_a_body_that_moves_at_the_start_is_noted(rng):
    recording = stood(rng, so3.exp(np.zeros(3)), np.zeros(3))
    shaken = replace(recording.imu, gyro=recording.imu.gyro + rng.normal(0, 0.5, (300, 3)))
    _, notes = state_from_standstill(replace(recording, imu=shaken), SETTINGS)
    assert "does not stand still" in notes[0]


def test_a_body_that_turns_steadily_at_the_start_is_noted(rng):
    recording = stood(rng, so3.exp(np.zeros(3)), np.zeros(3))
    turning = replace(recording.imu, gyro=recording.imu.gyro + np.array([0.0, 0.0, 0.3]))
    _, notes = state_from_standstill(replace(recording, imu=turning), SETTINGS)
    assert len(notes) == 1
    assert "a steady 0.27 rad/s at the start, which is taken as its bias" in notes[0]


def test_an_acceleration_that_is_not_gravity_is_refused(rng):
    recording = stood(rng, so3.exp(np.zeros(3)), np.array([0, 0, 5.0]))
    with pytest.raises(OptionError, match=r"14\.8 m/s\^2, not about 9\.81"):
        state_from_standstill(recording, SETTINGS)


def test_few_samples_are_refused(rng):
    with pytest.raises(OptionError, match=r"2 IMU samples in the first 0\.005 s"):
        state_from_standstill(
            stood(rng, so3.exp(np.zeros(3)), np.zeros(3)), replace(SETTINGS, standing_s=0.005)
        )


def test_a_known_map_starts_at_the_reference(rng):
    recording = room.recording(2, duration_s=2.0)
    state = state_from_reference(recording, SETTINGS)
    np.testing.assert_allclose(state.position, room.pose(np.array([1.0]))[0][0], atol=1e-12)
    assert np.abs(state.covariance[TILT]).max() < 1e-11
    with pytest.raises(OptionError, match="needs a reference"):
        state_from_reference(replace(recording, reference=None), SETTINGS)
