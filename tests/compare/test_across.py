"""One metric: cells, bold, baselines.

The exact bootstrap of a median against resampling for real, and against order statistics.
"""

from dataclasses import replace
from itertools import product
from math import inf, log10

import numpy as np
import pytest
from scipy.stats import norm, t

from smfeval.compare.across import (
    Entrants,
    expanded_tail,
    fewest_for_median,
    median_ends,
    median_number,
    metric_column,
    middle_draws,
)

TRACKS = tuple(f"t{i}" for i in range(12))
THREE = Entrants(("good", "bad", "base"), (True, True, False), TRACKS)


def columned(values, entrants=THREE, loss=lambda value: value):
    return metric_column("mae", entrants, values, unit="m", loss=loss, level=0.95)


def bold(found):
    return {cell.estimator for cell in found.cells if cell.best}


@pytest.fixture
def values(rng):
    return np.array([[1.0], [2.0], [0.1]]) * rng.lognormal(sigma=0.1, size=(3, 12))


def test_a_cell_is_the_median_over_tracks_and_says_what_it_is_of(values):
    cell = columned(values).cells[1]
    assert cell.median.value == np.median(values[1])
    assert cell.values == tuple(zip(TRACKS, values[1].tolist(), strict=True))
    assert cell.median.low < cell.median.value < cell.median.high


def test_a_baseline_is_shown_and_excluded(values):
    found = columned(values)
    assert bold(found) == {"good"}
    assert [(duel.best, duel.other) for duel in found.duels] == [("good", "bad")]
    assert set(found.ranks.names) == {"good", "bad"}
    assert found.cells[2].median.value < found.cells[0].median.value


def test_a_baseline_changes_no_number_of_the_others(values):
    alone = columned(values[:2], Entrants(THREE.names[:2], (True, True), TRACKS))
    assert columned(values).duels == alone.duels


def test_without_a_loss_nobody_wins(values):
    found = columned(values, loss=None)
    assert (bold(found), found.duels, found.ranks) == (set(), (), None)


def test_a_loss_decides_who_is_best_not_the_value(rng):
    spread = rng.lognormal(sigma=0.05, size=(3, 12))
    k = np.array([[1.1], [0.2], [1.0]]) * spread
    found = columned(k, loss=lambda value: abs(log10(value)) if value > 0 else inf)
    assert bold(found) == {"good"}
    assert found.duels[0].difference == pytest.approx(log10(5 / 1.1), abs=0.1)


def test_missing_values_are_never_passed_to_the_loss(values):
    values[0, :3] = np.nan

    def loss(value):
        assert not np.isnan(value)
        return value

    found = columned(values, loss=loss)
    assert len(found.cells[0].values) == 9
    assert found.duels[0].shared == 9


FOUR = Entrants(("good", "alike", "bad", "rare"), (True,) * 4, TRACKS)


def test_who_was_not_tested_against_the_best_is_not_bold_and_says_why(rng):
    values = np.array([[1.0], [1.001], [2.0], [1.0]]) * rng.lognormal(sigma=0.1, size=(4, 12))
    values[3, 5:] = np.nan
    found = columned(values, FOUR)
    assert bold(found) == {"good", "alike"}
    best = found.duels[0].best
    why = f"not tested against the best, {best}: 5 comparable tracks; 6 that differ are needed"
    assert found.cells[2].reason is None
    assert found.cells[3].reason == why


def test_where_no_duel_could_be_tested_nobody_is_bold(values):
    found = columned(values[:, :5], replace(THREE, tracks=TRACKS[:5]))
    assert bold(found) == set()
    assert found.unmarked == "too few comparable tracks to rank them"
    assert [cell.reason for cell in found.cells] == [None] * 3  # said of the whole metric


def test_copies_of_each_other_are_not_bold_for_nothing_was_tested(values):
    copies = np.stack([values[0], values[0], values[2]])
    assert bold(columned(copies)) == set()


def test_a_contender_without_a_rival_is_not_bold(values):
    alone = Entrants(("good",), (True,), TRACKS)
    found = columned(values[:1], alone)
    assert bold(found) == set()
    assert found.unmarked == "one contender: nobody to compare it with"


def test_who_has_no_value_at_all_is_not_bold(rng):
    values = np.array([[1.0], [2.0], [3.0], [np.nan]]) * rng.lognormal(sigma=0.1, size=(4, 12))
    found = columned(values, FOUR)
    assert bold(found) == {"good"}
    assert (found.cells[3].median, found.cells[3].reason) == (None, None)
    assert found.cells[3].values == ()


def test_nobody_is_bold_where_nobody_competes(values):
    found = columned(values, replace(THREE, competes=(False,) * 3))
    assert (bold(found), found.duels) == (set(), ())


def test_a_column_without_values_is_empty_not_wrong():
    found = columned(np.full((3, 12), np.nan))
    assert bold(found) == set()
    assert all(cell.median is None for cell in found.cells)
    assert found.ranks.reason == "fewer than two contenders have values"


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


def test_who_fails_on_hard_tracks_is_shown_on_shared_ones_beside(rng):
    easy, hard = rng.uniform(1, 2, size=6), rng.uniform(10, 20, size=6)
    whole = np.concatenate([easy, hard])
    column = columned(np.array([whole, np.where(whole > 5, np.nan, 1.1 * whole), whole]))
    assert column.shared_tracks == 6
    good, fails, base = column.cells
    assert fails.median.value < good.median.value  # though it is worse wherever it runs
    assert fails.shared.value > good.shared.value == base.shared.value == np.median(easy)


def test_shared_tracks_are_not_told_where_all_have_all(values):
    assert columned(values).shared_tracks is None
    assert all(cell.shared is None for cell in columned(values).cells)


def test_one_that_ran_on_few_tracks_takes_no_tracks_from_the_others(values):
    few = values.copy()
    few[1, 2:] = np.nan
    column = columned(few)
    assert column.shared_tracks is None  # those of the others are all tracks
