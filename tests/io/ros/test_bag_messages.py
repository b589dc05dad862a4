"""What stands in the messages is what comes out, in the one convention."""

import sqlite3

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from smfeval.errors import FormatError, TrackError
from smfeval.io import read
from smfeval.io.progress import listening
from smfeval.track import GaussianTrack, ParticleTrack, Track

STAMPS = [1_700_000_000_000_000_001 + 100_000_007 * i for i in range(6)]


def add_odometry(bag, seven, covariance, topic="/odom"):
    for stamp, pose, matrix in zip(STAMPS, seven, covariance, strict=False):
        bag.add(topic, bag.odometry(stamp, pose, matrix))
    return bag


def body_axes(seven, covariance):
    """ROS to right perturbation by explicit rotation of each block."""
    turned = []
    for pose, matrix in zip(seven, covariance, strict=True):
        rotation = Rotation.from_quat(pose[3:]).as_matrix()
        out = np.empty((6, 6))
        for i in (0, 3):
            for j in (0, 3):
                out[i : i + 3, j : j + 3] = rotation.T @ matrix[i : i + 3, j : j + 3] @ rotation
        turned.append(out)
    return np.array(turned)


def swapped(matrix):
    order = [3, 4, 5, 0, 1, 2]
    return matrix[..., order, :][..., :, order]


def test_odometry_gives_stamps_poses_and_frames_exactly(bag, poses, covariances):
    seven, covariance = poses(6), covariances(6)
    track = read(add_odometry(bag, seven, covariance).write())
    assert isinstance(track, GaussianTrack)
    assert track.stamp.tolist() == STAMPS
    assert np.array_equal(track.position, seven[:, :3])
    np.testing.assert_allclose(track.rotation, seven[:, 3:], rtol=0, atol=4e-16)
    assert (track.about.world, track.about.body) == ("odom", "base")


def test_odometry_covariance_is_turned_from_parent_axes_to_body_axes(bag, poses, covariances):
    seven, covariance = poses(6), covariances(6)
    track = read(add_odometry(bag, seven, covariance).write())
    np.testing.assert_allclose(track.covariance, body_axes(seven, covariance), atol=1e-15)
    np.testing.assert_allclose(track.position_covariance, covariance[:, :3, :3], atol=1e-15)
    assert "fixed axes of the parent frame (the format)" in track.provenance.convention


def test_ros_convention_agrees_with_samples_drawn_as_ros_defines_them(
    new_bag, poses, covariances, rng
):
    bag, seven, covariance = new_bag(), poses(1), covariances(1) * 1e-4
    bag.add("/odom", bag.odometry(STAMPS[0], seven[0], covariance[0]))
    track = read(bag.write())
    mean = Rotation.from_quat(seven[0, 3:])
    draw = rng.multivariate_normal(np.zeros(6), covariance[0], size=200_000)
    rho = mean.inv().apply(draw[:, :3])
    phi = (mean.inv() * Rotation.from_rotvec(draw[:, 3:]) * mean).as_rotvec()
    sampled = np.cov(np.concatenate([rho, phi], axis=1).T)
    scale = np.sqrt(np.outer(np.diag(sampled), np.diag(sampled)))
    assert np.abs((sampled - track.covariance[0]) / scale).max() < 0.015


def test_an_option_overrides_convention_and_order(new_bag, poses, covariances):
    bag, seven, covariance = new_bag("mcap"), poses(3), covariances(3)
    path = add_odometry(bag, seven, covariance).write()
    track = read(path, convention="right", order="rotation-first")
    np.testing.assert_allclose(track.covariance, swapped(covariance), atol=1e-16)
    assert track.provenance.convention.count("(the option)") == 2


@pytest.mark.parametrize("kind", ["db3", "mcap"])
def test_a_ros2_file_without_its_folder_reads_the_same(new_bag, poses, covariances, kind, tmp_path):
    bag = add_odometry(new_bag(kind), poses(4), covariances(4))
    path = bag.write()
    alone = tmp_path / f"alone.{kind}"
    alone.write_bytes(bag.file(path).read_bytes())
    whole, part = read(path), read(alone)
    assert np.array_equal(whole.covariance, part.covariance)
    assert np.array_equal(whole.stamp, part.stamp)


