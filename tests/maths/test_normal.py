import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.stats import chi2, multivariate_normal

from smfeval.maths import normal, so3
from support.beliefs import covariances


@pytest.mark.parametrize("d", [1, 2, 3])
def test_density_is_that_of_scipy(d, rng):
    error, covariance = rng.normal(size=(40, d)), covariances(40, rng, d, scale=0.5)
    found = normal.log_density(normal.likelihood_terms(error, covariance), d)
    expected = [
        multivariate_normal(np.zeros(d), s).logpdf(e)
        for e, s in zip(error, covariance, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_symmetric_root_is_that_of_scipy(d, rng):
    error, covariance = rng.normal(size=(40, d)), covariances(40, rng, d, scale=0.5)
    expected = [np.linalg.inv(sqrtm(s)) @ e for e, s in zip(error, covariance, strict=True)]
    np.testing.assert_allclose(normal.whiten(error, covariance), expected, rtol=1e-9)


def test_symmetric_root_of_ill_conditioned_and_isotropic_covariances(rng):
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for values in ([1, 1, 1], [1, 1, 1e-9], [1e-12, 1e-6, 1], [1e-12] * 3, [4, 4, 9]):
        covariance = ((basis * values) @ basis.T)[None]
        covariance = 0.5 * (covariance + covariance.swapaxes(1, 2))
        error = rng.normal(size=(1, 3)) @ (basis * np.sqrt(values)).T
        expected = normal._by_eigenvectors(error.T[None], covariance)[0].T
        np.testing.assert_allclose(normal.whiten(error, covariance), expected, rtol=1e-7)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_the_inverse_factor_is_that_of_cholesky(d, rng):
    covariance = covariances(5000, rng, d, scale=0.5)  # more than a chunk
    expected = np.linalg.inv(np.linalg.cholesky(covariance))
    np.testing.assert_allclose(normal.inverse_factor(covariance), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_many_vectors_are_whitened_as_one_by_one(dimension, rng):
    root = rng.normal(size=(5000, dimension, dimension))
    root[::7] *= np.geomspace(1, 1e-4, dimension)  # some that go through their eigenvectors
    covariance, vectors = root @ root.swapaxes(1, 2), rng.normal(size=(5000, dimension, 4))
    together = normal.whiten_all(vectors, covariance)
    for i in range(4):
        assert (together[..., i] == normal.whiten(vectors[..., i], covariance)).all()


@pytest.mark.parametrize("values", [(1, 1, 1e-5), (1, 1e-5, 1e-5), (1, 1e-3, 1e-6), (2, 1e-4, 1)])
def test_symmetric_root_of_needles_and_discs_keeps_its_digits(values, rng):
    turn = np.linalg.qr(rng.normal(size=(200, 3, 3)))[0]
    root = turn * np.sqrt(values)
    covariance = root @ root.swapaxes(1, 2)
    unit = rng.normal(size=(200, 3))
    error = np.einsum("nij,nj->ni", root, unit)
    expected = np.einsum("nij,nj->ni", turn, unit)  # S^(-1/2) e = Q D^(-1/2) Q^T Q D^(1/2) u
    np.testing.assert_allclose(normal.whiten(error, covariance), expected, atol=3e-10)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("scale", [1e-120, 1e-60, 1e60, 1e120])
def test_whitening_knows_no_unit(d, scale, rng):
    error, covariance = rng.normal(size=(40, d)), covariances(40, rng, d, scale=1.0)
    found = normal.whiten(error * scale, covariance * scale * scale)
    np.testing.assert_allclose(found, normal.whiten(error, covariance), rtol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_whitened_length_is_the_nees(d, rng):
    error, covariance = rng.normal(size=(9000, d)), covariances(9000, rng, d)
    square = np.sum(normal.whiten(error, covariance) ** 2, axis=1)
    np.testing.assert_allclose(square, normal.likelihood_terms(error, covariance).nees, rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_probability_is_chi_squared(d):
    values = np.array([0.0, 0.1, 2.366, 30.0, 1e6])
    np.testing.assert_allclose(
        normal.probability_within(values, d), chi2(d).cdf(values), rtol=1e-12
    )


def test_singular_covariances_are_found(rng):
    covariance = covariances(6, rng, 3)
    covariance[1] = 0
    covariance[2, 2] = covariance[2, :, 2] = 0
    direction = rng.normal(size=3)
    covariance[4] = np.outer(direction, direction)
    assert np.flatnonzero(normal.is_singular(covariance)).tolist() == [1, 2, 4]


def test_what_rounding_leaves_of_zero_is_singular(rng):
    covariance = covariances(3, rng, 3)
    covariance[:, 2, :] = covariance[:, :, 2] = 0
    covariance[:, 2, 2] = 1e-34
    assert normal.is_singular(covariance).all()


def test_a_flat_covariance_stays_singular_after_any_rotation_there_and_back(rng):
    """Into body axes and out again leaves some 1e-16 of the largest variance where zero was."""
    turn = so3.exp(rng.normal(size=(500, 3)))
    flat = np.tile(np.diag([1e-4, 3e-4, 0.0]), (500, 1, 1))
    body = so3.rotate_covariance(so3.inverse(turn), flat)
    assert normal.is_singular(body).all()
    assert normal.is_singular(so3.rotate_covariance(turn, body)).all()


def test_tiny_but_regular_covariances_are_not_singular(rng):
    assert not normal.is_singular(1e-30 * covariances(5, rng, 3)).any()
    stretched = np.diag([1e-8, 1.0, 1e6])[None]
    assert not normal.is_singular(stretched).any()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_moment_of_whitened_errors_is_that_of_the_symmetric_root(d, rng):
    error, covariance = rng.normal(size=(60, d)), covariances(60, rng, d, scale=0.5)
    white = [np.linalg.inv(sqrtm(s)) @ e for e, s in zip(error, covariance, strict=True)]
    expected = np.mean([np.outer(w, w) for w in white], axis=0)
    np.testing.assert_allclose(normal.whitened_moment(error, covariance), expected, rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_nees_alone_is_that_of_the_fit(d, rng):
    error, covariance = rng.normal(size=(9000, d)), covariances(9000, rng, d)
    expected = np.einsum("ni,nij,nj->n", error, np.linalg.inv(covariance), error)
    np.testing.assert_allclose(normal.nees(error, covariance), expected, rtol=1e-8)
    np.testing.assert_array_equal(
        normal.nees(error, covariance), normal.likelihood_terms(error, covariance).nees
    )


def test_the_terms_of_a_likelihood_tell_singular_covariances_as_well(rng):
    covariance = covariances(9000, rng, 3)
    covariance[1] = 0
    covariance[2, 2] = covariance[2, :, 2] = 0
    covariance[3, 0] = covariance[3, :, 0] = 0
    covariance[4500] = np.outer(*[rng.normal(size=3)] * 2)
    covariance[5000] = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]  # a pivot of exactly zero
    covariance[8999] = -np.eye(3)
    terms = normal.likelihood_terms(rng.normal(size=(9000, 3)), covariance)
    assert np.flatnonzero(terms.singular).tolist() == [1, 2, 3, 4500, 5000, 8999]


def test_the_layout_in_memory_changes_nothing(rng):
    error, covariance = rng.normal(size=(5000, 3)), covariances(5000, rng, 3)
    by_entry = np.moveaxis(np.array(np.moveaxis(covariance, 0, -1), order="C"), -1, 0)
    by_axis = np.asfortranarray(error)
    for formula in (normal.whiten, normal.nees):
        np.testing.assert_array_equal(formula(by_axis, by_entry), formula(error, covariance))
