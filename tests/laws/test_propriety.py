"""Nobody gains by reporting anything but what is true: every proper rule, by simulation.

The truth is drawn from a known belief; the same draws score that belief and a wrong one. A proper
rule is lower on average for the belief that was drawn from.
"""

import numpy as np
import pytest

from smfeval.score import RULES, Ensemble, Residuals, RuleSettings
from smfeval.score.energy import ape

N = 12_000
CLEAR = 4.0  # standard errors
MEAN = np.array([0.3, -0.2, 0.5])
S = np.diag([0.5, 1.0, 2.0]) @ np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.5], [0.2, 0.5, 1.0]])
S = S @ np.diag([0.5, 1.0, 2.0])
S_REF = np.diag([0.4, 0.9, 0.6])

PROPER = [name for name, rule in RULES.items() if rule.proper and rule.space == "position"]
SETTINGS = {
    "energy": [RuleSettings(beta=beta) for beta in (0.5, 1.0, 1.5)],
    "interval": [RuleSettings(interval_level=level) for level in (0.5, 0.9)],
}
CASES = [(name, each) for name in PROPER for each in SETTINGS.get(name, [RuleSettings()])]

SHORT_AND_LONG = S[[2, 1, 0]][:, [2, 1, 0]]  # the axes exchanged: same determinant
UNCORRELATED = np.diag(np.diag(S))
WRONG = {
    "a quarter of S": (MEAN, 0.25 * S),
    "half of S": (MEAN, 0.5 * S),
    "twice S": (MEAN, 2 * S),
    "four times S": (MEAN, 4 * S),
    "axes exchanged": (MEAN, SHORT_AND_LONG),
    "isotropic": (MEAN, np.eye(3) * np.trace(S) / 3),
    "shifted": (MEAN + 0.4 * np.sqrt(np.diag(S)), S),
    "shifted and tight": (MEAN + 0.4 * np.sqrt(np.diag(S)), 0.5 * S),
}
EVERY_WRONG = pytest.mark.parametrize("wrong", list(WRONG.values()), ids=list(WRONG))
EVERY_RULE = pytest.mark.parametrize(("name", "settings"), CASES, ids=str)


def truths(rng):
    return rng.multivariate_normal(MEAN, S, size=N)


def gaussian(belief, target, noise=None):
    """The belief at every scan, as seen from what it is compared with."""
    mean, covariance = belief
    repeated = np.broadcast_to(covariance, (N, 3, 3))
    noises = None if noise is None else np.broadcast_to(noise, (N, 3, 3))
    return Residuals(mean - target, repeated, noises)


def advantage(name, settings, right, wrong):
    """By how many standard errors the right belief is better, on the same draws."""
    formula = RULES[name].formula
    difference = formula(wrong, settings) - formula(right, settings)
    return difference.mean() / (difference.std() / np.sqrt(len(difference)))


def test_the_table_says_which_rules_are_proper():
    assert set(PROPER) == {"energy", "log", "crps", "interval"}


@EVERY_RULE
@EVERY_WRONG
def test_the_truth_beats_a_wrong_gaussian(name, settings, wrong, rng):
    target = truths(rng)
    right = gaussian((MEAN, S), target)
    assert advantage(name, settings, right, gaussian(wrong, target)) > CLEAR


@EVERY_RULE
@EVERY_WRONG
def test_the_truth_beats_a_wrong_gaussian_against_a_noisy_reference(name, settings, wrong, rng):
    """The reference is measured: r = t + n with n of covariance S_ref, which is given."""
    measured = truths(rng) + rng.multivariate_normal(np.zeros(3), S_REF, size=N)
    right = gaussian((MEAN, S), measured, S_REF)
    assert advantage(name, settings, right, gaussian(wrong, measured, S_REF)) > CLEAR


@EVERY_RULE
def test_neglected_noise_of_the_reference_would_reward_a_wider_belief(name, settings, rng):
    """Why S_ref belongs into the prediction: without it S + S_ref beats the truth S."""
    measured = truths(rng) + rng.multivariate_normal(np.zeros(3), S_REF, size=N)
    right, wide = gaussian((MEAN, S), measured), gaussian((MEAN, S + S_REF), measured)
    assert advantage(name, settings, right, wide) < -CLEAR


