"""The e-detector of innovations."""

import numpy as np
import pytest
from scipy import stats

from smfeval.monitor.edetector import ALTERNATIVES, SHARE, EDetector, log_ratios, sensor_share
from support.kalman import random_walk_filter, remembering


def test_shares_sum_to_one():
    assert SHARE.sum() == pytest.approx(1.0)
    assert sum(sensor_share(number) for number in range(1, 10_000)) == pytest.approx(1, abs=2e-4)


@pytest.mark.parametrize("gate", [None, 3.0])
def test_ratios_have_a_mean_of_one_at_most(gate, rng):
    white = rng.standard_normal((100_000, 2))
    if gate is not None:
        white = white[np.square(white).sum(axis=1) <= gate]
    before = np.broadcast_to([0.8, -0.5], white.shape)
    ratio = np.exp(log_ratios(white, before, gate))
    for (_, c, f, _), mean, error in zip(
        ALTERNATIVES, ratio.mean(axis=0), ratio.std(axis=0) / np.sqrt(len(white)), strict=True
    ):
        if c <= 1.5 or gate is not None:  # beyond, the mean is made by what is hardly ever drawn
            assert mean <= 1 + 4 * error
            assert f != 0 or mean == pytest.approx(1, abs=0.02 + 4 * error)


def test_how_measurements_are_grouped_does_not_matter(rng):
    white = 1.2 * remembering(rng, 0.2, (700, 2))
    whole = EDetector(2).advance(white)
    assert whole.alarm is not None
    parts = EDetector(2)
    for start in range(0, 700, 11):
        parts = parts.advance(white[start : start + 11])
    assert parts == whole


def alarms(runs, make, seed, **options):
    found = []
    for run in range(runs):
        white = make(np.random.default_rng([seed, run]))
        found.append(EDetector(white.shape[1], **options).advance(white))
    return [each for each in found if each.alarm is not None]


def of_a_filter(rng, n, gate):
    """Whitened innovations of an honest Kalman filter that its gate accepts."""
    table = random_walk_filter(rng, scans=n, axes=2, gate=gate)
    return table.whitened[table.accepted]


def cut_off(rng, n, gate):
    """White innovations that a gate cuts off."""
    white = rng.standard_normal((n, 2))
    return white[np.square(white).sum(axis=1) <= gate]


# A tighter gate leaves an honest filter with errors that it did not correct: see docs/watch.md.
HONEST = {
    "filter": (of_a_filter, None),
    "filter, gate of 99 %": (of_a_filter, 9.21),
    "cut off at 90 %": (cut_off, 4.61),
}


@pytest.mark.parametrize("world", HONEST)
def test_honest_filters_raise_few_alarms(world):
    make, gate = HONEST[world]
    found = alarms(60, lambda rng: make(rng, 200, gate), seed=1, false_alarms=0.05, gate=gate)
    assert len(found) <= stats.binom.ppf(0.999, 60, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("world", HONEST)
def test_honest_filters_raise_few_alarms_in_500_runs(world):
    make, gate = HONEST[world]
    found = alarms(500, lambda rng: make(rng, 1000, gate), seed=2, false_alarms=0.05, gate=gate)
    assert len(found) <= 25


FAULTS = {
    "too tight": lambda rng: 1.5 * rng.standard_normal((2000, 2)),
    "too wide": lambda rng: 0.6 * rng.standard_normal((2000, 2)),
    "not white": lambda rng: remembering(rng, 0.3, (2000, 2)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found_and_named(fault):
    found = alarms(15, FAULTS[fault], seed=3)
    assert len(found) == 15
    assert sum(each.fault == fault for each in found) >= 14
    assert np.median([each.alarm for each in found]) < 150


def test_a_late_fault_is_found_soon(rng):
    white = rng.standard_normal((6000, 3))
    white[5000:] *= 2
    assert 5000 < EDetector(3).advance(white).alarm < 5050
