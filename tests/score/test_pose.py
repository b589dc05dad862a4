"""Scores of poses, against sums, Monte Carlo and the scores of positions and rotations."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import smfeval
from smfeval.errors import OptionError, TrackError
from smfeval.maths import se3, so3
from smfeval.score import Ensemble, pose


def covariance(sigma_rad, rng, sigma_m=1.0):
    """Some covariance whose sigmas are of the sizes given, with correlations."""
    root = rng.normal(size=(6, 9))
    S = root @ root.T
    unit = np.sqrt(np.diag(S))
    scale = np.array([sigma_m] * 3 + [sigma_rad] * 3) * rng.uniform(0.3, 1, size=6)
    return S / np.outer(unit, unit) * np.outer(scale, scale)


def inverse_v(phi):
    angle, cross = np.linalg.norm(phi), so3.hat(phi)
    second = (1 - angle / 2 / np.tan(angle / 2)) / angle**2
    return np.eye(3) - 0.5 * cross + second * cross @ cross


@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.0, 2.0])
def test_wraps_are_all_summed(sigma, rng):
    """Every wrap by its own V(phi_k)^-1 t and detJ, as the density is defined."""
    for _ in range(5):
        S = covariance(sigma, rng)
        xi = rng.multivariate_normal(np.zeros(6), S)
        angle = np.linalg.norm(xi[3:])
        xi[3:] *= min(1, 3.1 / angle)
        angle = np.linalg.norm(xi[3:])
        n, t = xi[3:] / angle, np.linalg.solve(inverse_v(xi[3:]), xi[:3])
        total = 0.0
        for k in range(-20, 21):
            wrapped = angle + 2 * np.pi * k
            rho = inverse_v(wrapped * n) @ t
            weight = (wrapped**2 / (4 * np.sin(angle / 2) ** 2)) ** 2
            total += weight * multivariate_normal(np.zeros(6), S).pdf([*rho, *(wrapped * n)])
        assert smfeval.log_pose(xi, S) == pytest.approx(-np.log(total), abs=1e-9)


@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_the_density_in_the_plane_integrates_to_one(sigma):
    """x, y and yaw: over translations and angles, whose Haar measure is Lebesgue's."""
    S = np.array([[0.5, 0.1, 0.2], [0.1, 0.3, -0.1], [0.2, -0.1, 1.0]])
    S = S * np.outer([1, 1, sigma], [1, 1, sigma])
    grid, step = np.linspace(-9, 9, 91), 0.2
    yaw = (np.arange(60) + 0.5) * 2 * np.pi / 60 - np.pi
    x, y, turn = (each.ravel() for each in np.meshgrid(grid, grid, yaw, indexing="ij"))
    zero = np.zeros_like(x)
    motion = np.stack([x, y, zero], 1), so3.exp(np.stack([zero, zero, turn], 1))
    xi = se3.log(motion)[:, [0, 1, 5]]
    density = np.exp(-pose.log_pose(xi, S, axes=(0, 1, 5)))
    assert density.sum() * step**2 * 2 * np.pi / 60 == pytest.approx(1, abs=1e-5)


def test_small_angles_have_the_score_of_the_gaussian(rng):
    S = covariance(1e-6, rng)
    xi = rng.multivariate_normal(np.zeros(6), S, size=20)
    np.testing.assert_allclose(smfeval.log_pose(xi, S), smfeval.log_score(xi, S), rtol=1e-9)


def test_uncorrelated_blocks_far_from_wraps_add_up(rng):
    """To first order a pose is its position and its rotation, if they are independent."""
    S = covariance(1e-4, rng)
    S[:3, 3:] = S[3:, :3] = 0
    xi = rng.multivariate_normal(np.zeros(6), S, size=20)
    parts = smfeval.log_score(xi[:, :3], S[:3, :3]) + smfeval.log_rotation(xi[:, 3:], S[3:, 3:])
    np.testing.assert_allclose(smfeval.log_pose(xi, S), parts, rtol=1e-7)


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5])
def test_an_exact_rotation_leaves_the_energy_of_the_position(beta, rng):
    S = np.zeros((6, 6))
    S[:3, :3] = covariance(1.0, rng)[:3, :3]
    rho = rng.normal(size=(20, 3))
    xi = np.concatenate([rho, np.zeros((20, 3))], axis=1)
    expected = smfeval.energy_score(rho, S[:3, :3], beta=beta)
    np.testing.assert_allclose(smfeval.energy_body(xi, S, 0.7, beta=beta), expected, rtol=1e-4)


def test_an_exact_position_leaves_the_energy_of_the_rotation(rng):
    S = np.zeros((6, 6))
    S[3:, 3:] = covariance(0.05, rng)[3:, 3:]
    phi = rng.multivariate_normal(np.zeros(3), S[3:, 3:], size=20)
    xi = np.concatenate([np.zeros((20, 3)), phi], axis=1)
    expected = 2.5 * smfeval.energy_rotation(phi, S[3:, 3:])
    np.testing.assert_allclose(smfeval.energy_body(xi, S, 2.5), expected, rtol=2e-4)


