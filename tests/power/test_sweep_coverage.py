"""How often the interval of a slope holds the truth: belief tracks whose sharpness is turned.

The errors are AR(1) over 600 scans; the covariance is scaled by c = 100 ... 0.01; with the share s
of the sharpening earned, errors are scaled by c^(s / 2) and the true slope is (1 - s) log10(e) / 3.
"""

import numpy as np
import pytest

from smfeval.compare.sweep import sweep_of
from smfeval.compare.sweep_points import Point
from smfeval.summarise.number import Number
from support.clocks import remembered

pytestmark = pytest.mark.slow

SCALES = 10.0 ** np.linspace(2, -2, 5)
UNEARNED = np.log10(np.e) / 3


def run(error, scale, track, i):
    nees = np.median(np.sum(error**2, axis=1)) / scale
    size = np.mean(np.linalg.norm(error, axis=1))
    precision = -3 * np.log(scale)
    return Point(
        *("ours", track, (("R", str(i)),)),
        *(Number(precision, "nat"), Number(float(nees), "1"), Number(float(size), "m")),
        *(len(error), "made"),
    )


def swept(rng, *, earned, shared, tracks=1, wander=0.0):
    """Runs of which a share of the error is common to all settings of a track."""
    points = []
    for track in range(tracks):
        common = remembered(600, 0.98, rng)
        own = [remembered(600, 0.98, rng) for _ in SCALES]
        bent = wander * rng.normal()
        for i, (scale, mine) in enumerate(zip(SCALES, own, strict=True)):
            error = np.sqrt(shared) * common + np.sqrt(1 - shared) * mine
            size = scale ** ((earned + bent) / 2)
            points.append(run(size * error, scale, f"t{track}", i))
    return points


def coverage(rng, repeats=400, **world):
    truth = (1 - world["earned"]) * UNEARNED
    held = []
    for _ in range(repeats):
        slope = sweep_of(swept(rng, **world)).effects[0].nees_slope
        held.append(slope.low <= truth <= slope.high)
    return float(np.mean(held))


@pytest.mark.parametrize("earned", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9])
def test_on_one_track_the_interval_holds_the_slope(rng, earned, shared):
    assert 0.91 <= coverage(rng, earned=earned, shared=shared) <= 0.99


@pytest.mark.parametrize("wander", [0.0, 0.3])
def test_over_tracks_the_interval_holds_the_mean_slope(rng, wander):
    """Also where the share that is earned differs from track to track."""
    held = coverage(rng, repeats=150, earned=0.5, shared=0.5, tracks=4, wander=wander)
    assert 0.90 <= held <= 0.995


def test_neighbours_that_share_their_errors_make_the_interval_of_one_track_too_narrow(rng):
    """The assumption that is told: errors that change slowly from setting to setting."""
    held = []
    for _ in range(400):
        steps = np.cumsum([remembered(600, 0.98, rng) for _ in SCALES], axis=0)
        errors = steps / np.sqrt(np.arange(1, len(SCALES) + 1))[:, None, None]
        points = [run(e, c, "t", i) for i, (e, c) in enumerate(zip(errors, SCALES, strict=True))]
        slope = sweep_of(points).effects[0].nees_slope
        held.append(slope.low <= UNEARNED <= slope.high)
    assert 0.55 <= np.mean(held) <= 0.93


def test_false_verdicts_are_rare(rng):
    """An earned knob is called unearned or worse, and the reverse, in few sweeps of a hundred."""
    earned = [sweep_of(swept(rng, earned=1.0, shared=0.5)).effects[0].label for _ in range(400)]
    unearned = [sweep_of(swept(rng, earned=0.0, shared=0.5)).effects[0].label for _ in range(400)]
    assert np.mean([label in ("unearned", "worse") for label in earned]) < 0.05
    assert np.mean([label in ("earned", "better") for label in unearned]) < 0.05
    assert np.mean([label == "unearned" for label in unearned]) > 0.8