def test_a_compressed_bag_reads_the_same(new_bag, poses, covariances):
    seven, covariance = poses(4), covariances(4)
    plain = read(add_odometry(new_bag("db3"), seven, covariance).write())
    packed = add_odometry(new_bag("db3", "packed"), seven, covariance).write(compress=True)
    assert np.array_equal(plain.covariance, read(packed).covariance)


def test_a_database_without_definitions_is_read_as_the_standard_messages(
    new_bag, poses, covariances, tmp_path
):
    bag = add_odometry(new_bag("db3"), poses(4), covariances(4))
    path = bag.write()
    old = tmp_path / "old.db3"
    old.write_bytes(bag.file(path).read_bytes())
    with sqlite3.connect(old) as database:
        database.execute("DELETE FROM message_definitions")
        database.execute("UPDATE topics SET type_description_hash = ''")
    database.close()
    assert np.array_equal(read(old).covariance, read(path).covariance)


def test_pose_with_covariance_stamped(bag, poses, covariances):
    seven, covariance = poses(3), covariances(3)
    for stamp, pose, matrix in zip(STAMPS, seven, covariance, strict=False):
        message = bag.make(
            "geometry_msgs/msg/PoseWithCovarianceStamped",
            header=bag.header(stamp, "/map"),
            pose=bag.with_covariance(pose, matrix),
        )
        bag.add("/amcl_pose", message)
    track = read(bag.write())
    np.testing.assert_allclose(track.covariance, body_axes(seven, covariance), atol=1e-15)
    assert (track.about.world, track.about.body) == ("map", None)


def test_pose_stamped_and_transform_stamped_are_poses_without_uncertainty(bag, poses):
    seven = poses(3)
    for stamp, pose in zip(STAMPS, seven, strict=False):
        name = "geometry_msgs/msg/PoseStamped"
        bag.add("/pose", bag.make(name, header=bag.header(stamp), pose=bag.pose(pose)))
        bag.add("/vicon", bag.transform(stamp, "world", "drone", pose))
    path = bag.write()
    for topic, words in (("/pose", ("odom", None)), ("/vicon", ("world", "drone"))):
        track = read(path, topic=topic)
        assert type(track) is Track
        assert np.array_equal(track.position, seven[:, :3])
        assert (track.about.world, track.about.body) == words


def test_a_belief_is_found_by_its_structure_and_says_what_it_assumes(bag, poses, covariances):
    seven, covariance = poses(3), covariances(3)
    for stamp, pose, matrix in zip(STAMPS, seven, covariance, strict=False):
        bag.add("/belief", bag.belief(stamp, pose, matrix, gauge="gravity_yaw"))
    path = bag.write()
    track = read(path)
    np.testing.assert_allclose(track.covariance, covariance, atol=1e-16)
    assert track.about.gauge == "gravity_yaw"
    assert "right perturbation, T = T_mean Exp(xi) (assumed)" in track.provenance.convention
    assert any("ROS does not define" in note for note in track.provenance.notes)


def test_a_preset_settles_a_belief_by_the_filters_own_state_without_lag(
    new_bag, poses, covariances
):
    bag, seven, covariance = new_bag("mcap"), poses(3), covariances(3)
    for stamp, pose, matrix in zip(STAMPS, seven, covariance, strict=False):
        bag.add("/belief", bag.belief(stamp, pose, matrix))
    track = read(bag.write(), preset="fast-lio2")
    assert len(track) == 3
    np.testing.assert_allclose(track.position_covariance, covariance[:, :3, :3], atol=1e-15)
    np.testing.assert_allclose(track.covariance[:, 3:, 3:], covariance[:, 3:, 3:], atol=1e-15)
    assert any("without the lag" in note for note in track.provenance.notes)


def test_a_gauge_that_is_unknown_is_told_not_taken(new_bag, poses, covariances):
    bag = new_bag()
    bag.add("/belief", bag.belief(STAMPS[0], poses(1)[0], covariances(1)[0], gauge="free"))
    track = read(bag.write())
    assert track.about.gauge is None
    assert any("'free'" in note for note in track.provenance.notes)


