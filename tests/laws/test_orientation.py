"""Nobody gains by reporting anything but what is true about rotation and pose, by simulation.

The truth is drawn from a known belief; the same draws score that belief and a wrong one. And the
scores do not notice the world, the axes and the origin of the body, or how a belief was written.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import smfeval
from smfeval.maths import se3, so3

N = 8000
CLEAR = 4.0  # standard errors
SIGMA = np.array([0.5, 1.0, 2.0, 0.3, 0.2, 0.1])
CORRELATION = np.eye(6)
for i, j, value in ((0, 1, 0.5), (3, 4, 0.5), (0, 4, 0.6), (1, 5, -0.6), (2, 3, 0.5)):
    CORRELATION[i, j] = CORRELATION[j, i] = value
S = CORRELATION * np.outer(SIGMA, SIGMA)
MIRRORED = S[[2, 1, 0, 5, 4, 3]][:, [2, 1, 0, 5, 4, 3]]
UNCORRELATED = S.copy()
UNCORRELATED[:3, 3:] = UNCORRELATED[3:, :3] = 0
SHIFT = np.array([0.2, -0.4, 0.8, 0.12, -0.08, 0.04])
WRONG = {
    "a quarter of S": (np.zeros(6), 0.25 * S),
    "twice S": (np.zeros(6), 2 * S),
    "four times S": (np.zeros(6), 4 * S),
    "axes exchanged": (np.zeros(6), MIRRORED),
    "shifted": (SHIFT, S),
    "shifted and tight": (SHIFT, 0.5 * S),
}
POSES = {
    "log_pose": smfeval.log_pose,
    "small body": lambda e, c: smfeval.energy_body(e, c, 0.5),
    "large body": lambda e, c: smfeval.energy_body(e, c, 10.0),
    "root of the distance": lambda e, c: smfeval.energy_body(e, c, 5.0, beta=0.5),
}
ROTATIONS = {
    "log_rotation": smfeval.log_rotation,
    "energy_rotation": smfeval.energy_rotation,
    "root of the chord": lambda e, c: smfeval.energy_rotation(e, c, beta=0.5),
}


def advantage(score, truth, wrong):
    """By how many standard errors the belief that was drawn from is better. Poses (n,)."""
    mean, covariance = wrong
    belief = se3.exp(np.broadcast_to(mean, (N, 6)))
    error = se3.log(se3.compose(se3.inverse(belief), truth))
    difference = score(error, covariance) - score(se3.log(truth), S)
    return difference.mean() / (difference.std() / np.sqrt(N))


@pytest.fixture
def truth(rng):
    return se3.exp(rng.multivariate_normal(np.zeros(6), S, size=N))


@pytest.mark.parametrize("wrong", list(WRONG.values()), ids=list(WRONG))
@pytest.mark.parametrize("score", list(POSES.values()), ids=list(POSES))
def test_the_truth_beats_a_wrong_pose(score, wrong, truth):
    assert advantage(score, truth, wrong) > CLEAR


@pytest.mark.parametrize("wrong", list(WRONG.values()), ids=list(WRONG))
@pytest.mark.parametrize("score", list(ROTATIONS.values()), ids=list(ROTATIONS))
def test_the_truth_beats_a_wrong_rotation(score, wrong, truth):
    assert advantage(lambda e, c: score(e[:, 3:], c[3:, 3:]), truth, wrong) > CLEAR


@pytest.mark.parametrize("name", ["log_pose", "large body"])
def test_poses_see_a_correlation_that_marginals_cannot(name, truth):
    assert advantage(POSES[name], truth, (np.zeros(6), UNCORRELATED)) > CLEAR
    xi = se3.log(truth)
    for part in (slice(0, 3), slice(3, 6)):
        own, other = (smfeval.log_score(xi[:, part], c[part, part]) for c in (S, UNCORRELATED))
        np.testing.assert_array_equal(own, other)


def test_a_screw_correlation_is_seen_by_the_body(rng):
    """Turning right while rising, or left: a point on the axis cannot tell, the body can."""
    screw = np.diag([1e-6, 1e-6, 1.0, 1e-8, 1e-8, 0.04])
    screw[2, 5] = screw[5, 2] = 0.16
    mirrored = screw.copy()
    mirrored[2, 5] = mirrored[5, 2] = -0.16
    truth = rng.multivariate_normal(np.zeros(6), screw, size=N)
    right, wrong = (smfeval.energy_body(truth, c, 5.0) for c in (screw, mirrored))
    assert (wrong - right).mean() > CLEAR * (wrong - right).std() / np.sqrt(N)


def character(degree, angle):
    return np.sin((2 * degree + 1) * angle / 2) / np.sin(angle / 2)


def test_the_energy_of_angles_is_not_proper_and_that_of_chords_is():
    """Truth with the density p = 1 + chi_2 / 2 on the group; the uniform belief is told instead.

    Distances d(angle) have coefficients c_l in characters chi_l. The belief p scores
    c_0 / 2 + c_2 / 8 on average, the uniform one c_0 / 2: with c_2 > 0 who lies is better off.
    """
    x, weight = np.polynomial.legendre.leggauss(400)
    angle, weight = (x + 1) * np.pi / 2, weight * np.pi / 2
    haar = weight * (1 - np.cos(angle)) / np.pi
    assert haar.sum() == pytest.approx(1)
    assert (1 + character(2, angle) / 2).min() > 0.3  # p is a density
    of = {"angle": angle, "chord": 2 * np.sin(angle / 2)}
    found = {
        name: [haar @ (distance * character(degree, angle)) for degree in range(1, 13)]
        for name, distance in of.items()
    }
    assert all(value < 0 for value in found["chord"])
    assert found["angle"][1] > 0.01
    assert all(value > 0 for value in found["angle"][1::2])


def test_a_belief_written_about_the_world_is_the_same_belief(rng):
    """T = Exp(eps) T_mean, eps ~ N(0, P): as a right perturbation S = Ad(T^-1) P Ad(T^-1)^T."""
    mean = np.array([3.0, -2.0, 1.0]), so3.exp(np.array([0.5, 1.0, -0.7]))
    carry = se3.adjoint(se3.inverse(mean))
    eps = rng.multivariate_normal(np.zeros(6), S, size=20)
    means = tuple(np.broadcast_to(part, (20, len(part))) for part in mean)
    seen = se3.log(se3.compose(se3.inverse(means), se3.compose(se3.exp(eps), means)))
    np.testing.assert_allclose(seen, eps @ carry.T, atol=1e-9)
    found = smfeval.log_pose(seen, carry @ S @ carry.T)
    np.testing.assert_allclose(found, smfeval.log_pose(eps, S), rtol=1e-9)


def test_moving_the_world_changes_no_score(rng):
    truth, belief = (se3.exp(rng.normal(size=(20, 6))) for _ in range(2))
    world = np.array([100.0, 5.0, -3.0]), so3.exp(np.array([0.3, -2.0, 0.4]))
    worlds = tuple(np.broadcast_to(part, (20, len(part))) for part in world)
    before = se3.log(se3.compose(se3.inverse(belief), truth))
    moved = se3.compose(se3.inverse(se3.compose(worlds, belief)), se3.compose(worlds, truth))
    for score in POSES.values():
        np.testing.assert_allclose(score(se3.log(moved), S), score(before, S), rtol=1e-9)


@pytest.mark.parametrize("angle", [1e-9, 1e-4, 1.0, 3.0, np.pi - 1e-6, np.pi - 1e-9])
def test_exp_and_log_are_those_of_scipy(angle, rng):
    axis = rng.normal(size=(50, 3))
    phi = angle * axis / np.linalg.norm(axis, axis=1)[:, None]
    theirs = Rotation.from_rotvec(phi)
    np.testing.assert_allclose(so3.matrix(so3.exp(phi)), theirs.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(so3.log(so3.exp(phi)), theirs.as_rotvec(), rtol=1e-9, atol=1e-15)
    rho = rng.normal(size=(50, 3))
    back = se3.log(se3.exp(np.concatenate([rho, phi], axis=1)))
    np.testing.assert_allclose(back, np.concatenate([rho, phi], axis=1), rtol=1e-7, atol=1e-8)
