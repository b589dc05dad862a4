import pickle
from dataclasses import replace

import numpy as np
import pytest

from smfeval.errors import TrackError
from smfeval.maths import so3
from smfeval.track import GaussianTrack, Intake, Track
from support.beliefs import covariances, gaussian, poses, rotations, stamps


def test_arrays_cannot_be_written(rng):
    track = gaussian(5, rng)
    for array in (track.stamp, track.position, track.rotation, track.covariance):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_track_does_not_change_what_it_was_given(rng):
    rotation = 1.0005 * rotations(4, rng)
    before = rotation.copy()
    Track(stamps(4), np.zeros((4, 3)), rotation)
    np.testing.assert_array_equal(rotation, before)
    rotation[0] = 0  # and the caller's array stays writable


@pytest.mark.parametrize(
    "index", [slice(1, 4), np.array([0, 2, 3]), [True, False, True, True, False]]
)
def test_slices_and_masks_give_tracks(index, rng):
    track = gaussian(5, rng)
    part = track[np.array(index) if isinstance(index, list) else index]
    assert type(part) is GaussianTrack
    np.testing.assert_array_equal(part.covariance, track.covariance[index])
    np.testing.assert_array_equal(part.stamp, track.stamp[index])
    assert part.about == track.about


def test_choosing_backwards_twice_or_nothing_is_refused(rng):
    track = gaussian(5, rng)
    for index, word in (
        (slice(None, None, -1), "out of order"),
        ([1, 1], "twice"),
        ([], "no scan"),
    ):
        with pytest.raises(TrackError, match=word):
            track[np.array(index, dtype=int) if isinstance(index, list) else index]


def test_quaternions_near_one_are_normalised_and_far_ones_refused(rng):
    rotation = rotations(3, rng)
    track = Track(stamps(3), np.zeros((3, 3)), 1.0009 * rotation)
    np.testing.assert_allclose(np.linalg.norm(track.rotation, axis=1), 1, atol=1e-15)
    assert track.provenance.notes == ()
    track = Track(stamps(3), np.zeros((3, 3)), np.array([[1.009], [1.0], [1.0]]) * rotation)
    np.testing.assert_allclose(track.rotation, rotation, atol=1e-15)
    (note,) = track.provenance.notes
    assert note == "1 quaternion up to 0.9 % off unit length: made of length one"
    with pytest.raises(TrackError, match=r"row 0: the quaternion has length 1\.011; .* 0\.01"):
        Track(stamps(3), np.zeros((3, 3)), 1.011 * rotation)


def test_normalising_twice_changes_no_bit(rng):
    once = Track(stamps(500), np.zeros((500, 3)), 1.0003 * rotations(500, rng))
    again = Track(once.stamp, once.position, once.rotation)
    np.testing.assert_array_equal(once.rotation, again.rotation)


def test_zero_quaternion_is_named(rng):
    rotation = rotations(3, rng)
    rotation[1] = 0
    with pytest.raises(TrackError, match="row 1: the quaternion is zero"):
        Track(stamps(3), np.zeros((3, 3)), rotation)


def test_unsorted_rows_are_sorted_with_a_note(rng):
    track = gaussian(6, rng)
    order = np.array([3, 0, 1, 5, 4, 2])
    shuffled = GaussianTrack(
        track.stamp[order], track.position[order], track.rotation[order], track.covariance[order]
    )
    np.testing.assert_array_equal(shuffled.covariance, track.covariance)
    assert "sorted by time" in shuffled.provenance.notes[0]


def test_equal_stamps_are_refused_with_both_rows():
    stamp = np.array([0, 10, 20, 10])
    rotation = np.tile([0, 0, 0, 1.0], (4, 1))
    with pytest.raises(TrackError, match=r"row 3: stamp 0\.000000010 stands already at row 1"):
        Track(stamp, np.arange(12.0).reshape(4, 3), rotation)


def test_one_pose_that_stands_twice_is_kept_once():
    """As in the ground truth of TUM RGB-D; a belief that stands twice is refused."""
    stamp = np.array([0, 10, 10, 20])
    position = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0.0009], [2, 0, 0]])
    rotation = np.tile([0, 0, 0, 1.0], (4, 1))
    track = Track(stamp, position, rotation)
    np.testing.assert_array_equal(track.position, position[[0, 1, 3]])
    assert any("row 2: the stamp and pose of row 1 again" in n for n in track.provenance.notes)
    assert track.provenance.dropped[0].count == 1
    with pytest.raises(TrackError, match="stands already"):
        Track(stamp, position * 2, rotation)
    with pytest.raises(TrackError, match="stands already"):
        GaussianTrack(stamp, position, rotation, np.tile(np.eye(6), (4, 1, 1)))


@pytest.mark.parametrize(("keep", "kept"), [("first", 1), ("last", 3)])
def test_the_caller_may_keep_one_of_two_equal_stamps(keep, kept):
    stamp = np.array([0, 10, 20, 10])
    position = np.arange(12.0).reshape(4, 3)
    track = Track(stamp, position, np.tile([0, 0, 0, 1.0], (4, 1)), intake=Intake(duplicates=keep))
    np.testing.assert_array_equal(track.position, position[[0, kept, 2]])
    assert track.provenance.dropped[0].count == 1


