"""Special functions against scipy's, and against numbers from closed forms.

Student's t as a finite sum, against scipy's incomplete beta function.
"""

from math import erf as erf_at
from math import pi, tan

import mpmath
import numpy as np
import pytest
from scipy import special as peer
from scipy.special import stdtr

from smfeval.maths.autocovariance import fast_length
from smfeval.maths.normal_distance import gauss_jacobi
from smfeval.maths.special import (
    chi_squared_cdf,
    chi_squared_mean_log,
    chi_squared_quantile,
    chi_squared_tail,
    chi_squared_tail_quantile,
    erf,
    golden_section,
    normal_quantile,
    t_cdf,
    t_quantile,
    t_tail,
)

DEGREES = range(1, 10)


def test_erf_is_that_of_the_standard_library() -> None:
    x = np.concatenate([np.linspace(-7, 7, 100_001), [-1e300, -np.inf, 1e-300, np.inf]])
    wanted = np.array([erf_at(each) for each in x])
    assert np.abs(erf(x) - wanted).max() <= 4e-16
    small = np.geomspace(1e-200, 1e-3, 1000)
    np.testing.assert_allclose(erf(small), [erf_at(each) for each in small], rtol=1e-15)


def test_erf_of_what_is_no_number_is_none() -> None:
    assert np.isnan(erf(np.array([np.nan]))).all()


@pytest.mark.parametrize("degrees", DEGREES)
def test_chi_squared(degrees: int) -> None:
    x = np.concatenate([[0, 1e-30, 1e4, 1e200, np.inf], np.linspace(0, 80, 50_001)])
    assert np.abs(chi_squared_cdf(degrees, x) - peer.chdtr(degrees, x)).max() <= 5e-15


@pytest.mark.parametrize("degrees", DEGREES)
def test_tail_of_chi_squared_keeps_its_digits(degrees: int) -> None:
    x = np.linspace(0, 500, 1001)
    ours = [chi_squared_tail(degrees, each) for each in x]
    np.testing.assert_allclose(ours, peer.chdtrc(degrees, x), rtol=2e-13)


@pytest.mark.parametrize("degrees", DEGREES)
@pytest.mark.parametrize("probability", [1e-9, 0.01, 0.05, 0.5, 0.9, 0.999])
def test_chi_squared_exceeded(degrees: int, probability: float) -> None:
    ours = chi_squared_tail_quantile(degrees, probability)
    assert ours == pytest.approx(float(peer.chdtri(degrees, probability)), rel=5e-13)


MANY_DEGREES = [10, 24, 59, 60, 61, 219, 258, 1999, 10**5, 10**7]
TAILS = [0.9, 0.5, 1e-3, 1e-15, 1e-100, 1e-300]


@pytest.mark.parametrize("degrees", [*DEGREES, *MANY_DEGREES])
def test_chi_squared_of_any_degrees_down_to_the_smallest_tail(degrees: int) -> None:
    x = peer.chdtri(degrees, np.array(TAILS))
    ours = [chi_squared_tail(degrees, each) for each in x.tolist()]
    np.testing.assert_allclose(ours, peer.chdtrc(degrees, x), rtol=1e-12)
    np.testing.assert_allclose(chi_squared_cdf(degrees, x), peer.chdtr(degrees, x), atol=5e-15)
    again = [chi_squared_tail_quantile(degrees, each) for each in TAILS]
    np.testing.assert_allclose(again, x, rtol=1e-12)


@pytest.mark.parametrize("degrees", [1, 9, 60, 61, 258])
@pytest.mark.parametrize("tail", TAILS)
def test_tails_of_chi_squared_by_forty_digits(degrees: int, tail: float) -> None:
    x = chi_squared_tail_quantile(degrees, tail)
    with mpmath.workdps(40):
        half = mpmath.mpf(x) / 2
        wanted = mpmath.gammainc(mpmath.mpf(degrees) / 2, half, mpmath.inf, regularized=True)
    assert chi_squared_tail(degrees, x) == pytest.approx(float(wanted), rel=1e-12, abs=0)
    assert float(wanted) == pytest.approx(tail, rel=1e-12, abs=0)


def test_nothing_is_beyond_what_is_infinite() -> None:
    for degrees in (1, 2, 60, 61, 258, 10**7):
        assert chi_squared_tail(degrees, np.inf) == 0.0
        assert chi_squared_tail(degrees, -1.0) == 1.0
        assert chi_squared_cdf(degrees, np.array([0.0, np.inf])).tolist() == [0, 1]


@pytest.mark.parametrize("degrees", [1, 1.2, 1.5, 2.5, 3.7, 5.5, 10.5, 59.5, 60, 61.3, 200])
@pytest.mark.parametrize("probability", [1e-9, 0.0125, 0.025, 0.5, 0.975, 0.9875, 0.999])
def test_chi_squared_quantile_of_any_degrees(degrees: float, probability: float) -> None:
    wanted = 2 * float(peer.gammaincinv(degrees / 2, probability))
    assert chi_squared_quantile(degrees, probability) == pytest.approx(wanted, rel=2e-12, abs=0)


