"""Credit: the precision of a filter from its count, noise and normals."""

import numpy as np
import pytest

from smfeval.errors import SeriesError
from smfeval.explain.credit import (
    budget,
    credit,
    effective_points,
    log_det,
    observed_credit,
    parts,
)
from support.beliefs import covariances
from support.updates import filtered


@pytest.fixture(scope="module")
def run():
    return filtered(np.random.default_rng(3), scans=60)


def test_the_credit_is_what_a_kalman_update_adds_to_the_information(run):
    """The filter of the tests uses the gain form with N x N inverses, no information at all."""
    assert credit(run.residuals.normals, run.sigma_m) == pytest.approx(
        observed_credit(run.updates.prior, run.updates.posterior), rel=1e-6, abs=1e-3
    )


def test_prior_and_credit_predict_the_precision_of_a_filter(run):
    found = budget(run.updates.prior, run.updates.posterior, run.updates.credit)
    assert found.unexplained == pytest.approx(np.zeros(60), abs=1e-9)
    assert found.predicted - found.prior == pytest.approx(found.gained, abs=1e-9)
    assert found.posterior == pytest.approx(-np.log(np.linalg.det(run.updates.posterior)))


def test_in_steady_state_the_motion_takes_what_the_updates_give(run):
    found = budget(run.updates.prior, run.updates.posterior, run.updates.credit)
    assert np.median(found.motion_loss[20:]) == pytest.approx(
        np.median(found.gained[20:]), abs=0.05
    )


def test_the_parts_add_up_to_the_credit(run):
    found = parts(run.residuals.matched, run.residuals.normals, run.sigma_m)
    whole = credit(run.residuals.normals, run.sigma_m)
    assert found.total == pytest.approx(np.log(np.linalg.det(whole)), rel=1e-12)
    assert (found.shape <= 0).all()


def test_normals_in_equal_shares_along_the_axes_have_the_best_shape():
    found = parts(np.array([30]), 10 * np.eye(3)[None], np.array([0.1]))
    assert found.shape[0] == pytest.approx(0, abs=1e-12)
    assert found.total[0] == pytest.approx(3 * np.log(10 / 0.01))


def test_ten_times_the_noise_variance_costs_three_times_log_ten(run):
    narrow = parts(run.residuals.matched, run.residuals.normals, run.sigma_m)
    wide = parts(run.residuals.matched, run.residuals.normals, np.sqrt(10) * run.sigma_m)
    assert narrow.total - wide.total == pytest.approx(np.full(60, 3 * np.log(10)))


def test_a_direction_that_nobody_sees_gives_no_credit():
    flat = np.diag([5.0, 5.0, 0.0])[None]
    found = parts(np.array([10]), flat, np.array([0.1]))
    assert found.total[0] == -np.inf
    whole = budget(np.eye(3)[None], np.diag([0.1, 0.1, 1.0])[None], flat)
    assert whole.credit[0] == -np.inf
    assert np.isfinite(whole.predicted[0])


def test_scans_without_points_have_no_credit_and_no_warning():
    found = parts(np.array([0]), np.zeros((1, 3, 3)), np.array([0.1]))
    assert found.total[0] == -np.inf


def test_turning_the_world_changes_no_budget(run, rng):
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]

    def turned(matrix):
        return turn @ matrix @ turn.T

    before = budget(run.updates.prior, run.updates.posterior, run.updates.credit)
    after = budget(
        *(turned(m) for m in (run.updates.prior, run.updates.posterior, run.updates.credit))
    )
    assert after.predicted == pytest.approx(before.predicted)
    assert after.credit == pytest.approx(before.credit)


def test_a_singular_covariance_is_named(rng):
    good = covariances(4, rng, 3)
    bad = good.copy()
    bad[2] = np.diag([1.0, 1.0, 0.0])
    with pytest.raises(SeriesError, match="posterior covariance is singular in 1 of 4 scans, fir"):
        budget(good, bad, good)


def test_a_noise_that_is_not_positive_is_refused():
    with pytest.raises(SeriesError, match="noise of a residual is to be positive"):
        credit(np.eye(3)[None], np.array([0.0]))


def test_fewer_points_by_k_give_the_covariance_that_k_asks_for(run):
    """k times the covariance is what N / k points of the same normals leave."""
    k = 7.0
    fewer = run.residuals.normals / k
    assert np.linalg.inv(credit(fewer, run.sigma_m)) == pytest.approx(
        k * np.linalg.inv(credit(run.residuals.normals, run.sigma_m)), rel=1e-9
    )
    assert effective_points(np.array([1655]), 219.0)[0] == pytest.approx(7.557, abs=1e-3)
    assert log_det(k * np.eye(3)[None])[0] == pytest.approx(3 * np.log(k))


def test_no_inflation_leaves_no_number_of_points():
    with pytest.raises(SeriesError, match="k of 0"):
        effective_points(np.array([10]), 0.0)
