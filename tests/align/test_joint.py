"""The joint covariance of a track, against explicit formulas and simulated worlds."""

import numpy as np
import pytest

from smfeval import read
from smfeval.align import joint
from smfeval.errors import PairingError
from smfeval.maths import se3, so3
from support import drifting

UP = np.array(joint.UP)


@pytest.fixture
def world(rng):
    return drifting.dead_reckoning(rng, 200)


def moved(world, pose):
    truth = se3.compose(pose, (world.truth_position, world.truth_rotation))
    estimate = se3.compose(pose, (world.position, world.rotation))
    return drifting.World(*truth, *estimate, world.covariance)


def test_the_world_covariance_at_the_body_is_that_of_the_adjoint_about_its_position(world):
    at_body = world.claim.in_world()
    for t in (0, 50, 199):
        turned = se3.adjoint((np.zeros(3), world.rotation[t]))
        assert at_body[t] == pytest.approx(se3.sandwich(turned, world.covariance[t]), rel=1e-10)


@pytest.mark.parametrize(
    ("make", "level"),
    [
        (drifting.dead_reckoning, 6),
        (drifting.planar_reckoning, 6),
        (drifting.inertial, 4),
        (drifting.random_walk, 3),
        (drifting.steady_filter, None),
        (drifting.converging_filter, None),
        (drifting.weak_filter, None),
        (drifting.smoother, None),
        (drifting.loop_closures, None),
        (drifting.late_loop, None),
        (drifting.outages, None),
    ],
)
def test_growth_recognises_what_is_integrated(make, level):
    for seed in range(3):
        found = joint.growth(make(np.random.default_rng(seed), 600).claim)
        assert found.level == level, found


def test_growth_does_not_depend_on_the_size_of_the_covariance(world):
    assert joint.growth(world.scaled(1e-4).claim) == joint.growth(world.claim)


def test_growth_does_not_depend_on_world_or_body(world, rng):
    pose = se3.exp(rng.normal(size=6))
    far = moved(world, (100 * pose[0], pose[1]))
    assert joint.growth(far.claim).level == 6
    extrinsic = se3.exp(rng.normal(size=6))
    position, rotation = se3.compose((world.position, world.rotation), extrinsic)
    covariance = se3.sandwich(se3.adjoint(se3.inverse(extrinsic)), world.covariance)
    assert joint.growth(joint.Claim.of(position, rotation, covariance)).level == 6


def test_a_turned_world_of_inertial_odometry_needs_its_own_vertical(rng):
    world = drifting.inertial(rng, 400)
    turn = np.zeros(3), so3.exp(np.array([0.5, 0.0, 0.0]))
    turned = moved(world, turn)
    up = tuple(so3.rotate(turn[1][None], UP[None])[0])
    assert joint.growth(turned.claim, up=up).level == 4
    assert joint.growth(turned.claim).level is None


def test_dead_reckoning_without_the_block_between_position_and_rotation_implies_nothing(world, rng):
    bare = world.covariance.copy()
    bare[:, :3, 3:] = bare[:, 3:, :3] = 0
    found = joint.growth(world.claim.with_covariance(bare))
    assert found.level is None
    assert "no block between position and rotation is reported" in found.reason
    assert "cannot be derived" in found.reason
    assert "no block" not in joint.growth(drifting.loop_closures(rng, 400).claim).reason


def test_a_missing_block_is_seen_from_another_body_too():
    """On straight roads, positions of inertial odometry grow as of a random walk."""
    n = 600
    position = np.stack([0.3 * np.arange(n), np.zeros(n), np.zeros(n)], axis=1)
    rotation = np.tile([0.0, 0.0, 0.0, 1.0], (n, 1))
    scan = np.arange(1.0, n + 1)[:, None]
    variance = np.concatenate([1e-4 * scan + 1e-8 * scan**3] * 3 + [1e-6 * scan] * 3, axis=1)
    bare = variance[:, :, None] * np.eye(6)
    still = variance.copy()
    still[:, 3:] = 1e-6  # rotations measured by other means: a random walk
    for arm in (np.zeros(6), np.array([0.3, 0.1, -0.2, 0.0, 0.0, 0.0])):
        extrinsic = se3.exp(arm)
        there = se3.compose((position, rotation), extrinsic)
        back = se3.adjoint(se3.inverse(extrinsic))
        found = joint.growth(joint.Claim.of(*there, se3.sandwich(back, bare)))
        assert (found.level, joint.NO_BLOCK in found.reason) == (None, True)
        wandering = se3.sandwich(back, still[:, :, None] * np.eye(6))
        assert joint.growth(joint.Claim.of(*there, wandering)).level == 3


