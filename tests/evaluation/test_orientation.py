"""Rotation and pose: what is scored, what is said where it is not, and who is convicted."""

import numpy as np
import pytest

from smfeval.align.body import move_to_body
from smfeval.evaluation import Options, evaluate
from smfeval.maths import se3, so3
from smfeval.score.tangent import find_claimed, pose_error
from smfeval.summarise.number import Intervals
from smfeval.track import GaussianTrack, ParticleTrack, Track
from support.beliefs import ABOUT, circuit, covariances

N = 3000
FIXED = Options(alignment="none")


def drive(rng, n=N):
    stamp, position, rotation = circuit(n)
    tilt = so3.exp(0.1 * np.sin(np.arange(n) / 9)[:, None] * rng.normal(size=3))
    return Track(stamp, position, so3.compose(rotation, tilt), about=ABOUT)


def believed(truth, covariance, rng, *, turn=None):
    """Poses whose errors are drawn from a covariance: T_ref = T Exp(xi); (n, 6, 6).

    `turn` turns the body's axes.
    """
    xi = np.einsum("nij,nj->ni", np.linalg.cholesky(covariance), rng.normal(size=(len(truth), 6)))
    error = se3.inverse(se3.exp(xi))
    position, rotation = se3.compose((truth.position, truth.rotation), error)
    estimate = GaussianTrack(truth.stamp, position, rotation, covariance, about=ABOUT)
    return estimate if turn is None else move_to_body(estimate, (np.zeros(3), turn), "imu")


def scaled(track, factor):
    return track.with_arrays({"covariance": factor * track.covariance})


@pytest.fixture
def truth(rng):
    return drive(rng)


@pytest.fixture
def honest(truth, rng):
    return believed(truth, covariances(N, rng), rng)


def test_the_error_is_the_logarithm_that_the_exponential_undoes(rng):
    xi = rng.normal(size=(60, 6))
    xi[:, 3:] *= np.array([0.0, 1e-9, 1e-5, 1e-3, 0.5])[np.arange(60) % 5][:, None]
    pose = se3.exp(rng.normal(size=(60, 6)))
    np.testing.assert_allclose(
        pose_error(pose, se3.compose(pose, se3.exp(xi))), xi, rtol=1e-9, atol=1e-13
    )


def test_an_honest_belief_is_consistent_in_all_spaces(truth, honest):
    found = evaluate(honest, truth, options=FIXED)
    for space in found.spaces:
        name = "k" if space is found.position else f"k_{space.space.name}"
        assert found[name].value == pytest.approx(1, abs=0.08)
    assert found.rotation.verdict.label == found.pose.verdict.label == "consistent"
    assert found["psi_pose"].value == pytest.approx(1, abs=0.01)
    assert found["coverage_90_pose"].value == pytest.approx(0.9, abs=0.02)


def test_a_tight_rotation_is_convicted_alone(truth, rng):
    covariance = covariances(N, rng)
    covariance[:, :3, 3:] = covariance[:, 3:, :3] = 0
    estimate = believed(truth, covariance, rng)
    covariance = covariance.copy()
    covariance[:, 3:, 3:] /= 9
    found = evaluate(estimate.with_arrays({"covariance": covariance}), truth, options=FIXED)
    assert found.verdict.label == "consistent"
    assert found.rotation.verdict.label == "overconfident"
    assert found["k_rotation"].value == pytest.approx(9, rel=0.1)


def test_only_the_pose_sees_a_correlation_that_is_not_claimed(truth, honest):
    honest_k = evaluate(honest, truth, options=FIXED)["k_pose"].value
    flipped = np.array(honest.covariance)
    flipped[:, :3, 3:] *= -1
    flipped[:, 3:, :3] *= -1
    found = evaluate(honest.with_arrays({"covariance": flipped}), truth, options=FIXED)
    assert found["k"].value == pytest.approx(1, abs=0.08)
    assert found["k_rotation"].value == pytest.approx(1, abs=0.08)
    assert found["k_pose"].value > 1.2 * honest_k
    assert found["correlation"].value == pytest.approx(-1, abs=0.2)


def test_products_of_errors_are_those_claimed(truth, honest):
    found = evaluate(honest, truth, options=FIXED)
    assert found["correlation"].value == pytest.approx(1, abs=0.2)
    blocks = honest.covariance
    weight = np.linalg.solve(blocks[:, :3, :3], blocks[:, :3, 3:])
    back = np.linalg.solve(blocks[:, 3:, 3:], blocks[:, 3:, :3])
    expected = np.sqrt(np.einsum("nij,nji->n", weight, back).mean())
    assert found["correlation_reported"].value == pytest.approx(expected, rel=1e-9)


