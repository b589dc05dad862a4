"""A chain of transforms through the tf tree becomes a track."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from smfeval.errors import FormatError, OptionError, TrackError
from smfeval.io import read
from smfeval.io.ros.bag import open_bag
from smfeval.io.ros.topics import readable_topics

SECOND = 10**9


def matrix(seven):
    out = np.eye(4)
    out[:3, :3] = Rotation.from_quat(seven[3:]).as_matrix()
    out[:3, 3] = seven[:3]
    return out


def send(bag, stamp, *transforms, topic="/tf"):
    """Send (parent, child, seven) triples in one message."""
    members = [bag.transform(stamp, *transform) for transform in transforms]
    return bag.add(topic, bag.make("tf2_msgs/msg/TFMessage", transforms=members))


def assert_poses(track, expected):
    np.testing.assert_allclose(track.position, [m[:3, 3] for m in expected], atol=1e-12)
    turned = Rotation.from_quat(track.rotation).as_matrix()
    np.testing.assert_allclose(turned, [m[:3, :3] for m in expected], atol=1e-12)


def test_one_moving_transform_is_the_track_exactly(bag, poses):
    seven = poses(4)
    for i, pose in enumerate(seven):
        send(bag, i * SECOND + 3, ("odom", "base", pose))
    path = bag.write()
    track = read(path, tf="odom:base")
    assert np.array_equal(read(f"{path}:tf=odom:base").position, track.position)
    assert track.stamp.tolist() == [i * SECOND + 3 for i in range(4)]
    assert np.array_equal(track.position, seven[:, :3])
    np.testing.assert_allclose(track.rotation, seven[:, 3:], rtol=0, atol=4e-16)
    assert (track.about.world, track.about.body) == ("odom", "base")


def test_static_transforms_are_composed_and_held(bag, poses):
    seven, (mount,) = poses(4), poses(1)
    send(bag, 0, ("base", "lidar", mount), topic="/tf_static")
    for i, pose in enumerate(seven):
        send(bag, (i + 1) * SECOND, ("odom", "base", pose), ("base", "wheel", poses(1)[0]))
    track = read(bag.write(), tf="odom:lidar")
    assert_poses(track, [matrix(pose) @ matrix(mount) for pose in seven])
    assert any("base:lidar held fixed" in note for note in track.provenance.notes)


def test_of_two_static_transforms_the_latest_is_valid(new_bag, poses):
    bag, seven, (old, new) = new_bag(), poses(3), poses(2)
    send(bag, 0, ("base", "lidar", old), topic="/tf_static")
    for i, pose in enumerate(seven):
        send(bag, (i + 1) * SECOND, ("odom", "base", pose))
    send(bag, 0, ("base", "lidar", new), topic="/tf_static")
    expected = [matrix(pose) @ matrix(new) for pose in seven]
    assert_poses(read(bag.write(), tf="odom:lidar"), expected)


def test_the_other_direction_gives_the_inverse(new_bag, poses):
    bag, seven = new_bag("mcap"), poses(3)
    for i, pose in enumerate(seven):
        send(bag, i * SECOND + 1, ("map", "odom", pose))
    track = read(bag.write(), tf="odom:map")
    assert_poses(track, [np.linalg.inv(matrix(pose)) for pose in seven])


def test_a_chain_over_a_common_ancestor_inverts_one_side(new_bag, poses):
    bag, seven, (camera,) = new_bag("db3"), poses(3), poses(1)
    send(bag, 0, ("base", "camera", camera), topic="/tf_static")
    for i, pose in enumerate(seven):
        send(bag, i * SECOND + 1, ("base", "arm", pose))
    track = read(bag.write(), tf="camera:arm")
    assert_poses(track, [np.linalg.inv(matrix(camera)) @ matrix(pose) for pose in seven])


def test_the_slower_transform_is_interpolated_at_the_stamps_of_the_faster(new_bag, poses):
    bag, fast, slow = new_bag(), poses(9), poses(3)
    for i, pose in enumerate(slow):  # 0, 4, 8 s
        send(bag, 1 + i * 4 * SECOND, ("map", "odom", pose))
    for i, pose in enumerate(fast):  # 0, 1 ... 8 s
        send(bag, 1 + i * SECOND, ("odom", "base", pose))
    track = read(bag.write(), tf="map:base")
    slerp = Slerp([0, 4, 8], Rotation.from_quat(slow[:, 3:]))
    expected = []
    for i, pose in enumerate(fast):
        between = np.eye(4)
        between[:3, :3] = slerp(i).as_matrix()
        axes = (np.interp(i, [0, 4, 8], slow[:, axis]) for axis in range(3))
        between[:3, 3] = list(axes)
        expected.append(between @ matrix(pose))
    assert_poses(track, expected)
    assert track.provenance.dropped == ()
    assert any("map:odom interpolated" in note for note in track.provenance.notes)


def test_stamps_that_a_transform_does_not_cover_are_left_out_and_counted(new_bag, poses):
    bag = new_bag()
    for i, pose in enumerate(poses(2)):
        send(bag, (2 + 2 * i) * SECOND, ("map", "odom", pose))
    for i, pose in enumerate(poses(7)):
        send(bag, i * SECOND + 5, ("odom", "base", pose))
    track = read(bag.write(), tf="map:base")
    assert track.stamp.tolist() == [2 * SECOND + 5, 3 * SECOND + 5]
    (dropped,) = track.provenance.dropped
    assert (dropped.count, dropped.first) == (5, "stamp 0.000000005")


def test_transforms_that_share_no_time_are_refused(new_bag, poses):
    bag = new_bag()
    for i, pose in enumerate(poses(3)):
        send(bag, (1 + i) * SECOND, ("map", "odom", pose))
        send(bag, (10 + i) * SECOND, ("odom", "base", pose))
    with pytest.raises(FormatError, match="share no time"):
        read(bag.write(), tf="map:base")


def test_a_constant_transform_that_is_sent_often_does_not_set_the_stamps(new_bag, poses):
    bag, seven, (mount,) = new_bag(), poses(3), poses(1)
    for i in range(20):
        send(bag, i * SECOND // 4, ("base", "lidar", mount))
    for i, pose in enumerate(seven):
        send(bag, (i + 10) * SECOND, ("odom", "base", pose))
    track = read(bag.write(), tf="odom:lidar")
    assert_poses(track, [matrix(pose) @ matrix(mount) for pose in seven])


def test_a_robot_that_stands_still_is_a_track_too(new_bag, poses):
    bag, (pose,) = new_bag(), poses(1)
    for i in range(3):
        send(bag, (i + 1) * SECOND, ("odom", "base", pose))
    assert len(read(bag.write(), tf="odom:base")) == 3


def test_transforms_sent_twice_count_once(new_bag, poses):
    bag, seven = new_bag(), poses(3)
    for i, pose in enumerate(seven):
        send(bag, i * SECOND + 1, ("odom", "base", pose), ("odom", "base", pose))
    path = bag.write()
    track = read(path, tf="odom:base")
    assert np.array_equal(read(f"{path}:tf=odom:base").position, track.position)
    assert len(track) == 3
    assert any("3 transforms repeat another" in note for note in track.provenance.notes)


def test_two_different_transforms_at_one_stamp_are_refused_unless_one_is_chosen(new_bag, poses):
    bag, seven = new_bag(), poses(3)
    for stamp, pose in zip((1, 2, 2), seven, strict=True):
        send(bag, stamp * SECOND, ("odom", "base", pose))
    path = bag.write()
    with pytest.raises(TrackError, match="tf odom:base transform 3") as caught:
        read(path, tf="odom:base")
    assert caught.value.remedy == "duplicates"
    kept = read(path, tf="odom:base", duplicates="last")
    assert np.array_equal(kept.position, seven[[0, 2], :3])
    assert sum(dropped.count for dropped in kept.provenance.dropped) == 1


def test_a_named_topic_is_used_with_its_static_sibling(new_bag, poses):
    bag, mine, other, (mount,) = new_bag(), poses(2), poses(2), poses(1)
    send(bag, 0, ("base", "lidar", mount), topic="/a/tf_static")
    for i in range(2):
        send(bag, i * SECOND + 1, ("odom", "base", mine[i]), topic="/a/tf")
        send(bag, i * SECOND + 1, ("odom", "base", other[i]), topic="/b/tf")
    track = read(bag.write(), topic="/a/tf", tf="odom:lidar")
    assert_poses(track, [matrix(pose) @ matrix(mount) for pose in mine])


def test_frames_that_are_not_connected_are_refused_with_the_known_ones(bag, poses):
    send(bag, 1, ("odom", "base", poses(1)[0]), ("world", "drone", poses(1)[0]))
    path = bag.write()
    with pytest.raises(FormatError, match=r"'odom' to 'drone'.*base, drone, odom, world"):
        read(path, tf="odom:drone")
    with pytest.raises(FormatError, match="'odom' to 'nothing'"):
        read(path, tf="odom:nothing")


def test_a_static_chain_is_an_extrinsic_not_a_track(new_bag, poses):
    bag = send(new_bag(), 1, ("base", "lidar", poses(1)[0]), topic="/tf_static")
    with pytest.raises(FormatError, match="extrinsic, not a track"):
        read(bag.write(), tf="base:lidar")


def test_a_bad_rotation_in_a_transform_is_refused_with_its_place(new_bag, poses):
    bag, seven = new_bag(), poses(3)
    seven[1, 3:] = 0
    for i, pose in enumerate(seven):
        send(bag, i * SECOND + 1, ("odom", "base", pose))
    path = bag.write()
    with pytest.raises(TrackError, match="tf odom:base transform 2: the quaternion is zero"):
        read(path, tf="odom:base")
    assert len(read(path, tf="odom:base", bad_rows="drop")) == 2


@pytest.mark.parametrize("chain", ["odom", "odom:", ":base", "a:b:c", "odom:odom", ""])
def test_a_chain_needs_two_frames(new_bag, poses, chain):
    bag = send(new_bag(), 1, ("odom", "base", poses(1)[0]))
    with pytest.raises(OptionError, match="PARENT:CHILD"):
        read(bag.write(), tf=chain)


def test_a_tf_topic_without_a_chain_says_which_there_are(new_bag, poses):
    bag = send(new_bag(), 1, ("odom", "base", poses(1)[0]), ("map", "odom", poses(1)[0]))
    path = bag.write()
    with pytest.raises(OptionError, match=r"chain PARENT:CHILD.*map:odom, odom:base"):
        read(path, topic="/tf")
    with pytest.raises(FormatError, match=r"/tf \(transforms; name a chain"):
        read(path)


def test_a_chain_needs_tf_messages(new_bag, poses, covariances):
    bag = new_bag()
    bag.add("/odom", bag.odometry(1, poses(1)[0], covariances(1)[0]))
    path = bag.write()
    with pytest.raises(FormatError, match="no tf messages"):
        read(path, tf="odom:base")
    with pytest.raises(FormatError, match=r"needs tf messages, not nav_msgs/Odometry"):
        read(path, tf="odom:base", topic="/odom")


def test_tf_topics_are_readable_but_never_chosen_by_themselves(new_bag, poses, covariances):
    bag, (pose,), (covariance,) = new_bag("mcap"), poses(1), covariances(1)
    send(bag, 1, ("odom", "base", pose)).add("/odom", bag.odometry(1, pose, covariance))
    path = bag.write()
    with open_bag(path) as opened:
        assert set(readable_topics(opened)) == {"/tf", "/odom"}
    assert read(path).provenance.name.endswith(":/odom")
