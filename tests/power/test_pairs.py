"""How often pairs convict: honest estimates of one drive, and estimates that claim too little.

The full tables are `lab/experiments/pairs.py`; this runs the same code.
"""

import importlib.util
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from support import drifting_pairs

RUNS = 200
LINE = 16  # convicted of 200 honest runs: a rate of 5 % gives more in 1.3 % of the cases
ABOVE = 10  # bounds above the truth of 200: a rate of 2.5 % gives more in 1.4 % of the cases
SEED = 40813
HONEST, NINTH, TINY = Fraction(1), Fraction(1, 9), Fraction(1, 25)
BOTH_HONEST, BOTH_TINY = (HONEST, HONEST), (TINY, TINY)
ONE_SHOWS = (
    "dead reckoning",
    "random walks",
    "Kalman filters, steady",
)  # J known, or fast errors
SPACES = ("position", "rotation", "pose")


@pytest.fixture(scope="module")
def experiment():
    path = Path(__file__).parents[2] / "lab" / "experiments" / "pairs.py"
    spec = importlib.util.spec_from_file_location("pairs_experiment", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def convicted(experiment, make, cell, runs, **more):
    return experiment.convictions(make, [cell], runs, SEED, **more)[cell]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", drifting_pairs.WRONG)
@pytest.mark.parametrize("name", drifting_pairs.JUDGED)
def test_honest_pairs_are_seldom_convicted_whatever_is_wrong_between_them(name, wrong, experiment):
    changed, body = drifting_pairs.WRONG[wrong]
    make = drifting_pairs.judged(name, **changed)
    found = convicted(experiment, make, BOTH_HONEST, RUNS, body=body)
    assert max(found[space] for space in SPACES) <= LINE


@pytest.mark.slow
@pytest.mark.parametrize("gauge", ["se3", "none"])
@pytest.mark.parametrize("name", drifting_pairs.PAIRS)
def test_honest_pairs_are_seldom_convicted(name, gauge, experiment):
    make = drifting_pairs.PAIRS[name]
    found = convicted(experiment, make, BOTH_HONEST, RUNS, gauge=gauge)
    assert max(found[space] for space in SPACES) <= LINE


@pytest.mark.slow
@pytest.mark.parametrize("name", drifting_pairs.JUDGED)
def test_a_25th_of_both_covariances_is_convicted_and_the_bound_holds(name, experiment):
    found = convicted(experiment, drifting_pairs.JUDGED[name], BOTH_TINY, RUNS)
    assert min(found[space] for space in SPACES) >= 0.9 * RUNS
    assert max(found[f"{space} above"] for space in SPACES) <= ABOVE


@pytest.mark.slow
@pytest.mark.parametrize("name", drifting_pairs.OUTAGES)
def test_a_25th_of_both_covariances_is_convicted_in_spite_of_outages(name, experiment):
    found = convicted(experiment, drifting_pairs.PAIRS[name], BOTH_TINY, RUNS)
    assert found["position"] >= 0.8 * RUNS


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_SHOWS)
def test_one_of_two_equals_that_claims_a_ninth_is_convicted(name, experiment):
    found = convicted(experiment, drifting_pairs.PAIRS[name], (NINTH, HONEST), RUNS)
    assert found["position"] >= 0.7 * RUNS


@pytest.mark.slow
@pytest.mark.parametrize("name", drifting_pairs.TRIPLES)
def test_attribution_seldom_blames_the_honest(name, experiment):
    make = drifting_pairs.TRIPLES[name]
    found = experiment.attributions(make, [HONEST], RUNS, SEED, scans=300)
    assert found[HONEST]["honest"] <= LINE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["map", "kf"])
def test_attribution_finds_one_whose_errors_are_five_times_its_sigma(name, experiment):
    """Its claim is like that of the others; equals that claim less are hidden by the others."""
    make = drifting_pairs.two_of_several(name, 0.0, accurate=25.0)
    found = experiment.attributions(make, [TINY], RUNS, SEED)[TINY]
    assert found["tight"] >= 0.9 * RUNS
    assert found["honest"] <= LINE


@pytest.mark.parametrize(
    ("name", "gauge"),
    [
        ("dead reckoning", "first-pose"),
        ("outage, sigma x 40", "se3"),
        ("outages that share a sensor", "first-pose"),
    ],
)
def test_a_few_runs_of_each_kind(name, gauge, experiment):
    runs, make = 3, drifting_pairs.PAIRS[name]
    assert convicted(experiment, make, BOTH_HONEST, runs, gauge=gauge)["position"] <= 1
    assert convicted(experiment, make, BOTH_TINY, runs, gauge=gauge)["position"] >= 2


@pytest.mark.slow
def test_a_few_attributions(experiment):
    make = drifting_pairs.TRIPLES["dead reckoning"]
    found = experiment.attributions(make, [HONEST, TINY], 4, SEED)
    assert max(count["honest"] for count in found.values()) <= 1
    assert found[TINY]["suspected"] >= 3
