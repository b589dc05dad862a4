"""An honest belief with uneven covariances is not convicted by the fit that it was given."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import lfilter

from smfeval import About, GaussianTrack, Options, evaluate
from smfeval.cli.demo import simulate_walk
from smfeval.evaluation import judging
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


@pytest.mark.parametrize("margin", [1.01, 3.0, 1e4])
def test_the_noise_that_ends_a_verdict_is_found_to_a_hundredth_by_few_verdicts(margin):
    """Of a mean square, margin S / (S + size^2): it is 1 at size = sqrt(S (margin - 1))."""
    asked = []

    def judge(size):
        asked.append(size)
        left = margin * 0.04 / (0.04 + size**2)
        return SimpleNamespace(margin=left, label="overconfident" if left > 1 else "consistent")

    end = (0.04 * (margin - 1)) ** 0.5
    found = judging.least_size(judge, 30 * end, margin)
    assert end <= found < 1.01 * end
    assert len(asked) <= 3


def test_the_noise_that_ends_a_verdict_is_found_where_margins_tell_nothing():
    def judge(size):
        convicts = size < 0.3
        return SimpleNamespace(margin=1.5 if convicts else 0.5, label="overconfident" * convicts)

    assert 0.3 <= judging.least_size(judge, 7.0, 1.5) < 0.3 * 1.01
    assert judging.least_size(judge, 0.2, 1.5) is None
