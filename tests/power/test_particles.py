"""Verdicts on particles by ranks: honest clouds of any shape are not convicted, tight ones are.

Errors have a memory from scan to scan; particles are drawn anew at each. 200 runs per cell behind
the slow marker, a few of them always.
"""

from collections import Counter

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom, kstest

from smfeval.evaluation import evaluate
from smfeval.options import Options
from smfeval.score import Ensemble
from smfeval.score.ranks import density_ranks, thinned
from smfeval.track import About, ParticleTrack, Track

SCANS, PARTICLES = 400, 60
WIDE, APART = 10.0, 30.0
QUICK, MANY = 5, 200
LONG = "narrow and wide"  # its tails are granted: a factor below some 9 is not seen in most runs
SHAPES = ("gaussian", LONG, "two modes")
MOST_FALSE = 0.05


def chain(share, memory, rng):
    """0/1 with a share of ones, kept from scan to scan with a memory. (SCANS,)."""
    renewed = rng.random(SCANS) >= memory
    renewed[0] = True
    since = np.maximum.accumulate(np.where(renewed, np.arange(SCANS), 0))
    return (rng.random(SCANS) < share)[since]


def draw(shape, normal, member):
    """Turn standard normal numbers (..., 3) and a 0/1 share (...) into draws of a belief."""
    if shape == "narrow and wide":
        return normal * np.where(member, WIDE, 1.0)[..., None]
    if shape == "two modes":
        return normal + np.where(member, APART, -APART)[..., None] * np.array([1.0, 0.0, 0.0])
    return normal


SHARE = {"gaussian": 0.5, "narrow and wide": 0.1, "two modes": 0.5}


def world(shape, rng, *, memory=0.8, k=1.0, weighted=False, count=PARTICLES, gauge="fixed"):
    """Estimate and reference; errors of each component are sqrt(k) times as large as claimed."""
    step = np.sqrt(1 - memory**2) * rng.normal(size=(SCANS, 3))
    step[0] /= np.sqrt(1 - memory**2)
    error = np.sqrt(k) * lfilter([1.0], [1.0, -memory], step, axis=0)
    error = draw(shape, error, chain(SHARE[shape], memory, rng))
    proposal = 1.5 if weighted else 1.0
    normal = proposal * rng.normal(size=(SCANS, count, 3))
    log_weight = -0.5 * np.sum(normal**2, axis=-1) * (1 - 1 / proposal**2)
    member = rng.random((SCANS, count)) < SHARE[shape]
    time = np.arange(SCANS)
    path = np.stack([time, 20 * np.sin(time / 30), 0.0 * time], axis=1)
    cloud = 0.1 * draw(shape, normal, member) + path[:, None]
    still = np.array([0.0, 0.0, 0.0, 1.0])
    estimate = ParticleTrack(
        100_000_000 * time,
        count * np.arange(SCANS + 1),
        cloud.reshape(-1, 3),
        np.tile(still, (SCANS * count, 1)),
        log_weight.ravel(),
        log_weight=True,
        about=About(gauge=gauge),
    )
    reference = Track(estimate.stamp, path + 0.1 * error, np.tile(still, (SCANS, 1)))
    return estimate, reference


def labels(runs, seed, shape, **how):
    options = Options(rules=("ape",))
    found = Counter()
    for run in range(runs):
        estimate, reference = world(shape, np.random.default_rng([seed, run]), **how)
        found[evaluate(estimate, reference, options=options).verdict.label] += 1
    return found


def check_honest(found):
    """At most 5 % convicted, beyond what chance makes of 5 %."""
    runs = found.total()
    assert found["overconfident"] <= binom.ppf(0.999, runs, MOST_FALSE / 2), found
    assert found["conservative"] <= binom.ppf(0.999, runs, MOST_FALSE / 2), found


HONEST = [
    pytest.param(shape, how, id=f"{shape}, {name}")
    for shape in SHAPES
    for name, how in {
        "memory 0": {"memory": 0.0},
        "memory 0.8": {},
        "memory 0.95": {"memory": 0.95},
        "weighted": {"weighted": True},
        "few": {"count": 8},
    }.items()
]


@pytest.mark.parametrize(("shape", "how"), HONEST[1::3])
def test_honest_clouds_are_not_convicted(shape, how):
    check_honest(labels(QUICK, 101, shape, **how))


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_few_particles_far_from_gaussian_are_not_convicted(shape):
    """Eight of them often miss what is wide: by ranks, and not by their mean square, they stay."""
    check_honest(labels(QUICK, 109, shape, count=8))


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "how"), HONEST)
def test_honest_clouds_are_not_convicted_in_many_runs(shape, how):
    found = labels(MANY, 102, shape, **how)
    check_honest(found)
    if how.get("memory") == 0.0 and shape == "gaussian":  # called so where scans are many
        assert found["consistent"] >= 0.8 * MANY, found


TIGHT = [
    pytest.param(shape, k, how, id=f"{shape}, {k} times, {name}")
    for shape in SHAPES
    for k, name, how in (
        (100.0 if shape == LONG else 4.0, "60", {}),
        (100.0 if shape == LONG else 9.0, "weighted", {"weighted": True}),
        (25.0, "8", {"count": 8}),
    )
]


@pytest.mark.parametrize(("shape", "k", "how"), TIGHT[::4])
def test_tight_clouds_are_convicted(shape, k, how):
    assert labels(QUICK, 103, shape, k=k, **how)["overconfident"] >= 0.9 * QUICK


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "k", "how"), TIGHT)
def test_tight_clouds_are_convicted_in_many_runs(shape, k, how):
    assert labels(MANY, 104, shape, k=k, **how)["overconfident"] >= 0.9 * MANY


