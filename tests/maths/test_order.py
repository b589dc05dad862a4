"""Selection from a sample's bracket against sorting."""

import numpy as np
import pytest

from smfeval.maths import order
from smfeval.maths.order import LONG, SAMPLE, median, order_statistics, quantile

LENGTH = 2 * LONG + 7


def series_of(kind, rng):
    stride = LENGTH // SAMPLE
    match kind:
        case "walk":
            return rng.standard_normal(LENGTH).cumsum()
        case "tied":
            return rng.integers(0, 4, LENGTH).astype(float)
        case "constant":
            return np.full(LENGTH, 2.5)
        case "in step with the sample":  # every sampled value is small, the others are not
            return np.where(np.arange(LENGTH) % stride == 0, -1.0, rng.uniform(1, 2, LENGTH))
        case "rising":
            return np.arange(LENGTH, dtype=float)
    return rng.standard_normal(LENGTH) ** 2


KINDS = ["squares", "walk", "tied", "constant", "in step with the sample", "rising"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 1e-6, 0.1, 0.5, 0.9, 0.99999, 1.0])
def test_quantiles_of_long_series_are_those_of_numpy(kind, share, rng):
    series = series_of(kind, rng)
    assert quantile(series, share) == pytest.approx(np.quantile(series, share), rel=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1001])
def test_quantiles_of_short_series_are_those_of_numpy(n, rng):
    series = rng.standard_normal(n)
    for share in (0.0, 0.3, 0.5, 1.0):
        assert quantile(series, share) == pytest.approx(np.quantile(series, share), rel=1e-14)
    assert median(series) == pytest.approx(np.median(series), rel=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", [0, 1, LENGTH // 3, LENGTH - 2, LENGTH - 1])
def test_order_statistics_are_places_of_the_sorted_series(kind, place, rng):
    series = series_of(kind, rng)
    last = min(place + 1, LENGTH - 1)
    expected = np.sort(series)[place : last + 1]
    np.testing.assert_array_equal(order_statistics(series, place, last), expected)


def test_most_of_a_long_series_is_never_partitioned(rng, monkeypatch):
    seen = []
    partition = np.partition
    monkeypatch.setattr(
        order.np, "partition", lambda a, kth: (seen.append(len(a)), partition(a, kth))[1]
    )
    median(rng.standard_normal(LENGTH))
    assert max(seen) < 0.2 * LENGTH


def test_the_middle_of_what_ends_in_infinity_is_finite():
    assert median(np.array([1.0, 2.0, np.inf])) == 2
    assert quantile(np.array([-np.inf, -np.inf, 0.0]), 0.0) == -np.inf


def test_what_is_not_a_number_has_no_quantile(rng):
    for n in (11, LENGTH):
        series = rng.standard_normal(n)
        series[3] = np.nan
        assert np.isnan(quantile(series, 0.2))


def test_rows_have_a_quantile_each(rng):
    rows = rng.standard_normal((3, 50))
    np.testing.assert_allclose(quantile(rows, 0.3), [quantile(row, 0.3) for row in rows])
