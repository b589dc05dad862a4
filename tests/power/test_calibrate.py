"""Rates of `calibrate` by simulation: false choices of a model, power, coverage held out, regions.

Worlds: filters and odometry whose claim is a tenth of the truth, each track with a factor of its
own (log-normal between tracks), as of real filters. Limits leave three standard errors.
"""

import numpy as np
import pytest

from smfeval import Options, calibrate
from smfeval.calibration.result import conformal_regions
from smfeval.maths import normal
from support import drifting
from support.calibration import tight_by, tracks, unclaimed_noise

pytestmark = pytest.mark.slow

RUNS = 200
WORLDS = {
    "steady filter": drifting.steady_filter,
    "outages": drifting.outages,
    "dead reckoning": drifting.dead_reckoning,
    "loop closures": drifting.loop_closures,
}


def most(rate, runs):
    return rate + 3 * np.sqrt(rate * (1 - rate) / runs)


def tighter(world, rng):
    """Ten times too tight in the mean of the logarithm, by another factor on every track."""
    return world.scaled(0.1 * np.exp(0.7 * rng.normal()))


@pytest.mark.parametrize("gauge", ["none", "se3"])
@pytest.mark.parametrize("name", WORLDS)
def test_where_one_factor_is_right_another_model_is_seldom_chosen(name, gauge):
    chosen = []
    for seed in range(RUNS):
        pairs = tracks([71, seed], 6, scans=120, world=WORLDS[name], change=tighter)
        found = calibrate(pairs, options=Options(alignment=gauge))
        chosen.append(found.correction.model)
    print(name, gauge, {model: chosen.count(model) for model in set(chosen)})
    assert np.mean([model != "scale" for model in chosen]) <= most(0.05, RUNS)


POWER = {
    "axes": ({"change": tight_by(40, 40, 2, 10), "world": drifting.dead_reckoning}, ("axes",)),
    "blocks": ({"change": tight_by(10, 10, 10, 100)}, ("blocks",)),
    "floor": ({"change": unclaimed_noise(0.2), "world": drifting.outages}, ("floor",)),
}


@pytest.mark.parametrize("name", POWER)
def test_a_model_that_is_right_is_chosen(name):
    more, right = POWER[name]
    chosen = [
        calibrate(
            tracks([72, seed], 8, scans=160, **more), options=Options(alignment="none")
        ).correction.model
        for seed in range(40)
    ]
    print(name, {model: chosen.count(model) for model in set(chosen)})
    assert np.mean([any(word in model for word in right) for model in chosen]) > 0.5


@pytest.mark.parametrize("name", WORLDS)
def test_held_out_coverage_is_that_of_new_tracks(name):
    """What leave-one-out promises is what the correction does on tracks made afterwards."""
    promised, kept = [], []
    for seed in range(60):
        made = tracks([73, seed], 7, scans=120, world=WORLDS[name], change=tighter)
        options = Options(alignment="none")
        promised.append(calibrate(made[:6], options=options, model="scale").mean("after"))
        kept.append(calibrate(made[:6], made[6:], options=options, model="scale").mean("after"))
    coverage = np.array([[fit.coverage for fit in part] for part in (promised, kept)])
    difference = coverage[0] - coverage[1]
    print(name, coverage.mean(axis=1))
    assert abs(difference.mean()) < 3 * difference.std() / np.sqrt(len(difference))


@pytest.mark.parametrize("count", [9, 15])
def test_regions_hold_on_new_tracks_with_errors_that_drift(count):
    held = []
    for seed in range(RUNS):
        made = tracks([74, seed], count + 1, scans=60, change=tighter)
        nees = [normal.nees((e.position - r.position), e.position_covariance) for e, r in made]
        found = conformal_regions(nees[:-1], 3, level=0.9)
        held.append(np.mean(nees[-1] <= found.nees) >= 0.9)
    promised = np.ceil(0.9 * (count + 1)) / (count + 1)
    print(count, np.mean(held), promised)
    assert abs(np.mean(held) - promised) <= 3 * np.sqrt(promised * (1 - promised) / RUNS)
