"""The iterated update against the textbook filter and against a general minimiser."""

from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

from lab_support import room
from lab_support.filter_states import some_state
from smfeval_lab.filters.ieskf.planes import Planes
from smfeval_lab.filters.ieskf.state import POSE, SIZE, Settings
from smfeval_lab.filters.ieskf.update import linearise, match_planes, residuals, update_state

VARIANCE = 0.02**2
KNOWN = Settings(map="known", voxel_m=0.0, iterations=10)


def prior_and_points(rng, off=0.05):
    """A prior that is wrong by about its sigma, and points seen from the true pose."""
    truth = replace(some_state(rng), position=np.array([0.5, -0.3, 0.2]), tilt=np.zeros(2))
    direction = rng.normal(size=(300, 3))
    hit, inside = room.seen(np.tile(truth.position, (300, 1)), direction)
    hit = hit[inside] + rng.normal(0, 0.02, (inside.sum(), 3))
    point = (hit - truth.position) @ truth.rotation
    L = off / 4 * rng.normal(size=(SIZE, SIZE))
    covariance = L @ L.T + 1e-6 * np.eye(SIZE)
    error = np.linalg.cholesky(covariance) @ rng.normal(size=SIZE)
    return replace(truth.plus(error), covariance=covariance), point


def test_the_posterior_is_the_least_of_residuals_and_prior_together(rng):
    prior, point = prior_and_points(rng)
    found = update_state(prior, point, room.Walls(), VARIANCE, KNOWN).posterior
    planes = room.Walls().planes(point @ found.rotation.T + found.position)
    white = np.linalg.inv(np.linalg.cholesky(prior.covariance))

    def cost(e):
        state = prior.plus(e)
        place = point @ state.rotation.T + state.position
        return np.concatenate([residuals(place, planes) / np.sqrt(VARIANCE), white @ e])

    best = least_squares(cost, np.zeros(SIZE), xtol=1e-14, ftol=1e-14, gtol=1e-14).x
    # the last step is below CONVERGED; what is left of it is of second order
    np.testing.assert_allclose(
        found.minus(prior)[POSE], best[POSE], atol=10 * KNOWN.converged_step**2
    )


def test_the_posterior_adds_the_credit_to_the_information_of_the_prior(rng):
    prior, point = prior_and_points(rng, off=1e-3)
    update = update_state(prior, point, room.Walls(), VARIANCE, replace(KNOWN, iterations=1))
    gained = np.linalg.inv(update.posterior.covariance) - np.linalg.inv(prior.covariance)
    J = update.last.information.normals / VARIANCE
    np.testing.assert_allclose(gained[:3, :3], J, rtol=1e-6, atol=1e-6 * np.abs(J).max())


def test_one_iteration_is_the_textbook_extended_kalman_filter(rng):
    prior, point = prior_and_points(rng)
    update = update_state(prior, point, room.Walls(), VARIANCE, replace(KNOWN, iterations=1))
    residual, H6, _, _ = linearise(point, prior, match_planes(point, prior, room.Walls()))
    H = np.hstack([H6, np.zeros((len(H6), SIZE - 6))])
    P = prior.covariance
    K = P @ H.T @ np.linalg.inv(H @ P @ H.T + VARIANCE * np.eye(len(H)))
    np.testing.assert_allclose(update.posterior.minus(prior), -K @ residual, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(
        update.posterior.covariance, (np.eye(SIZE) - K @ H) @ P, rtol=1e-5, atol=1e-10
    )


def test_velocity_and_biases_learn_through_their_correlation_with_the_pose(rng):
    prior, point = prior_and_points(rng)
    posterior = update_state(prior, point, room.Walls(), VARIANCE, KNOWN).posterior
    shrunk = np.diag(posterior.covariance) / np.diag(prior.covariance)
    assert (shrunk[6:] < 1).all()
    alone = np.zeros_like(prior.covariance)
    alone[POSE, POSE], alone[6:, 6:] = prior.covariance[POSE, POSE], prior.covariance[6:, 6:]
    unmoved = update_state(replace(prior, covariance=alone), point, room.Walls(), VARIANCE, KNOWN)
    np.testing.assert_allclose(unmoved.posterior.velocity, prior.velocity, atol=1e-9)


def test_without_points_or_without_planes_the_prior_stays(rng):
    class Nothing:
        def planes(self, point):
            n = len(point)
            return Planes(np.zeros((n, 3)), np.zeros(n), np.zeros(n, dtype=bool))

    prior, point = prior_and_points(rng)
    for update in (
        update_state(prior, np.empty((0, 3)), room.Walls(), VARIANCE, KNOWN),
        update_state(prior, point, Nothing(), VARIANCE, KNOWN),
    ):
        assert update.posterior is prior
        assert update.matched == 0
