"""The public door: what it returns, what it refuses and what it says about bad input."""

import numpy as np
import pytest
from scipy.signal import lfilter

from smfeval.errors import OptionError, SeriesError
from smfeval.schema import INTERVAL_METHODS as METHODS
from smfeval.summarise.interval import interval, paired_interval

STATISTICS = ["mean", "median", "rmse", ("quantile", 0.8)]


def rng(seed=0):
    return np.random.default_rng(seed)


def ar1(n, rho, seed=0, rows=None):
    shock = rng(seed).standard_normal((rows or 1, n))
    shock[:, 1:] *= np.sqrt(1 - rho**2)
    series = lfilter([1.0], [1.0, -rho], shock, axis=-1)
    return series if rows else series[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_method_brackets_every_statistic(method, statistic):
    found = interval(2 + ar1(600, 0.5), statistic, method=method, rng=rng())
    assert found.low < found.value < found.high
    assert found.method == method
    assert found.n == 600
    assert 100 < found.n_effective < 600
    assert (found.block_length is None) == (method == "auto")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_same_seed_same_interval(method, statistic):
    series = ar1(300, 0.7)
    first, again = (interval(series, statistic, method=method, rng=rng(7)) for _ in range(2))
    assert first == again


@pytest.mark.parametrize("method", METHODS)
def test_a_higher_level_gives_a_wider_interval(method):
    series = ar1(400, 0.6)
    half, most = (interval(series, "mean", level=x, method=method, rng=rng()) for x in (0.5, 0.99))
    assert most.low < half.low < half.high < most.high


@pytest.mark.parametrize("statistic", STATISTICS)
def test_value_is_the_plain_statistic(statistic):
    series = ar1(501, 0.3, seed=3)
    plain = {
        "mean": np.mean(series),
        "median": np.median(series),
        "rmse": np.sqrt(np.mean(series**2)),
        ("quantile", 0.8): np.quantile(series, 0.8),
    }
    assert interval(series, statistic, rng=rng()).value == plain[statistic]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_intervals_scale_with_the_series(statistic):
    series = ar1(500, 0.8)
    found, scaled = (interval(factor * series, statistic, rng=rng()) for factor in (1, 8))
    expected = found.scale(8)
    for name in ("value", "low", "high", "n_effective"):
        np.testing.assert_allclose(getattr(scaled, name), getattr(expected, name), rtol=1e-9)


@pytest.mark.parametrize("statistic", ["median", ("quantile", 0.3)])
def test_quantile_intervals_follow_any_rising_transform(statistic):
    series = ar1(800, 0.9)
    found, bent = (interval(x, statistic, rng=rng()) for x in (series, np.exp(series)))
    np.testing.assert_allclose([bent.low, bent.high], np.exp([found.low, found.high]), rtol=1e-12)


def test_the_interval_of_a_positive_series_is_positive():
    found = interval(np.exp(2 * ar1(300, 0.9)), "mean", rng=rng())
    assert 0 < found.low < found.value < found.high


def test_a_long_tail_pulls_its_own_end_out():
    series = np.exp(ar1(1000, 0.9))
    found, mirrored = (interval(x, "mean", rng=rng()) for x in (series - 9, 9 - series))
    assert found.high - found.value > found.value - found.low
    assert mirrored.value - mirrored.low > mirrored.high - mirrored.value


def test_zeros_and_ones_are_a_fraction():
    member = ar1(1000, 0.9) < 1.2
    found = interval(member, "mean", rng=rng())
    assert 0 < found.low < found.value < found.high < 1
    assert found.value - found.low > found.high - found.value


@pytest.mark.parametrize("value", [0, 1])
def test_a_fraction_of_all_or_nothing_is_refused_in_words(value):
    found = interval(np.full(200, value), "mean", rng=rng())
    assert (found.value, found.low, found.high, found.n_effective) == (value, None, None, None)
    assert "all 200 scans" in found.reason


def test_a_related_series_gives_all_or_nothing_a_one_sided_bound():
    related = ar1(1000, 0.9)
    none = interval(np.zeros(1000), "mean", related=related, rng=rng())
    every = interval(np.ones(1000), "mean", related=related, rng=rng())
    n = interval(related, "mean", rng=rng()).n_effective
    assert none.low == 0
    np.testing.assert_allclose((1 - none.high) ** n, 0.05)
    assert every.high == 1
    np.testing.assert_allclose(every.low, 1 - none.high)
    assert "one-sided" in every.reason


def test_too_few_samples_beyond_a_quantile_are_named():
    found = interval(ar1(300, 0.97), ("quantile", 0.99), rng=rng())
    assert (found.low, found.high) == (None, None)
    assert found.reason.startswith("effective samples on the rarer side: 0.")


@pytest.mark.parametrize("noise", [0, 30])
def test_a_drift_from_end_to_end_is_no_sample_at_all(noise):
    drift = np.arange(300.0) + noise * rng().standard_normal(300)
    found = interval(drift, "mean", rng=rng())
    assert (found.low, found.high) == (None, None)
    assert found.reason == "effective samples: 1.4, too few for an interval"


def test_white_noise_on_a_slow_series_does_not_hide_its_memory():
    slow = ar1(1000, 0.99, rows=60)
    noisy = slow + rng(1).standard_normal(slow.shape)
    ends = [[interval(x, "mean", rng=rng()) for x in rows] for rows in (slow, noisy)]
    widths = [np.median([i.high - i.low for i in found if i.reason is None]) for found in ends]
    assert 0.8 < widths[1] / widths[0] < 1.25


def test_the_median_of_a_few_distinct_values_is_one_of_them():
    counts = rng().choice([2.0, 5.0], 400, p=[0.9, 0.1])
    for method in METHODS:
        low, high = (interval(x, "median", method=method, rng=rng()) for x in (counts, -counts))
        assert (low.low, low.value, low.high) == (2, 2, 2)
        assert (high.low, high.value, high.high) == (-2, -2, -2)


def test_a_large_offset_changes_no_interval():
    series = ar1(400, 0.9)
    found, far = (interval(x, "mean", rng=rng()) for x in (series - 5, series - 1e9))
    np.testing.assert_allclose(far.high - far.value, found.high - found.value, rtol=1e-4)


@pytest.mark.parametrize("n", [10, 11, 25, 47, 48, 49])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_short_series_get_an_interval_or_a_reason(n, statistic):
    found = interval(rng(n).standard_normal(n), statistic, rng=rng())
    assert (found.low is None) == (found.reason is not None)
    assert found.low is None or found.low <= found.value <= found.high


def test_pairs_cancel_what_is_common():
    common, first, second = ar1(1000, 0.95), ar1(1000, 0.3, seed=1), ar1(1000, 0.3, seed=2)
    paired = paired_interval(9 * common + first + 0.5, 9 * common + second, "median", rng=rng())
    alone = interval(9 * common + first, "median", rng=rng())
    assert paired == interval(
        (9 * common + first + 0.5) - (9 * common + second), "median", rng=rng()
    )
    assert 0.2 < paired.low < 0.5 < paired.high < 0.8
    assert paired.high - paired.low < 0.2 * (alone.high - alone.low)


def test_scaled_keeps_a_refusal():
    assert interval(np.ones(50), "mean", rng=rng()).scale(2.0).low is None


@pytest.mark.parametrize(
    ("series", "words"),
    [
        (np.full(50, 3.0), "all 50 values are 3: no spread"),
        (np.arange(9.0), "9 scans; an interval needs at least 10"),
        (np.r_[np.arange(20.0), np.nan, np.inf], "row 20 is nan, and 2 rows are not finite"),
        (np.r_[np.arange(20.0), -1e40], "row 20 is -1e.40; numbers beyond 1e.30 are no scores"),
        (1e-40 * np.arange(20.0), "all 20 values are 0: no spread"),
        (np.ones((5, 5)), "one axis, not 2"),
    ],
)
@pytest.mark.parametrize("method", ["auto", "circular-percentile"])
def test_bad_series_are_refused_in_a_sentence(series, words, method):
    with pytest.raises(SeriesError, match=words):
        interval(series, "mean", method=method, rng=rng())


def test_a_level_has_room_below_one(rng):
    with pytest.raises(SeriesError, match="too near to 1"):
        interval(rng.normal(size=100), "mean", level=1 - 1e-16)


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, np.nan])
def test_a_level_lies_between_zero_and_one(level):
    with pytest.raises(SeriesError, match="not between 0 and 1"):
        interval(ar1(50, 0.1), "mean", level=level, rng=rng())