def test_any_message_with_header_and_pose_with_covariance_is_read_as_ros(bag, poses, covariances):
    seven, covariance = poses(2), covariances(2)
    for stamp, pose, matrix in zip(STAMPS, seven, covariance, strict=False):
        message = bag.make(
            "filter_msgs/msg/Both",
            note="x",
            head=bag.header(stamp, "map"),
            estimate=bag.with_covariance(pose, matrix),
            child_frame_id="imu",
        )
        bag.add("/both", message)
    track = read(bag.write())
    np.testing.assert_allclose(track.covariance, body_axes(seven, covariance), atol=1e-15)
    assert (track.about.world, track.about.body) == ("map", "imu")


@pytest.mark.parametrize("preset", ["fast-lio2", "faster-lio"])
def test_lag_gives_each_pose_the_covariance_of_the_next_message(
    new_bag, poses, covariances, preset
):
    bag, seven, covariance = new_bag(), poses(6), covariances(6)
    sent = np.concatenate([np.zeros((1, 6, 6)), swapped(covariance)[:-1]])  # as a stock node does
    track = read(add_odometry(bag, seven, sent, topic="/Odometry").write(), preset=preset)
    assert track.stamp.tolist() == STAMPS[:-1]
    np.testing.assert_allclose(track.position_covariance, covariance[:-1, :3, :3], atol=1e-15)
    np.testing.assert_allclose(track.covariance[:, 3:, 3:], covariance[:-1, 3:, 3:], atol=1e-15)
    (dropped,) = track.provenance.dropped
    assert (dropped.count, dropped.first.endswith("/Odometry message 6")) == (1, True)
    assert not any("stock node" in note for note in track.provenance.notes)


def test_lag_is_doubted_when_the_first_covariance_is_not_zero(new_bag, poses, covariances):
    bag = add_odometry(new_bag(), poses(4), covariances(4), topic="/Odometry")
    track = read(bag.write(), preset="fast-lio2")
    assert any("stock node" in note for note in track.provenance.notes)


def test_one_message_is_too_few_for_a_lag(new_bag, poses, covariances):
    path = add_odometry(new_bag(), poses(1), covariances(1)).write()
    with pytest.raises(FormatError, match="1 messages do not hold the covariance of any scan"):
        read(path, preset="fast-lio2", topic="/odom")


def test_all_zero_covariance_is_no_belief_but_poses_with_a_note(bag, poses):
    track = read(add_odometry(bag, poses(5), np.zeros((5, 6, 6))).write())
    assert type(track) is Track
    assert any("all zero in all 5 messages" in note for note in track.provenance.notes)


def test_covariance_marked_unknown_is_no_belief(new_bag, poses):
    marked = np.zeros((3, 6, 6))
    marked[:, 0, 0] = -1
    track = read(add_odometry(new_bag(), poses(3), marked).write(), order="rotation-first")
    assert type(track) is Track
    assert any("marked unknown (-1) in all 3" in note for note in track.provenance.notes)
    assert any("option order has no effect" in note for note in track.provenance.notes)


def test_constant_and_placeholder_covariances_are_kept_and_told(new_bag, poses):
    matrix = np.diag([1e-3, 1e-3, 1e6, 1e6, 1e6, 0.03])
    track = read(add_odometry(new_bag(), poses(3), [matrix] * 3).write())
    assert isinstance(track, GaussianTrack)
    assert "the covariance is constant" in track.provenance.notes
    assert any("1e+06" in note for note in track.provenance.notes)


def test_some_zero_covariances_are_counted(new_bag, poses, covariances):
    covariance = covariances(4)
    covariance[0] = 0
    track = read(add_odometry(new_bag(), poses(4), covariance).write())
    assert any("all zero in 1 of 4" in note for note in track.provenance.notes)


def test_receive_times_stand_in_for_stamps_that_are_all_zero(bag, poses, covariances):
    for i, (pose, matrix) in enumerate(zip(poses(3), covariances(3), strict=True)):
        bag.add("/odom", bag.odometry(0, pose, matrix), received=5_000_000_001 + i)
    track = read(bag.write())
    assert track.stamp.tolist() == [5_000_000_001, 5_000_000_002, 5_000_000_003]
    assert any("header stamps are zero" in note for note in track.provenance.notes)


