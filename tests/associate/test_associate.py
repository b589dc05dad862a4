"""What a reference gets that is taken as uncertain: against finite differences of its poses."""

import numpy as np
import pytest

from smfeval.align.fit import FITS, IDENTITY, Alignment
from smfeval.align.quantities import ReferenceSigma
from smfeval.associate import independent_noise, with_shared_error, with_white_noise
from smfeval.maths import se3
from support.beliefs import gaussian, poses

SIGMA = ReferenceSigma(0.02, 0.003)
STEP = 1e-6


def moved_by(track, motion, centre):
    """xi of each pose T' = T Exp(xi) after a motion of the world about a centre. (n, 6)."""
    position, rotation = se3.compose(se3.exp(motion), (track.position - centre, track.rotation))
    back = se3.inverse((track.position, track.rotation))
    return se3.log(se3.compose(back, (position + centre, rotation)))


def shared_covariance(track, variances, centre):
    columns = [moved_by(track, STEP * axis, centre) / STEP for axis in np.eye(6)]
    jacobian = np.stack(columns, axis=-1)
    return jacobian @ np.diag(variances) @ jacobian.swapaxes(1, 2)


@pytest.mark.parametrize("make", [poses, gaussian])
def test_white_noise_is_added_to_what_every_pose_reports(make, rng):
    track = make(20, rng)
    found, notes = with_white_noise(track, SIGMA)
    own = getattr(track, "covariance", np.zeros((20, 6, 6)))
    np.testing.assert_array_equal(found.covariance, own + np.diag([4e-4] * 3 + [9e-6] * 3))
    np.testing.assert_array_equal(independent_noise(found), found.covariance)
    assert notes == (
        "the reference is taken as uncertain by 2 cm and 0.171887 deg per axis, white",
    )


def test_positions_alone_have_no_uncertain_rotation_and_a_note_says_so(rng):
    found, notes = with_white_noise(poses(20, rng).with_about(oriented=False), SIGMA)
    assert not found.covariance[:, 3:, 3:].any()
    assert notes[1] == "the reference has no orientation that could be uncertain"


@pytest.mark.parametrize("make", [poses, gaussian])
@pytest.mark.parametrize(
    ("kind", "left"), [("none", [1, 1, 1, 1, 1, 1]), ("yaw", [0, 0, 0, 1, 1, 0])]
)
def test_a_shared_error_is_a_motion_of_the_world_as_far_as_it_is_not_fitted(make, kind, left, rng):
    track = make(20, rng)
    alignment = FITS[kind](track.position, track.position)
    found, (note,) = with_shared_error(track, SIGMA, alignment)
    variances = np.array(left) * ([4e-4] * 3 + [9e-6] * 3)
    shared = shared_covariance(track, variances, track.position.mean(axis=0))
    own = getattr(track, "covariance", np.zeros((20, 6, 6)))
    np.testing.assert_allclose(found.covariance, own + shared, atol=1e-9)
    assert "one error for all scans" in note
    part = found[np.arange(3, 9)]
    np.testing.assert_array_equal(part.shared, found.shared[3:9])
    if make is poses:
        assert independent_noise(found) is None
    else:
        np.testing.assert_allclose(independent_noise(found), own, atol=1e-15)


def test_after_a_yaw_fit_on_the_start_levers_begin_there(rng):
    track = poses(20, rng)
    alignment = FITS["yaw"](track.position[:5], track.position[:5])
    found, _ = with_shared_error(track, SIGMA, alignment)
    start = track.position[:5].mean(axis=0)
    shared = shared_covariance(track, [0, 0, 0, 9e-6, 9e-6, 0], start)
    np.testing.assert_allclose(found.covariance, shared, atol=1e-9)


@pytest.mark.parametrize("kind", ["se3", "sim3", "first-pose"])
def test_an_alignment_with_all_freedoms_absorbs_a_shared_error(kind, rng):
    track, alignment = poses(20, rng), Alignment(kind, IDENTITY.rotation, IDENTITY.translation)
    found, notes = with_shared_error(track, SIGMA, alignment)
    assert found is track
    assert notes == (f"the shared error of the reference is absorbed by the {kind} alignment",)


def test_what_is_not_assumed_changes_nothing(rng):
    track = poses(20, rng)
    assert with_white_noise(track, None) == with_shared_error(track, None, IDENTITY) == (track, ())