def test_a_block_is_no_longer_than_the_series():
    with pytest.raises(SeriesError, match="a block of 51 scans is longer than the series of 50"):
        interval(ar1(50, 0.1), method="circular-percentile", block_length=51, rng=rng())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"method": "magic"},
            f"no method 'magic'; there are {', '.join(METHODS)}$",
        ),
        ({"statistic": "mode"}, "'mode' is no statistic"),
        ({"statistic": ("quantile", 1.5)}, "is no statistic"),
        ({"block_length": 5}, "uses no blocks"),
        ({"method": "circular-percentile", "block_length": 2.5}, "whole number"),
        ({"method": "circular-percentile", "replicates": 0}, "0 replicates"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options, words):
    with pytest.raises(OptionError, match=words):
        interval(ar1(50, 0.1), **options, rng=rng())


def test_pairs_need_common_scans():
    with pytest.raises(SeriesError, match="20 and 21 scans"):
        paired_interval(np.arange(20.0), np.arange(21.0), rng=rng())


def test_squares_that_are_all_alike_have_no_spread():
    with pytest.raises(SeriesError, match="no spread"):
        interval(np.tile([1.0, -1.0], 20), "rmse", rng=rng())


def test_only_methods_that_draw_at_random_need_a_generator(rng):
    series = rng.normal(size=200)
    assert interval(series, "mean") == interval(series, "mean", rng=rng)
    with pytest.raises(OptionError, match="needs a generator"):
        interval(series, "mean", method="circular-percentile")
