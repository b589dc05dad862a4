"""k over path length: floor and growth by hand, and over simulated filters of three kinds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from smfeval.align.joint import Joint
from smfeval.evaluation import Options
from smfeval.summarise import path_growth as made
from smfeval.summarise.path_growth import path_growth
from support import drifting
from support.positions import moved

RUNS, SCANS = 12, 600


def grown(name, change, run, *, alignment="se3", scans=SCANS):
    """Floor and growth of a world whose truth is changed: the claim does not know of it."""
    rng = np.random.default_rng([41, run])
    world = drifting.WORLDS[name](rng, scans)
    truth = world.truth_position + change(rng, world.truth_position.shape)
    estimate, reference = replace(world, truth_position=truth).tracks()
    return moved(estimate, reference, Options(alignment=alignment))[2].growth


def nothing(rng, shape):
    return np.zeros(shape)


def white(rng, shape):
    """Wrong locally: 0.5 m at every scan, whatever the distance."""
    return 0.5 * rng.normal(size=shape)


def slow_drift(rng, shape):
    """Far below the claim from scan to scan, far beyond it over many."""
    steps = np.cumsum(rng.normal(size=shape), axis=0)
    return 0.05 * steps


def rates(name, change, runs=RUNS, **more):
    found = [grown(name, change, run, **more) for run in range(runs)]
    return sum(each.has_floor for each in found), sum(each.has_growth for each in found)


@pytest.mark.parametrize(
    "name",
    ["dead reckoning", "Kalman filter, J given", "RTS smoother, J given", "loop closures, J given"],
)
def test_an_honest_belief_shows_neither_floor_nor_growth(name):
    floors, growths = rates(name, nothing)
    assert floors + growths <= 1


@pytest.mark.parametrize("name", ["dead reckoning", "Kalman filter, J given"])
def test_a_filter_that_is_wrong_locally_shows_a_floor_and_no_growth(name):
    assert rates(name, white) == (RUNS, 0)


def test_drift_that_is_not_claimed_shows_as_growth():
    """A filter that claims bounded errors, and drifts."""
    _, growths = rates("Kalman filter, J given", slow_drift, runs=6, scans=2000)
    assert growths >= 5


@pytest.mark.parametrize("name", ["Kalman filter, steady", "outages", "RTS smoother"])
def test_there_is_none_where_it_is_not_known_how_errors_move_together(name):
    assert grown(name, nothing, 0) is None


@pytest.mark.parametrize("change", [nothing, white, slow_drift])
@pytest.mark.parametrize("name", ["dead reckoning", "RTS smoother, J given"])
def test_no_k_is_below_zero_or_outside_of_its_interval(name, change):
    for run in range(3):
        found = grown(name, change, run)
        assert min(found.k) >= 0
        for number in (found.floor, found.longest):
            assert 0 <= number.low <= number.value <= number.high
        assert found.growth.low <= found.growth.value <= found.growth.high


@pytest.mark.parametrize("slope", [-1.0, 0.0, 1.0])
def test_a_steep_line_has_ends_that_are_not_below_zero(slope, rng):
    """Its floor, or its value at the longest, would be negative."""
    metres, lengths = np.array([3.0, 6.0, 12.0]), np.array([10, 20, 40])
    line = 1 + slope * (metres - 4.0 if slope > 0 else metres - 11.0)
    table = np.maximum(line[:, None] + 0.1 * rng.normal(size=(3, 20)), 0.0)
    found = made._fit(table, metres, lengths, 0.5)
    for number in (found.floor, found.longest):
        assert 0 <= number.low <= number.value <= number.high


@pytest.mark.slow
@pytest.mark.parametrize("alignment", ["se3", "sim3", "first-pose"])
@pytest.mark.parametrize("name", drifting.WORLDS)
def test_honest_beliefs_seldom_show_either(name, alignment):
    found = [grown(name, nothing, run, alignment=alignment) for run in range(200)]
    shown = [each for each in found if each is not None and (each.has_floor or each.has_growth)]
    assert len(shown) <= 16


def test_the_line_and_its_intervals_are_those_of_a_regression(rng):
    """Against numpy's weighted line through the means, and scipy's t."""
    metres, lengths = np.array([3.0, 6.0, 12.0]), np.array([10, 20, 40])
    table = 2 + 0.5 * metres[:, None] + 0.1 * rng.normal(size=(3, 20))
    found = made._fit(table, metres, lengths, 0.5)
    weight = np.sqrt(lengths[-1] / lengths)
    growth, floor = np.polyfit(metres, table.mean(axis=1), 1, w=weight)
    assert (found.floor.value, found.growth.value) == pytest.approx((floor, growth))
    each = np.array([np.polyfit(metres, one, 1, w=weight)[0] for one in table.T])
    reach = stats.t.ppf(0.9875, 19) * each.std(ddof=1) / np.sqrt(20)
    assert found.growth.low == pytest.approx(growth - reach)
    assert found.floor.low < 0.5 * floor  # the guard of an implied joint covariance
    assert found.has_growth
    assert "k is above 1" not in replace(found, floor=replace(found.floor, low=0.9)).sentence


def test_short_and_standing_tracks_have_none(rng):
    world = drifting.dead_reckoning(rng, 600)
    assert path_growth(world.seen(Joint("implied", 6))) is not None
    short = drifting.dead_reckoning(rng, 150)
    assert path_growth(short.seen(Joint("implied", 6))) is None
    still = np.zeros_like(world.truth_position), world.truth_rotation
    assert path_growth(world.seen(Joint("implied", 6), truth=still)) is None
