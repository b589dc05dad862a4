"""Ranks against scipy, and who is not separated by the tests of all pairs."""

import numpy as np
import pytest
from scipy.stats import rankdata

from smfeval.compare.across import cliques, track_ranks
from smfeval.compare.across import ranks as ranks_of
from smfeval.compare.duels import all_tests


def ranks(names, losses):
    return ranks_of(names, losses, all_tests(losses))


@pytest.mark.parametrize("decimals", [1, 9])
def test_ranks_within_tracks_are_those_of_scipy(decimals, rng):
    losses = np.round(rng.normal([0, 0, 0.3, 0.9], size=(15, 4)), decimals)
    np.testing.assert_allclose(track_ranks(losses), rankdata(losses, axis=1))


def test_mean_ranks_come_best_first_over_tracks_that_all_share():
    nan = np.nan
    losses = np.array([[3, 3, 3, 1.0, 1], [1, 1, 2, nan, nan], [2, 2, 1, 2, 2]])
    found = ranks(("a", "b", "c"), losses)
    assert found.names == ("b", "c", "a")
    assert found.mean_rank == pytest.approx((4 / 3, 5 / 3, 3))
    assert found.tracks == 3
    assert found.cliques == (("b", "c", "a"),)  # too few tracks to separate any


def test_clear_ranks_have_cliques(rng):
    losses = np.array([[0.0], [0.01], [5.0], [5.01]]) + 0.3 * rng.normal(size=(4, 40))
    found = ranks(("a", "b", "c", "d"), losses)
    assert [set(clique) for clique in found.cliques] == [{"a", "b"}, {"c", "d"}]


def test_cliques_are_the_longest_runs_without_a_separated_pair():
    mean = np.array([1.0, 1.5, 2.2, 2.3, 4.0])
    apart = np.abs(mean[:, None] - mean)
    assert cliques((apart > 1.0).tolist()) == [(0, 2), (1, 4)]
    assert cliques((apart > 10.0).tolist()) == [(0, 5)]
    assert cliques((apart > 0.05).tolist()) == []
    first_and_third = [[False, False, True], [False, False, False], [True, False, False]]
    assert cliques(first_and_third) == [(0, 2), (1, 3)]


def test_contenders_that_are_always_equal_are_not_separated():
    found = ranks(("a", "b"), np.ones((2, 8)))
    assert found.mean_rank == (1.5, 1.5)
    assert found.cliques == (("a", "b"),)


def test_infinite_losses_rank_last_and_share_their_rank():
    np.testing.assert_array_equal(track_ranks(np.array([[np.inf, 1.0, np.inf]])), [[2.5, 1, 2.5]])


def test_who_has_too_few_tracks_stays_out_and_is_named(rng):
    losses = rng.normal(size=(3, 10))
    losses[1, 5:] = np.nan
    found = ranks(("a", "b", "c"), losses)
    assert (set(found.names), found.tracks) == ({"a", "c"}, 10)
    assert found.reason == "left out, on fewer than 6 tracks: b"


def test_who_has_no_value_stays_out():
    alone = ranks(("a", "b"), np.array([[1.0, 2.0], [np.nan, np.nan]]))
    assert alone.reason == "fewer than two contenders have values"
    apart = ranks(("a", "b"), np.array([[1.0, np.nan], [np.nan, 1.0]]))
    assert apart.reason == "no track has values of all contenders"
    assert (apart.names, apart.tracks) == ((), 0)
