"""Shared displacement: closed forms, and a filter whose scans are displaced by a known amount."""

import numpy as np
import pytest

from smfeval.errors import SeriesError
from smfeval.explain.displacement import (
    PointResiduals,
    considered_excess,
    displaced_credit,
    displacement_from_innovations,
    isotropic_covariance,
    marginalised_posterior,
    needed_displacement_m,
    recovered_nats,
    single_update_posterior,
)
from smfeval.maths import normal
from smfeval.summarise.number import Intervals
from support.beliefs import covariances
from support.updates import filtered

BARE = Intervals(None)
SHIFT_M = 0.02


@pytest.fixture(scope="module")
def honest():
    return filtered(np.random.default_rng(5))


@pytest.fixture(scope="module")
def displaced():
    """Growth of 2 cm between scans, displacements of 2 cm: both matter."""
    return filtered(np.random.default_rng(6), scans=1500, displacement_m=SHIFT_M)


@pytest.fixture(scope="module")
def restless():
    """Growth far above the displacement: every update starts anew."""
    return filtered(np.random.default_rng(7), scans=1500, growth_m=0.5, displacement_m=SHIFT_M)


def test_the_information_is_that_of_residuals_with_a_shared_part(rng):
    """R = sigma^2 I + H S_d H^T, inverted as a whole, against the closed form."""
    direction = rng.normal(size=(40, 3))
    shift, sigma = covariances(1, rng, 3)[0], 0.02
    noise = sigma**2 * np.eye(40) + direction @ shift @ direction.T
    whole = direction.T @ np.linalg.inv(noise) @ direction
    credit = direction.T @ direction / sigma**2
    assert displaced_credit(credit, shift) == pytest.approx(whole, rel=1e-9)
    inverse = np.linalg.inv(np.linalg.inv(credit) + shift)
    assert displaced_credit(credit, shift) == pytest.approx(inverse, rel=1e-9)


def test_however_many_points_a_scan_says_no_more_than_its_displacement_lets_it(rng):
    shift = covariances(1, rng, 3)[0]
    many = displaced_credit(1e12 * np.eye(3), shift)
    assert many == pytest.approx(np.linalg.inv(shift), rel=1e-6)


def test_a_direction_that_is_not_seen_stays_unseen():
    found = displaced_credit(np.diag([100.0, 100.0, 0.0]), isotropic_covariance(0.1))
    assert found == pytest.approx(np.diag([50.0, 50.0, 0.0]))


def test_without_displacement_the_recursion_is_the_run_itself(honest):
    updates = honest.updates
    assert marginalised_posterior(updates, isotropic_covariance(0.0)) == pytest.approx(
        updates.posterior, rel=1e-7
    )
    assert single_update_posterior(updates, isotropic_covariance(0.0)) == pytest.approx(
        updates.posterior, rel=1e-7
    )


def test_displacements_go_through_the_recursion_together(honest):
    sizes = np.array([0.0, 0.01, 0.1])
    together = marginalised_posterior(honest.updates, isotropic_covariance(sizes))
    alone = marginalised_posterior(honest.updates, isotropic_covariance(0.1))
    assert together.shape == (400, 3, 3, 3)
    assert together[:, 2] == pytest.approx(alone)


def test_at_every_update_more_is_recovered_than_at_one(displaced):
    updates, shift = displaced.updates, isotropic_covariance(SHIFT_M)
    one = recovered_nats(single_update_posterior(updates, shift), updates.posterior)
    every = recovered_nats(marginalised_posterior(updates, shift), updates.posterior)
    assert 0 < one < every


def test_one_update_recovers_the_closed_form_of_an_isotropic_world():
    """P = p I, J = j I, S = s I: 3 log of the ratio of posterior variances."""
    run = filtered(np.random.default_rng(1), scans=1)
    updates = type(run.updates)(
        4.0 * np.eye(3)[None], np.eye(3)[None] / (0.25 + 10), 10 * np.eye(3)[None]
    )
    displaced = single_update_posterior(updates, isotropic_covariance(np.sqrt(0.4)))
    found = recovered_nats(displaced, updates.posterior)
    assert found == pytest.approx(3 * np.log((0.25 + 10) / (0.25 + 1 / (0.1 + 0.4))))


