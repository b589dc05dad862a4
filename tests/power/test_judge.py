"""Rates of the verdict: false alarms, lower bounds and power over simulated worlds, by `evaluate`.

The full tables are made by `lab/experiments/judge.py`; this runs the same code. Each cell counts
what is said of position, rotation and pose in the same runs.
"""

from fractions import Fraction

import numpy as np
import pytest

from smfeval.evaluation import Options, evaluate
from smfeval.maths import se3, so3
from support import drifting, judged_worlds
from support.judged_worlds import ATTACKS, USUAL, WORLDS, WRONG

RUNS = 200
LINE = 16  # of 200 honest runs: a rate of 5 % gives more in 2.4 % of the cases
BOUND_LINE = 10  # "at least" above the truth: a rate of 2.5 % gives more in 1.3 % of the cases
POWER = 0.9
SEED = 40417
SPACES = ("position", "rotation", "pose")
GAUGES = ("none", "se3", "yaw", "sim3", "first-pose")
FITS = ("se3", "yaw", "sim3", "first-pose", "prefix")
HONEST, HALF, QUARTER, TINY = (Fraction(1, c) for c in (1, 2, 4, 25))
ALL = WORLDS | drifting.WORLDS
KNOWN = {**drifting.IMPLIED, **drifting.GIVEN}
CONVICTED = {name: make for name, make in drifting.UNKNOWN.items() if name not in drifting.WEAK}
TRIED = ("map", "map-body", "kf", "loop", "dr", "dr-car", "vio", "vio-car")  # with every fault
FAULTS = tuple(name for name in WRONG if name != "right")
TOLD_APART = 5  # standard errors


def tally(experiment, make, gauge, *factors, wrong="right", runs=RUNS, scans=600):
    """The verdicts of some runs; none of them may raise."""
    cell = {"gauges": (gauge,), "factors": factors, "wrong": (wrong,)}
    (counted,) = experiment.rates(make, **cell, runs=runs, seed=SEED, scans=scans).values()
    assert counted.raised == {}
    return counted


def signs(counted, factor, sign):
    """Runs with this sign, by space."""
    return {space: counted.signs[factor, space][sign] for space in SPACES}


def above(counted, factor):
    """Runs whose lower bound is above the truth, by space."""
    return {space: counted.above[factor, space] for space in SPACES}


def check_honest(counted):
    assert max(signs(counted, HONEST, "O").values()) <= LINE, signs(counted, HONEST, "O")
    assert max(signs(counted, HONEST, "W").values()) <= LINE, signs(counted, HONEST, "W")
    assert max(above(counted, HONEST).values()) <= BOUND_LINE, above(counted, HONEST)


# The worlds themselves


def check_claims(make, runs, scans):
    """Mean NEES / d of the track and of its thirds is 1."""
    seen = {space: [] for space in SPACES}
    for run in range(runs):
        world = make(np.random.default_rng([SEED, run]), scans)
        for space, values in judged_worlds.nees(world).items():
            thirds = [part.mean() for part in np.array_split(values, 3)]
            seen[space].append([*thirds, values.mean()])
    for space, rows in seen.items():
        mean, error = np.mean(rows, axis=0), np.std(rows, axis=0) / np.sqrt(runs)
        assert (np.abs(mean - 1) < TOLD_APART * error).all(), (space, mean, error)
        assert (error < 4 / np.sqrt(runs)).all(), (space, error)


@pytest.mark.parametrize("name", WORLDS)
def test_worlds_claim_what_they_do(name):
    check_claims(WORLDS[name], runs=100, scans=90)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_worlds_claim_what_they_do_to_a_few_per_cent(name):
    check_claims(WORLDS[name], runs=3000, scans=600)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dr", "dr-car", "vio", "vio-car", "loop"])
def test_long_tracks_claim_what_they_do(name):
    check_claims(WORLDS[name], runs=1000, scans=2000)


@pytest.mark.parametrize(
    ("wrong", "degrees", "metres"),
    [("1deg", 1.0, 0.0), ("5deg", 5.0, 0.0), ("3cm", 0.0, 0.03), ("missing", 90.0, 0.09)],
)
def test_extrinsics_are_wrong_by_what_they_say(wrong, degrees, metres):
    world = USUAL["map"](np.random.default_rng(SEED), 50)
    _, reference = WRONG[wrong](world, np.random.default_rng(1))
    moved = se3.compose(se3.inverse(world.truth), (reference.position, reference.rotation))
    np.testing.assert_allclose(np.degrees(so3.angle(moved[1])), degrees, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(moved[0], axis=1), metres, atol=1e-9)
    np.testing.assert_allclose(moved[0], moved[0][:1].repeat(50, axis=0), atol=1e-9)


def test_a_late_clock_moves_the_reference_along_its_way():
    world = USUAL["dr-car"](np.random.default_rng(SEED), 200)
    _, reference = WRONG["20ms"](world, np.random.default_rng(1))
    step = np.diff(world.truth_position, axis=0)
    ahead = reference.position[:-1] - world.truth_position[:-1]
    np.testing.assert_allclose(ahead, 0.2 * step, atol=0.01)  # of 0.24 m, the rest is curvature


def test_a_gap_loses_20_seconds_of_the_reference():
    world = USUAL["map"](np.random.default_rng(SEED), 600)
    estimate, reference = WRONG["gap"](world, np.random.default_rng(1))
    assert (len(estimate), len(reference)) == (600, 400)
    assert np.diff(reference.stamp).max() == 201 * judged_worlds.STEP_NS


def test_an_odd_rate_pairs_every_scan_with_the_truth():
    world = USUAL["map"](np.random.default_rng(SEED), 100)
    tracks = WRONG["odd-rate"](world, np.random.default_rng(1))
    found = evaluate(*tracks, options=Options(alignment="none"))
    assert len(found.position.residuals) == 100
    moved = found.position.reference.position - world.truth_position
    assert np.abs(moved).max() < 1e-4


