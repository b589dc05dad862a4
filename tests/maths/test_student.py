"""Student's t as a finite sum, against scipy's incomplete beta function."""

import numpy as np
import pytest
from scipy.special import stdtr

from smfeval.maths.special import t_cdf


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 7, 10, 11, 23, 24])
def test_the_finite_sum_is_the_distribution(degrees):
    t = np.concatenate([[0.0], np.geomspace(1e-8, 1e4, 200)])
    both = np.concatenate([-t, t])
    np.testing.assert_allclose(t_cdf(degrees, both), stdtr(degrees, both), atol=2e-15)


def test_any_shape_is_kept():
    assert t_cdf(6, np.zeros((2, 3))).tolist() == [[0.5] * 3] * 2