@pytest.mark.parametrize("degrees", [200.1, 1e3, 1e5, 1e7])
@pytest.mark.parametrize("probability", [0.01, 0.025, 0.5, 0.975, 0.99])
def test_chi_squared_quantile_of_many_degrees(degrees: float, probability: float) -> None:
    wanted = 2 * float(peer.gammaincinv(degrees / 2, probability))
    assert chi_squared_quantile(degrees, probability) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("degrees", MANY_DEGREES)
@pytest.mark.parametrize("probability", [0.3, 1e-3, 1e-15])
def test_student_of_any_degrees(degrees: int, probability: float) -> None:
    t = -float(peer.stdtrit(degrees, probability))
    with mpmath.workdps(40):  # the integral of the density
        d = mpmath.mpf(degrees)
        norm = mpmath.gammaprod([(d + 1) / 2], [d / 2, 1]) / mpmath.sqrt(mpmath.pi * d)
        wanted = mpmath.quad(
            lambda u: norm * (1 + u * u / d) ** (-(d + 1) / 2),
            [t, t + 1, t + 4, t + 16, t + 99, mpmath.inf],
        )
    assert t_tail(degrees, t) == pytest.approx(float(wanted), rel=1e-9, abs=0)


@pytest.mark.parametrize("degrees", [1, 2, 3, 5, 24, 25, 61, 300, 1999, 10**7])
@pytest.mark.parametrize("probability", [1e-6, 0.025, 0.4, 0.5, 0.6, 0.975, 1 - 1e-6])
def test_t_quantile(degrees: int, probability: float) -> None:
    wanted = float(peer.stdtrit(degrees, probability))
    assert t_quantile(degrees, probability) == pytest.approx(wanted, rel=1e-10, abs=1e-15)


def test_t_quantile_of_one_degree_is_a_tangent() -> None:
    assert t_quantile(1, 0.975) == pytest.approx(tan(pi * 0.475), rel=1e-12)


def test_normal_quantile_keeps_the_shape() -> None:
    probability = np.array([[1e-12, 0.025, 0.5], [0.7, 0.975, 1 - 1e-9]])
    np.testing.assert_allclose(normal_quantile(probability), peer.ndtri(probability), rtol=1e-13)
    assert float(normal_quantile(0.5)) == 0


@pytest.mark.parametrize(("a", "b"), [(0, 0), (3, -0.5), (-0.6, -0.05), (-0.5, -0.5), (5, -0.95)])
@pytest.mark.parametrize("count", [1, 2, 7, 48, 92])
def test_gauss_jacobi_integrates_polynomials(count: int, a: float, b: float) -> None:
    node, weight = gauss_jacobi(count, a, b)
    assert (np.diff(node) > 0).all()
    assert (weight > 0).all()
    for power in range(min(2 * count, 12)):  # Int (1 + x)^power of the weight, a beta function
        wanted = 2 ** (a + b + power + 1) * peer.beta(a + 1, b + power + 1)
        assert (weight * (1 + node) ** power).sum() == pytest.approx(wanted, rel=1e-12)


def test_fast_length_is_the_smallest() -> None:
    products = sorted(2**i * 3**j * 5**k for i in range(14) for j in range(9) for k in range(6))
    for least in range(1, 3000):
        assert fast_length(least) == next(each for each in products if each >= least)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 7, 10, 11, 23, 24])
def test_the_finite_sum_is_the_distribution(degrees):
    t = np.concatenate([[0.0], np.geomspace(1e-8, 1e4, 200)])
    both = np.concatenate([-t, t])
    np.testing.assert_allclose(t_cdf(degrees, both), stdtr(degrees, both), atol=2e-15)


def test_any_shape_is_kept():
    assert t_cdf(6, np.zeros((2, 3))).tolist() == [[0.5] * 3] * 2


@pytest.mark.parametrize("degrees", [*DEGREES, 24, 47, 48])
def test_tail_of_student_keeps_its_digits(degrees: int) -> None:
    t = np.concatenate([np.linspace(0, 60, 1001), np.geomspace(60, 1e5, 50)])
    ours = [t_tail(degrees, each) for each in t.tolist()]
    np.testing.assert_allclose(ours, stdtr(degrees, -t), rtol=1e-13)


def test_tail_of_student_ends_and_has_no_value_without_a_number() -> None:
    assert t_tail(3, 0.0) == 0.5
    assert t_tail(3, np.inf) == 0.0 == t_tail(3, 1e200)
    assert np.isnan(t_tail(3, np.nan))


@pytest.mark.parametrize("degrees", DEGREES)
def test_mean_logarithm_of_chi_squared(degrees: int) -> None:
    expected = peer.digamma(degrees / 2) + np.log(2)
    assert chi_squared_mean_log(degrees) == pytest.approx(expected, abs=1e-15)


def test_golden_section_finds_the_least_value_by_few_tries():
    tried = []

    def score(x):
        tried.append(x)
        return (x - 1.3) ** 2

    assert golden_section(score, -5, 5, 14) == pytest.approx(1.3, abs=0.05)
    assert len(tried) == 14
