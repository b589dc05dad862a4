"""The search in long series against the one that sorts and looks at everything."""

import numpy as np
import pytest

from smfeval.summarise import interval_ends
from smfeval.summarise.interval_ends import (
    LONG_SERIES,
    _long_ends,
    _short_ends,
    first_values,
    quantile_ends,
)

N = LONG_SERIES + 4321


def series_of(kind, rng):
    white = rng.standard_normal(N)
    match kind:
        case "walk":
            return white.cumsum()
        case "tied":
            return np.round(white, 1)
        case "slow":
            return np.convolve(white, np.ones(500), mode="same") ** 2
    return white**2


@pytest.mark.parametrize("kind", ["white", "walk", "tied", "slow"])
@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.parametrize("many", [LONG_SERIES, 300])
def test_ends_of_a_long_series_are_those_of_the_plain_search(kind, share, many, rng, monkeypatch):
    series = series_of(kind, rng)
    monkeypatch.setattr(interval_ends, "MANY", many)
    expected = _short_ends(series, share, 0.025)
    np.testing.assert_array_equal(_long_ends(series, share, 0.025), expected)


def test_the_first_value_is_the_first_with_enough_scans_at_most_it(rng):
    series = rng.permutation(np.repeat(np.arange(N // 2 + 1), 2))[:N].astype(float)
    for wanted in (1, 17, N // 3, N - 1, N):
        (found,) = first_values(series, [lambda sums, wanted=wanted: sums.sum() >= wanted])
        assert found == np.sort(series)[wanted - 1]


def test_many_series_at_once_have_the_ends_of_each(rng):
    rows = rng.standard_normal((3, 400)).cumsum(axis=-1)
    together = quantile_ends(rows, 0.3, 0.9)
    for i, row in enumerate(rows):
        alone = quantile_ends(row, 0.3, 0.9)
        assert (together.low[i], together.high[i]) == (alone.low, alone.high)
        assert together.n_effective[i] == pytest.approx(float(alone.n_effective), rel=1e-12)
