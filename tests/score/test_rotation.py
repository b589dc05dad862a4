"""Scores of rotations, against integrals, Monte Carlo and the Gaussian that they tend to."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import smfeval
from smfeval.errors import OptionError


def covariance(sigma, rng, thin=0.2):
    """Some covariance whose largest sigma is given."""
    axes = Rotation.random(random_state=np.random.RandomState(rng.integers(1 << 30))).as_matrix()
    return axes @ np.diag(sigma**2 * np.array([1.0, 0.5, thin**2])) @ axes.T


def sphere(count):
    """Directions and weights of a product rule on the unit sphere. (m, 3), (m,)."""
    z, weight = np.polynomial.legendre.leggauss(count)
    turn = np.arange(2 * count) * np.pi / count
    flat = np.sqrt(1 - z**2)[:, None]
    z_all = np.broadcast_to(z[:, None], (count, 2 * count))
    points = [flat * np.cos(turn), flat * np.sin(turn), z_all]
    return np.stack(points, 2).reshape(-1, 3), np.repeat(weight, 2 * count) * np.pi / count


def chords(phi, other):
    """2 sin(th/2) between Exp(phi) and Exp(other), by scipy."""
    between = Rotation.from_rotvec(phi).inv() * Rotation.from_rotvec(other)
    return 2 * np.sin(between.magnitude() / 2)


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 0.5, 1.0, 2.0, np.pi])
@pytest.mark.parametrize("thin", [1.0, 0.4])
def test_the_density_integrates_to_one(sigma, thin):
    """Over angles and axes, against Haar's measure 4 sin^2(th/2) dth dn."""
    S = sigma**2 * np.diag([1.0, 0.8, thin**2])
    x, weight = np.polynomial.legendre.leggauss(120)
    reach = min(np.pi, 12 * sigma)
    angle, weight = (x + 1) * reach / 2, weight * reach / 2
    axis, share = sphere(40)
    density = np.exp(-smfeval.log_rotation(angle[:, None, None] * axis, S))
    mass = np.einsum("i,j,ij->", weight * 4 * np.sin(angle / 2) ** 2, share, density)
    assert mass == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("sigma", [1e-3, 0.3, 1.0, np.pi, 10.0])
def test_the_density_on_the_circle_integrates_to_one(sigma):
    yaw = (np.arange(40_000) + 0.5) * 2 * np.pi / 40_000 - np.pi
    density = np.exp(-smfeval.log_rotation(yaw[:, None], np.array([[sigma**2]])))
    assert density.mean() * 2 * np.pi == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("angle", [1e-8, 1e-4, 0.5, 3.0, np.pi - 1e-9, np.pi])
@pytest.mark.parametrize("sigma", [0.2, 0.7, 1.5])
def test_wraps_are_all_summed(angle, sigma, rng):
    S = covariance(sigma, rng)
    n = np.array([0.6, -0.64, 0.48])
    k = np.arange(-60, 61)
    terms = np.array([-smfeval.log_score((angle + 2 * np.pi * j) * n, S) for j in k])
    terms += 2 * np.log(np.abs(angle + 2 * np.pi * k) / (2 * np.sin(angle / 2)))
    expected = -np.logaddexp.reduce(terms)
    assert smfeval.log_rotation(angle * n, S) == pytest.approx(expected, abs=1e-9)


def test_a_wide_belief_has_any_angle_about_any_axis():
    """Wrapped often, the angle is uniform (the rotation is not): 1 / (4 pi^2) over 4 sin^2."""
    phi = Rotation.random(50, random_state=np.random.RandomState(1)).as_rotvec()
    angle = np.linalg.norm(phi, axis=1)
    expected = np.log(16 * np.pi**2 * np.sin(angle / 2) ** 2)
    found = smfeval.log_rotation(phi, 100 * np.eye(3))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("error", [0.0, 1e-12, 1e-8, 1e-5])
