"""Intervals of a track's numbers where errors wander: they hold the truth or are refused.

The truth of a statistic is its mean over many tracks of the same world (its median for k). Errors
of a random walk have no mean; an interval for one would hold nothing.
"""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

from smfeval.maths.dependence import wanders
from smfeval.score import Residuals, RuleSettings, scores
from smfeval.summarise.number import Intervals
from smfeval.summarise.numbers import numbers_of
from smfeval.summarise.quantities import WANDERS, Sample

QUICK, MANY = 20, 200
KINDS = ("mae", "rmse", "nees_mean", "k", "coverage_50", "coverage_90")
MOST_MISSED = 0.05


def ar(rho):
    def simulate(n, rng):
        step = rng.normal(size=(n, 3)) * np.sqrt(1 - rho**2)
        step[0] /= np.sqrt(1 - rho**2)
        return lfilter([1.0], [1.0, -rho], step, axis=0), np.ones((n, 3))

    return simulate


def random_walk(n, rng):
    return np.cumsum(rng.normal(size=(n, 3)), axis=0), np.outer(np.arange(1, n + 1), np.ones(3))


def heading_drift(n, rng):
    """A heading that walks at random, on a straight path: the error across is its integral."""
    across = np.cumsum(np.cumsum(rng.normal(size=n))) / n
    time = np.arange(1, n + 1)
    noise = rng.normal(size=(n, 3))
    return noise + np.outer(across, [0, 1, 0]), 1 + np.outer(
        time * (time + 1) * (2 * time + 1) / 6 / n**2, [0, 1, 0]
    )


def outages(n, rng):
    """Small errors, and every 100 scans 30 scans of a random walk that ends at a fix."""
    since = np.maximum(np.arange(n) % 100 - 69, 0)
    step = rng.normal(size=(n, 3)) * (since > 0)[:, None]
    walk = np.cumsum(step, axis=0)
    start = np.maximum.accumulate(np.where(since == 0, np.arange(n), 0))
    noise, fixed = ar(0.5)(n, rng)
    return noise + walk - walk[start], fixed + since[:, None]


WORLDS = {
    **{f"AR({rho})": ar(rho) for rho in (0.8, 0.9, 0.95, 0.98, 0.99, 0.995)},
    "random walk": random_walk,
    "heading drift": heading_drift,
    "outages": outages,
}
WANDERING = ("random walk", "heading drift")


def numbers(world, n, rng, method="auto"):
    error, variance = WORLDS[world](n, rng)
    residuals = Residuals(error, variance[:, :, None] * np.eye(3))
    settings = RuleSettings()
    series = scores(residuals, settings, ("ape", "nees", "pit"))
    sample = Sample(series, residuals, settings, Intervals(method))
    return numbers_of(sample)


def truths(world, n, runs):
    drawn = [numbers(world, n, np.random.default_rng([7, n, run]), None) for run in range(runs)]
    return {kind: float(np.mean([found[kind].value for found in drawn])) for kind in KINDS}


def missed_and_refused(world, n, runs, seed):
    """Of each kind of interval, how many were given and missed the truth, and were refused."""
    truth = truths(world, n, max(100, runs))
    missed, refused = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    for run in range(runs):
        found = numbers(world, n, np.random.default_rng([seed, n, run]))
        for kind in KINDS:
            number = found[kind]
            refused[kind] += number.low is None
            missed[kind] += number.low is not None and not number.low <= truth[kind] <= number.high
    return missed, refused


def check(world, n, runs, seed):
    missed, refused = missed_and_refused(world, n, runs, seed)
    for kind in KINDS:
        assert missed[kind] <= binom.ppf(0.999, runs, MOST_MISSED), (kind, missed, refused)
    if world in WANDERING:
        assert min(refused.values()) >= 0.8 * runs, refused


@pytest.mark.parametrize("world", ["AR(0.98)", "outages", *WANDERING])
def test_intervals_hold_the_truth_or_are_refused(world):
    check(world, 600, QUICK, 201)


@pytest.mark.slow
@pytest.mark.parametrize("n", [600, 1000, 3000])
@pytest.mark.parametrize("world", WORLDS)
def test_intervals_hold_the_truth_or_are_refused_in_many_runs(world, n):
    check(world, n, MANY, 202)


@pytest.mark.parametrize(
    ("world", "n", "least", "most"),
    [
        ("random walk", 600, 0.85, 1.0),
        ("random walk", 3000, 0.85, 1.0),
        ("heading drift", 1000, 0.85, 1.0),
        ("AR(0.9)", 600, 0.0, 0.01),
        ("AR(0.98)", 600, 0.0, 0.1),
        ("AR(0.98)", 1000, 0.0, 0.03),
        ("outages", 1000, 0.0, 0.03),
    ],
)
def test_wandering_is_told_from_a_long_memory(world, n, least, most):
    runs = 200
    found = sum(
        wanders(WORLDS[world](n, np.random.default_rng([203, run]))[0]) for run in range(runs)
    )
    assert binom.ppf(0.001, runs, least) <= found <= binom.ppf(0.999, runs, most)


def test_an_oscillation_and_a_short_series_do_not_wander(rng):
    time = np.arange(600)
    swing = np.stack([np.sin(2 * np.pi * time / 200), 0 * time, 0 * time], axis=1)
    assert not wanders(swing + 0.1 * rng.normal(size=(600, 3)))
    assert not wanders(np.cumsum(rng.normal(size=(40, 3)), axis=0))


def test_the_reason_is_given_in_words(rng):
    found = numbers("random walk", 3000, rng)
    for kind in KINDS:
        assert found[kind].low is None
        assert found[kind].reason == WANDERS
