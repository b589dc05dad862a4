"""The verdict after alignment, from rows and bounds made by hand and from simulated worlds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from smfeval.align.fit import FITS
from smfeval.align.joint import UNKNOWN, Claim, Joint, align_joint, growth, joint_of
from smfeval.align.projection import fit_weights, projected_covariance
from smfeval.maths import normal, se3, so3
from smfeval.summarise import judgement
from smfeval.summarise.judgement import Bound, Evidence, gather, judge
from smfeval.summarise.windows import WindowRow
from support import drifting

IMPLIED = Joint("implied", 6)


def row(k, *, horizon=10, windows=59, rho=0.0, lo=1.0, hi=1.0, first_half=False):
    nu = 3.0 * windows
    return WindowRow(horizon, 1.0, 3.0, windows, k, nu, rho, lo, hi, first_half)


def evidence(*rows, bounds=(), joint=IMPLIED):
    return Evidence(joint, "se3", rows, tuple(bounds))


def gathered(world, gauge="se3", fitted=None):
    stamp = np.arange(len(world.position)) * 100_000_000
    fit = fit_weights(gauge, world.position, fitted=fitted)
    return gather(joint_of(growth(world.claim)), fit, world.claim, world.truth, stamp)


def test_the_median_is_that_of_chi_squared():
    assert pytest.approx(stats.chi2.median(3)) == judgement.MEDIAN


def test_errors_beyond_the_interval_convict_with_their_factor():
    found = judge(evidence(row(2.0), row(2.1, horizon=20, windows=29)))
    assert found.label == "overconfident"
    assert found.evidence == "relative motion"
    assert found.low < found.factor == 2.0 < found.high
    assert found.low == pytest.approx(2.0 * 177 / stats.chi2.ppf(0.975, 177), rel=1e-3)
    assert found.not_refuted is None


def test_consistent_is_kept_for_intervals_near_one():
    found = judge(evidence(row(1.05)))
    assert found.label == "consistent"
    assert found.not_refuted == pytest.approx(max(1 / found.low, found.high))
    assert found.not_refuted < 1.5
    few = judge(evidence(row(1.05, windows=14)))
    assert few.label == "cannot tell"
    assert few.not_refuted > 1.5


def test_conservative_needs_two_horizons():
    assert judge(evidence(row(0.5), row(0.4, horizon=20, windows=29))).label == "conservative"
    assert judge(evidence(row(0.5))).label == "cannot tell"
    assert judge(evidence(row(0.5), row(0.9, horizon=20, windows=29))).label == "cannot tell"


def test_tight_here_and_wide_there_cannot_tell():
    rows = row(0.5), row(0.4, horizon=20, windows=29), row(4.0, horizon=40, windows=14)
    assert judge(evidence(*rows)).label == "cannot tell"


def test_correlated_windows_are_left_out_until_they_are_independent():
    rows = row(2.0, rho=4.0), row(1.1, horizon=20, windows=29), row(1.0, horizon=40, windows=14)
    assert [kept.horizon for kept in judgement.usable(rows)] == [20, 40]
    assert judge(evidence(*rows)).label == "cannot tell"
    assert judge(evidence(row(5.0, rho=9.0))).label == "cannot tell"


def test_claims_that_change_between_halves_judge_nothing():
    assert judge(evidence(row(5.0, lo=0.05))).label == "cannot tell"
    assert judge(evidence(row(1.5, lo=0.5))).label == "cannot tell"


def test_the_first_half_may_convict():
    found = judge(evidence(row(3.0, windows=29, first_half=True)))
    assert found.label == "overconfident"
    assert "first half" in found.sentence


def test_bounds_convict_and_never_acquit():
    beyond = Bound("fit bound", None, 9.0, 4.58)
    within = Bound("window bound", 100, 0.5, 6.2)
    assert judge(evidence(bounds=(within, beyond), joint=UNKNOWN)).evidence == "fit bound"
    assert judge(evidence(bounds=(within,), joint=UNKNOWN)).label == "cannot tell"
    assert judge(evidence(bounds=(beyond,))).label == "overconfident"  # where windows cannot tell
    assert judge(evidence(row(1.0), bounds=(beyond,))).label == "consistent"


def test_positive_correlation_is_shown_and_not_judged_by(rng):
    """Its bound S_i + S_j is at most the widest, of any correlation, so its k is larger."""
    found = gathered(drifting.smoother(rng, 400).scaled(0.2))
    bounds = [each for each in found.bounds if each.name == "window bound"]
    assert len(bounds) >= 4
    for each in bounds:  # the widest is 2 (S_i + S_j) for equal traces, more in some directions
        assert 1.5 * each.k < each.k_if_positive <= 4 * each.k
    k = 0.99 * bounds[0].limit
    within = replace(bounds[0], k=k, k_if_positive=2 * k)
    assert judge(evidence(bounds=(within,), joint=UNKNOWN)).label == "cannot tell"


def test_limits_are_markovs():
    fit_bound = gathered(drifting.steady_filter(np.random.default_rng(1), 600)).bounds[0]
    assert fit_bound.name == "fit bound"
    assert fit_bound.limit == pytest.approx(stats.chi2.isf(0.0125, 3) / judgement.MEDIAN)


@pytest.mark.parametrize("gauge", ["se3", "yaw", "sim3", "first-pose", "none"])
def test_all_numbers_grow_as_the_claim_shrinks(gauge, rng):
    world = drifting.inertial(rng, 300)
    whole, tight = gathered(world, gauge), gathered(world.scaled(1 / 9), gauge)
    assert len(whole.rows) >= 3
    for before, after in zip(whole.rows, tight.rows, strict=True):
        expected = replace(before, k=9 * before.k)
        for name in ("k", "nu", "rho", "lo", "hi"):
            assert getattr(after, name) == pytest.approx(getattr(expected, name), rel=1e-6)
    for before, after in zip(whole.bounds, tight.bounds, strict=True):
        assert after.k == pytest.approx(9 * before.k, rel=1e-6)


def test_moving_the_world_changes_no_verdict(rng):
    world = drifting.smoother(rng, 300).scaled(1 / 9)
    pose = 100 * rng.normal(size=3), so3.exp(rng.normal(size=3))
    truth = se3.compose(pose, (world.truth_position, world.truth_rotation))
    estimate = se3.compose(pose, (world.position, world.rotation))
    far = drifting.World(*truth, *estimate, world.covariance)
    here, there = gathered(world), gathered(far)
    for before, after in zip(here.bounds, there.bounds, strict=True):
        assert after.k == pytest.approx(before.k, rel=1e-6)
    assert judge(here).label == judge(there).label


def test_a_start_that_is_known_exactly_is_left_out(rng):
    world = drifting.dead_reckoning(rng, 300)
    covariance = world.covariance.copy()
    covariance[0] = 0.0
    found = gathered(replace(world, covariance=covariance))
    assert found.joint.level == 6
    assert judge(found).label in ("consistent", "cannot tell")


@pytest.mark.parametrize(
    ("make", "gauge"),
    [
        (drifting.dead_reckoning, "se3"),
        (drifting.inertial, "first-pose"),
        (drifting.random_walk, "sim3"),
    ],
)
def test_the_range_of_projected_k_is_that_of_simulated_fits(make, gauge, rng):
    observed, ranges = [], []
    for seed in range(80):
        world = make(np.random.default_rng([9, seed]), 150)
        if not seed:
            own = joint_of(growth(world.claim))
        if gauge == "first-pose":
            turn = so3.compose(world.truth_rotation[:1], so3.inverse(world.rotation[:1]))
            turn = so3.matrix(turn[0])
            moved = world.truth_position[0] + (world.position - world.position[0]) @ turn.T
            scale = 1.0
        else:
            found = FITS[gauge](world.position, world.truth_position)
            moved, turn, scale = found.aligned_position(world.position), found.rotation, found.scale
        rotation = so3.compose(so3.quaternion(turn), world.rotation)
        stretch = np.array([scale] * 3 + [1.0] * 3)
        claim = Claim(moved, rotation, world.covariance * np.outer(stretch, stretch))
        joint, fit = align_joint(own, turn, scale), fit_weights(gauge, moved)
        claimed = projected_covariance(fit, joint, claim)[1:]
        nees = normal.nees(world.truth_position[1:] - moved[1:], claimed)
        observed.append(np.median(nees) / judgement.MEDIAN)
        if seed < 5:
            ranges.append(judgement.projected_k_range(fit, joint, claim, rng=rng))
    low, high = np.mean(ranges, axis=0)
    inside = np.mean((np.array(observed) > low) & (np.array(observed) < high))
    assert inside >= 0.86  # 95 % of 80, less four sigmas


def test_a_reference_without_orientation_judges_random_walks_alone(rng):
    for make, judged in ((drifting.random_walk, True), (drifting.dead_reckoning, False)):
        world = make(rng, 300)
        blind = world.truth_position, np.tile([0.0, 0.0, 0.0, 1.0], (300, 1))
        found = gather(
            joint_of(growth(world.claim)),
            fit_weights("se3", world.position),
            world.claim,
            blind,
            np.arange(300),
            oriented=False,
        )
        assert bool(found.rows) == judged
        assert [bound.name for bound in found.bounds] == ["fit bound"]


def test_a_bound_that_convicts_where_windows_cannot_tell_says_so():
    beyond = Bound("fit bound", None, 9.0, 4.58)
    found = judge(evidence(row(1.3, windows=14), bounds=(beyond,)))
    assert found.label == "overconfident"
    assert "alone cannot tell" in found.sentence