def test_small_angles_have_the_score_of_the_gaussian(error, rng):
    S = covariance(1e-5, rng)
    phi = error * np.array([0.6, -0.64, 0.48])
    assert smfeval.log_rotation(phi, S) == pytest.approx(smfeval.log_score(phi, S), rel=1e-9)
    expected = smfeval.energy_score(phi, S)
    assert smfeval.energy_rotation(phi, S) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("sigma", "limit"), [(0.1, 1e-4), (0.3, 1e-3), (0.5, 1e-3), (1.0, 1e-2)])
@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5])
def test_energy_is_that_of_draws(sigma, limit, beta, rng):
    """Monte Carlo of what distinguishes chords from distances of Gaussians, which are exact."""
    for thin in (1.0, 0.02):
        S = covariance(sigma, rng, thin)
        L = np.linalg.cholesky(S)
        phi, other = rng.normal(size=(2, 50_000, 3)) @ L.T
        for error in (np.zeros(3), L @ [0.6, -1.2, 0.5]):
            seen = chords(phi, error) ** beta - np.linalg.norm(phi - error, axis=1) ** beta
            apart = chords(phi, other) ** beta - np.linalg.norm(phi - other, axis=1) ** beta
            excess = seen - 0.5 * apart
            expected = smfeval.energy_score(error, S, beta=beta) + excess.mean()
            slack = limit * expected + 4 * excess.std() / np.sqrt(len(excess))
            assert abs(smfeval.energy_rotation(error, S, beta=beta) - expected) < slack


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, 2.0, np.pi])
def test_a_belief_without_uncertainty_scores_its_chord(angle):
    found = smfeval.energy_rotation([0.0, angle, 0.0], np.zeros((3, 3)))
    assert found == pytest.approx(2 * np.sin(angle / 2), rel=2e-4)


@pytest.mark.parametrize("sigma", [0.05, 0.3, 1.0])
def test_energy_about_one_axis_is_an_integral(sigma):
    """A belief of yaw alone: chords on the circle, by quadrature."""
    x = np.linspace(-10, 10, 400_001)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    for yaw in (0.0, 0.7 * sigma, 2 * sigma):
        first = density @ (2 * np.abs(np.sin((sigma * x - yaw) / 2)))
        second = density @ (2 * np.abs(np.sin(np.sqrt(2) * sigma * x / 2)))
        S = np.diag([0.0, 0.0, sigma**2])
        found = smfeval.energy_rotation([0.0, 0.0, yaw], S)
        assert found == pytest.approx(first - 0.5 * second, rel=2e-3 if sigma == 1 else 1e-5)


def test_the_axis_of_the_world_or_body_does_not_matter(rng):
    S, phi = covariance(0.4, rng), np.array([0.3, 0.2, -0.5])
    turn = Rotation.from_rotvec([1.0, -0.4, 0.7]).as_matrix()
    for score in (smfeval.log_rotation, smfeval.energy_rotation):
        assert score(turn @ phi, turn @ S @ turn.T) == pytest.approx(score(phi, S), rel=1e-9)


@pytest.mark.parametrize("beta", [0.0, 2.0, -1.0])
def test_powers_that_are_not_proper_are_refused(beta):
    with pytest.raises(OptionError, match="between 0 and 2"):
        smfeval.energy_rotation(np.zeros(3), np.eye(3), beta=beta)


@pytest.mark.parametrize("batch", [(), (7,), (2, 5), (2, 0)])
def test_leading_axes_change_nothing(batch, rng):
    S, phi = covariance(0.3, rng), 0.2 * rng.normal(size=(*batch, 3))
    for score in (smfeval.log_rotation, smfeval.energy_rotation):
        found = score(phi, S)
        assert found.shape == batch
        alone = [score(phi[i], S) for i in np.ndindex(batch)]
        np.testing.assert_allclose(found.ravel(), np.ravel(alone), rtol=1e-7)


@pytest.mark.parametrize("name", ["log_rotation", "energy_rotation"])
def test_errors_that_are_no_rotation_are_refused(name):
    with pytest.raises(ValueError, match="3 components"):
        getattr(smfeval, name)(np.zeros(2), np.eye(2))
