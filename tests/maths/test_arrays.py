"""Medians, quantiles and inverses are those of numpy."""

import numpy as np
import pytest

from smfeval.maths.arrays import inverse, median_of, quantile_of

PROBABILITIES = (0.5, 0.0, 1.0, 0.95, (0.1, 0.5, 0.9), np.linspace(0, 1, 7))


def arrays(rows: int) -> list[np.ndarray]:
    """Numbers, whole numbers with ties, and numbers some of which are nan."""
    rng = np.random.default_rng(rows)
    numbers = rng.normal(size=(rows, 3))
    holes = np.where(rng.random((rows, 3)) < 0.1, np.nan, numbers)
    return [numbers, rng.integers(0, 4, size=(rows, 3)), holes, numbers[:, 0]]


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 30, 101])
def test_medians_and_quantiles_are_those_of_numpy(rows):
    for array in arrays(rows):
        for axis in (None, *range(array.ndim)):
            np.testing.assert_array_equal(median_of(array, axis=axis), np.median(array, axis=axis))
            for probability in PROBABILITIES:
                found = quantile_of(array, probability, axis=axis)
                np.testing.assert_array_equal(found, np.quantile(array, probability, axis=axis))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_inverses_are_those_of_numpy(size, rng):
    matrix = rng.normal(size=(50, 2, size, size)) + 4 * np.eye(size)
    np.testing.assert_allclose(inverse(matrix), np.linalg.inv(matrix), rtol=1e-11, atol=1e-13)
