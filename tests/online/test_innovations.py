"""Innovations: k under a gate, whiteness, and verdicts that tell the two apart."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from smfeval import Innovations, OptionError, TrackError
from smfeval.online.innovations import (
    judge_innovations,
    judge_sensor,
    lag_correlations,
    share_bound,
    truncated_scale,
)
from smfeval.track.innovations import SensorInnovations
from support.kalman import random_walk_filter, remembering, white_innovations


@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
@pytest.mark.parametrize("k", [0.3, 1.0, 4.0])
def test_k_of_a_truncated_chi_squared_is_the_factor_that_made_it(dimension, k):
    gate = stats.chi2.isf(0.01, dimension)
    made = stats.chi2(dimension, scale=k)
    mean = made.expect(lambda x: x, ub=gate, conditional=True)
    assert truncated_scale(mean, dimension, gate) == pytest.approx(k, rel=1e-5)


def test_a_gate_does_not_make_an_honest_filter_look_too_wide(rng):
    white = rng.standard_normal((20_000, 1))
    accepted = (white**2).sum(axis=1) <= 1.0
    found = judge_sensor(white_innovations(white, accepted=accepted))
    assert found.gate == pytest.approx(1.0, abs=0.01)
    assert found.k.value == pytest.approx(1.0, rel=0.1)
    kept = judge_sensor(white_innovations(white[accepted]))
    assert kept.k.value < 0.7
    assert "gate is to be given" in kept.notes[0]
    told = judge_sensor(white_innovations(white[accepted]), gate=1.0)
    assert told.k.value == pytest.approx(found.k.value, rel=0.02)


def test_lag_correlations_are_those_of_numpy(rng):
    white = remembering(rng, 0.6, (500, 1))
    (first, *_) = lag_correlations(white)
    expected = float(white[1:, 0] @ white[:-1, 0]) / float(white[:, 0] @ white[:, 0])
    assert first.value == pytest.approx(expected)
    assert first.t == pytest.approx(
        np.sum(white[1:] * white[:-1]) / np.linalg.norm(white[1:] * white[:-1])
    )


def test_the_bound_on_a_share_is_above_the_binomial_tail():
    for share, expected, n in [(0.05, 0.01, 200), (0.5, 0.1, 30), (1.0, 0.2, 10)]:
        exact = stats.binom.sf(np.ceil(share * n) - 1, n, expected)
        assert exact * (1 - 1e-9) <= share_bound(share, expected, n) <= 20 * exact
    assert share_bound(0.01, 0.02, 100) == 1.0


def judged(runs, make, seed):
    found = [
        judge_innovations(Innovations(make(np.random.default_rng([seed, run]))))
        for run in range(runs)
    ]
    return found, Counter(report.sensors[0].label for report in found)


WORLDS = {
    "one axis": {"scans": 300, "axes": 1},
    "space": {"scans": 300, "axes": 3},
    "weak gain": {"scans": 400, "axes": 3, "q": 0.01},
    "gate, one axis": {"scans": 300, "axes": 1, "gate": 6.63},
    "gate, space": {"scans": 300, "axes": 3, "gate": 11.34},
}


def check_honest(runs, world, seed):
    found, labels = judged(runs, lambda rng: (random_walk_filter(rng, **WORLDS[world]),), seed)
    refuted = sum(report.convicted for report in found)
    assert refuted <= stats.binom.ppf(0.999, runs, 0.05), labels
    return refuted


@pytest.mark.parametrize("world", ["space", "gate, one axis"])
def test_honest_filters_are_refuted_seldom(world):
    check_honest(12, world, seed=41)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_honest_filters_are_refuted_in_5_per_cent_of_500_runs_at_most(world):
    assert check_honest(500, world, seed=42) <= 25


@pytest.mark.slow
def test_three_sensors_of_an_honest_filter_are_refuted_in_5_per_cent_at_most():
    def make(rng):
        return tuple(
            white_innovations(rng.standard_normal((400, d)), sensor=str(d)) for d in (1, 2, 3)
        )

    found, labels = judged(500, make, seed=43)
    assert sum(report.convicted for report in found) <= 25, labels


LIES = {
    "Q x 4": ({"claimed_q": 4.0}, "too wide", "Q too large"),
    "Q / 4": ({"claimed_q": 0.25}, "too tight", "Q too small"),
    "R / 4": ({"claimed_r": 0.25}, "too tight", "R too small"),
    "R x 4": ({"claimed_r": 4.0}, "too wide", "R too large"),
    "both / 4": ({"claimed_q": 0.25, "claimed_r": 0.25}, "too tight", "Q and R both too small"),
}


def check_lie(runs, lie, gate, seed):
    claims, scale, hint = LIES[lie]
    found, labels = judged(
        runs, lambda rng: (random_walk_filter(rng, scans=800, gate=gate, **claims),), seed
    )
    assert np.mean([report.convicted for report in found]) >= 0.95, labels
    if gate is None:
        assert np.mean([report.sensors[0].scale == scale for report in found]) >= 0.9, labels
        assert np.mean([hint in (report.sensors[0].hint or "") for report in found]) >= 0.8


@pytest.mark.parametrize("lie", LIES)
def test_wrong_noise_is_convicted_and_named(lie):
    check_lie(5, lie, gate=None, seed=51)


@pytest.mark.slow
@pytest.mark.parametrize("gate", [None, 11.34])
@pytest.mark.parametrize("lie", LIES)
def test_wrong_noise_is_convicted_in_200_runs(lie, gate):
    check_lie(200, lie, gate, seed=52)


def check_memory(runs, correlation, axes, seed):
    """Innovations of the right size that remember are not white; too tight in few."""
    found, labels = judged(
        runs, lambda rng: (white_innovations(remembering(rng, correlation, (1000, axes))),), seed
    )
    assert all(not report.sensors[0].white for report in found), labels
    wrong = sum(report.sensors[0].scale in ("too tight", "too wide") for report in found)
    assert wrong <= stats.binom.ppf(0.999, runs, 0.05), labels


@pytest.mark.parametrize("correlation", [0.5, 0.99])
def test_memory_alone_is_not_called_too_tight(correlation):
    check_memory(8, correlation, 3, seed=61)


@pytest.mark.slow
@pytest.mark.parametrize("axes", [1, 3])
@pytest.mark.parametrize("correlation", [0.5, 0.9, 0.99, 0.995, 0.999])
def test_memory_alone_is_not_called_too_tight_in_200_runs(correlation, axes):
    check_memory(200, correlation, axes, seed=62)


def test_long_tails_are_named_and_convict_nobody():
    found, labels = judged(
        10,
        lambda rng: (
            white_innovations(
                rng.standard_normal((1000, 3)) * np.sqrt(3 / rng.chisquare(5, (1000, 1)))
            ),
        ),
        seed=71,
    )
    assert sum(report.convicted for report in found) <= 1, labels
    assert sum("tails" in " ".join(report.sensors[0].notes) for report in found) >= 6


def test_a_bias_is_told_from_memory(rng):
    biased = judge_sensor(white_innovations(rng.normal([0.0, 0.4], 1.0, (600, 2))))
    assert biased.biased
    assert "bias" in biased.hint
    wandering = judge_sensor(white_innovations(remembering(rng, 0.99, (600, 2))))
    assert wandering.correlated
    assert not wandering.biased


def test_a_filter_that_lost_its_sensor_rejects_too_much(rng):
    white = rng.standard_normal((300, 2))
    white[20:] += 50
    accepted = (white**2).sum(axis=1) <= 9.21
    found = judge_sensor(white_innovations(white, accepted=accepted), gate=9.21)
    assert found.label == "rejects too much"
    assert found.k is None


def test_a_sensor_that_is_rejected_altogether_is_judged_by_all_rows(rng):
    nothing = np.zeros(200, dtype=bool)
    found = judge_sensor(white_innovations(rng.normal(30, 1, (200, 1)), accepted=nothing))
    assert found.scale == "too tight"
    assert "every row is rejected" in found.notes[0]


def test_a_column_that_is_not_filled_does_not_stop_the_others(rng):
    sensors = (white_innovations(np.zeros((200, 1)), "baro"), random_walk_filter(rng))
    baro, gps = judge_innovations(Innovations(sensors)).sensors
    assert baro.label == "cannot tell"
    assert baro.notes == ("every NIS is 0: is the column filled?",)
    assert gps.k is not None
    with pytest.raises(TrackError, match="an innovation is beyond 1e\\+15"):
        white_innovations(np.full((200, 1), 1e200), "baro")


def test_gates_that_cannot_be_are_refused(rng):
    innovations = Innovations((white_innovations(rng.standard_normal((100, 1))),))
    with pytest.raises(OptionError, match="is it the square"):
        judge_innovations(innovations, gates={"": 1.0})
    with pytest.raises(OptionError, match="sensors are gps"):
        judge_innovations(innovations, gates={"gpx": 9.0})


def test_bad_innovations_are_refused():
    good = {"stamp": np.arange(2), "innovation": np.ones((2, 1)), "accepted": np.ones(2, bool)}
    cases = {
        "not positive definite": {"covariance": np.array([[[1.0]], [[-1.0]]])},
        "expected": {"covariance": np.ones((2, 2, 2))},
        "not finite": {"covariance": np.array([[[1.0]], [[np.nan]]])},
        "goes back": {"covariance": np.ones((2, 1, 1)), "stamp": np.array([1, 0])},
    }
    for match, wrong in cases.items():
        with pytest.raises(TrackError, match=match):
            SensorInnovations("gps", **(good | wrong))
