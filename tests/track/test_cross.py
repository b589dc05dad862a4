import pickle

import numpy as np
import pytest

from smfeval.align.body import move_to_body
from smfeval.align.fit import Alignment
from smfeval.errors import TrackError
from smfeval.maths import se3, so3
from smfeval.track import CrossCovariance, GaussianTrack, Intake
from support.beliefs import gaussian, rotations, with_cross


@pytest.fixture
def told(rng):
    return with_cross(gaussian(6, rng), rng)[0]


def block_of(track, i, j):
    at = (track.cross.pairs == (i, j)).all(axis=1)
    assert at.sum() == 1
    return track.cross.block[at][0]


def test_pairs_are_turned_and_sorted(rng):
    block = rng.normal(size=(3, 6, 6))
    cross = CrossCovariance(np.array([[3, 1], [0, 2], [0, 1]]), block)
    assert cross.pairs.tolist() == [[0, 1], [0, 2], [1, 3]]
    np.testing.assert_array_equal(cross.block, [block[2], block[1], block[0].T])
    assert (len(cross), cross.lags) == (3, (1, 2))
    for array in (cross.pairs, cross.block):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_it_does_not_share_what_the_caller_can_write(rng):
    pairs, block = np.array([[0, 1], [1, 2]]), rng.normal(size=(2, 6, 6))
    cross = CrossCovariance(pairs, block)
    before = block.copy()
    pairs[:], block[:] = 7, 0
    assert cross.pairs.tolist() == [[0, 1], [1, 2]]
    np.testing.assert_array_equal(cross.block, before)


@pytest.mark.parametrize(
    ("pairs", "size", "sentence"),
    [
        ([[0, 1], [2, 2]], 6, r"pair 1: \(2, 2\) is one scan twice"),
        ([[0, 1], [1, 0]], 6, r"pair 1: \(0, 1\) has a cross-covariance already"),
        ([[0, 1], [-1, 2]], 6, r"pair 1: \(-1, 2\) has a negative number"),
        ([[0.0, 1.0]], 6, r"pairs are float64 of shape \(1, 2\)"),
        ([[0, 1, 2]], 6, r"pairs are int64 of shape \(1, 3\)"),
        ([[0, 1]], 3, r"block has shape \(1, 3, 3\); \(1, 6, 6\) is needed"),
    ],
)
def test_pairs_that_are_none_are_refused(pairs, size, sentence):
    with pytest.raises(TrackError, match=sentence):
        CrossCovariance(np.array(pairs), np.zeros((len(pairs), size, size)))


def test_no_pair_is_no_cross_covariance():
    with pytest.raises(TrackError, match="no pair"):
        CrossCovariance(np.empty((0, 2), dtype=np.int64), np.empty((0, 6, 6)))


def test_a_joint_that_is_not_semidefinite_is_refused_with_its_stamps(told):
    pairs, block = told.cross.pairs, told.cross.block.copy()
    block[4] *= 10
    with pytest.raises(TrackError, match=r"pair 4: stamps 1700000000\.2.* and 1700000000\.3") as e:
        told.with_cross(CrossCovariance(pairs, block))
    assert "not positive semi-definite: an eigenvalue of -" in str(e.value)
    assert (e.value.row, e.value.remedy) == (4, "bad_rows")
    block[5, 0, 0] = np.nan
    left = told.with_cross(CrossCovariance(pairs, block), intake=Intake("drop"))
    assert len(left.cross) == len(pairs) - 2
    assert [gone.count for gone in left.provenance.dropped] == [1, 1]


def test_perfect_correlation_is_allowed_and_a_hair_more_is_not(rng):
    track = gaussian(2, rng)
    same = track.with_arrays({"covariance": np.repeat(track.covariance[:1], 2, axis=0)})
    pairs = np.array([[0, 1]])
    same.with_cross(CrossCovariance(pairs, same.covariance[:1]))
    with pytest.raises(TrackError, match="semi-definite"):
        same.with_cross(CrossCovariance(pairs, (1 + 1e-6) * same.covariance[:1]))


def test_a_scan_beyond_the_track_is_refused(told):
    cross = CrossCovariance(np.array([[0, 6]]), np.zeros((1, 6, 6)))
    with pytest.raises(TrackError, match="scan 6; there are 6 scans"):
        told.with_cross(cross)


def test_a_constructor_checks_too(told):
    arrays = (told.stamp, told.position, told.rotation, told.covariance)
    assert len(GaussianTrack(*arrays, cross=told.cross).cross) == len(told.cross)
    big = CrossCovariance(told.cross.pairs, 100 * told.cross.block)
    with pytest.raises(TrackError, match=r"pair 0: stamps .* \(8 more bad pairs\)"):
        GaussianTrack(*arrays, cross=big)