def test_the_covariance_of_the_reference_enters(truth, rng):
    own, noise = covariances(N, rng), covariances(N, rng)
    measured = believed(truth, noise, rng)
    estimate = believed(truth, own, rng)
    found = evaluate(estimate, measured, options=FIXED)
    assert found["k_rotation"].value == pytest.approx(1, abs=0.1)
    assert found["k_pose"].value == pytest.approx(1, abs=0.1)
    exact = evaluate(estimate, measured, options=Options(alignment="none", reference_covariance=0))
    assert exact["k_pose"].value > 1.5


# What is claimed


def planar(track, *, body=True):
    """Nothing claimed about z, roll and pitch, in axes of the body or of the world."""
    S = np.zeros((len(track), 6, 6))
    rows = np.array([0, 1, 5])
    S[:, rows[:, None], rows] = track.covariance[:, rows[:, None], rows]
    if not body:
        S = np.einsum("nij,njk->nik", _turn(track), S) @ np.swapaxes(_turn(track), 1, 2)
    return track.with_arrays({"covariance": 0.5 * (S + np.swapaxes(S, 1, 2))})


def _turn(track):
    turn = np.zeros((len(track), 6, 6))
    turn[:, :3, :3] = turn[:, 3:, 3:] = np.swapaxes(so3.matrix(track.rotation), 1, 2)
    return turn


def test_a_planar_belief_is_scored_on_what_it_claims(rng):
    stamp, position, rotation = circuit(N)
    truth = Track(stamp, position, rotation, about=ABOUT)
    flat = np.zeros((N, 6, 6))
    flat[:, range(6), range(6)] = 1e-12
    rows = np.array([0, 1, 5])
    flat[:, rows[:, None], rows] = covariances(N, rng, d=3)
    estimate = planar(believed(truth, flat, rng))
    found = evaluate(estimate, truth, options=Options(alignment="none", axes="xy"))
    assert found.rotation.space.axis_names == ("yaw",)
    assert found.pose.space.axis_names == ("x", "y", "yaw")
    assert found["k_rotation"].value == pytest.approx(1, abs=0.1)
    assert found["k_pose"].value == pytest.approx(1, abs=0.1)
    text = " ".join(found.notes)
    assert "rotation is scored on yaw, not on roll and pitch (nothing is reported)" in text
    assert "pose is scored on x, y and yaw, not on" in text


def test_a_heading_claimed_about_the_vertical_is_found_in_a_tilted_body(truth, honest):
    found = find_claimed(planar(honest, body=False).triangle, honest.rotation)
    assert (found.names, found.frame) == (("x", "y", "yaw"), "world")


def test_placeholders_are_not_taken_for_claims(truth, honest):
    covariance = np.array(honest.covariance)
    covariance[:, 3:5] = covariance[:, :, 3:5] = 0
    covariance[:, 3, 3] = covariance[:, 4, 4] = 1e6
    found = evaluate(honest.with_arrays({"covariance": covariance}), truth, options=FIXED)
    assert found.rotation.space.axis_names == ("yaw",)
    assert any("roll and pitch (sigma above 1 rad)" in note for note in found.notes)


def test_positions_alone_are_said_to_be_so(truth, honest):
    bare = truth.with_about(oriented=False)
    found = evaluate(honest, bare, options=FIXED)
    assert found.rotation is found.pose is None
    assert "position only: the reference has no orientation" in found.notes
    covariance = np.zeros_like(honest.covariance)
    covariance[:, :3, :3] = honest.covariance[:, :3, :3]
    found = evaluate(honest.with_arrays({"covariance": covariance}), truth, options=FIXED)
    assert found.rotation is found.pose is None
    assert "position only: the estimate reports no uncertainty of rotation" in found.notes
    covariance[:, 3:, 3:] = 1.2**2 * np.eye(3)  # claimed, and refused
    found = evaluate(honest.with_arrays({"covariance": covariance}), truth, options=FIXED)
    assert found.rotation is found.pose is None
    why = "rotation is not scored on roll, pitch and yaw (sigma above 1 rad)"
    assert f"position only: {why}" in found.notes


