"""gtsam's poses and marginals as a track: order of blocks, stamps, cross-covariances."""

import numpy as np
import pytest

import smfeval
from smfeval.errors import OptionError, TrackError

FIRST = ord("x") << 56
rng = np.random.default_rng(8)
ROOT = rng.normal(size=(18, 30))
JOINT = ROOT @ ROOT.T / 30  # of three poses, each rotation first


class Rotation:
    def matrix(self):
        return np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])


class Pose:
    def __init__(self, place):
        self.place = place

    def translation(self):
        return np.array(self.place, dtype=float)

    def rotation(self):
        return Rotation()


class Values:
    """What `from_gtsam` asks of gtsam.Values: three poses and a velocity."""

    def __init__(self, places=((0, 0, 0), (1, 2, 3), (2, 4, 6))):
        self.poses = {FIRST + at: Pose(place) for at, place in enumerate(places)}

    def keys(self):
        return [*self.poses, ord("v") << 56]

    def exists(self, key):
        return key in self.keys()

    def atPose3(self, key):  # noqa: N802  gtsam's name
        if key not in self.poses:
            raise RuntimeError("no Pose3")
        return self.poses[key]


class Joint:
    def at(self, first, second):
        i, j = first - FIRST, second - FIRST
        return JOINT[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]


class Marginals:
    def marginalCovariance(self, key):  # noqa: N802
        return Joint().at(key, key)

    def jointMarginalCovariance(self, keys):  # noqa: N802
        assert len(keys) == 2
        return Joint()


SWAP = np.roll(np.eye(6), 3, axis=0)


def test_blocks_are_exchanged_and_stamps_are_by_key():
    stamps = {FIRST: 500, FIRST + 1: 100, FIRST + 2: 900}
    track = smfeval.from_gtsam(Values(), Marginals(), stamps=stamps, body="imu", gauge="se3")
    assert track.stamp.tolist() == [100, 500, 900]
    assert track.position[0].tolist() == [1, 2, 3]
    np.testing.assert_allclose(track.rotation[0], [0, 0, np.sqrt(0.5), np.sqrt(0.5)])
    expected = SWAP @ JOINT[6:12, 6:12] @ SWAP.T
    np.testing.assert_allclose(track.covariance[0], expected, atol=1e-15)
    assert (track.about.body, track.about.gauge, track.cross) == ("imu", "se3", None)
    assert track.provenance.notes == ()


def test_without_stamps_the_indices_of_the_keys_count_seconds():
    track = smfeval.from_gtsam(Values(), Marginals())
    assert track.stamp.tolist() == [0, 10**9, 2 * 10**9]
    assert "stamps are the indices of the keys" in track.provenance.notes[0]
    assert track.provenance.remarks == ("1 variables that are no Pose3 were left out",)


def test_cross_covariances_are_those_of_the_joint_marginals():
    track = smfeval.from_gtsam(Values(), Marginals(), cross_lags=2)
    assert track.cross.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    np.testing.assert_allclose(track.cross.block[1], SWAP @ JOINT[:6, 12:] @ SWAP.T, atol=1e-15)
    assert len(smfeval.from_gtsam(Values(), Marginals(), cross_lags=1).cross) == 2


def test_what_is_missing_is_named():
    with pytest.raises(OptionError, match="there is no variable x7 among the values"):
        smfeval.from_gtsam(Values(), Marginals(), keys=[FIRST + 7])
    with pytest.raises(OptionError, match="pose x1 has no stamp"):
        smfeval.from_gtsam(Values(), Marginals(), keys=[FIRST + 1], stamps={FIRST: 1})
    with pytest.raises(TrackError, match="there is no Pose3 and no Pose2"):
        smfeval.from_gtsam(Values(()), Marginals())


def test_a_chain_of_gtsam_itself_has_the_covariance_of_its_samples():
    """Independent draws: poses moved by noise of the factors, their errors measured by Log."""
    gtsam = pytest.importorskip("gtsam", reason="gtsam comes with the lab")
    key = [gtsam.symbol("x", at) for at in range(3)]
    step = gtsam.Pose3(gtsam.Rot3.RzRyRx(0.1, -0.2, 0.5), np.array([2.0, 0.5, -0.3]))
    sigma = np.array([0.01, 0.02, 0.03, 0.1, 0.2, 0.3]) * 0.1  # rotation first
    noise = gtsam.noiseModel.Diagonal.Sigmas(sigma)
    graph, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
    poses = [gtsam.Pose3()]
    graph.add(gtsam.PriorFactorPose3(key[0], poses[0], noise))
    for at in (1, 2):
        poses.append(poses[-1].compose(step))
        graph.add(gtsam.BetweenFactorPose3(key[at - 1], key[at], step, noise))
    for each, pose in zip(key, poses, strict=True):
        values.insert(each, pose)
    track = smfeval.from_gtsam(values, gtsam.Marginals(graph, values), cross_lags=2)

    draws = np.random.default_rng(5).normal(size=(4000, 3, 6)) * sigma
    errors = np.empty((4000, 3, 6))
    for row, draw in enumerate(draws):
        pose = gtsam.Pose3.Expmap(draw[0])
        for at in range(3):
            pose = pose if at == 0 else pose.compose(step).compose(gtsam.Pose3.Expmap(draw[at]))
            errors[row, at] = gtsam.Pose3.Logmap(poses[at].inverse().compose(pose))
    errors = np.roll(errors, 3, axis=2)  # translation first
    for at in range(3):
        found = np.cov(errors[:, at].T)
        scale = np.sqrt(np.outer(np.diag(found), np.diag(found)))
        np.testing.assert_allclose(track.covariance[at] / scale, found / scale, atol=0.08)
    block = errors[:, 0].T @ errors[:, 2] / 4000
    scale = np.sqrt(np.outer(np.diag(np.cov(errors[:, 0].T)), np.diag(np.cov(errors[:, 2].T))))
    pair = track.cross.pairs.tolist().index([0, 2])
    np.testing.assert_allclose(track.cross.block[pair] / scale, block / scale, atol=0.08)
    np.testing.assert_allclose(track.position[2], poses[2].translation())
