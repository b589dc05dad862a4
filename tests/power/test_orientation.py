"""Rates of the verdicts of rotation and pose: false alarms and power over simulated worlds.

By the code of `experiments/fit.py --spaces rotation pose`.
"""

import importlib.util
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from support import drifting

RUNS = 200
LINE = 16  # convicted of 200 honest runs: a rate of 5 % gives more in 1.3 % of the cases
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


@pytest.fixture(scope="module")
def experiment():
    path = Path(__file__).parents[2] / "experiments" / "fit.py"
    spec = importlib.util.spec_from_file_location("orientation_experiment", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def convicted(experiment, name, gauge, factor, runs):
    """Runs called overconfident, by space."""
    signs, _ = experiment.rates_by_space(
        drifting.WORLDS[name], (gauge,), (factor,), runs, SEED, spaces=SPACES
    )
    return {space: signs[space][gauge, factor]["O"] for space in SPACES}


@pytest.mark.slow
@pytest.mark.parametrize("gauge", GAUGES)
@pytest.mark.parametrize("name", drifting.WORLDS)
def test_honest_beliefs_are_seldom_convicted(name, gauge, experiment):
    assert max(convicted(experiment, name, gauge, HONEST, RUNS).values()) <= LINE


@pytest.mark.slow
@pytest.mark.parametrize("factor", POWER)
@pytest.mark.parametrize("gauge", GAUGES)
@pytest.mark.parametrize("name", WITH_ROTATION)
def test_tight_rotations_are_convicted_where_the_joint_covariance_is_known(
    name, gauge, factor, experiment
):
    assert convicted(experiment, name, gauge, factor, RUNS)["rotation"] >= POWER[factor] * RUNS


@pytest.mark.slow
@pytest.mark.parametrize("factor", POWER)
@pytest.mark.parametrize("name", WITH_ROTATION)
def test_tight_poses_are_convicted_where_nothing_was_fitted(name, factor, experiment):
    assert convicted(experiment, name, "none", factor, RUNS)["pose"] >= POWER[factor] * RUNS


@pytest.mark.slow
def test_a_wandering_heading_calls_no_honest_belief_conservative(experiment):
    signs, _ = experiment.rates_by_space(
        drifting.inertial, ("none",), (HONEST,), RUNS, SEED, spaces=("rotation",)
    )
    assert signs["rotation"]["none", HONEST]["W"] <= LINE


@pytest.mark.parametrize(
    ("name", "gauge"),
    [
        ("dead reckoning", "se3"),
        ("inertial, gravity observed", "none"),
        ("RTS smoother, J given", "yaw"),
    ],
)
def test_a_few_runs_of_each_kind(name, gauge, experiment):
    runs = 3
    assert max(convicted(experiment, name, gauge, HONEST, runs).values()) <= 1  # at 5 %: 99.3 %
    assert convicted(experiment, name, gauge, NINTH, runs)["rotation"] == runs
