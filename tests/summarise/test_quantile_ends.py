"""Ends of the interval of a quantile."""

import numpy as np
import pytest

from smfeval.maths.dependence import neighbour_sums
from smfeval.summarise.interval import probability_below, quantile_ends


@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.parametrize("ties", [False, True])
def test_ends_are_the_first_values_at_which_the_fraction_may_be_the_share(share, ties, rng):
    series = np.convolve(rng.standard_normal(600), np.ones(5), mode="valid") ** 2
    series = np.round(series) if ties else series
    below = {
        value: probability_below(share, neighbour_sums(series <= value), len(series))
        for value in np.unique(series)
    }
    ends = quantile_ends(series, share, 0.95)
    assert ends.low == next(value for value, p in below.items() if p <= 0.975)
    assert ends.high == next(value for value, p in below.items() if p < 0.025)


def test_many_series_at_once_have_the_ends_of_each(rng):
    rows = rng.standard_normal((3, 400)).cumsum(axis=-1)
    together = quantile_ends(rows, 0.3, 0.9)
    for i, row in enumerate(rows):
        alone = quantile_ends(row, 0.3, 0.9)
        assert (together.low[i], together.high[i]) == (alone.low, alone.high)
        assert together.n_effective[i] == pytest.approx(float(alone.n_effective), rel=1e-12)
