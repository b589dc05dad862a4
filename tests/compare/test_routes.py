"""Tracks that share a route: resampled together, and of one sign in tests."""

from itertools import product

import numpy as np
import pytest

from smfeval.compare.across import (
    Entrants,
    expanded_tail,
    median_ends,
    median_number,
    metric_column,
    route_ends,
)
from smfeval.compare.duels import signed_rank


def flipped_p(difference, routes):
    """Two-sided p of the sum of signed ranks, by every choice of one sign for each route."""
    order = np.argsort(np.argsort(np.abs(difference))) + 1.0
    sums = np.bincount(routes, weights=np.sign(difference) * order)
    found = abs(sums.sum())
    every = [abs(np.dot(signs, sums)) for signs in product((1, -1), repeat=len(sums))]
    return np.mean(np.array(every) >= found - 1e-9)


def test_a_route_changes_its_sign_as_a_whole(rng):
    routes = np.array([0, 0, 0, 1, 2, 2, 3, 4, 5, 5, 5, 6])
    for _ in range(20):
        difference = rng.normal(size=len(routes)) + 0.5
        outcome = signed_rank(difference, routes)
        assert outcome.p == pytest.approx(flipped_p(difference, routes))
        assert outcome.signed <= 7


def test_copies_of_a_track_on_one_route_add_no_evidence(rng):
    value, routes = rng.normal(size=9), np.repeat(np.arange(9), 3)
    together = signed_rank(np.repeat(value, 3), routes)
    assert together.p == pytest.approx(signed_rank(value).p, abs=0.02)  # midranks are further apart
    assert together.signed == 9
    assert signed_rank(np.repeat(value, 3)).p < 0.2 * together.p
    one = median_number(value, "m", 0.95)
    same = median_number(np.repeat(value, 3), "m", 0.95, routes)
    assert (same.value, same.low, same.high) == (one.value, one.low, one.high)
    assert same.n_effective == 9


def test_ends_are_those_of_drawing_routes(rng):
    sizes = rng.integers(1, 4, 21)
    routes = np.repeat(np.arange(21), sizes)
    values = rng.normal(size=21)[routes] + 0.3 * rng.normal(size=len(routes))
    drawn = [
        np.median(np.concatenate([values[routes == r] for r in rng.integers(0, 21, 21)]))
        for _ in range(4000)
    ]
    found = route_ends(values, routes, 0.025)
    assert found == pytest.approx(np.quantile(drawn, (0.025, 0.975)), abs=0.12)
    alone = median_ends(values, expanded_tail(len(values), 0.025))
    assert np.ptp(found) > np.ptp(alone)  # as if tracks of one route were independent


def test_tracks_of_their_own_are_as_before(rng):
    values = rng.normal(size=15)
    assert route_ends(values, np.arange(15), 0.02) == median_ends(values, 0.02)


def test_few_routes_have_no_interval_and_no_test_however_many_tracks(rng):
    losses = np.array([rng.uniform(1, 2, 15), rng.uniform(3, 4, 15)])
    routes = tuple("abcde"[at % 5] for at in range(15))
    tracks = tuple(map(str, range(15)))
    for shared, p in ((routes, None), ((), 2.0**-14)):
        entrants = Entrants(("good", "bad"), (True, True), tracks, shared)
        column = metric_column("mae", entrants, losses, unit="m", loss=float, level=0.95)
        assert column.duels[0].p == (None if p is None else pytest.approx(p))
        assert (column.cells[0].median.low is None) == (p is None)
    assert "routes: 5" in median_number(losses[0], "m", 0.95, np.arange(15) % 5).reason
