import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfeval.maths.normal import columns, factor_covariance
from smfeval.maths.symmetric import (
    are_surely_definite,
    asymmetry,
    axis_ratio_bound,
    correlation_eigenvalue,
    eigenvalue_bound,
    is_semidefinite,
    is_symmetric,
    pack_lower,
    smallest_pivot,
    unpack_lower,
)
from support.beliefs import covariances


def test_lower_triangle_runs_row_by_row():
    matrix = np.array([[1.0, 2, 4], [2, 3, 5], [4, 5, 6]])
    assert pack_lower(matrix).tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_unpacking_undoes_packing(d, rng):
    matrix = covariances(7, rng, d)
    np.testing.assert_array_equal(unpack_lower(pack_lower(matrix)), matrix)


def test_asymmetry_is_relative_to_the_largest_entry():
    matrix = np.array([[[2.0, 0.5], [0.1, 1.0]], [[0, 0], [0, 0]]])
    np.testing.assert_allclose(asymmetry(matrix), [0.2, 0])
    assert not is_symmetric(matrix)


@settings(max_examples=300)
@given(st.integers(0, 2**32 - 1), st.floats(-12, 6), st.sampled_from([1, 2, 3, 6]))
def test_semidefiniteness_is_what_the_eigenvalues_say(seed, exponent, d):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    values = rng.uniform(0.1, 1, size=d)
    values[0] = 10.0**exponent * rng.choice([-1, 1])
    matrix = (basis * values) @ basis.T
    matrix = 0.5 * (matrix + matrix.T)[None]
    smallest = correlation_eigenvalue(matrix)[0]
    if abs(smallest + 1e-9) > 1e-12:  # not a case for the tolerance itself
        assert is_semidefinite(matrix)[0] == (smallest >= -1e-9)


@settings(max_examples=300)
@given(st.integers(0, 2**32 - 1), st.floats(-9, 1), st.sampled_from([1, 2, 3, 6]))
def test_the_bound_is_below_the_smallest_eigenvalue_and_near_it(seed, exponent, d):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    values = rng.uniform(0.1, 1, size=d)
    values[0] = 10.0**exponent
    matrix = (basis * values) @ basis.T
    matrix = 0.5 * (matrix + matrix.T)[None]
    smallest, bound = correlation_eigenvalue(matrix)[0], eigenvalue_bound(matrix)[0]
    assert bound <= smallest * (1 + 1e-6)
    assert bound > 1e-6 * smallest  # of use: no eigenvalue but this one is small


def test_the_bound_of_what_is_not_definite_is_no_number_above_zero(rng):
    matrix = covariances(4, rng)
    matrix[0, 5, 5] *= -1
    matrix[1, 3, :] = matrix[1, :, 3] = 0
    matrix[2, 2, 1] = np.nan
    assert (eigenvalue_bound(matrix) > 0).tolist() == [False, False, False, True]


@pytest.mark.parametrize("d", [2, 3, 6])
def test_the_ratio_of_the_axes_is_bounded_in_all_axes(d, rng):
    matrix = covariances(200, rng, d)
    turn = np.linalg.qr(rng.normal(size=(200, d, d)))[0]
    turned = turn @ matrix @ turn.swapaxes(1, 2)
    value, bound = np.linalg.eigvalsh(matrix), axis_ratio_bound(matrix)
    assert ((bound > 0) & (bound <= value[:, 0] / value[:, -1])).all()
    np.testing.assert_allclose(axis_ratio_bound(turned), bound, rtol=1e-6)
    assert (bound <= correlation_eigenvalue(turned)).all()
    matrix[0, :, 0] = matrix[0, 0, :] = 0
    matrix[1] *= -1
    assert (axis_ratio_bound(matrix)[:2] == -np.inf).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize("entry", [(4, 1), (1, 4), (5, 4)])
def test_a_bad_covariance_is_not_surely_definite(value, mirrored, entry, rng):
    matrix = covariances(50, rng)
    assert are_surely_definite(matrix)
    matrix[7][entry] = value
    matrix[7][entry[::-1]] = value if mirrored else matrix[7][entry[::-1]]
    assert not are_surely_definite(matrix)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, -1.0])