@pytest.mark.parametrize("index", [slice(1, 5), [0, 2, 3], [True, False, True, True, False, True]])
def test_selection_keeps_the_blocks_of_the_scans_that_stay(index, told):
    index = np.array(index) if isinstance(index, list) else index
    part, scans = told[index], np.arange(6)[index]
    for a, i in enumerate(scans):
        for b, j in enumerate(scans):
            if 0 < j - i <= 2:
                np.testing.assert_array_equal(block_of(part, a, b), block_of(told, i, j))
    lost = len(told.cross) - len(part.cross)
    assert part.provenance.remarks == (
        f"{lost} of 9 cross-covariances were left out: a scan of the pair was",
    )
    assert part.provenance.notes == ()


def test_one_scan_has_no_cross_covariance(told):
    assert told[2].cross is None
    assert told[np.array([0, 5])].cross is None


def test_rows_in_another_order_or_dropped_take_their_blocks_along(told):
    order = np.array([3, 0, 5, 1, 2, 4])
    at = np.argsort(order)
    shuffled = CrossCovariance(
        at[told.cross.pairs], told.cross.block
    )  # scan i stands in row at[i]; turned pairs are transposed
    arrays = [array[order] for array in (told.stamp, told.position, told.rotation, told.covariance)]
    again = GaussianTrack(*arrays, cross=shuffled)
    np.testing.assert_array_equal(again.cross.pairs, told.cross.pairs)
    np.testing.assert_array_equal(again.cross.block, told.cross.block)
    arrays[1] = arrays[1].copy()
    arrays[1][at[2]] = np.nan
    fewer = GaussianTrack(*arrays, cross=shuffled, intake=Intake("drop"))
    keep = told[np.array([0, 1, 3, 4, 5])]
    np.testing.assert_array_equal(fewer.cross.block, keep.cross.block)
    assert fewer.provenance.remarks == keep.provenance.remarks


def test_stamps_words_and_pickling_leave_it(told):
    for track in (
        told.shift_stamps(5),
        told.with_about(body="a"),
        told.with_notes("b"),
        told.with_arrays({"position": told.position + 1}),
        pickle.loads(pickle.dumps(told)),
    ):
        np.testing.assert_array_equal(track.cross.block, told.cross.block)


def test_new_covariances_leave_no_old_cross_covariances(told):
    assert told.with_arrays({"covariance": told.covariance / 2}).cross is None


def sampled(track, root, rng, draws=20_000):
    """Poses of all scans drawn together. -> (draws, n, ...)."""
    xi = np.einsum("nij,sj->sni", root, rng.normal(size=(draws, root.shape[2])))
    return se3.compose((track.position, track.rotation), se3.exp(xi))


def seen(track, pose, i, j):
    """The sample's Cov(xi_i, xi_j) about a track's poses."""
    xi = se3.log(se3.compose(se3.inverse((track.position, track.rotation)), pose))
    return np.einsum("si,sj->ij", xi[:, i], xi[:, j]) / len(xi)


@pytest.mark.parametrize("kind", ["extrinsic", "se3", "sim3"])
def test_blocks_follow_their_samples_to_another_body_and_world(kind, rng):
    track, root = with_cross(gaussian(4, rng), rng)
    pose = sampled(track, 0.1 * root, rng)
    other = rng.normal(size=3), rotations(1, rng)[0]
    if kind == "extrinsic":
        moved, pose = move_to_body(track, other, "lidar"), se3.compose(pose, other)
    else:
        scale = 2.5 if kind == "sim3" else 1.0
        turn = so3.matrix(other[1])
        moved = Alignment(kind, turn, other[0], scale)(track)
        position = np.einsum("ij,snj->sni", scale * turn, pose[0]) + other[0]
        pose = position, so3.compose(other[1], pose[1])
    for i, j in track.cross.pairs:
        expected = 0.01 * block_of(moved, i, j)
        deviation = np.sqrt(0.01 * np.einsum("nii->ni", moved.covariance))
        error = (seen(moved, pose, i, j) - expected) / np.outer(deviation[i], deviation[j])
        assert np.abs(error).max() < 0.04  # 1 / sqrt(20000) is 0.007


def test_a_rotation_of_the_world_changes_no_bit(told, rng):
    turned = Alignment("se3", so3.matrix(rotations(1, rng)[0]), np.ones(3))(told)
    np.testing.assert_array_equal(turned.cross.block, told.cross.block)
