"""Growth laws by simulation: what is learnt of a law that is known, and what it does on new tracks.

Five tracks of 300 scans whose errors grow by a law of each level; limits leave three standard
errors.
"""

from dataclasses import replace

import numpy as np
import pytest

from smfeval.calibration import calibrate
from smfeval.evaluation import evaluate
from smfeval.options import Options
from support.calibration import grown_pair, growth_law

pytestmark = pytest.mark.slow

RUNS = 20
SE3 = Options(alignment="se3")


def mean_is(values, expected, bias=0.0):
    """Whether a mean over runs is as expected within three standard errors, and a small bias."""
    reach = 3 * np.std(values, axis=0) / np.sqrt(len(values))
    return np.all(np.abs(np.mean(values, axis=0) - expected) <= reach + bias)


@pytest.mark.parametrize("level", [6, 4, 3])
def test_a_law_that_is_known_is_learnt_and_holds_on_new_tracks(level):
    law, ratios, levels, coverage, gains, k, absolute = growth_law(level), [], [], [], [], [], []
    for seed in range(RUNS):
        rng = np.random.default_rng([91, level, seed])
        pairs = [grown_pair(rng, law, 300) for _ in range(6)]
        found = calibrate(pairs[:5], pairs[5:], options=SE3)
        learnt = found.correction
        plain = (each / learnt.factor**0.5 for each in learnt.drift(30.0))
        true = replace(law, motion=learnt.motion).drift(30.0)
        floors = [learnt.floor_m2, learnt.floor_rad2] / np.array([law.floor_m2, law.floor_rad2])
        ratios.append([next(plain) / true[0], *np.sqrt(floors / learnt.factor)])
        levels.append(learnt.level)
        coverage.append(found.mean("after").coverage)
        k.append(found.mean("after").k)
        gains.append(found.gain.value)
        absolute.append(found.held_out[0].absolute[1].coverage)
    print(level, "drift, floors over true", np.mean(ratios, axis=0), np.std(ratios, axis=0))
    print("  level", np.mean(np.array(levels) == level), "coverage", np.mean(coverage))
    print("  absolute", np.mean(absolute), "k", np.mean(k), "gain", np.mean(gains))
    assert mean_is(ratios, 1.0, bias=0.05)
    assert np.mean(np.array(levels) == level) >= 0.8
    assert mean_is(coverage, 0.9, bias=0.02)
    assert mean_is(absolute, 0.9, bias=0.03)
    assert np.mean(gains) > 0.1


def test_a_law_that_is_right_is_seldom_found_overconfident():
    found = []
    for seed in range(100):
        rng = np.random.default_rng([92, seed])
        law = growth_law((6, 4, 3)[seed % 3])
        estimate, reference = grown_pair(rng, law, 300)
        verdict = evaluate(law.apply(estimate), reference, options=SE3).verdict
        found.append(verdict.label)
    print({label: found.count(label) for label in set(found)})
    assert found.count("overconfident") <= 5