def test_wide_clouds_are_called_conservative():
    assert labels(QUICK, 105, "gaussian", k=1 / 9)["conservative"] >= 0.9 * QUICK


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_wide_clouds_of_other_shapes_are_neither_convicted_nor_acquitted(shape):
    """The spread between two modes is as claimed, and long tails widen the doubt about the mean."""
    found = labels(QUICK, 105, shape, k=1 / 9)
    assert found["conservative"] + found["cannot tell"] == QUICK, found


def test_the_mean_square_of_few_particles_is_in_units_of_what_honest_ones_give():
    """Eight particles in space: three times as large as of many, by Hotelling's law."""
    estimate, reference = world("gaussian", np.random.default_rng(107), memory=0.0, count=8)
    found = evaluate(estimate, reference, options=Options(exact=("body", "clock")))
    nees = found.position.series["nees"]
    assert found.verdict.facts.first.excess == pytest.approx(nees.mean() / 9, rel=1e-6)
    assert found.verdict.facts.first.excess == pytest.approx(1, abs=0.3)
    assert found.verdict.facts.acquitting.low < 1 < found.verdict.facts.acquitting.high


def test_hardly_more_particles_than_axes_tell_nothing():
    """Their mean NEES has no variance, or does not exist."""
    for count in (5, 7):
        found = evaluate(*world("gaussian", np.random.default_rng(108), count=count))
        assert found.verdict.label == "cannot tell"
        assert found.verdict.facts.first is None


def test_a_degenerate_filter_is_convicted(rng):
    """Sixty copies of four places a tenth of a sigma apart: the reference lies outside of all."""
    estimate, reference = world("gaussian", rng)
    position = estimate.particle_position.reshape(SCANS, PARTICLES, 3)
    place = position[:, :1] + 0.01 * rng.normal(size=(SCANS, 4, 3))
    copies = place[:, np.arange(PARTICLES) % 4].reshape(-1, 3)
    poor = ParticleTrack(
        estimate.stamp,
        estimate.offset,
        copies,
        estimate.particle_rotation,
        np.ones(len(copies)),
        about=estimate.about,
    )
    found = evaluate(poor, reference, options=Options())
    assert found.verdict.label == "overconfident"
    assert found.verdict.at_least > 1e3  # k is of ranks, and no rank is beyond the last
    assert found["k"].value < 10
    assert "mean-square k at least" in found.verdict.sentence
    assert found["coverage_50"].value < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_after_a_fit_honest_clouds_are_not_convicted_and_never_conservative(shape):
    found = labels(MANY, 106, shape, gauge="se3")
    assert found["overconfident"] <= binom.ppf(0.999, MANY, MOST_FALSE / 2)
    assert not found["conservative"]


# The ranks themselves


def cloud_ensemble(shape, scans, count, d, rng):
    normal, member = rng.normal(size=(scans, count + 1, 3)), rng.random((scans, count + 1))
    x = draw(shape, normal, member < SHARE[shape])[..., :d]
    difference = (x[:, 1:] - x[:, :1]).reshape(-1, d)
    return Ensemble(count * np.arange(scans + 1), difference, np.full(scans * count, 1 / count))


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("count", [4, 30])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_ranks_of_an_honest_cloud_are_uniform(shape, d, count, noisy, rng):
    scans = 1500
    cloud = cloud_ensemble(shape, scans, count, d, rng)
    noise = None
    if noisy:  # the reference was measured with an error of its own
        noise = np.repeat(np.diag([0.5, 2.0, 1.0])[None, :d, :d], scans, axis=0)
        own = rng.normal(size=(scans, d)) * np.sqrt(np.diag(noise[0]))
        difference = cloud.difference - np.repeat(own, count, axis=0)
        cloud = Ensemble(cloud.offset, difference, cloud.probability)
    rank = density_ranks(cloud, noise, rng=rng)
    assert kstest(rank, "uniform").pvalue > 1e-3


def test_a_reference_outside_all_particles_has_the_last_rank(rng):
    cloud = cloud_ensemble("gaussian", 20, 30, 3, rng)
    away = Ensemble(cloud.offset, cloud.difference + 1e3, cloud.probability)
    assert (density_ranks(away, rng=rng) >= 30 / 31 - 1e-12).all()  # K / (K + 1)


def test_copies_of_particles_change_no_rank(rng):
    cloud = cloud_ensemble("two modes", 20, 12, 2, rng)
    twice = Ensemble(
        2 * cloud.offset,
        np.repeat(cloud.difference, 2, axis=0),
        np.repeat(cloud.probability / 2, 2),
    )
    ranks = [density_ranks(each, rng=np.random.default_rng(1)) for each in (cloud, twice)]
    np.testing.assert_allclose(*ranks, rtol=1e-9)
    np.testing.assert_array_equal(twice.distinct.count, cloud.count)


def test_many_particles_are_thinned_by_their_weights(rng):
    p = np.concatenate([np.full(3000, 0.9 / 3000), np.full(1000, 0.1 / 1000)])
    cloud = Ensemble(np.array([0, 4000]), rng.normal(size=(4000, 2)), p)
    few = thinned(cloud, most=500)
    assert few.count[0] == 500
    from_first = np.isin(few.difference[:, 0], cloud.difference[:3000, 0])
    assert from_first.mean() == pytest.approx(0.9, abs=0.003)