@pytest.mark.parametrize("axis", [0, 5])
def test_a_bad_variance_is_not_surely_definite(value, axis, rng):
    matrix = covariances(50, rng)
    matrix[7, axis, axis] = value
    assert not are_surely_definite(matrix)


def test_a_last_bit_makes_it_not_surely_definite(rng):
    matrix = covariances(50, rng)
    matrix[7, 2, 4] = np.nextafter(matrix[7, 4, 2], np.inf)
    assert not are_surely_definite(matrix)


def test_metres_and_radians_weigh_alike(rng):
    matrix = covariances(50, rng)
    scale = np.diag([1e4, 1e4, 1e4, 1e-6, 1e-6, 1e-6])
    assert is_semidefinite(scale @ matrix @ scale).all()
    spoiled = matrix.copy()
    spoiled[:, 5, 5] *= 1e-3
    expected = np.linalg.eigvalsh(spoiled)[:, 0] >= 0
    np.testing.assert_array_equal(is_semidefinite(scale @ spoiled @ scale), expected)


def test_planar_covariances_are_semidefinite(rng):
    matrix = np.zeros((3, 6, 6))
    matrix[np.ix_(range(3), [0, 1, 5], [0, 1, 5])] = covariances(3, rng, 3)
    assert is_semidefinite(matrix).all()


def test_zero_variance_beside_a_covariance_is_indefinite():
    matrix = np.eye(6)[None].copy()
    matrix[0, 2, 2] = 0
    matrix[0, 2, 3] = matrix[0, 3, 2] = 1e-9
    assert not is_semidefinite(matrix)[0]


def test_a_negated_covariance_is_indefinite(rng):
    assert not is_semidefinite(-covariances(5000, rng)).any()


def test_a_bad_matrix_is_found_in_every_chunk(rng):
    matrix = covariances(10_000, rng)
    for row in (0, 4095, 4096, 9999):
        matrix[row] = -matrix[row]
    assert np.flatnonzero(~is_semidefinite(matrix)).tolist() == [0, 4095, 4096, 9999]


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_the_factors_multiply_to_the_covariance(d, rng):
    covariance = covariances(20, rng, d)
    found = factor_covariance(covariance)
    lower = np.tile(np.eye(d), (20, 1, 1))
    for i, row in enumerate(found.factor):
        for j, entry in enumerate(row):
            lower[:, i, j] = entry
    product = np.einsum("nij,jn,nkj->nik", lower, np.array(found.pivot), lower)
    np.testing.assert_allclose(product, covariance, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_squares_and_solutions_are_those_of_linear_algebra(d, rng):
    covariance, error = covariances(20, rng, d), rng.normal(size=(20, d))
    found, solved = (
        factor_covariance(covariance),
        np.linalg.solve(covariance, error[..., None])[..., 0],
    )
    np.testing.assert_allclose(np.array(found.solve(columns(error))).T, solved, rtol=1e-8)
    expected = np.sum(error * solved, axis=1)
    np.testing.assert_allclose(found.squared_distance(columns(error)), expected, rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_the_smallest_pivot_is_that_of_the_correlation_matrix(d, rng):
    covariance = covariances(20, rng, d)
    found = factor_covariance(covariance).smallest_pivot()
    np.testing.assert_allclose(found, smallest_pivot(covariance), rtol=1e-9)
    sigma = np.exp(rng.normal(size=d))
    rescaled = factor_covariance(covariance * np.outer(sigma, sigma)).smallest_pivot()
    np.testing.assert_allclose(rescaled, found, rtol=1e-9)


def test_the_sum_of_minors_is_that_of_products_of_eigenvalues(rng):
    covariance = covariances(20, rng, 3)
    a, b, c = np.linalg.eigvalsh(covariance).T
    np.testing.assert_allclose(
        factor_covariance(covariance).minors(), a * b + b * c + c * a, rtol=1e-9
    )