def test_the_errors_of_a_filter_that_does_not_know_have_the_considered_covariance(displaced):
    """NEES under P + s^2 D has mean 3; under P the trace of P^-1 (P + s^2 D), near 30."""
    _, after = considered_excess(displaced.updates)
    covariance = displaced.updates.posterior + SHIFT_M**2 * after
    nees = normal.likelihood_terms(displaced.error, covariance).nees
    assert np.mean(nees) == pytest.approx(3, rel=0.1)
    reported = displaced.updates.posterior
    expected = np.trace(np.linalg.solve(reported, covariance), axis1=1, axis2=2).mean()
    assert expected > 20
    assert np.mean(normal.likelihood_terms(displaced.error, reported).nees) == pytest.approx(
        expected, rel=0.1
    )


def test_the_excess_is_linear_in_the_displacement(displaced, rng):
    shape = covariances(1, rng, 3)[0]
    once, twice = (
        considered_excess(displaced.updates, shape),
        considered_excess(displaced.updates, 2 * shape),
    )
    assert twice[1] == pytest.approx(2 * once[1])


def test_the_displacement_that_is_needed_is_the_one_that_was_made(displaced):
    _, after = considered_excess(displaced.updates)
    found = needed_displacement_m(
        displaced.error, lambda size: displaced.updates.posterior + size**2 * after
    )
    assert found == pytest.approx(SHIFT_M, rel=0.06)


def test_a_filter_that_starts_anew_needs_it_at_one_update_as_at_every(restless):
    updates = restless.updates
    one = needed_displacement_m(
        restless.error, lambda size: single_update_posterior(updates, isotropic_covariance(size))
    )
    every = needed_displacement_m(
        restless.error, lambda size: marginalised_posterior(updates, isotropic_covariance(size))
    )
    assert one == pytest.approx(SHIFT_M, rel=0.06)
    assert every == pytest.approx(SHIFT_M, rel=0.06)


def test_an_honest_filter_needs_none():
    run = filtered(np.random.default_rng(8), scans=400)
    wide = 1.3 * run.updates.posterior
    assert needed_displacement_m(run.error, lambda size: wide + size**2 * np.eye(3)) == 0


def test_what_no_displacement_explains_is_none(displaced):
    """At one update the covariance can only grow to that of the prior."""
    far = 100 * displaced.error
    assert (
        needed_displacement_m(
            far, lambda size: single_update_posterior(displaced.updates, isotropic_covariance(size))
        )
        is None
    )


@pytest.mark.parametrize("own_m", [0.01, 0.03])
def test_the_innovations_show_the_displacement_whatever_sigma_the_filter_takes(own_m):
    run = filtered(np.random.default_rng(9), scans=1500, own_m=own_m, displacement_m=SHIFT_M)
    found = displacement_from_innovations(run.updates, run.residuals)
    assert found.displacement.low < SHIFT_M**2 < found.displacement.high
    assert found.sigma_m == pytest.approx(SHIFT_M, rel=0.08)
    assert np.sqrt(found.point_noise.value) == pytest.approx(own_m, rel=0.02)


def test_without_displacement_the_innovations_show_none(honest):
    found = displacement_from_innovations(honest.updates, honest.residuals)
    assert found.displacement.low < 0 < found.displacement.high
    assert found.sigma_m < 0.003


def test_a_displacement_that_all_scans_share_is_not_seen():
    """A map that is off by as much as every scan: the errors are there, the innovations are not."""
    run = filtered(np.random.default_rng(10), scans=600)
    found = displacement_from_innovations(run.updates, run.residuals, intervals=BARE)
    needed = needed_displacement_m(
        run.error + np.array([0.05, 0, 0]),
        lambda size: marginalised_posterior(run.updates, isotropic_covariance(size)),
    )
    assert needed > 5 * found.sigma_m


def test_scans_with_too_few_points_are_refused(honest):
    few = PointResiduals(
        np.full(400, 3),
        honest.residuals.normals,
        honest.residuals.innovation_rms_m,
        honest.residuals.residual_rms_m,
    )
    with pytest.raises(SeriesError, match="every scan needs 4 matched points"):
        displacement_from_innovations(honest.updates, few)
