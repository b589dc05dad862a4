"""Relative rotation and pose over windows, in simulated worlds whose claims are exact."""

from functools import cache

import numpy as np
import pytest

from smfeval.align.joint import UNKNOWN, Joint, given_joint, world_cross
from smfeval.maths import normal, se3, so3
from smfeval.summarise.motion import relative_error
from smfeval.summarise.windows import path_length, window_row
from support import drifting

IMPLIED = {level: Joint("implied", level) for level in (6, 4, 3)}
DIMENSION = {(6, "rotation"): 3, (6, "pose"): 6, (4, "rotation"): 1, (4, "pose"): 4}
MAKE = {6: drifting.dead_reckoning, 4: drifting.inertial}


@cache
def made(level, seed, scans=400):
    return MAKE[level](np.random.default_rng(seed), scans)


def found_in(world, level, space, horizon=20, **more):
    return world.seen(IMPLIED[level], **more).windows(horizon, space)


@pytest.mark.parametrize(("level", "space"), DIMENSION)
def test_honest_windows_have_the_claimed_covariance(level, space):
    """Mean NEES of 60 worlds over its dimension, each with 19 windows."""
    nees = []
    for seed in range(60):
        found = found_in(made(level, seed), level, space, gauge="yaw")
        assert found.error.shape[1] == DIMENSION[level, space]
        nees.append(normal.nees(found.error, found.covariance).mean())
    assert np.mean(nees) / DIMENSION[level, space] == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize(("level", "space"), DIMENSION)
def test_a_tight_claim_is_seen_in_k(level, space):
    """The same worlds with a sixteenth of the covariance: k is sixteen times as large."""
    world = made(level, 3, 800)
    rows = []
    for each in (world, world.scaled(1 / 16)):
        found = found_in(each, level, space, gauge="yaw")
        rows.append(window_row(found, np.arange(800) * 10**8, path_length(world.truth_position)))
    assert rows[1].k == pytest.approx(16 * rows[0].k, rel=1e-9)
    assert rows[0].dimension == DIMENSION[level, space]
    low, high = rows[0].interval(0.001)
    assert low < 1 < high
    assert rows[1].interval(0.001)[0] > 1


def test_the_world_and_its_alignment_do_not_matter(rng):
    world = drifting.dead_reckoning(rng, 200)
    shift = np.array([30.0, -4.0, 2.0]), so3.exp(np.array([0.3, -0.2, 1.5]))
    first, second = np.array([0, 50]), np.array([40, 120])
    moved = se3.compose(shift, world.claim.pose)
    before = relative_error(world.claim.pose, world.truth, first, second)
    np.testing.assert_allclose(
        relative_error(moved, world.truth, first, second), before, atol=1e-11
    )


def test_given_pairs_say_what_implied_ones_do(rng):
    world = drifting.dead_reckoning(rng, 200)
    first = np.arange(0, 180, 20)
    cross = world_cross(IMPLIED[6], world.claim, first, first + 20)
    turn = np.zeros((200, 6, 6))
    turn[:, :3, :3] = turn[:, 3:, 3:] = np.swapaxes(so3.matrix(world.rotation), 1, 2)
    block = turn[first] @ cross @ np.swapaxes(turn[first + 20], 1, 2)
    known = given_joint(np.stack([first, first + 20], 1), block)
    given = world.seen(known).windows(20, "pose")
    implied = found_in(world, 6, "pose")
    assert given.shared
    np.testing.assert_allclose(given.error, implied.error, atol=1e-12)
    np.testing.assert_allclose(given.covariance, implied.covariance, rtol=1e-6, atol=1e-12)


def test_the_displacement_of_inertial_poses_is_that_of_positions(rng):
    world = drifting.inertial(rng, 400)
    pose = found_in(world, 4, "pose", gauge="none")
    position = world.seen(IMPLIED[4], "none").windows(20)
    np.testing.assert_allclose(pose.error[:, :3], position.error, atol=1e-12)
    np.testing.assert_allclose(pose.covariance[:, :3, :3], position.covariance, rtol=1e-9)


@pytest.mark.parametrize(("level", "space"), DIMENSION)
def test_an_uncertain_reference_widens_windows(level, space, rng):
    """Its noise is drawn: honest windows stay honest only with what it adds."""
    noise = np.diag([0.02, 0.02, 0.02, 0.004, 0.004, 0.004]) ** 2
    nees = {True: [], False: []}
    for seed in range(30):
        own = np.random.default_rng(seed)
        world = MAKE[level](own, 400)
        wrong = own.multivariate_normal(np.zeros(6), noise, size=400)
        truth = se3.compose(world.truth, se3.exp(wrong))
        for told, kept in nees.items():
            covariance = np.broadcast_to(noise, (400, 6, 6)) if told else None
            found = world.seen(IMPLIED[level], "yaw", covariance, truth).windows(10, space)
            kept.append(normal.nees(found.error, found.covariance).mean())
    dimension = DIMENSION[level, space]
    assert np.mean(nees[True]) / dimension == pytest.approx(1, abs=0.08)
    assert np.mean(nees[False]) / dimension > 1.2


def test_what_is_not_claimed_has_no_windows(rng):
    world = drifting.random_walk(rng, 200)
    for joint in (UNKNOWN, IMPLIED[3]):
        assert world.seen(joint).windows(20, "rotation") is None
    assert found_in(drifting.dead_reckoning(rng, 200), 6, "pose", gauge="sim3") is None
    assert found_in(drifting.inertial(rng, 200), 4, "pose", gauge="se3") is None