def test_an_asymmetric_covariance_is_refused_not_averaged(new_bag, poses, covariances):
    covariance = covariances(3)
    covariance[1, 0, 4] += 0.5
    path = add_odometry(new_bag(), poses(3), covariance).write()
    with pytest.raises(TrackError, match=r"/odom message 2: the covariance differs") as caught:
        read(path)
    assert caught.value.remedy == "bad_rows"
    assert read(path, bad_rows="drop").stamp.tolist() == [STAMPS[0], STAMPS[2]]


@pytest.mark.parametrize(("column", "value"), [(0, np.nan), (2, np.inf), (6, 5.0)])
def test_a_bad_pose_is_refused_with_its_message(bag, poses, covariances, column, value):
    seven = poses(3)
    seven[2, column] = value
    with pytest.raises(TrackError, match=r"/odom message 3: "):
        read(add_odometry(bag, seven, covariances(3)).write())


def test_nan_in_a_covariance_is_refused_with_its_message(new_bag, poses, covariances):
    covariance = covariances(3)
    covariance[0, 2, 2] = np.nan
    with pytest.raises(TrackError, match=r"/odom message 1: the covariance has a NaN"):
        read(add_odometry(new_bag(), poses(3), covariance).write())


def test_frames_that_change_within_a_topic_are_refused(new_bag, poses, covariances):
    bag = new_bag()
    for stamp, child in zip(STAMPS, ("base", "camera"), strict=False):
        bag.add("/odom", bag.odometry(stamp, poses(1)[0], covariances(1)[0], child=child))
    with pytest.raises(FormatError, match="speak of 'base' and 'camera'"):
        read(bag.write())


def test_particle_cloud_keeps_every_particle_and_its_weight(bag, poses, rng):
    clouds = [np.column_stack([poses(n), rng.uniform(0.1, 1, n)]) for n in (3, 5, 2)]
    for stamp, cloud in zip(STAMPS, clouds, strict=False):
        bag.add("/particle_cloud", bag.cloud(stamp, cloud))
    track = read(bag.write(), preset="amcl")
    assert isinstance(track, ParticleTrack)
    assert track.weighted
    assert track.count.tolist() == [3, 5, 2]
    every = np.concatenate(clouds)
    assert np.array_equal(track.particle_position, every[:, :3])
    assert np.array_equal(track.weight, every[:, 7])
    assert (track.about.world, track.about.body) == ("map", "base_footprint")


def test_pose_array_is_particles_of_equal_weight(bag, poses):
    arrays = [poses(4), poses(2)]
    for stamp, array in zip(STAMPS, arrays, strict=False):
        name = "geometry_msgs/msg/PoseArray"
        members = [bag.pose(row) for row in array]
        bag.add("/particlecloud", bag.make(name, header=bag.header(stamp, "map"), poses=members))
    track = read(bag.write())
    assert not track.weighted
    assert np.array_equal(track.particle_position, np.concatenate(arrays)[:, :3])
    np.testing.assert_allclose(track.probability, [0.25] * 4 + [0.5] * 2)


def test_a_cloud_without_particles_is_refused_or_left_out_and_counted(new_bag, poses):
    bag = new_bag("db3")
    full = np.column_stack([poses(2), np.ones(2)])
    for stamp, cloud in zip(STAMPS, (full, [], full), strict=False):
        bag.add("/cloud", bag.cloud(stamp, cloud))
    path = bag.write()
    with pytest.raises(TrackError, match=r"/cloud message 2: the message holds no particle"):
        read(path)
    track = read(path, bad_rows="drop")
    assert track.stamp.tolist() == [STAMPS[0], STAMPS[2]]
    assert [dropped.count for dropped in track.provenance.dropped] == [1]


def test_clouds_that_are_all_empty_are_refused_even_when_dropping(new_bag):
    bag = new_bag("mcap")
    bag.add("/cloud", bag.cloud(STAMPS[0], [])).add("/cloud", bag.cloud(STAMPS[1], []))
    with pytest.raises(FormatError, match="none of the 2 messages holds a particle"):
        read(bag.write(), bad_rows="drop")


