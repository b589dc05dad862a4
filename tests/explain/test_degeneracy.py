"""Degeneracy: geometry of scans, and a regression that knows that scans depend on each other."""

import numpy as np
import pytest
from scipy import stats

from smfeval.errors import SeriesError
from smfeval.explain.degeneracy import (
    geometry,
    regression,
    regressions,
    sees_all,
)
from smfeval.summarise.number import Intervals
from support.clocks import remembered

BARE = Intervals(None)


def test_measures_are_those_of_the_eigenvalues(rng):
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    found = geometry((turn @ np.diag([2.0, 8.0, 40.0]) @ turn.T)[None])
    measures = [found.condition, found.trace, found.determinant, found.smallest]
    assert np.ravel(measures) == pytest.approx([20, 50, 640, 2])


def test_a_scan_that_does_not_see_every_direction_is_counted():
    seen = np.stack([np.eye(3), np.diag([1.0, 1.0, 0.0]), np.zeros((3, 3))])
    assert sees_all(seen).tolist() == [True, False, False]
    with pytest.raises(SeriesError, match="2 of 3 scans do not see every direction"):
        geometry(seen)


def test_slope_and_r_squared_are_those_of_scipy(rng):
    kappa = 10.0 ** rng.uniform(0, 2, size=80)
    nees = 3 * kappa**0.7 * 10.0 ** (0.3 * rng.normal(size=80))
    expected = stats.linregress(np.log10(kappa), np.log10(nees))
    found = regression("condition", kappa, nees, intervals=BARE)
    assert found.slope.value == pytest.approx(expected.slope, rel=1e-10)
    assert found.r_squared == pytest.approx(expected.rvalue**2, rel=1e-10)


@pytest.mark.parametrize(("rho", "least"), [(0.0, 0.93), (0.97, 0.88)])
def test_the_interval_holds_the_slope_of_dependent_scans(rng, rho, least):
    """Walls and errors that change slowly; least squares alone holds it in 1 of 4 at rho 0.97."""
    held, plain = [], []
    for _ in range(100):
        drawn = remembered(400, rho, rng)
        x, y = drawn[:, 0], 0.5 * drawn[:, 0] + drawn[:, 1]
        found = regression("condition", 10.0**x, 10.0**y).slope
        held.append(found.low <= 0.5 <= found.high)
        least_squares = stats.linregress(x, y)
        plain.append(abs(least_squares.slope - 0.5) < 1.96 * least_squares.stderr)
    assert np.mean(held) >= least
    assert rho == 0 or np.mean(plain) < 0.5


def test_every_measure_is_regressed(rng):
    values = np.sort(10.0 ** rng.uniform(0, 2, size=(50, 3)), axis=1)
    normals = np.eye(3) * values[:, None, :]
    found = regressions(10.0 ** rng.normal(size=50), geometry(normals), intervals=BARE)
    assert [each.measure for each in found] == ["condition", "trace", "determinant", "smallest"]
    assert {each.scans for each in found} == {50}


def test_a_measure_that_never_changes_has_no_slope():
    found = regression("trace", np.full(20, 5.0), np.arange(1.0, 21.0))
    assert found.slope.low is None
    assert found.slope.reason == "trace never changes, so there is no slope"


def test_numbers_without_logarithm_are_refused():
    with pytest.raises(SeriesError, match="positive in every scan"):
        regression("condition", np.ones(3), np.array([1.0, 0.0, 2.0]))
    with pytest.raises(SeriesError, match="2 scans of condition and 3 of NEES"):
        regression("condition", np.ones(2), np.ones(3))