def body_distances(first, second, size):
    moved, turned = se3.compose(se3.inverse(first), second)
    return np.sqrt((moved**2).sum(-1) + (2 * size * np.sin(so3.angle(turned) / 2)) ** 2)


@pytest.mark.parametrize(("sigma", "limit"), [(0.01, 2e-4), (0.03, 5e-4), (0.1, 5e-3), (0.3, 7e-2)])
@pytest.mark.parametrize("size", [0.3, 3.0, 10.0])
def test_energy_is_that_of_draws(sigma, limit, size, rng):
    """Monte Carlo of what curvature adds to the expected lengths of Gaussians."""
    S = covariance(sigma, rng)
    L, scale = np.linalg.cholesky(S), np.array([1, 1, 1, size, size, size])
    half = rng.normal(size=(50_000, 6))
    xi, other = np.concatenate([half, -half]) @ L.T, rng.normal(size=(100_000, 6)) @ L.T
    draws, others = se3.exp(xi), se3.exp(other)
    apart = body_distances(draws, others, size)
    for error in (np.zeros(6), *rng.normal(size=(3, 6)) @ L.T):
        seen = body_distances(draws, se3.exp(np.broadcast_to(error, xi.shape)), size)
        terms = seen - 0.5 * apart
        straight = np.linalg.norm((xi - error) * scale, axis=1)
        straight -= 0.5 * np.linalg.norm((xi - other) * scale, axis=1)
        exact = length(scale * error, S * np.outer(scale, scale))
        exact -= 0.5 * length(np.zeros(6), 2 * S * np.outer(scale, scale))
        expected = exact + (terms - straight).mean()
        slack = limit * expected + 4 * (terms - straight).std() / np.sqrt(len(terms))
        assert abs(smfeval.energy_body(error, S, size) - expected) < slack


def length(mean, S):
    """E|Y| of a Gaussian by a fine trapezoid over s = e^u in E|Y| = c Int (1 - phi) s^-1.5 ds."""
    value, vector = np.linalg.eigh(S)
    m = (vector.T @ mean) ** 2
    total = value.sum() + m.sum()
    u = np.linspace(-60, 60, 24_001)
    s = np.exp(u)[:, None] / total
    stretch = 1 + 2 * s * value
    log_phi = -0.5 * np.log(stretch).sum(1) - (s * m / stretch).sum(1)
    return np.sum(-np.expm1(log_phi) / np.sqrt(s[:, 0])) * (u[1] - u[0]) / (2 * np.sqrt(np.pi))


