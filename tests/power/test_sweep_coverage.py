"""How often the interval of a slope holds the truth: belief tracks whose sharpness is turned.

The errors are dependent over 600 scans; the covariance is scaled by c = 100 ... 0.01 and breathes
along the track; with the share s of the sharpening earned, errors are scaled by c^(s / 2) and the
true slope is (1 - s) log10(e) / 3. Settings share a part of their errors, or each setting has most
of those of the one before ("neighbours"), as settings that see the same sensor data do.
"""

import numpy as np
import pytest

from smfeval.compare.slopes import Point, ScanSeries
from smfeval.compare.sweep import sweep_of
from smfeval.summarise.number import Number
from support.clocks import remembered

UNEARNED = np.log10(np.e) / 3
NEIGHBOURS = "neighbours"
DRIFT = "drift"


def run(error, variance, track, i):
    """A run with errors (n, 3) and a reported variance (n,)."""
    squared = np.sum(error**2, axis=1)
    size, nees, precision = np.sqrt(squared), squared / variance, -3 * np.log(variance)
    return Point(
        *("ours", track, (("R", str(i)),)),
        Number(float(np.median(precision)), "nat"),
        Number(float(np.median(nees)), "1"),
        Number(float(size.mean()), "m"),
        *(len(error), "made"),
        scans=ScanSeries(np.arange(len(error)), np.log10(nees), size, precision),
    )


def errors_of(rng, shared, settings, scans, memory=0.98):
    """Errors of each setting, variance 1 (of a drift: t). (settings, n, 3)."""
    if shared == NEIGHBOURS:
        steps = np.cumsum([remembered(scans, memory, rng) for _ in range(settings)], axis=0)
        return steps / np.sqrt(np.arange(1, settings + 1))[:, None, None]
    if shared == DRIFT:  # odometry: each setting drifts, half of it alike
        walks = np.cumsum(rng.normal(size=(settings + 1, scans, 3)), axis=1)
        return np.sqrt(0.5) * (walks[:1] + walks[1:])
    common = remembered(scans, memory, rng)
    own = np.array([remembered(scans, memory, rng) for _ in range(settings)])
    return np.sqrt(shared) * common + np.sqrt(1 - shared) * own


def swept(rng, *, earned, shared, settings=5, tracks=1, wander=0.0, scans=600):
    """Runs over all settings and tracks; `wander`: what is earned differs between tracks."""
    points, scales = [], 10.0 ** np.linspace(2, -2, settings)
    for track in range(tracks):
        errors = errors_of(rng, shared, settings, scans)
        breath = np.exp(0.5 * remembered(scans, 0.95, rng)[:, 0])
        if shared == DRIFT:
            breath = breath * np.arange(1, scans + 1)
            errors = errors / np.sqrt(np.arange(1, scans + 1))[:, None]
        bent = wander * rng.normal()
        for i, (scale, error) in enumerate(zip(scales, errors, strict=True)):
            size = scale ** ((earned + bent) / 2) * np.sqrt(breath)[:, None]
            points.append(run(size * error, scale * breath, f"t{track}", i))
    return points


def slopes(rng, repeats, **world):
    return [sweep_of(swept(rng, **world)).effects[0].nees_slope for _ in range(repeats)]


def coverage(rng, repeats=200, **world):
    truth = (1 - world["earned"]) * UNEARNED
    found = [slope for slope in slopes(rng, repeats, **world) if slope.low is not None]
    assert len(found) > 0.5 * repeats
    return float(np.mean([slope.low <= truth <= slope.high for slope in found]))


@pytest.mark.parametrize("shared", [0.5, NEIGHBOURS])
def test_the_interval_holds_the_slope_in_a_few_sweeps(rng, shared):
    """The short version of what follows."""
    assert coverage(rng, repeats=40, earned=0.5, shared=shared, settings=8) >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize("settings", [3, 5, 8])
@pytest.mark.parametrize("earned", [0.0, 1.0])
@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9, NEIGHBOURS, DRIFT])
def test_on_one_track_the_interval_holds_the_slope(rng, earned, shared, settings):
    held = coverage(rng, earned=earned, shared=shared, settings=settings)
    assert held >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)


@pytest.mark.slow
@pytest.mark.parametrize("wander", [0.0, 0.3])
def test_over_tracks_the_interval_holds_the_mean_slope(rng, wander):
    """Also where the share that is earned differs from track to track."""
    held = coverage(rng, repeats=150, earned=0.5, shared=0.5, tracks=4, wander=wander)
    assert 0.90 <= held <= 0.995


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.5, NEIGHBOURS])
def test_false_verdicts_are_rare_and_true_ones_frequent(rng, shared):
    """An earned knob is called unearned or worse, and the reverse, in few sweeps of a hundred."""

    def labels(earned):
        return [
            sweep_of(swept(rng, earned=earned, shared=shared, settings=8)).effects[0].label
            for _ in range(200)
        ]

    earned, unearned = labels(1.0), labels(0.0)
    assert np.mean([label in ("not more accurate", "worse") for label in earned]) <= 0.05
    assert np.mean([label in ("more accurate", "better") for label in unearned]) <= 0.05
    assert np.mean([label == "not more accurate" for label in unearned]) > 0.8