def test_a_bad_particle_is_named_by_its_message(new_bag, poses):
    bag = new_bag("mcap")
    good = np.column_stack([poses(3), np.ones(3)])
    bad = good.copy()
    bad[2, 0] = np.nan
    bag.add("/cloud", bag.cloud(STAMPS[0], good)).add("/cloud", bag.cloud(STAMPS[1], bad))
    with pytest.raises(TrackError, match="/cloud message 2: the pose has a NaN"):
        read(bag.write())


def stock(bag, poses, covariances, count=5):
    """Odometry as a stock Fast-LIO2 node sends it: each covariance one message late."""
    seven, covariance = poses(count), covariances(count)
    sent = np.concatenate([np.zeros((1, 6, 6)), swapped(covariance)[:-1]])
    return add_odometry(bag, seven, sent, topic="/Odometry").write(), swapped(sent)


def test_the_option_lag_switches_off_that_of_the_preset_with_a_note(new_bag, poses, covariances):
    path, sent = stock(new_bag(), poses, covariances)
    track = read(path, preset="fast-lio2", lag=0)
    assert len(track) == 5
    np.testing.assert_allclose(track.covariance[:, 3:, 3:], sent[:, 3:, 3:], atol=1e-15)
    notes = track.provenance.notes
    assert "lag: the option (0) wins; the preset fast-lio2 says 1" in notes
    assert not any("moved back" in note for note in notes)


def test_the_option_lag_moves_covariances_back_without_a_preset(new_bag, poses, covariances):
    path, sent = stock(new_bag(), poses, covariances)
    track = read(path, lag=1, order="rotation-first", convention="world-position")
    np.testing.assert_allclose(track.covariance[:, 3:, 3:], sent[1:, 3:, 3:], atol=1e-15)
    assert any(note.startswith("the option: the covar") for note in track.provenance.notes)


def test_the_option_lag_reaches_a_patched_filters_belief_too(new_bag, poses, covariances):
    bag, seven, covariance = new_bag("mcap"), poses(3), covariances(3)
    for stamp, pose, matrix in zip(STAMPS, seven, covariance, strict=False):
        bag.add("/belief", bag.belief(stamp, pose, matrix))
    path = bag.write()
    assert len(read(path, preset="fast-lio2", lag=1)) == 2
    kept = read(path, preset="fast-lio2", lag=0)
    assert not any("without the lag" in note for note in kept.provenance.notes)


def test_a_lag_without_covariances_is_told_to_have_no_effect(new_bag, poses):
    path = add_odometry(new_bag(), poses(3), np.zeros((3, 6, 6))).write()
    notes = read(path, lag=0).provenance.notes
    assert "option lag has no effect: there are no covariances" in notes


def test_reading_tells_how_many_messages_are_done(bag, poses, covariances):
    path = add_odometry(bag, poses(4), covariances(4)).write()
    heard = []
    with listening(lambda done, total: heard.append((done, total))):
        read(path, topic="/odom")
    assert heard[-4:] == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_messages_of_rtabmap_while_it_was_lost_are_left_out_and_counted(bag, poses, covariances):
    """A null pose with 9999 on the diagonal; 9999 on one axis alone is a variance."""
    seven, covariance = poses(6), covariances(6)
    seven[[1, 4]], covariance[[1, 4]] = 0, 9999 * np.eye(6)
    covariance[2] = np.diag([9999.0, 1, 1, 1, 1, 1])
    path = add_odometry(bag, seven, covariance, "/rtabmap/odom").write()
    track = read(path, preset="rtabmap")
    assert track.stamp.tolist() == [STAMPS[i] for i in (0, 2, 3, 5)]
    (left,) = track.provenance.dropped
    assert (left.reason, left.count) == ("rtabmap was lost (variance 9999)", 2)
    assert left.first.endswith("/rtabmap/odom message 2")
    with pytest.raises(TrackError, match="message 2: the quaternion is zero"):
        read(path)


def test_a_bag_of_rtabmap_that_was_always_lost_is_refused(new_bag):
    bag = new_bag("mcap")
    path = add_odometry(bag, np.zeros((2, 7)), np.tile(9999 * np.eye(6), (2, 1, 1))).write()
    with pytest.raises(FormatError, match=r"was lost \(variance 9999\) in every message"):
        read(path, preset="rtabmap")