@pytest.mark.parametrize("angle", [0.0, 1e-6, 0.2, 1.0, 2.0, 3.0])
def test_a_belief_without_uncertainty_scores_its_distance(angle, rng):
    """Also for errors that are no small angles, of beliefs that are far too tight."""
    axis = rng.normal(size=(20, 3))
    phi = angle * axis / np.linalg.norm(axis, axis=1)[:, None]
    xi = np.concatenate([rng.normal(size=(20, 3)), phi], axis=1)
    here = np.zeros((20, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (20, 1))
    expected = body_distances(here, se3.exp(xi), 0.5)
    for tight in (0.0, 1e-14):
        found = smfeval.energy_body(xi, tight * np.eye(6), 0.5)
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_the_axes_of_the_body_do_not_matter(rng):
    """Turned axes of body and perturbation alike: an extrinsic that only turns."""
    S, turn = covariance(0.4, rng), np.zeros((6, 6))
    turn[:3, :3] = turn[3:, 3:] = so3.matrix(so3.exp(np.array([0.4, -1.0, 0.3])))
    xi = rng.multivariate_normal(np.zeros(6), S)
    for score in (smfeval.log_pose, lambda e, c: smfeval.energy_body(e, c, 0.8)):
        assert score(turn @ xi, turn @ S @ turn.T) == pytest.approx(score(xi, S), rel=1e-9)


def test_the_log_score_does_not_know_where_the_body_has_its_origin(rng):
    """An extrinsic E takes xi to Ad(E^-1) xi, whose determinant is one."""
    S = covariance(0.7, rng)
    xi = rng.multivariate_normal(np.zeros(6), S)
    carry = se3.adjoint((np.array([2.0, -1.0, 0.5]), so3.exp(np.array([0.4, -1.0, 0.3]))))
    moved = smfeval.log_pose(carry @ xi, carry @ S @ carry.T)
    assert moved == pytest.approx(smfeval.log_pose(xi, S), rel=1e-9)


@pytest.mark.parametrize("axes", [(0, 1, 5), (0, 1, 2, 5), (5,), (3, 4, 5), (0, 1, 2), (2,)])
def test_beliefs_about_some_axes_have_a_density(axes, rng):
    S = covariance(1e-5, rng)[np.ix_(axes, axes)]
    xi = rng.multivariate_normal(np.zeros(len(axes)), S, size=5)
    found = pose.log_pose(xi, S, axes=axes)
    np.testing.assert_allclose(found, smfeval.log_score(xi, S), rtol=1e-8)


@pytest.mark.parametrize("axes", [(0, 5), (0, 1, 3), (3, 4), (), (5, 0, 1), (0, 1, 3, 4, 5)])
def test_axes_that_make_no_group_are_refused(axes):
    with pytest.raises(TrackError, match="no group of motions"):
        pose.check_axes(axes)


@pytest.mark.parametrize("size", [0.0, -1.0, np.inf, np.nan])
def test_a_body_has_a_size(size):
    with pytest.raises(OptionError, match="above 0 m"):
        smfeval.energy_body(np.zeros(6), np.eye(6), size)


def test_whitened_poses_are_standard_and_have_the_nees(rng):
    S = np.broadcast_to(covariance(0.1, rng), (50_000, 6, 6))
    xi = rng.multivariate_normal(np.zeros(6), S[0], size=50_000)
    z = pose.whiten_pose(xi, S)
    np.testing.assert_allclose((z**2).sum(axis=1), smfeval.nees(xi, S), rtol=1e-8)
    np.testing.assert_allclose(np.cov(z.T), np.eye(6), atol=0.04)


def test_whitening_knows_no_origin_and_no_axes_of_the_body(rng):
    S = covariance(0.1, rng)[None]
    xi = rng.normal(size=(1, 6))
    turn = so3.exp(np.array([0.4, -1.0, 0.3]))
    carry = se3.adjoint((np.array([2.0, -1.0, 0.5]), turn))
    moved = pose.whiten_pose(xi @ carry.T, carry @ S @ carry.T)
    turned = pose.whiten_pose(xi, S).reshape(2, 3) @ so3.matrix(turn).T
    np.testing.assert_allclose(moved.reshape(2, 3), turned, rtol=1e-7)


def cloud(xi, count):
    """Particles Exp(xi) as the reference sees them, (R_ref^T (t_i - t), Log(R_ref^T R_i))."""
    position, rotation = se3.exp(xi)
    seen = np.concatenate([position, so3.log(rotation)], axis=1)
    weight = np.linspace(1, 2, count)
    probability = np.tile(weight / weight.sum(), len(xi) // count)
    return Ensemble(np.arange(0, len(xi) + 1, count), seen, probability), (position, rotation)


@pytest.mark.parametrize("beta", [0.5, 1.0])
@pytest.mark.parametrize("unbiased", [False, True])
def test_particles_score_by_the_distances_between_bodies(beta, unbiased, rng):
    seen, particles = cloud(rng.normal(size=(40, 6)), 20)
    here = np.zeros((20, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (20, 1))
    found = pose.energy_particles(seen, body_size=1.7, beta=beta, unbiased=unbiased)
    p = seen.probability[:20]
    pairs = np.outer(p, p)
    if unbiased:
        pairs = pairs * (1 - np.eye(20)) / (1 - (p**2).sum())
    for scan in range(2):
        own = tuple(part[20 * scan : 20 * scan + 20] for part in particles)
        first, second = (
            tuple(part[i] for part in own) for i in np.indices((20, 20)).reshape(2, -1)
        )
        apart = body_distances(first, second, 1.7).reshape(20, 20)
        expected = p @ body_distances(here, own, 1.7) ** beta - 0.5 * (pairs * apart**beta).sum()
        assert found[scan] == pytest.approx(expected, rel=1e-10)


MANY = 700


@pytest.mark.parametrize("noise", [None, 1e-14])
def test_many_particles_score_as_their_gaussian(noise, rng):
    S = covariance(0.05, rng)
    xi = rng.multivariate_normal(np.zeros(6), S, size=MANY)
    seen, _ = cloud(-xi, MANY)
    even = Ensemble(seen.offset, seen.difference, np.full(MANY, 1 / MANY))
    kernel = None if noise is None else noise * np.eye(6)[None]
    found = pose.energy_particles(even, kernel, body_size=2.0, unbiased=True)
    assert found[0] == pytest.approx(smfeval.energy_body(np.zeros(6), S, 2.0), rel=0.06)
    turned = Ensemble(even.offset, even.difference[:, 3:], even.probability)
    kernel = None if noise is None else noise * np.eye(3)[None]
    found = pose.energy_particles(turned, kernel, unbiased=True)
    assert found[0] == pytest.approx(smfeval.energy_rotation(np.zeros(3), S[3:, 3:]), rel=0.06)


def test_a_noisy_reference_gives_particles_kernels(rng):
    """One particle with the reference's noise is a Gaussian."""
    xi, noise = np.array([[0.3, -0.2, 0.1, 0.01, 0.02, -0.01]]), covariance(0.02, rng)[None]
    seen, _ = cloud(xi, 1)
    found = pose.energy_particles(seen, noise, body_size=2.0)
    assert found[0] == pytest.approx(smfeval.energy_body(-xi, noise, 2.0)[0], rel=1e-2)