def test_the_axis_that_is_too_tight_is_named(truth, rng):
    covariance = np.tile(np.diag([4e-4, 4e-4, 4e-4, 1e-4, 1e-4, 1e-4]), (N, 1, 1))
    belief = believed(truth, covariance, rng)
    covariance[:, 5, 5] /= 9
    tight = belief.with_arrays({"covariance": covariance})
    evaluation = evaluate(tight, truth, options=FIXED)
    found = evaluation.rotation
    assert list(found.k_by_axis) == ["roll", "pitch", "yaw"]
    assert list(found.k_by_axis.values()) == pytest.approx([1, 1, 9], rel=0.15)
    assert evaluation.to_dict()["rotation"]["k_by_axis"] == found.k_by_axis


def test_poses_without_covariance_have_neither_spaces_nor_words_about_them(truth, honest):
    plain = Track(honest.stamp, honest.position, honest.rotation, about=ABOUT)
    found = evaluate(plain, truth, options=FIXED)
    assert found.spaces == (found.position,)
    assert not any("position only" in note for note in found.notes)
    assert found["rotation"].value > 0


def test_rotations_that_go_around_are_left_out_and_wide_ones_doubted(truth, rng):
    covariance = covariances(N, rng)
    covariance[: N // 4, 3:, 3:] += 0.5 * np.eye(3)
    covariance[N // 4 : N // 3, 3:, 3:] += 2 * np.eye(3)
    found = evaluate(believed(truth, covariance, rng), truth, options=FIXED)
    text = " ".join(found.notes)
    assert f"rotation is not scored on 250 of {N:,} scans: a rotation sigma above 1 rad" in text
    assert "rotation sigma is above 0.5 rad in 25 % of scans" in text
    assert len(found.rotation.residuals) == len(found.pose.residuals) == N - 250
    assert len(found.position.residuals) == N


def test_a_singular_rotation_costs_its_scans_and_not_the_run(truth, honest):
    covariance = np.array(honest.covariance)
    covariance[:10, 3:] = covariance[:10, :, 3:] = 0
    found = evaluate(honest.with_arrays({"covariance": covariance}), truth, options=FIXED)
    assert len(found.position.residuals) == N
    assert len(found.rotation.residuals) == N - 10
    assert any("10 of 3,000 scans: the covariance is singular" in note for note in found.notes)


# Constant rotations


@pytest.mark.parametrize("angle_deg", [0.5, 5.0, 90.0])
def test_a_constant_rotation_between_the_bodies_convicts_nobody(angle_deg, truth, rng):
    turn = so3.exp(np.radians(angle_deg) * np.array([0.6, 0.0, 0.8]))
    small = 1e-4 * covariances(N, rng)
    found = evaluate(believed(truth, small, rng, turn=turn), truth, options=FIXED)
    assert found["k_rotation"].value > 100
    for space in (found.rotation, found.pose):
        assert space.verdict.label == "cannot tell"
        assert "another extrinsic (" in space.verdict.sentence
        assert space.verdict.facts.decides == ("body rotation",)
    exact = Options(alignment="none", exact=("body",))
    assert (
        evaluate(
            believed(truth, small, rng, turn=turn), truth, options=exact
        ).rotation.verdict.label
        == "overconfident"
    )


def test_who_is_tight_beside_a_constant_rotation_is_convicted(truth, rng):
    turn = so3.exp(np.array([0.0, 0.2, 0.8]))
    estimate = believed(truth, 1e-4 * covariances(N, rng), rng, turn=turn)
    judged = evaluate(scaled(estimate, 1 / 9), truth, options=FIXED).rotation.verdict
    assert judged.label == "overconfident"
    assert "2.99 times sigma with body rotation 47.2 deg" in judged.sentence
    assert judged.facts.first.excess == pytest.approx(9, rel=0.15)
    assert so3.angle(judged.facts.values.body) == pytest.approx(so3.angle(turn), abs=1e-3)


# After a fit


@pytest.mark.parametrize("kind", ["yaw", "se3"])
def test_a_fit_convicts_what_is_tight_and_no_honest_rotation(truth, honest, kind):
    fitted = Options(alignment=kind, joint="none")
    assert evaluate(honest, truth, options=fitted).rotation.verdict.label != "overconfident"
    found = evaluate(scaled(honest, 1 / 4), truth, options=fitted)
    assert found.rotation.verdict.label == found.pose.verdict.label == "overconfident"


def test_particles_have_a_rotation_too(truth):
    rng = np.random.default_rng(100)
    count, few = 40, 200
    belief = believed(truth[np.arange(few)], covariances(few, rng), rng)
    root = np.repeat(np.linalg.cholesky(belief.covariance), count, axis=0)
    xi = np.einsum("nij,nj->ni", root, rng.normal(size=(few * count, 6)))
    mean = np.repeat(belief.position, count, axis=0), np.repeat(belief.rotation, count, axis=0)
    position, rotation = se3.compose(mean, se3.exp(xi))
    offset = np.arange(0, few * count + 1, count)
    cloud = ParticleTrack(
        belief.stamp, offset, position, rotation, np.ones(few * count), about=ABOUT
    )
    found = evaluate(cloud, truth[np.arange(few)], options=FIXED)
    assert found["k_rotation"].value == pytest.approx(1, abs=0.3)
    assert found["k_pose"].value == pytest.approx(1, abs=0.3)
    assert found.rotation.verdict.label != "overconfident"


def test_nothing_is_computed_of_tracks_without_orientation(truth, honest, monkeypatch):
    def refuse(*arguments, **more):
        raise AssertionError("computed")

    monkeypatch.setattr("smfeval.evaluation.scoring.pose_residuals", refuse)
    options = Options(alignment="none", intervals=Intervals(None))
    evaluate(honest, truth.with_about(oriented=False), options=options)


def test_an_alignment_that_positions_cannot_fix_convicts_no_rotation(rng):
    """A straight way: the fit's own roll about it is what positions make of it."""
    n = 600
    time = np.arange(n) / 10
    position = np.stack([time, 0.02 * np.sin(time), 0.02 * np.cos(1.3 * time)], axis=1)
    turning = so3.exp(np.stack([0 * time, 0 * time, 0.1 * np.sin(time)], axis=1))
    truth = Track((1e9 * time).astype(np.int64), position, turning, about=ABOUT)
    sigma = np.array([0.001, 0.001, 0.001, 0.002, 0.002, 0.002])
    estimate = believed(truth, np.tile(np.diag(sigma**2), (n, 1, 1)), rng)
    roll = so3.exp(np.array([0.3, 0.0, 0.0]))
    wrong = so3.rotate(np.tile(roll, (n, 1)), estimate.position)
    found = evaluate(
        estimate.with_arrays({"position": wrong}), truth, options=Options(alignment="se3")
    )
    assert found.rotation.verdict.label != "overconfident"
    assert found.rotation.verdict.facts.first.excess < 2


@pytest.mark.parametrize("alignment", ["none", "se3", "first-pose"])
def test_spaced_scans_have_the_residuals_that_they_have_among_all(truth, honest, alignment):
    whole = evaluate(honest, truth, options=Options(alignment=alignment))
    few = evaluate(honest, truth, options=Options(alignment=alignment, oriented_scans=100))
    assert few.position.numbers == whole.position.numbers
    for part, every in ((few.rotation, whole.rotation), (few.pose, whole.pose)):
        assert len(part.residuals) == 100
        at = part.kept_scans
        for name in ("error", "covariance"):
            expected = getattr(every.residuals, name)[at]
            np.testing.assert_allclose(getattr(part.residuals, name), expected, rtol=1e-9)
        assert part.verdict.label == every.verdict.label


def test_all_scans_are_looked_at_where_a_spaced_one_is_singular(truth, honest):
    covariance = honest.covariance.copy()
    covariance[0] = np.diag([1e-4, 1e-4, 1e-4, 1e-6, 1e-6, 0.0])
    flat = honest.with_arrays({"covariance": covariance})
    options = Options(alignment="none", oriented_scans=100)
    assert evaluate(flat, truth, options=options).rotation.singular == 1
    assert len(evaluate(flat, truth, options=options).rotation.residuals) == N - 1


def test_numbers_without_an_interval_are_the_same_numbers(truth, honest):
    every = evaluate(honest, truth, options=FIXED)
    few = evaluate(honest, truth, options=Options(alignment="none", with_interval=("k",)))
    assert few["k"] == every["k"]
    for name in ("rmse", "energy", "log", "coverage_90", "k_rotation", "nees_mean"):
        assert every[name].low is not None
        assert few[name].low is None
        assert few[name].value == pytest.approx(every[name].value, rel=1e-12)
    assert few.verdict.headline == every.verdict.headline
