"""The exact bootstrap of a median against resampling for real, and against order statistics."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm, t

from smfeval.compare.across import (
    expanded_tail,
    fewest_for_median,
    median_ends,
    median_number,
    middle_draws,
)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_every_possible_resample_gives_the_same_distribution(count, rng):
    values = np.sort(rng.normal(size=count))
    medians = np.median(values[np.array(list(product(range(count), repeat=count)))], axis=1)
    first, second, weight = middle_draws(count)
    middle = (values[first] + values[second]) / 2
    for value in np.unique(np.round(medians, 12)):
        share = np.mean(np.abs(medians - value) < 1e-9)
        assert weight[np.abs(middle - value) < 1e-9].sum() == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("count", [7, 10, 41, 60])
@pytest.mark.parametrize("tail", [0.005, 0.025, 0.2])
def test_the_ends_are_percentiles_of_resampling(count, tail, rng):
    values = rng.lognormal(sigma=2, size=count)
    medians = np.median(rng.choice(values, size=(40_000, count)), axis=1)
    low, high = median_ends(values, tail)
    chance = 4 * np.sqrt(tail / len(medians))
    assert np.mean(medians < low - 1e-12) <= tail + chance
    assert np.mean(medians <= low + 1e-12) >= tail - chance
    assert np.mean(medians > high + 1e-12) <= tail + chance
    assert np.mean(medians >= high - 1e-12) >= tail - chance


@pytest.mark.parametrize("count", [1, 2, 7, 100, 1001, 20_000])
def test_the_probabilities_add_up(count):
    first, second, weight = middle_draws(count)
    assert weight.sum() == pytest.approx(1, abs=1e-12)
    assert (weight >= 0).all()
    assert (first <= second).all()
    assert (weight * (first + second)).sum() == pytest.approx(count - 1, rel=1e-9)  # symmetric


def test_many_tracks_have_the_interval_of_the_normal_limit(rng):
    values = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    low, high = median_ends(values, 0.025)
    half_width = 1.96 * np.sqrt(np.pi / 2 / 20_000)
    assert (low, high) == pytest.approx((-half_width, half_width), rel=0.02)


@pytest.mark.parametrize("count", [6, 9, 20])
def test_the_interval_is_mirrored_and_moved_with_the_values(count, rng):
    values = rng.normal(size=count) ** 3
    low, high = median_ends(values, 0.01)
    assert median_ends(-values, 0.01) == pytest.approx((-high, -low), abs=1e-14)
    assert median_ends(2 * values + 1, 0.01) == pytest.approx(
        (2 * low + 1, 2 * high + 1), abs=1e-12
    )


@pytest.mark.parametrize("count", [6, 15, 300])
def test_the_expanded_tail_is_that_of_student(count):
    wanted = norm.cdf(np.sqrt(count / (count - 1)) * t.ppf(0.025, count - 1))
    assert expanded_tail(count, 0.025) == pytest.approx(wanted, rel=1e-9)
    assert expanded_tail(count, 0.025) < 0.025


@pytest.mark.parametrize(("level", "wanted"), [(0.9, 5), (0.95, 6), (0.99, 8), (0.5, 2)])
def test_the_fewest_tracks_are_those_whose_range_holds_the_median(level, wanted):
    assert fewest_for_median(level) == wanted
    assert 1 - 0.5 ** (wanted - 1) >= level > 1 - 0.5 ** (wanted - 2)


def test_too_few_tracks_have_a_median_and_a_reason(rng):
    number = median_number(np.array([3.0, 1.0, 2.0, 5.0, 4.0]), "m", 0.95)
    assert (number.value, number.unit, number.low, number.high) == (3, "m", None, None)
    assert number.reason == "tracks: 5; an interval needs at least 6"


def test_equal_values_have_no_interval():
    number = median_number(np.full(9, 0.3), "m", 0.95)
    assert (number.value, number.low) == (0.3, None)
    assert "same value" in number.reason


def test_infinite_values_stay_in_the_median_and_out_of_the_interval():
    few = median_number(np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, np.inf]), "1", 0.95)
    assert few.value == 6.5
    assert few.high < 12
    many = median_number(np.array([1.0, 2, 3, 4, np.inf, np.inf, np.inf]), "1", 0.95)
    assert (many.value, many.low, many.high) == (4, None, None)
    assert many.reason == "an end of the interval is not finite"


def test_the_interval_holds_the_median_itself(rng):
    for count in range(6, 30):
        number = median_number(rng.standard_t(1.5, size=count), "m", 0.95)
        assert number.low <= number.value <= number.high
        assert number.n_effective == count