# Rates


@pytest.mark.slow
@pytest.mark.parametrize("gauge", GAUGES)
@pytest.mark.parametrize("name", ALL)
def test_honest_beliefs_are_judged_rightly(name, gauge, judge_experiment):
    check_honest(tally(judge_experiment, ALL[name], gauge, HONEST))


@pytest.mark.slow
@pytest.mark.parametrize("gauge", ["none", "se3"])
@pytest.mark.parametrize("name", WORLDS)
def test_honest_beliefs_of_long_tracks_are_judged_rightly(name, gauge, judge_experiment):
    check_honest(tally(judge_experiment, WORLDS[name], gauge, HONEST, scans=2000))


@pytest.mark.slow
@pytest.mark.parametrize("gauge", ["none", "se3"])
@pytest.mark.parametrize("wrong", FAULTS)
@pytest.mark.parametrize("name", TRIED)
def test_faults_beside_the_belief_convict_no_honest_one(name, wrong, gauge, judge_experiment):
    check_honest(tally(judge_experiment, WORLDS[name], gauge, HONEST, wrong=wrong))


@pytest.mark.slow
@pytest.mark.parametrize("gauge", ["prefix", "sim3-prefix"])
@pytest.mark.parametrize("name", drifting.WORLDS)
def test_a_fit_on_the_start_convicts_no_honest_belief(name, gauge, judge_experiment):
    check_honest(tally(judge_experiment, drifting.WORLDS[name], gauge, HONEST))


@pytest.mark.slow
@pytest.mark.parametrize("gauge", ["none", "se3"])
@pytest.mark.parametrize("name", WORLDS)
def test_the_lower_bound_of_tight_beliefs_is_below_the_truth(name, gauge, judge_experiment):
    counted = tally(judge_experiment, WORLDS[name], gauge, QUARTER, TINY)
    assert max(above(counted, QUARTER).values()) <= BOUND_LINE, above(counted, QUARTER)
    assert max(above(counted, TINY).values()) <= BOUND_LINE, above(counted, TINY)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["right", "missing"])
@pytest.mark.parametrize("name", ["map", "kf", "loop"])
def test_a_25th_of_the_covariance_is_convicted(name, wrong, judge_experiment):
    counted = tally(judge_experiment, WORLDS[name], "se3", TINY, wrong=wrong)
    found = signs(counted, TINY, "O")
    assert min(found.values()) >= POWER * RUNS, found


@pytest.mark.slow
@pytest.mark.parametrize("gauge", FITS)
@pytest.mark.parametrize("name", KNOWN)
def test_half_the_covariance_is_convicted_where_the_joint_one_is_known(
    name, gauge, judge_experiment
):
    found = signs(tally(judge_experiment, KNOWN[name], gauge, HALF), HALF, "O")
    assert found["position"] >= POWER * RUNS


@pytest.mark.slow
@pytest.mark.parametrize("gauge", FITS)
@pytest.mark.parametrize("name", CONVICTED)
def test_a_25th_of_the_covariance_is_convicted_where_it_is_not(name, gauge, judge_experiment):
    found = signs(tally(judge_experiment, CONVICTED[name], gauge, TINY), TINY, "O")
    assert found["position"] >= POWER * RUNS


@pytest.mark.slow
@pytest.mark.parametrize("gauge", ["none", "se3"])
@pytest.mark.parametrize("name", ["map", "kf", "loop", "dr", "dr-car", "vio"])
def test_scores_prefer_the_honest_belief(name, gauge, judge_experiment):
    (found,) = judge_experiment.wins(WORLDS[name], gauges=(gauge,), runs=50, seed=SEED).values()
    assert found.raised == {}
    tight = [cell for cell in found.compared if cell[1] < 1]
    lost = {cell: found.won[cell] for cell in tight if 2 * found.won[cell] <= found.compared[cell]}
    assert lost == {}
    for score in ("relative_energy", "relative_log"):
        assert found.won[score, QUARTER] >= 0.98 * found.compared[score, QUARTER]


# A few runs of each kind, always


@pytest.mark.parametrize(
    ("name", "wrong", "gauge", "tight"),
    [
        ("map-body", "missing", "se3", TINY),
        ("kf", "1deg", "sim3", TINY),
        ("loop", "missing", "yaw", TINY),
        ("map", "20ms", "none", TINY),
        ("dr", "right", "se3", HALF),
        ("vio", "gap", "first-pose", HALF),
        ("RTS smoother, J given", "right", "yaw", HALF),
        ("loop closures", "right", "sim3-prefix", TINY),  # a scale from 30 scans, off by per cents
    ],
)
def test_a_few_runs_of_each_kind(name, wrong, gauge, tight, judge_experiment):
    counted = tally(judge_experiment, ALL[name], gauge, HONEST, tight, wrong=wrong, runs=3)
    assert max(signs(counted, HONEST, "O").values()) <= 1  # 2 or more of 3 at 5 %: 0.7 %
    assert signs(counted, tight, "O")["position"] >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tone", "flips", "attitude", "constant-body", "t5", "standing"])
def test_a_few_runs_of_some_attacks(name, judge_experiment):
    counted = tally(judge_experiment, ATTACKS[name], "se3", HONEST, runs=2)
    assert max(signs(counted, HONEST, "O").values()) <= 1


def test_a_few_tracks_prefer_the_honest_belief(judge_experiment):
    (found,) = judge_experiment.wins(WORLDS["kf"], gauges=("none",), runs=2, seed=SEED).values()
    assert found.compared["log", QUARTER] == 2
    assert found.won == found.compared