def test_a_short_track_implies_nothing(rng):
    found = joint.growth(drifting.dead_reckoning(rng, 20).claim)
    assert found.level is None
    assert "too few" in found.reason


def test_the_relative_covariance_of_dead_reckoning_is_that_of_the_steps_between(world):
    i, j = np.array([0, 20, 100]), np.array([10, 90, 199])
    found = joint.relative_covariance(joint.Joint("implied", 6), world.claim, i, j)
    for first, second, covariance in zip(i, j, found, strict=True):
        total = np.zeros((6, 6))
        for t in range(first + 1, second + 1):  # each step's noise, carried to the window's end
            end = world.position[second], world.rotation[second]
            back = se3.compose(se3.inverse(end), (world.position[t], world.rotation[t]))
            total += se3.sandwich(se3.adjoint(back), np.diag(drifting.DRIFT**2))
        assert covariance == pytest.approx(total, rel=1e-7, abs=1e-12)


def test_given_pairs_repeat_what_is_implied(world):
    implied = joint.Joint("implied", 6)
    i, j = np.array([3, 20, 60]), np.array([40, 25, 150])
    left = se3.sandwich(se3.adjoint((world.position, world.rotation)), world.covariance)
    back = se3.adjoint(se3.inverse((world.position, world.rotation)))
    block = back[i] @ left[np.minimum(i, j)] @ np.swapaxes(back[j], 1, 2)
    pairs = np.stack([j, i], 1)  # turned about on purpose
    known = joint.given_joint(pairs, np.swapaxes(block, 1, 2))
    expected = joint.relative_covariance(implied, world.claim, i, j)
    found = joint.relative_covariance(known, world.claim, i, j)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_a_pair_that_is_not_given_is_named(world):
    known = joint.given_joint(np.array([[0, 5]]), np.zeros((1, 6, 6)))
    with pytest.raises(PairingError, match="scans 0 and 6"):
        joint.relative_covariance(known, world.claim, np.array([0]), np.array([6]))


@pytest.mark.parametrize("level", [4, 3])
def test_the_implied_joint_covariance_keeps_the_marginals_and_is_semidefinite(level, rng):
    make = {4: drifting.inertial, 3: drifting.random_walk}[level]
    world = make(rng, 40)
    sigma = world.claim.in_world()
    dense = np.zeros((40, 6, 40, 6))
    i, j = np.triu_indices(40, 1)
    cross = joint.world_cross(joint.Joint("implied", level), world.claim, i, j)
    dense[i, :, j], dense[j, :, i] = cross, np.swapaxes(cross, 1, 2)
    dense[range(40), :, range(40)] = sigma
    dense = dense.reshape(240, 240)
    assert dense == pytest.approx(dense.T, abs=1e-15)
    size = np.sqrt(np.diagonal(dense))
    assert np.linalg.eigvalsh(dense / np.outer(size, size))[0] > -1e-9


@pytest.mark.parametrize("name", ["fast_lio2", "faster_lio"])
def test_real_filters_that_use_a_map_imply_nothing(name, shared_data):
    track = read(shared_data / "spires" / f"{name}.square")
    found = joint.growth(joint.Claim.of(track.position, track.rotation, track.covariance))
    assert found.level is None
    assert min(max(shares) for shares in found.shrinking.values()) > 0.5


@pytest.mark.parametrize("digits", [5, 8])
def test_growth_survives_the_rounding_of_a_file(digits, world):
    size = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(world.covariance))))
    written = np.round(world.covariance * size) / size
    assert joint.growth(world.claim.with_covariance(written)).level == 6


def test_wide_headings_are_beyond_first_order(world):
    assert joint.is_first_order(world.claim)
    assert not joint.is_first_order(world.claim.with_covariance(1e6 * world.covariance))
