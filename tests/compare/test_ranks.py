"""Ranks against scipy and the published tables."""

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata

from smfeval.compare.across import cliques, critical_difference, friedman, ranks, track_ranks

# Demsar, JMLR 7 (2006), table 5(a): critical values of the Nemenyi test at 0.05
PUBLISHED = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102}


@pytest.mark.parametrize("decimals", [1, 9])
def test_friedman_agrees_with_scipy(decimals, rng):
    losses = np.round(rng.normal([0, 0, 0.3, 0.9], size=(15, 4)), decimals)
    within = track_ranks(losses)
    np.testing.assert_allclose(within, rankdata(losses, axis=1))
    assert friedman(within) == pytest.approx(friedmanchisquare(*losses.T).pvalue, rel=1e-9)


@pytest.mark.parametrize("k", PUBLISHED)
def test_the_critical_difference_is_the_published_one(k):
    wanted = PUBLISHED[k] * np.sqrt(k * (k + 1) / (6 * 25))
    assert critical_difference(k, 25) == pytest.approx(wanted, abs=0.001)


def test_the_example_of_demsar():
    # Section 3.2.4: 4 classifiers on 14 data sets, CD = 2.569 sqrt(4 * 5 / (6 * 14)) = 1.25
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_mean_ranks_come_best_first_over_tracks_that_all_share():
    nan = np.nan
    losses = np.array([[3, 3, 3, 1.0, 1], [1, 1, 2, nan, nan], [2, 2, 1, 2, 2]])
    found = ranks(("a", "b", "c"), losses)
    assert found.names == ("b", "c", "a")
    assert found.mean_rank == pytest.approx((4 / 3, 5 / 3, 3))
    assert found.tracks == 3
    assert found.friedman_p is None
    assert found.reason == "tracks shared by all contenders: 3; a test needs 6"


def test_clear_ranks_have_cliques(rng):
    losses = np.array([[0.0], [0.1], [5.0], [5.1]]) + 0.3 * rng.normal(size=(4, 40))
    found = ranks(("a", "b", "c", "d"), losses)
    assert found.friedman_p < 1e-6
    assert [set(clique) for clique in found.cliques] == [{"a", "b"}, {"c", "d"}]


def test_cliques_are_the_longest_runs_that_lie_close():
    mean = np.array([1.0, 1.5, 2.2, 2.3, 4.0])
    assert cliques(mean, 1.0) == [(0, 2), (1, 4)]
    assert cliques(mean, 10.0) == [(0, 5)]
    assert cliques(mean, 0.05) == []
    assert cliques(np.array([1.0, 2.0]), 1.0) == []  # just the distance: they differ


def test_contenders_that_are_always_equal_are_not_separated():
    found = ranks(("a", "b"), np.ones((2, 8)))
    assert (found.mean_rank, found.friedman_p) == ((1.5, 1.5), 1.0)
    assert found.cliques == (("a", "b"),)


def test_infinite_losses_rank_last_and_share_their_rank():
    np.testing.assert_array_equal(track_ranks(np.array([[np.inf, 1.0, np.inf]])), [[2.5, 1, 2.5]])


def test_who_has_too_few_tracks_stays_out_and_is_named(rng):
    losses = rng.normal(size=(3, 10))
    losses[1, 5:] = np.nan
    found = ranks(("a", "b", "c"), losses)
    assert (set(found.names), found.tracks) == ({"a", "c"}, 10)
    assert found.friedman_p is not None
    assert found.reason == "left out, on fewer than 6 tracks: b"


def test_who_has_no_value_stays_out():
    alone = ranks(("a", "b"), np.array([[1.0, 2.0], [np.nan, np.nan]]))
    assert alone.reason == "fewer than two contenders have values"
    apart = ranks(("a", "b"), np.array([[1.0, np.nan], [np.nan, 1.0]]))
    assert apart.reason == "no track has values of all contenders"
    assert (apart.names, apart.tracks) == ((), 0)
