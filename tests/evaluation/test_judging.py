"""An honest belief with uneven covariances is not convicted by the fit that it was given."""

import numpy as np
import pytest
from scipy.signal import lfilter

from smfeval import About, GaussianTrack, Options, evaluate
from smfeval.cli.demo import simulate_walk
from support.positions import judge_position

SCANS, RHO, SIGMA_M = 1000, 0.9, 0.05


@pytest.fixture(scope="module")
def reference():
    return simulate_walk(rng=np.random.default_rng(0))[0][np.arange(SCANS)]


def loose_in_turns(reference):
    """One while turning, a fifth elsewhere."""
    step = np.gradient(reference.position, axis=0)
    heading = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
    rate = np.abs(np.gradient(heading))
    return np.where(rate > np.quantile(rate, 0.7), 1.0, 0.2)[:, None]


def belief(reference, spread, seed, *, tightness=1.0):
    shocks = np.random.default_rng(seed).normal(size=(SCANS, 3))
    shocks[0] /= np.sqrt(1 - RHO**2)
    error = lfilter([np.sqrt(1 - RHO**2)], [1, -RHO], shocks, axis=0)
    covariance = np.tile(1e-6 * np.eye(6), (SCANS, 1, 1))
    covariance[:, range(3), range(3)] = (SIGMA_M * spread) ** 2 / tightness
    position = reference.position + SIGMA_M * spread * error
    about = About(body="base_link", gauge="se3")
    return GaussianTrack(reference.stamp, position, reference.rotation, covariance, about=about)


def test_honest_but_uneven_beliefs_are_seldom_convicted(reference):
    spread = loose_in_turns(reference)
    options = Options(rules=("ape",))
    found = [
        judge_position(belief(reference, spread, seed), reference, options) for seed in range(40)
    ]
    assert sum(each.label == "overconfident" for each in found) <= 4


def test_beliefs_that_are_too_tight_still_are(reference):
    spread = loose_in_turns(reference)
    bold = belief(reference, spread, 0, tightness=9.0)
    assert evaluate(bold, reference).verdict.label == "overconfident"
