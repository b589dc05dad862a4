"""Against the dense joint covariance of a linear world, and against its simulation."""

import numpy as np
import pytest

from smfeval.maths.filter_cross import contraction, filter_cross

STEPS, SIZE = 12, 4  # position and velocity in a plane


@pytest.fixture
def world(rng):
    F = np.tile(np.eye(SIZE), (STEPS, 1, 1))
    F[:, :2, 2:] = 0.1 * np.eye(2)
    F += 0.01 * rng.normal(size=F.shape)
    H = rng.normal(size=(STEPS, 2, SIZE))
    H[::3] = 0  # now and then nothing is measured
    Q = np.diag([1e-3, 1e-3, 1e-2, 1e-2])
    R = 0.05 * np.eye(2)
    return F, H, Q, R, np.eye(SIZE)


def kalman(world, gain_factor=1.0):
    F, H, Q, R, P = world
    priors, posteriors, updates, gains = [], [], [], []
    for t in range(STEPS):
        P = F[t] @ P @ F[t].T + Q if t else P
        K = gain_factor * P @ H[t].T @ np.linalg.inv(H[t] @ P @ H[t].T + R)
        A = np.eye(SIZE) - K @ H[t]
        priors.append(P)
        P = A @ P @ A.T + K @ R @ K.T  # Joseph: of any gain
        posteriors.append(P)
        updates.append(A)
        gains.append(K)
    return tuple(map(np.array, (priors, posteriors, updates, gains)))


def errors_of(world, gain_factor, draws, rng):
    """Errors of the filter's beliefs, simulated. (draws, STEPS, SIZE)."""
    F, H, Q, R, P = world
    _, _, _, gains = kalman(world, gain_factor)
    truth = np.linalg.cholesky(P) @ rng.normal(size=(SIZE, draws))
    mean, out = np.zeros((SIZE, draws)), []
    for t in range(STEPS):
        if t:
            truth = F[t] @ truth + np.sqrt(Q) @ rng.normal(size=(SIZE, draws))
            mean = F[t] @ mean
        seen = H[t] @ truth + np.sqrt(R) @ rng.normal(size=(2, draws))
        mean = mean + gains[t] @ (seen - H[t] @ mean)
        out.append((truth - mean).T)
    return np.stack(out, axis=1)


@pytest.mark.parametrize("gain_factor", [1.0, 0.5])
def test_errors_of_a_simulated_filter_have_these_cross_covariances(world, gain_factor, rng):
    _, posterior, update, _ = kalman(world, gain_factor)
    pairs, block = filter_cross(update @ world[0], posterior, lags=4)
    draws = 40_000
    error = errors_of(world, gain_factor, draws, rng)
    for (i, j), expected in zip(pairs, block, strict=True):
        found = error[:, i].T @ error[:, j] / draws
        size = np.sqrt(np.outer(np.diag(posterior[i]), np.diag(posterior[j])))
        assert np.abs((found - expected) / size).max() < 5 / np.sqrt(draws)


def test_they_are_the_joint_covariances_of_the_batch_solution_at_the_later_time(world):
    """Cov(e_i|i, e_j|j) is the (i, j) block of the inverse information of data up to j."""
    F, H, Q, R, P = world
    _, posterior, update, _ = kalman(world)
    pairs, block = filter_cross(update @ F, posterior, lags=STEPS)
    assert len(pairs) == STEPS * (STEPS - 1) // 2
    for (i, j), found in zip(pairs, block, strict=True):
        information = np.zeros((STEPS, SIZE, STEPS, SIZE))[: j + 1, :, : j + 1]
        information[0, :, 0] += np.linalg.inv(P)
        for t in range(j + 1):
            information[t, :, t] += H[t].T @ np.linalg.inv(R) @ H[t]
            if t:
                W = np.linalg.inv(Q)
                information[t, :, t] += W
                information[t, :, t - 1] -= W @ F[t]
                information[t - 1, :, t] -= F[t].T @ W
                information[t - 1, :, t - 1] += F[t].T @ W @ F[t]
        size = (j + 1) * SIZE
        joint = np.linalg.inv(information.reshape(size, size)).reshape(j + 1, SIZE, j + 1, SIZE)
        np.testing.assert_allclose(found, joint[i, :, j], rtol=1e-7, atol=1e-12)


def test_the_contraction_of_an_optimal_update_needs_no_gain(world):
    prior, posterior, update, _ = kalman(world)
    np.testing.assert_allclose(contraction(prior, posterior), update, atol=1e-12)


def test_a_state_without_variance_stays_as_it_is(world):
    prior, posterior, update, _ = kalman(world)
    wider = np.zeros((2, STEPS, SIZE + 1, SIZE + 1))
    wider[0, :, :SIZE, :SIZE], wider[1, :, :SIZE, :SIZE] = prior, posterior
    found = contraction(*wider)
    np.testing.assert_allclose(found[:, :SIZE, :SIZE], update, atol=1e-12)
    np.testing.assert_array_equal(found[:, SIZE, SIZE], np.ones(STEPS))


def test_scales_of_the_states_do_not_matter(world):
    prior, posterior, update, _ = kalman(world)
    scale = np.diag([1e-9, 1.0, 1e6, 1e9])
    found = contraction(scale @ prior @ scale, scale @ posterior @ scale)
    np.testing.assert_allclose(np.linalg.inv(scale) @ found @ scale, update, atol=1e-12)


def test_rows_of_the_pose_are_enough(world):
    _, posterior, update, _ = kalman(world)
    step = update @ world[0]
    _, whole = filter_cross(step, posterior, lags=3)
    _, rows = filter_cross(step, posterior[:, :2], lags=3)
    np.testing.assert_array_equal(rows, whole[:, :2])


def test_one_scan_or_no_lag_has_no_pairs(world):
    _, posterior, update, _ = kalman(world)
    for steps, lags in ((1, 3), (STEPS, 0)):
        pairs, block = filter_cross(update[:steps], posterior[:steps], lags=lags)
        assert (len(pairs), block.shape) == (0, (0, SIZE, SIZE))