@pytest.mark.parametrize("name", ["energy", "log"])
@pytest.mark.parametrize("noise", [None, S_REF], ids=["exact", "noisy"])
def test_rules_of_the_whole_vector_see_a_wrong_correlation(name, noise, rng):
    target = truths(rng)
    if noise is not None:
        target = target + rng.multivariate_normal(np.zeros(3), noise, size=N)
    right, wrong = (gaussian((MEAN, c), target, noise) for c in (S, UNCORRELATED))
    assert advantage(name, RuleSettings(), right, wrong) > CLEAR


@pytest.mark.parametrize("name", ["crps", "interval"])
def test_rules_by_axis_do_not_see_a_wrong_correlation(name, rng):
    target = truths(rng)
    right, wrong = (
        RULES[name].formula(gaussian((MEAN, c), target), RuleSettings()) for c in (S, UNCORRELATED)
    )
    np.testing.assert_array_equal(right, wrong)


@pytest.mark.parametrize("name", ["log_consistency", "log_sharpness", "ape", "nees"])
def test_rules_that_are_not_proper_can_be_gamed(name, rng):
    """Each is beaten or equalled by a belief that is not true; so none of them may be called so."""
    target = truths(rng)
    right = RULES[name].formula(gaussian((MEAN, S), target), RuleSettings())
    gamed = [
        RULES[name].formula(gaussian((MEAN, c * S), target), RuleSettings()) for c in (0.01, 100)
    ]
    assert any((values <= right).all() for values in gamed)
    assert not RULES[name].proper


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5])
def test_energy_never_falls_below_what_the_true_belief_expects_of_itself(beta, rng):
    """The expected score of the truth is half its expected distance: a check of the size."""
    target, other = truths(rng), truths(rng)
    found = RULES["energy"].formula(gaussian((MEAN, S), target), RuleSettings(beta=beta))
    entropy = 0.5 * ape(target - other) ** beta
    slack = CLEAR * np.hypot(found.std(), entropy.std()) / np.sqrt(N)
    assert abs(found.mean() - entropy.mean()) < slack


# Particles: as many scans as keep the distances between all particles quick.

LARGE = {name: WRONG[name] for name in WRONG if name not in ("half of S", "twice S")}


def cloud(belief, target, count, noise=None):
    """Particles of a belief; every belief is made of the same standard draws."""
    mean, covariance = belief
    n = len(target)
    z = np.random.default_rng(3).normal(size=(n, count, 3))
    difference = mean + z @ np.linalg.cholesky(covariance).T - target[:, None]
    error = difference.mean(axis=1)
    away = difference - error[:, None]
    noises = None if noise is None else np.broadcast_to(noise, (n, 3, 3))
    probability = np.full(n * count, 1 / count)
    particles = Ensemble(np.arange(n + 1) * count, difference.reshape(-1, 3), probability)
    return Residuals(error, away.swapaxes(1, 2) @ away / count, noises, particles)


@pytest.mark.parametrize("name", ["energy", "crps", "interval"])
@pytest.mark.parametrize("wrong", list(LARGE.values()), ids=list(LARGE))
def test_the_truth_beats_wrong_particles(name, wrong, rng):
    target = truths(rng)[:1000]
    right, other = (cloud(belief, target, 60) for belief in ((MEAN, S), wrong))
    assert advantage(name, RuleSettings(unbiased=True), right, other) > CLEAR


@pytest.mark.parametrize("name", ["energy", "crps", "interval"])
@pytest.mark.parametrize("wrong", list(LARGE.values()), ids=list(LARGE))
def test_the_truth_beats_wrong_particles_against_a_noisy_reference(name, wrong, rng):
    """Kernels N(0, S_ref) make each pair cost an integral, so there are fewer."""
    measured = truths(rng)[:1000] + rng.multivariate_normal(np.zeros(3), S_REF, size=1000)
    right, other = (cloud(belief, measured, 20, S_REF) for belief in ((MEAN, S), wrong))
    assert advantage(name, RuleSettings(), right, other) > CLEAR
