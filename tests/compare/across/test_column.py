"""One metric: cells, bold, baselines."""

from dataclasses import replace
from math import inf, log10

import numpy as np
import pytest

from smfeval.compare.across import Entrants, metric_column

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
    why = "not tested against the best: shared tracks: 5; 6 that differ are needed"
    assert [cell.untested for cell in found.cells] == [None, None, None, why]


def test_where_no_duel_could_be_tested_nobody_is_bold(values):
    found = columned(values[:, :5], replace(THREE, tracks=TRACKS[:5]))
    assert bold(found) == set()
    assert (found.is_contested, found.is_tested) == (True, False)
    assert [cell.untested for cell in found.cells] == [None] * 3  # said of the whole metric


def test_copies_of_each_other_are_not_bold_for_nothing_was_tested(values):
    copies = np.stack([values[0], values[0], values[2]])
    assert bold(columned(copies)) == set()


def test_a_contender_without_a_rival_is_not_bold(values):
    alone = Entrants(("good",), (True,), TRACKS)
    found = columned(values[:1], alone)
    assert bold(found) == set()
    assert (found.is_contested, found.is_tested) == (True, False)


def test_who_has_no_value_at_all_is_not_bold(rng):
    values = np.array([[1.0], [2.0], [3.0], [np.nan]]) * rng.lognormal(sigma=0.1, size=(4, 12))
    found = columned(values, FOUR)
    assert bold(found) == {"good"}
    assert (found.cells[3].median, found.cells[3].untested) == (None, None)
    assert found.cells[3].values == ()


def test_nobody_is_bold_where_nobody_competes(values):
    found = columned(values, replace(THREE, competes=(False,) * 3))
    assert (bold(found), found.duels) == (set(), ())


def test_a_column_without_values_is_empty_not_wrong():
    found = columned(np.full((3, 12), np.nan))
    assert bold(found) == set()
    assert all(cell.median is None for cell in found.cells)
    assert found.ranks.reason == "fewer than two contenders have values"
