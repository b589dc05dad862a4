"""Rates of the verdicts of rotation and pose: false alarms and power over simulated worlds.

By the code of `lab/experiments/judge.py --spaces rotation,pose`.
"""

from fractions import Fraction

import pytest

from support import drifting

RUNS = 200
LINE = 16  # convicted of 200 honest runs: a rate of 5 % gives more in 2.4 % of the cases
SEED = 1717
GAUGES = ("none", "yaw", "se3")
SPACES = ("rotation", "pose")
HONEST, QUARTER, NINTH = Fraction(1), Fraction(1, 4), Fraction(1, 9)
WITH_ROTATION = {  # worlds whose rotation is implied by the covariances, or given
    name: make
    for name, make in {**drifting.IMPLIED, **drifting.GIVEN}.items()
    if name != "position random walk"
}
POWER = {QUARTER: 0.8, NINTH: 0.9}


def tally(experiment, make, gauge, factor, runs):
    """The verdicts of some runs."""
    cell = {"gauges": (gauge,), "factors": (factor,), "spaces": SPACES}
    (counted,) = experiment.rates(make, **cell, runs=runs, seed=SEED).values()
    return counted


def convicted(experiment, name, gauge, factor, runs):
    """Runs called overconfident, by space."""
    counted = tally(experiment, drifting.WORLDS[name], gauge, factor, runs)
    return {space: counted.signs[factor, space]["O"] for space in SPACES}


@pytest.mark.slow
@pytest.mark.parametrize("gauge", GAUGES)
@pytest.mark.parametrize("name", drifting.WORLDS)
def test_honest_beliefs_are_seldom_convicted(name, gauge, judge_experiment):
    assert max(convicted(judge_experiment, name, gauge, HONEST, RUNS).values()) <= LINE


@pytest.mark.slow
@pytest.mark.parametrize("factor", POWER)
@pytest.mark.parametrize("gauge", GAUGES)
@pytest.mark.parametrize("name", WITH_ROTATION)
def test_tight_rotations_are_convicted_where_the_joint_covariance_is_known(
    name, gauge, factor, judge_experiment
):
    found = convicted(judge_experiment, name, gauge, factor, RUNS)
    assert found["rotation"] >= POWER[factor] * RUNS


@pytest.mark.slow
@pytest.mark.parametrize("factor", POWER)
@pytest.mark.parametrize("name", WITH_ROTATION)
def test_tight_poses_are_convicted_where_nothing_was_fitted(name, factor, judge_experiment):
    assert convicted(judge_experiment, name, "none", factor, RUNS)["pose"] >= POWER[factor] * RUNS


@pytest.mark.slow
def test_a_wandering_heading_calls_no_honest_belief_conservative(judge_experiment):
    counted = tally(judge_experiment, drifting.inertial, "none", HONEST, RUNS)
    assert counted.signs[HONEST, "rotation"]["W"] <= LINE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "gauge"),
    [
        ("dead reckoning", "se3"),
        ("inertial, gravity observed", "none"),
        ("RTS smoother, J given", "yaw"),
    ],
)
def test_a_few_runs_of_each_kind(name, gauge, judge_experiment):
    runs = 3
    honest = convicted(judge_experiment, name, gauge, HONEST, runs)
    assert max(honest.values()) <= 1  # at 5 %: 99.3 %
    assert convicted(judge_experiment, name, gauge, NINTH, runs)["rotation"] == runs
