"""ANEES over runs: its band is exact, its verdict is from the runs."""

import numpy as np
import pytest
from scipy.stats import chi2

from smfeval import SeriesError
from smfeval.compare.monte_carlo import BAND, anees_band, monte_carlo

TIMES = 200
STAMP = np.arange(TIMES) * 100_000_000


def remembered_nees(rng, runs, times=TIMES, memory=0.9, scale=1.0):
    """NEES of errors that remember each other over time. (runs, times)."""
    error = np.empty((times, runs, 3))
    error[0] = rng.normal(size=(runs, 3))
    fresh = np.sqrt(1 - memory**2) * rng.normal(size=(times, runs, 3))
    for t in range(1, times):
        error[t] = memory * error[t - 1] + fresh[t]
    return scale * np.sum(error**2, axis=2).T


def particle_nees(rng, runs, times, count):
    """NEES of the truth under the sample moments of honest particles. (runs, times)."""
    cloud = rng.normal(size=(runs, times, count, 3))
    mean = cloud.mean(axis=2)
    away = cloud - mean[:, :, None]
    covariance = np.einsum("rtki,rtkj->rtij", away, away) / count
    error = mean - rng.normal(size=mean.shape)
    return np.einsum("rti,rti->rt", error, np.linalg.solve(covariance, error[..., None])[..., 0])


def test_the_band_is_that_of_chi_squared():
    low, high = anees_band(50, 3, 4)
    expected = chi2(150).ppf([0.025, 0.975]) / 150
    assert low == pytest.approx(np.full(4, expected[0]))
    assert high == pytest.approx(np.full(4, expected[1]))


@pytest.mark.parametrize("runs", [50, 200])
def test_the_band_holds_95_percent_of_times_of_honest_runs(runs):
    """25 studies; times remember each other, so the error is from the scatter over studies."""
    rng = np.random.default_rng(runs)
    shares = [monte_carlo(remembered_nees(rng, runs), 3, STAMP).outside for _ in range(25)]
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    assert abs(np.mean(shares) - (1 - BAND)) < 3.5 * error
    assert error < 0.01


def test_the_band_of_particles_is_wider_and_holds():
    rng, runs, count = np.random.default_rng(5), 20, 12
    nees = particle_nees(rng, runs, 1500, count)
    found = monte_carlo(nees, 3, np.arange(1500), particles=np.full(1500, float(count)))
    assert abs(found.outside - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 1500)
    assert found.mean.low < 1 < found.mean.high
    gaussian = monte_carlo(nees, 3, np.arange(1500))
    assert gaussian.label == "overconfident"
    assert gaussian.outside > 0.5


@pytest.mark.parametrize(
    ("scale", "label"), [(1.0, "consistent"), (1.5, "overconfident"), (0.6, "conservative")]
)
def test_the_verdict_is_that_of_the_scale(scale, label):
    rng = np.random.default_rng(9)
    found = monte_carlo(remembered_nees(rng, 50, scale=scale), 3, STAMP, names=("a", "g", "t"))
    assert found.label == label
    assert f"a on t: {label}, ANEES" in found.sentence
    assert found.mean.value == pytest.approx(scale, rel=0.1)


def test_honest_runs_are_seldom_convicted():
    rng = np.random.default_rng(10)
    labels = [monte_carlo(remembered_nees(rng, 10, 60), 3, STAMP[:60]).label for _ in range(300)]
    assert np.mean([label == "overconfident" for label in labels]) <= 0.05


def test_after_a_fit_nothing_is_concluded_and_few_runs_are_refused():
    rng = np.random.default_rng(1)
    nees = remembered_nees(rng, 8, scale=9.0)
    assert monte_carlo(nees, 3, STAMP, inexact="after a fit").label == "cannot tell"
    with pytest.raises(SeriesError, match="4 runs; 5 are needed"):
        monte_carlo(nees[:4], 3, STAMP)
