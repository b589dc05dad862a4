"""The alignment fitted again with the reported covariance: what it leaves, how well known it is."""

import numpy as np
import pytest

from smfeval.why.diagnoses.biases import (
    alignment_covariance,
    find_biases,
    freedoms,
    weight,
    whiten_errors,
)
from smfeval.why.diagnoses.case import case_of
from smfeval.why.diagnoses.regression import independent_scans
from support.faults import Made, honest_but_varying, least_squares, remembering


def whitening(covariance):
    """Inverse Cholesky roots: another root than the one in use. (n, d, d)."""
    return np.linalg.inv(np.linalg.cholesky(covariance))


@pytest.mark.parametrize("alignment", ["yaw", "se3", "sim3"])
def test_the_remainder_is_that_of_weighted_least_squares(alignment):
    case = case_of(honest_but_varying(300, 0.0, 1, "while turning").evaluation(alignment))
    root, columns = whitening(case.covariance), freedoms(case)
    design = np.einsum("nij,njp->nip", root, columns).reshape(-1, columns.shape[-1])
    response = np.einsum("nij,nj->ni", root, case.error).ravel()
    value = np.linalg.lstsq(design, response, rcond=None)[0]
    assert find_biases(case).remainder == pytest.approx(case.error - columns @ value, abs=1e-9)


@pytest.mark.parametrize("alignment", ["none", "first-pose"])
def test_an_alignment_that_was_not_fitted_is_not_fitted_again(alignment):
    belief = Made(300, 0.0, 1)
    belief.error[0] = 0
    case = case_of(belief.evaluation(alignment))
    assert (find_biases(case).remainder == case.error).all()
    assert find_biases(case).alignment_covariance is None


@pytest.fixture(scope="module", params=[0.0, 0.9])
def scattered(request):
    """Squared movement by the alignment over many errors, and how many scans those are worth."""
    rng, rho, scans = np.random.default_rng(5), request.param, 1000
    case = case_of(honest_but_varying(scans, rho, 1, "while turning").evaluation("se3"))
    columns, root = freedoms(case), np.linalg.cholesky(case.covariance)
    white = whiten_errors(case, columns)
    moved, independent = [], []
    for _ in range(100):
        error = np.einsum("nij,nj->ni", root, remembering(scans, rho, rng))
        response = whiten_errors(case, error)
        value = least_squares(response, white)
        moved.append(columns @ value)
        independent.append(independent_scans(response - white @ value))
    scatter = np.mean(np.square(moved), axis=0).sum(axis=1)
    return case, white, scatter, scans * (1 - rho) / (1 + rho), independent


def variance(case, white, independent):
    granted = alignment_covariance(case, freedoms(case), white, independent=independent)
    return np.trace(granted, axis1=1, axis2=2)


def test_the_doubt_about_an_alignment_is_how_much_it_scatters(scattered):
    case, white, scatter, truth, _ = scattered
    assert np.median(variance(case, white, truth) / scatter) == pytest.approx(1, abs=0.2)


def test_the_doubt_granted_is_rather_too_much_than_too_little(scattered):
    case, white, scatter, _, estimated = scattered
    granted = np.mean([variance(case, white, each) for each in estimated], axis=0)
    assert 1 < np.median(granted / scatter) < 3


def test_the_doubt_about_errors_that_never_change_is_that_of_one_scan():
    case = case_of(Made(500, 0.0, 1).evaluation("se3"))
    columns = freedoms(case)
    one = alignment_covariance(case, columns, whiten_errors(case, columns), independent=1.0)
    leverage = np.einsum("nij,nji->n", np.linalg.inv(case.covariance), one)
    assert leverage.sum() == pytest.approx(500 * 6)  # n times the freedoms


@pytest.mark.slow
@pytest.mark.parametrize("size", ["with the speed", "while turning", "in a stretch"])
def test_a_covariance_that_varies_with_the_error_triggers_nothing(size):
    runs = [honest_but_varying(1000, 0.9, seed, size).diagnoses("se3") for seed in range(8)]
    assert sum(bool(found.names) for found in runs) <= 2  # 3 or more: 0.6 % at one in twenty


def test_a_straight_track_leaves_its_roll_open_and_is_diagnosed():
    belief = Made(400, 0.0, 2)
    belief.position = belief.position * np.array([1.0, 0.0, 0.0])
    assert belief.diagnoses("se3").names == ()


def test_a_scan_weighs_by_its_precision():
    case = case_of(honest_but_varying(300, 0.0, 1, "with the speed").evaluation())
    precision = np.trace(np.linalg.inv(case.covariance), axis1=1, axis2=2) / 3
    assert weight(case) == pytest.approx(precision)


def test_biases_that_a_few_tight_scans_decide_are_not_tested():
    belief = Made(1000, 0.9, 11)
    sigma = np.where(np.arange(1000) < 50, 0.01, 1.0)  # 50 scans are worth three
    belief.error = belief.error * sigma[:, None]
    belief.covariance = belief.covariance * sigma[:, None, None] ** 2
    found = belief.diagnoses()
    assert found.names == ()
    assert {"lever-arm bias", "time-offset bias"} <= {each.name for each in found.untested}
