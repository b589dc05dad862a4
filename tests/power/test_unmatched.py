"""Stamps that do not meet, and references whose errors are shared: who is convicted, by simulation.

Honest beliefs are convicted in at most 5 % of runs; a quarter of the covariance is convicted.
"""

from collections import Counter

import numpy as np
import pytest

from smfeval.compare.pair import compare_pair
from smfeval.evaluation import Options, evaluate
from support import unmatched as made

RUNS = 200
LINE = 16  # convicted of 200 honest runs: a rate of 5 % gives more in 1.3 % of the cases
POWER = 0.9
SEED = 1602
SCANS, STEP_S = 400, 0.1


def jittered(rng, by_s):
    """Stamps of the estimate off by up to so much from every tenth of a second."""
    return STEP_S * np.arange(SCANS) + rng.uniform(-by_s, by_s, SCANS)


def unmatched(rng):
    """Stamps of the estimate anywhere between those of the reference."""
    return STEP_S * np.arange(SCANS) + rng.uniform(0, STEP_S) + rng.uniform(-0.02, 0.02, SCANS)


def reference_times(rng, rate_hz):
    step = 1 / rate_hz
    count = round((SCANS + 4) * STEP_S * rate_hz)
    return step * (np.arange(count) - rate_hz // 5) + 0.02 * step * rng.uniform(-1, 1, count)


def half_step_s(rate_hz):
    return 0.52 / rate_hz


# name: (stamps of the estimate, rate of the reference; None: at every tenth of a second, tolerance)
STAMPS = {
    "0.5 ms off": (lambda rng: jittered(rng, 0.0005), None, 0.005),
    "2 ms off": (lambda rng: jittered(rng, 0.002), None, 0.005),
    "5 ms off": (lambda rng: jittered(rng, 0.005), None, 0.005),
    "100 Hz": (unmatched, 100, half_step_s(100)),
    "20 Hz": (unmatched, 20, half_step_s(20)),
    "10 Hz": (unmatched, 10, half_step_s(10)),
}


def tracks(rng, stamps, speed, sigma, factor):
    """Estimate, reference and tolerance; sigma None: dead reckoning."""
    times, rate_hz, tolerance_s = STAMPS[stamps]
    truth = made.drive(rng, SCANS * STEP_S + 1, speed)
    time = times(rng)
    at = STEP_S * np.arange(SCANS) if rate_hz is None else reference_times(rng, rate_hz)
    if sigma is None:
        estimate = made.dead_reckoning(rng, truth, time, factor=factor)
    else:
        estimate = made.absolute(rng, truth, time, sigma, factor=factor)
    return estimate, made.reference(truth, at), tolerance_s


def labels(stamps, speed, sigma, *, runs, factor=1.0, gauge="none", association="moved"):
    found = Counter()
    for run in range(runs):
        estimate, reference, tolerance_s = tracks(
            np.random.default_rng([SEED, run]), stamps, speed, sigma, factor
        )
        options = Options(alignment=gauge, tolerance_s=tolerance_s, association=association)
        found[evaluate(estimate, reference, options=options).verdict.label] += 1
    return found


def pair_labels(by_s, speed, sigma, *, runs, factor=1.0):
    found = Counter()
    for run in range(runs):
        rng = np.random.default_rng([SEED, run])
        truth = made.drive(rng, SCANS * STEP_S + 1, speed)
        a, b = (
            made.absolute(rng, truth, jittered(rng, by_s), sigma, factor=factor) for _ in range(2)
        )
        options = Options(alignment="none", tolerance_s=2.1 * by_s)
        found[compare_pair(a, b, options=options, sweeps=False).claim.label] += 1
    return found


def gnss_labels(memory_s, association, *, runs, factor=1.0, sigma=0.02, noise=0.03):
    """Against a reference at 20 Hz that reports its covariance; its errors have this memory."""
    found = Counter()
    for run in range(runs):
        rng = np.random.default_rng([SEED, run])
        truth = made.drive(rng, SCANS * STEP_S + 1, 5.0)
        estimate = made.absolute(rng, truth, unmatched(rng), sigma, factor=factor)
        at = reference_times(rng, 20)
        reference = made.uncertain_reference(rng, truth, at, noise, memory_s)
        options = Options(alignment="none", tolerance_s=half_step_s(20), association=association)
        found[evaluate(estimate, reference, options=options).verdict.label] += 1
    return found


SPEEDS, SIGMAS = (1.0, 15.0), (0.01, 0.02, 0.1)
FITS = ("se3", "yaw", "first-pose", "none")
MEMORIES_S = (0.0, 1.0, 30.0, 1000.0)  # white, two AR(1), and as good as a random walk
TIGHT = 0.25


@pytest.mark.slow
@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("stamps", STAMPS)
def test_stamps_that_do_not_meet_convict_only_the_guilty(stamps, speed, sigma):
    honest = labels(stamps, speed, sigma, runs=RUNS)
    assert honest["overconfident"] + honest["conservative"] <= LINE
    assert labels(stamps, speed, sigma, runs=RUNS, factor=TIGHT)["overconfident"] >= POWER * RUNS


@pytest.mark.slow
@pytest.mark.parametrize("gauge", FITS)
@pytest.mark.parametrize("stamps", STAMPS)
def test_dead_reckoning_after_a_fit(stamps, gauge):
    honest = labels(stamps, 15.0, None, runs=RUNS, gauge=gauge)
    assert honest["overconfident"] + honest["conservative"] <= LINE
    tight = labels(stamps, 15.0, None, runs=RUNS, gauge=gauge, factor=TIGHT)
    assert tight["overconfident"] >= POWER * RUNS


@pytest.mark.slow
@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("by_s", [0.0005, 0.002, 0.005])
def test_pairs_whose_stamps_do_not_meet(by_s, sigma):
    assert pair_labels(by_s, 15.0, sigma, runs=RUNS)["overconfident"] <= LINE
    tight = pair_labels(by_s, 15.0, sigma, runs=RUNS, factor=TIGHT)
    assert tight["overconfident"] >= POWER * RUNS


@pytest.mark.slow
@pytest.mark.parametrize("association", ["moved", "gp"])
@pytest.mark.parametrize("memory_s", MEMORIES_S)
def test_references_whose_errors_are_shared_convict_only_the_guilty(memory_s, association):
    honest = gnss_labels(memory_s, association, runs=RUNS)
    assert honest["overconfident"] <= LINE
    tight = gnss_labels(memory_s, association, runs=RUNS, factor=TIGHT, noise=0.01)
    assert tight["overconfident"] >= POWER * RUNS


@pytest.mark.slow
@pytest.mark.parametrize("stamps", STAMPS)
def test_nearest_poses_convict_no_honest_estimate_either(stamps):
    honest = labels(stamps, 15.0, 0.02, runs=RUNS, association="nearest")
    assert honest["overconfident"] <= LINE


@pytest.mark.slow
@pytest.mark.parametrize("stamps", ["2 ms off", "20 Hz"])
def test_a_few_runs_at_15_m_per_s(stamps):
    runs = 4
    assert labels(stamps, 15.0, 0.02, runs=runs)["overconfident"] <= 1
    assert labels(stamps, 15.0, 0.02, runs=runs, factor=TIGHT)["overconfident"] >= runs - 1
    assert labels(stamps, 15.0, 0.02, runs=runs, association="nearest")["overconfident"] <= 1


def test_a_few_runs_of_pairs():
    runs = 4
    assert pair_labels(0.002, 15.0, 0.02, runs=runs)["overconfident"] <= 1
    assert pair_labels(0.002, 15.0, 0.02, runs=runs, factor=TIGHT)["overconfident"] >= runs - 1


def test_a_few_runs_against_a_reference_whose_errors_are_shared():
    runs = 5
    assert gnss_labels(1000.0, "moved", runs=runs)["overconfident"] <= 1
    tight = gnss_labels(1000.0, "moved", runs=runs, factor=TIGHT, noise=0.01)
    assert tight["overconfident"] >= 3  # fewer at 90 %: 0.9 %
