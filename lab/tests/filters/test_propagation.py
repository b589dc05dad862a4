"""IMU propagation: its derivatives by finite differences, its noise by simulation."""

from dataclasses import replace

import numpy as np
import pytest

from lab_support import room
from lab_support.filter_states import differences, some_state
from smfeval.maths import so3
from smfeval_lab.filters.ieskf.inertial import (
    densities,
    integrate,
    knots,
    predict,
    process_noise,
    propagate_covariance,
    transitions,
)
from smfeval_lab.filters.ieskf.rotations import exp, log, right_jacobian
from smfeval_lab.filters.ieskf.state import ACCELERATION_BIAS, GYRO_BIAS, SIZE, State
from smfeval_lab.filters.ieskf.update import prior_jacobian
from smfeval_lab.recording import Imu, ImuNoise

H = 0.01  # s


def one_step(state, gyro, force):
    """The state one interval later, as the filter's mean goes."""
    rate, push = gyro - state.gyro_bias, force - state.acceleration_bias
    way = integrate(state, np.array([0.0, H]), rate[None], push[None])
    return replace(
        state, position=way.position[1], rotation=way.rotation[1], velocity=way.velocity[1]
    )


def transition(state, gyro, force):
    rate, push = gyro - state.gyro_bias, force - state.acceleration_bias
    return transitions(np.array([H]), state.rotation[None], rate[None], push[None], state.tilt)


def test_plus_and_minus_undo_each_other(rng):
    state = some_state(rng)
    delta = 0.3 * rng.normal(size=SIZE)
    np.testing.assert_allclose(state.plus(delta).minus(state), delta, atol=1e-12)


@pytest.mark.parametrize("size", [1e-7, 1e-3, 0.5, 2.0])
def test_right_jacobian_is_the_derivative_of_the_exponential(rng, size):
    vector = size * rng.normal(size=3)
    found = differences(lambda d: log(exp(vector).T @ exp(vector + d)), 3)
    np.testing.assert_allclose(right_jacobian(vector), found, atol=1e-8)


def test_prior_jacobian_is_the_derivative_of_the_difference_to_the_prior(rng):
    prior = some_state(rng)
    delta = 0.3 * rng.normal(size=SIZE)
    found = differences(lambda e: prior.plus(delta).plus(e).minus(prior), SIZE)
    np.testing.assert_allclose(prior_jacobian(delta), found, atol=1e-8)


def test_transition_is_the_derivative_of_the_propagation(rng):
    for _ in range(5):
        state, gyro, force = some_state(rng), 3 * rng.normal(size=3), 20 * rng.normal(size=3)
        later = one_step(state, gyro, force)

        def moved_by(e, state=state, gyro=gyro, force=force, later=later):
            return one_step(state.plus(e), gyro, force).minus(later)

        found = differences(moved_by, SIZE)
        np.testing.assert_allclose(transition(state, gyro, force)[0], found, atol=2e-8)


def test_noise_of_the_imu_enters_as_its_derivative_says(rng):
    state, gyro, force = some_state(rng), 3 * rng.normal(size=3), 20 * rng.normal(size=3)
    later = one_step(state, gyro, force)
    found = differences(
        lambda n: one_step(state, gyro + n[:3], force + n[3:]).minus(later), 6, eps=1e-5
    )
    density = np.array([0.3, 0.7, 0.0, 0.0])
    Q = process_noise(transition(state, gyro, force), np.array([H]), density)[0]
    variance = np.repeat(density[:2], 3) ** 2 / H
    np.testing.assert_allclose(Q, found * variance @ found.T, atol=1e-9)


def test_biases_walk_with_the_square_root_of_time(rng):
    state, still = some_state(rng), np.zeros(3)
    density = np.array([0.0, 0.0, 0.2, 0.5])
    Q = process_noise(transition(state, still, still), np.array([H]), density)[0]
    assert np.allclose(np.diag(Q)[GYRO_BIAS], 0.2**2 * H)
    assert np.allclose(np.diag(Q)[ACCELERATION_BIAS], 0.5**2 * H)
    assert np.count_nonzero(Q) == 6


def test_covariance_is_that_of_many_noisy_runs(rng):
    state, steps, runs = some_state(rng), 10, 3000
    time = H * np.arange(steps + 1)
    gyro, force = rng.normal(size=(steps, 3)), rng.normal(9.0, 1.0, (steps, 3))
    density = np.array([0.01, 0.1, 0.0, 0.0])

    def ended(rate, push):
        way = integrate(state, time, rate, push)
        last = {"position": way.position[-1], "rotation": way.rotation[-1]}
        return replace(state, velocity=way.velocity[-1], **last)

    rate, push = gyro - state.gyro_bias, force - state.acceleration_bias
    mean = ended(rate, push)
    noisy = [
        ended(
            rate + rng.normal(0, density[0] / np.sqrt(H), rate.shape),
            push + rng.normal(0, density[1] / np.sqrt(H), push.shape),
        ).minus(mean)[:9]
        for _ in range(runs)
    ]
    way, h = integrate(state, time, rate, push), np.full(steps, H)
    F = transitions(h, way.rotation[:-1], rate, push, state.tilt)
    P = propagate_covariance(np.zeros((SIZE, SIZE)), F, process_noise(F, h, density))[:9, :9]

    seen = np.cov(np.array(noisy).T)
    scale = np.sqrt(np.diag(P))
    # the standard error of a correlation is at most 1/sqrt(runs) = 0.018, of a variance 1.4 times
    np.testing.assert_allclose(seen / np.outer(scale, scale), P / np.outer(scale, scale), atol=0.1)


def test_an_exact_imu_leads_along_the_true_path():
    quiet = ImuNoise(0.0, 0.0, 0.0, 0.0)
    imu = room.imu(8.0, np.random.default_rng(1), quiet, start_bias=(0.0, 0.0))
    position, rotation = room.pose(np.array([0.0]))
    state = State(
        room.START, position[0], so3.matrix(rotation[0]),
        np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(2), np.eye(SIZE),
    )  # fmt: skip
    for second in range(1, 9):
        state, _, _ = predict(state, imu, room.START + second * room.NS, densities(quiet, 1.0))
    position, rotation = room.pose(np.array([8.0]))
    assert np.linalg.norm(state.position - position[0]) < 2e-3
    assert np.linalg.norm(log(so3.matrix(rotation[0]).T @ state.rotation)) < 1e-4


def test_knots_are_the_samples_between_two_instants_and_both_ends():
    stamp = np.arange(0, 100, 10)
    ramp = np.outer(stamp, np.ones(3)).astype(float)
    time, gyro, force = knots(Imu(stamp, ramp, 2 * ramp), 15, 42)
    np.testing.assert_allclose(time * room.NS, [0, 5, 15, 25, 27])
    np.testing.assert_allclose(gyro[:, 0], [15, 20, 30, 40, 42])
    np.testing.assert_allclose(force, 2 * gyro)


def test_imu_values_are_held_beyond_the_last_sample():
    stamp = np.array([0, 10, 20])
    ramp = np.outer(stamp, np.ones(3)).astype(float)
    time, gyro, _ = knots(Imu(stamp, ramp, ramp), 12, 50)
    np.testing.assert_allclose(time * room.NS, [0, 8, 38])
    np.testing.assert_allclose(gyro[:, 0], [12, 20, 20])
