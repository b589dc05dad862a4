"""Cross-covariances that a filter reports: those of its own errors."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from lab_support import room
from lab_support.filter_states import some_state
from smfeval.io import read, write
from smfeval.maths import se3
from smfeval_lab.filters.ieskf import Settings, run
from smfeval_lab.filters.ieskf.state import SIZE
from smfeval_lab.filters.ieskf.update import prior_jacobian, update_state

TOLD = Settings(
    map="known",
    voxel_m=0.0,
    undistort=False,  # the points are of the scan's end
    point_variance=0.02**2,
    start_acceleration_bias=0.02,
    cross_lags=5,
)


@pytest.fixture(scope="module")
def finished():
    return [
        run(room.recording(seed, duration_s=8.0), TOLD, known=room.Walls()).belief
        for seed in range(200, 206)
    ]


def errors(belief):
    """xi of T_true = T Exp(xi). (n, 6)."""
    truth = room.pose((belief.stamp - room.START) / room.NS)
    return se3.log(se3.compose(se3.inverse((belief.position, belief.rotation)), truth))


def inflation_of_differences(beliefs, factor, lag):
    """Median NEES of xi_j - xi_i over its median if the cross-covariances times a factor hold."""
    nees = []
    for belief in beliefs:
        at = np.diff(belief.cross.pairs, axis=1)[:, 0] == lag
        i, j = belief.cross.pairs[at].T
        C = factor * belief.cross.block[at]
        claimed = belief.covariance[i] + belief.covariance[j] - C - C.swapaxes(1, 2)
        error = errors(belief)[j] - errors(belief)[i]
        nees.append(
            np.einsum("ni,ni->n", error, np.linalg.solve(claimed, error[..., None])[..., 0])
        )
    return np.median(np.concatenate(nees)) / chi2.median(6)


def test_every_pair_within_the_lags_is_told(finished):
    for belief in finished:
        n = len(belief)
        assert len(belief.cross) == sum(n - lag for lag in range(1, 6))
        assert belief.cross.lags == (1, 5)


@pytest.mark.parametrize("lag", [1, 2])
def test_errors_of_two_scans_move_together_as_told(lag, finished):
    assert 0.8 < inflation_of_differences(finished, 1.0, lag) < 1.25
    assert inflation_of_differences(finished, 0.0, lag) < 0.8


def test_by_default_there_are_none():
    quick = run(
        room.recording(5, duration_s=3.0, count=200),
        replace(TOLD, cross_lags=0),
        known=room.Walls(),
    )
    assert quick.belief.cross is None


def test_a_run_is_written_with_them(finished, tmp_path):
    write(finished[0], tmp_path / "belief.square")
    again = read(tmp_path / "belief.square")
    np.testing.assert_array_equal(again.cross.block, finished[0].cross.block)


def test_the_contraction_carries_the_prior_to_the_posterior(rng):
    """P+ = A P- A^T + L^-1 Lambda L^-1 with A the contraction and Lambda what the scan said."""
    prior = replace(some_state(rng), position=np.zeros(3), rotation=np.eye(3))
    root = 1e-2 * rng.normal(size=(SIZE, 2 * SIZE))
    prior = replace(prior, covariance=root @ root.T)
    hit = rng.uniform(-1, 1, size=(300, 3)) * room.HALF
    axis = rng.integers(0, 3, size=300)
    hit[np.arange(300), axis] = np.sign(hit[np.arange(300), axis]) * room.HALF[axis]
    update = update_state(prior, hit, room.Walls(), 0.02**2, TOLD)
    P, A = prior.covariance, update.contraction
    said = np.zeros((SIZE, SIZE))
    said[:6, :6] = update.last.information.matrix
    after = update.posterior.covariance
    np.testing.assert_allclose(A @ P @ A.T + after @ said @ after, after, atol=1e-12)
    J = prior_jacobian(update.posterior.minus(prior))
    np.testing.assert_allclose(A, np.eye(SIZE) - after @ said @ np.linalg.inv(J), atol=0.1)
