"""The paper's example: errors of 1 cm, correlation 0.99 from scan to scan, 1000 scans."""

import numpy as np
import pytest
from scipy.signal import lfilter

from smfeval.summarise.interval import interval

N, RHO, SD_CM = 1000, 0.99, 1.0


def mean_variance():
    """Exact variance of the mean of the AR(1) series."""
    lag = np.arange(1, N)
    return SD_CM**2 / N * (1 + 2 * np.sum((1 - lag / N) * RHO**lag))


def test_dependence_inflates_the_variance_of_the_mean_179_times():
    assert mean_variance() / (SD_CM**2 / N) == pytest.approx(179, abs=0.5)


def test_six_hundredths_of_a_centimetre_become_eighty_three():
    assert 1.96 * SD_CM / np.sqrt(N) == pytest.approx(0.06, abs=0.005)
    assert 1.96 * np.sqrt(mean_variance()) == pytest.approx(0.83, abs=0.005)


def test_auto_knows_what_independence_and_blocks_do_not():
    shock = np.random.default_rng(5).standard_normal((60, N))
    shock[:, 1:] *= np.sqrt(1 - RHO**2)
    rng = np.random.default_rng(6)
    half = {
        method: np.nanmedian(
            [half_width(x, method, rng) for x in lfilter([1.0], [1.0, -RHO], shock)]
        )
        for method in ("auto", "circular-percentile")
    }
    assert 0.83 < half["auto"] < 1.6 * 0.83
    assert half["circular-percentile"] < 0.6 * 0.83


def half_width(series, method, rng):
    found = interval(series, "mean", method=method, rng=rng)
    return np.nan if found.low is None else (found.high - found.low) / 2
