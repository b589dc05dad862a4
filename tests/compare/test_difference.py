"""The weighted fit of a pair, and what both claim about the difference that it leaves."""

import numpy as np
import pytest
from scipy.optimize import minimize

from smfeval.compare.difference import align_pair, compare_motion, information, joints_of
from smfeval.evaluation import Options
from smfeval.maths import so3
from support import drifting_pairs

OPTIONS = Options()


def pair(name, seed, *, gauge="se3", n=600, factors=None):
    worlds = drifting_pairs.PAIRS[name](np.random.default_rng(seed), n)
    tracks = drifting_pairs.tracks(worlds, factors)
    return align_pair(*tracks, gauge, joints_of(tracks, tracks, OPTIONS), OPTIONS)


def test_the_fit_is_stationary_under_the_weights(rng):
    """No small motion of the world lowers sum d^T (S_A + S_B + f)^-1 d, by an optimiser."""
    found = pair("outages of both", 3, n=200)
    weight = information(found.a.position_covariance + found.b.position_covariance)
    centre = found.b.position.mean(axis=0)

    def cost(motion):
        turned = so3.rotate_all(so3.matrix(so3.exp(motion[3:])), found.a.position - centre)
        d = turned + centre + motion[:3] - found.b.position
        return np.einsum("ni,nij,nj->", d, weight, d)

    best = minimize(cost, np.zeros(6), method="BFGS", options={"gtol": 1e-6})
    assert best.fun >= cost(np.zeros(6)) * (1 - 1e-3)
    assert cost(1e-2 * rng.normal(size=6)) > 1.01 * best.fun


def test_covariances_that_are_singular_leave_finite_weights():
    flat = np.array([np.zeros((3, 3)), np.diag([1.0, 1.0, 0.0]), np.eye(3)])
    weight = information(flat)
    assert np.isfinite(weight).all()
    assert np.linalg.eigvalsh(weight).min() > 0
    assert np.isfinite(information(np.zeros((4, 3, 3)))).all()


def test_an_outage_does_not_move_the_scans_outside_it():
    found = pair("outage, sigma x 40", 5)
    sigma = np.sqrt(np.einsum("nii->n", found.a.position_covariance))
    tight = sigma < 2 * np.median(sigma)
    claimed = found.claimed[0] + found.claimed[1]
    nees = np.einsum("ni,nij,nj->n", found.error, np.linalg.inv(claimed), found.error)
    assert np.median(nees[tight]) < 2 * 2.366


@pytest.mark.parametrize("gauge", ["se3", "first-pose"])
def test_the_claimed_covariance_is_that_of_the_differences(gauge):
    """Mean NEES over drives, of scans late on the track, is the number of axes."""
    nees = []
    for seed in range(36):
        found = pair("dead reckoning", seed, gauge=gauge, n=120)
        assert found.how == "projected"
        claimed = found.claimed[0] + found.claimed[1]
        error = found.error[100:]
        nees.append(np.einsum("ni,nij,nj->n", error, np.linalg.inv(claimed[100:]), error).mean())
    assert np.mean(nees) == pytest.approx(3, abs=4 * np.std(nees) / np.sqrt(len(nees)))


@pytest.mark.parametrize("name", ["dead reckoning", "random walks"])
def test_relative_motion_of_honest_pairs_has_k_one_and_of_a_tight_one_its_share(name):
    def mean_k(factors):
        found = (pair(name, seed, factors=factors) for seed in range(8))
        return np.mean([compare_motion(each, OPTIONS.space).rows[0].k for each in found])

    assert mean_k([1.0, 1.0]) == pytest.approx(1, abs=0.12)
    assert mean_k([1 / 9, 1.0]) == pytest.approx(1.8, rel=0.12)


def test_opposed_errors_double_k_pair_of_relative_motion_at_most():
    noise = np.random.default_rng(4).normal(size=(600, 6))
    truth = drifting_pairs.drifting.path(np.random.default_rng(5), 600)
    with drifting_pairs.on_path(truth):
        worlds = [
            drifting_pairs.drifting.dead_reckon(
                np.random.default_rng(6), 600, drifting_pairs.drifting.DRIFT, noise=sign * noise
            )
            for sign in (1, -1)
        ]
    tracks = drifting_pairs.tracks(worlds)
    found = align_pair(*tracks, "se3", joints_of(tracks, tracks, OPTIONS), OPTIONS)
    assert compare_motion(found, OPTIONS.space).rows[0].k == pytest.approx(2, rel=0.25)
