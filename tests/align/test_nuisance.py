"""The kindest fit: what is planted is found, and no column raises the sum."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval.align import nuisance
from smfeval.align.nuisance import (
    IDENTITY,
    MOST,
    MatchedPoses,
    Nuisance,
    WhitenedErrors,
    body_motion,
    fit_best_case,
    open_freedoms,
)
from smfeval.maths import se3, so3
from support import drifting

POSITION, ROTATION, POSE = (0, 1, 2), (3, 4, 5), (0, 1, 2, 3, 4, 5)
LEVER = np.array([0.4, -0.7, 0.2])
BODY = so3.exp(np.array([0.3, -1.1, 0.9]))
SPACES = pytest.mark.parametrize("rows", [POSITION, ROTATION, POSE])


def matched(world, rows=POSE, *, reference=None, step_ns=100_000_000, frame="body"):
    """The scans of a world against its truth, or another reference."""
    stamp = step_ns * np.arange(len(world.position))
    position, rotation = world.truth if reference is None else reference
    motion = body_motion(stamp, world.position, world.rotation)
    return MatchedPoses(
        world.position, world.rotation, motion, position, rotation, world.covariance, rows, frame
    )


def opened(poses, gauge="se3", **closed):
    return open_freedoms(poses, gauge, **({"body": True, "clock": True} | closed))


def about_another_body(world):
    return se3.compose(world.truth, (LEVER, BODY))


@pytest.fixture
def world(rng):
    return drifting.steady_filter(rng, 400)


def test_what_was_planted_is_found_without_noise(rng):
    position, rotation = drifting.path(rng, 300)
    covariance = np.broadcast_to(1e-4 * np.eye(6), (300, 6, 6))
    world = drifting.World(position, rotation, position, rotation, covariance)
    ours = matched(world)
    turn, shift, late = so3.exp(np.array([0.4, 0.2, -2.0])), np.array([3.0, -50.0, 7.0]), 0.013
    velocity = so3.rotate(rotation, ours.motion.velocity)
    body = se3.compose((position + late * velocity, rotation), (LEVER, BODY))
    moved = so3.rotate(turn, body[0]) + shift, so3.compose(turn, body[1])

    found = fit_best_case(matched(world, POSITION, reference=moved), (*opened(ours)[:-2], "clock"))
    assert found.excess < 1e-10
    np.testing.assert_allclose(so3.angle(so3.compose(found.values.turn, turn)), 0.0, atol=1e-6)
    turned = fit_best_case(matched(world, reference=about_another_body(world)), opened(ours))
    assert turned.excess < 1e-10
    np.testing.assert_allclose(turned.values.lever_m, LEVER, atol=1e-4)
    off = so3.compose(so3.inverse(turned.values.body), BODY)
    np.testing.assert_allclose(so3.angle(off), 0.0, atol=1e-5)


def plain_errors(poses, values):
    """(e, f) as the equations say, scan by scan. (n, 6)."""
    centre, errors = poses.reference_position.mean(axis=0), []
    N, C = so3.matrix(values.turn), so3.matrix(values.body)
    for at in range(len(poses)):
        R, R_ref = so3.matrix(poses.rotation[at]), so3.matrix(poses.reference_rotation[at])
        moved = values.scale * N @ (poses.reference_position[at] - centre) + values.shift
        e = R.T @ (moved - poses.position[at]) - values.lever_m
        f = so3.log(so3.quaternion(R.T @ N @ R_ref @ C.T))
        late = np.concatenate([poses.motion.velocity[at], poses.motion.rate[at]])
        error = np.concatenate([e, f]) - values.clock_s * late
        errors.append(np.kron(np.eye(2), R) @ error if poses.frame == "world" else error)
    return np.array(errors)


def some_values(poses, rng):
    return Nuisance(
        poses.reference_position.mean(axis=0) + rng.normal(size=3),
        so3.exp(0.3 * rng.normal(size=3)),
        1.2,
        LEVER,
        so3.exp(0.3 * rng.normal(size=3)),
        0.01,
    )


FRAMES = pytest.mark.parametrize("frame", ["body", "world"])
SOME_ROWS = pytest.mark.parametrize("rows", [POSITION, ROTATION, POSE, (0, 1), (2, 5)])


@FRAMES
@SOME_ROWS
def test_whitened_errors_have_the_length_that_the_covariance_gives(world, rows, frame, rng):
    poses = matched(world, rows, frame=frame)
    values = some_values(poses, rng)
    error, block = plain_errors(poses, values)[:, rows], poses.select_blocks(poses.covariance)
    expected = np.einsum("ni,nij,nj->n", error, np.linalg.inv(block), error)
    white = WhitenedErrors(poses).at(values)
    np.testing.assert_allclose(np.sum(white**2, axis=0), expected, rtol=1e-9)


@FRAMES
@SOME_ROWS
def test_columns_are_the_derivatives_of_errors(world, rows, frame, rng):
    poses = matched(world, rows, frame=frame)
    errors, at = WhitenedErrors(poses), some_values(poses, rng)
    exact = replace(
        at, body=IDENTITY, turn=so3.exp(1e-3 * rng.normal(size=3))
    )  # columns of small f
    freedoms = (*nuisance.OF_GAUGE["sim3"], "yaw", *nuisance.OF_BODY)
    small = 1e-6
    for freedom in freedoms:
        columns = errors.columns((freedom,), exact)
        for column, by in zip(columns, small * np.eye(len(columns)), strict=True):
            ends = [errors.at(exact.step((freedom,), sign * by)) for sign in (1, -1)]
            slope = (ends[0] - ends[1]).ravel() / (2 * small)
            assert np.abs(slope - column).max() <= 0.05 * np.abs(columns).max()


@SPACES
@pytest.mark.parametrize("gauge", ["none", "yaw", "se3", "sim3"])
def test_no_column_raises_the_sum(world, rows, gauge):
    poses = matched(world, rows)
    closed = fit_best_case(poses, opened(poses, gauge, body=False, clock=False)).excess
    body = fit_best_case(poses, opened(poses, gauge, clock=False)).excess
    both = fit_best_case(poses, opened(poses, gauge)).excess
    assert both <= body * (1 + 1e-6)
    assert body <= closed * (1 + 1e-6)


@SPACES
@pytest.mark.parametrize("gauge", ["none", "yaw", "se3"])
def test_the_sum_is_no_larger_than_that_of_the_true_errors(rng, rows, gauge):
    for name in ("dead reckoning", "Kalman filter, steady", "loop closures"):
        world = drifting.WORLDS[name](rng, 300)
        poses = matched(world, rows).thin()
        error = plain_errors(poses, Nuisance(poses.reference_position.mean(axis=0)))[:, rows]
        block = poses.covariance[:, rows][:, :, rows]
        truth = np.mean(np.einsum("ni,nij,nj->n", error, np.linalg.inv(block), error)) / len(rows)
        assert fit_best_case(poses, opened(poses, gauge)).excess <= truth


@SPACES
def test_no_extrinsic_and_the_right_one_leave_the_same(world, rows):
    right = fit_best_case(matched(world, rows), opened(matched(world, rows)))
    missing = matched(world, rows, reference=about_another_body(world))
    found = fit_best_case(missing, opened(missing))
    assert found.excess == pytest.approx(right.excess, rel=0.02)


@SPACES
def test_moving_the_reference_world_changes_nothing(world, rows, rng):
    turn, shift = so3.exp(rng.normal(size=3)), 100 * rng.normal(size=3)
    moved = so3.rotate(turn, world.truth_position) + shift, so3.compose(turn, world.truth_rotation)
    here, there = matched(world, rows), matched(world, rows, reference=moved)
    expected = fit_best_case(here, opened(here)).excess
    assert fit_best_case(there, opened(there)).excess == pytest.approx(expected, rel=1e-5)


def test_whole_positions_are_the_same_in_both_axes(world):
    body, fixed = matched(world, POSITION), matched(world, POSITION, frame="world")
    expected = fit_best_case(body, opened(body)).excess
    assert fit_best_case(fixed, opened(fixed)).excess == pytest.approx(expected, rel=1e-6)


def test_a_plane_is_judged_on_its_axes_alone(world):
    high = world.truth_position + np.array([0.0, 0.0, 1.0]) * np.arange(400)[:, None] ** 2
    flat = matched(world, (0, 1), frame="world", reference=(high, world.truth_rotation))
    same = matched(world, (0, 1), frame="world")
    freedoms = ("translation", "yaw")
    expected = fit_best_case(same, freedoms).excess
    assert fit_best_case(flat, freedoms).excess == pytest.approx(expected, rel=1e-5)


def test_an_implausible_lever_arm_is_held_to_its_limit(world):
    far = se3.compose(world.truth, (np.array([30.0, 0.0, 0.0]), BODY))
    poses = matched(world, POSITION, reference=far)
    found = fit_best_case(poses, opened(poses))
    assert np.linalg.norm(found.values.lever_m) <= MOST["lever arm"]
    near = matched(world, POSITION)
    assert found.excess > 10 * fit_best_case(near, opened(near)).excess


def test_the_claim_moves_with_the_lever_arm(rng):
    """Rotation errors at a long arm are position errors that the claim must grant."""
    n = 500
    position, rotation = drifting.path(rng, n)
    sigma = np.repeat([3e-3, 5e-3], 3)
    xi = rng.normal(size=(n, 6)) * sigma
    truth = se3.compose((position, rotation), se3.exp(xi))
    covariance = np.broadcast_to(np.diag(sigma**2), (n, 6, 6))
    world = drifting.World(*truth, position, rotation, covariance)
    far = se3.compose(truth, (np.array([2.0, 1.0, 0.5]), BODY))
    poses = matched(world, POSITION, reference=far)
    assert fit_best_case(poses, opened(poses)).excess == pytest.approx(1.0, abs=0.15)


def test_a_track_without_axes_has_no_lever_arm(world):
    poses = matched(world, POSITION)
    assert "lever arm" not in open_freedoms(poses, "se3", body=True, clock=True, oriented=False)


def test_singular_scans_are_left_out(world):
    covariance = world.covariance.copy()
    covariance[::2, 0] = covariance[::2, :, 0] = 0.0
    poses = replace(matched(world, POSITION), covariance=covariance)
    assert len(poses.thin()) == 200
    assert len(poses.thin(50)) == 50


def test_motion_is_that_of_the_body():
    stamp = 10**8 * np.arange(50)
    rate, speed = np.array([0.0, 0.0, 0.5]), np.array([2.0, 0.0, 0.0])
    pose = se3.exp(0.1 * np.arange(50)[:, None] * np.concatenate([speed, rate]))
    found = body_motion(stamp, *pose)[5:-5]
    np.testing.assert_allclose(found.rate, np.broadcast_to(rate, (40, 3)), atol=1e-12)
    np.testing.assert_allclose(
        found.velocity, np.broadcast_to(speed, (40, 3)), rtol=1e-3, atol=1e-9
    )