def test_a_slightly_asymmetric_covariance_is_mended_and_a_skew_one_refused(rng):
    covariance = covariances(3, rng)
    covariance[1, 0, 1] += 1e-8 * np.abs(covariance[1]).max()
    plain = poses(3, rng)
    track = GaussianTrack(plain.stamp, plain.position, plain.rotation, covariance)
    np.testing.assert_array_equal(track.covariance, track.covariance.swapaxes(1, 2))
    covariance[1, 0, 1] *= 2
    with pytest.raises(TrackError, match="row 1: the covariance differs from its transpose"):
        GaussianTrack(plain.stamp, plain.position, plain.rotation, covariance)


def test_bad_rows_are_refused_with_their_number_and_dropped_on_request(rng):
    plain = poses(9, rng)
    covariance, position = covariances(9, rng), plain.position.copy()
    covariance[2] = -covariance[2]
    covariance[5, 1, 1] = np.nan
    position[7, 0] = np.inf
    arrays = (plain.stamp, position, plain.rotation, covariance)
    with pytest.raises(
        TrackError, match=r"row 2: .*negative variance.* \(2 more bad scans\)"
    ) as caught:
        GaussianTrack(*arrays)
    assert caught.value.remedy == "bad_rows"
    track = GaussianTrack(*arrays, intake=Intake(bad_rows="drop"))
    np.testing.assert_array_equal(track.stamp, plain.stamp[[0, 1, 3, 4, 6, 8]])
    assert [(d.reason, d.count, d.first) for d in track.provenance.dropped] == [
        ("pose not finite", 1, "row 7"),
        ("covariance not finite", 1, "row 5"),
        ("covariance not positive semi-definite", 1, "row 2"),
    ]


def test_dropping_everything_is_refused(rng):
    plain = poses(3, rng)
    with pytest.raises(TrackError, match="every row is bad"):
        GaussianTrack(
            plain.stamp,
            plain.position,
            plain.rotation,
            -covariances(3, rng),
            intake=Intake(bad_rows="drop"),
        )


def test_rank_deficient_covariances_are_kept(rng):
    plain = poses(3, rng)
    planar = np.zeros((3, 6, 6))
    planar[:, 0, 0] = planar[:, 1, 1] = planar[:, 5, 5] = 0.01
    track = GaussianTrack(plain.stamp, plain.position, plain.rotation, planar)
    np.testing.assert_array_equal(track.covariance, planar)


@pytest.mark.parametrize(
    ("stamp", "position", "word"),
    [
        (np.zeros(0, dtype=int), np.zeros((0, 3)), "no scan"),
        (np.array([0.1, 0.2]), np.zeros((2, 3)), "int64 nanoseconds"),
        (np.array([1, 2]), np.zeros((2, 2)), r"position has shape \(2, 2\)"),
        (np.array([[1, 2]]), np.zeros((2, 3)), "one number per scan"),
    ],
)
def test_wrong_shapes_are_refused_in_words(stamp, position, word):
    with pytest.raises(TrackError, match=word):
        Track(stamp, position, np.tile([0, 0, 0, 1.0], (len(position), 1)))


def test_position_covariance_is_in_world_axes(rng):
    track = gaussian(4, rng)
    rotation = so3.matrix(track.rotation)
    for i in range(4):
        expected = rotation[i] @ track.covariance[i, :3, :3] @ rotation[i].T
        np.testing.assert_allclose(track.position_covariance[i], expected, atol=1e-18)


def test_tracks_and_their_errors_travel_between_processes(rng):
    track = gaussian(4, rng)
    again = pickle.loads(pickle.dumps(track))
    np.testing.assert_array_equal(again.covariance, track.covariance)
    error = pickle.loads(pickle.dumps(TrackError("bad", place="row 3", row=3, remedy="bad_rows")))
    assert (str(error), error.row, error.remedy) == ("row 3: bad", 3, "bad_rows")


def test_covariances_are_kept_and_given_as_lower_triangles_or_whole(rng):
    track = gaussian(5, rng)
    row, column = np.tril_indices(6)
    np.testing.assert_array_equal(track.triangle, track.covariance[:, row, column])
    for given in (track.covariance, track.triangle):
        again = GaussianTrack(track.stamp, track.position, track.rotation, given)
        np.testing.assert_array_equal(again.covariance, track.covariance)
    moved = replace(track, position=track.position + 1.0)
    np.testing.assert_array_equal(moved.triangle, track.triangle)
    wider = replace(track, covariance=4 * track.covariance)
    np.testing.assert_array_equal(wider.covariance, 4 * track.covariance)
    assert not track.covariance.flags.writeable


def test_a_bad_triangle_is_refused_as_the_matrix_is(rng):
    track = gaussian(5, rng)
    bad = track.covariance.copy()
    bad[3] -= 2 * np.diag(np.diag(bad[3]))
    row, column = np.tril_indices(6)
    for given in (bad, bad[:, row, column]):
        with pytest.raises(TrackError, match="row 3: the covariance is not positive semi-definite"):
            GaussianTrack(track.stamp, track.position, track.rotation, given)
