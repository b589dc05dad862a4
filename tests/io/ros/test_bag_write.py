"""Tracks written as bags, read back by our reader and by rosbags itself."""

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.rosbag1 import Reader as Reader1
from rosbags.rosbag2 import Reader as Reader2
from rosbags.typesys import Stores, get_typestore

from smfeval.errors import OptionError
from smfeval.io import read, write
from smfeval.maths import so3
from smfeval.track import GaussianTrack, Track
from support.beliefs import gaussian, particles, poses
from support.commands import refused, run

N = 7


@pytest.mark.parametrize("name", ["a.mcap", "a.db3", "a.bag", "a"])
@pytest.mark.parametrize("make", [poses, gaussian])
def test_what_is_written_is_read_again(make, name, tmp_path, rng):
    track = make(N, rng)
    assert write(track, tmp_path / name, format="bag") == [tmp_path / name]
    assert [path.name for path in tmp_path.iterdir()] == [name]  # nothing is left beside it
    found = read(tmp_path / f"{name}:/pose")
    assert type(found) is type(track)
    assert found.about.world == track.about.world
    np.testing.assert_array_equal(found.stamp, track.stamp)
    np.testing.assert_array_equal(found.position, track.position)
    np.testing.assert_allclose(found.rotation, track.rotation, atol=1e-15)
    if make is gaussian:
        np.testing.assert_allclose(found.covariance, track.covariance, rtol=1e-9, atol=1e-15)


def test_the_covariance_is_in_fixed_axes_of_the_parent_frame(tmp_path, rng):
    """As rosbags reads it: position block R S R^T."""
    track = gaussian(N, rng)
    write(track, tmp_path / "a.mcap")
    with AnyReader(
        [tmp_path / "a.mcap"], default_typestore=get_typestore(Stores.ROS2_HUMBLE)
    ) as bag:
        (connection,) = bag.connections
        assert connection.msgtype == "geometry_msgs/msg/PoseWithCovarianceStamped"
        found = [bag.deserialize(raw, connection.msgtype) for *_, raw in bag.messages()]
    assert [m.header.frame_id for m in found] == ["world"] * N
    turn = so3.matrix(track.rotation)
    block = turn @ track.covariance[:, :3, :3] @ turn.swapaxes(1, 2)
    written = np.array([m.pose.covariance for m in found]).reshape(N, 6, 6)
    np.testing.assert_allclose(written[:, :3, :3], block, rtol=1e-9, atol=1e-15)


def test_particles_are_their_moments_if_the_user_agrees(tmp_path, rng):
    track = particles(N, rng)
    with pytest.raises(OptionError, match="would lose the particles"):
        write(track, tmp_path / "a.mcap")
    write(track, tmp_path / "a.mcap", lossy=True)
    found = read(tmp_path / "a.mcap")
    np.testing.assert_allclose(found.covariance, track.moments.covariance, rtol=1e-9, atol=1e-15)


def test_what_ros_cannot_hold_is_refused(tmp_path, rng):
    track = poses(N, rng)
    early = track.with_arrays({"stamp": track.stamp - track.stamp[0] - 1})
    with pytest.raises(OptionError, match=r"ROS has no stamp -0\.000000001 s"):
        write(early, tmp_path / "a.mcap")
    with pytest.raises(OptionError, match=r"\.mcap, \.db3 or \.bag, or as a folder"):
        write(track, tmp_path / "a.txt", format="bag")
    assert list(tmp_path.iterdir()) == []


def test_a_bag_of_ros_1_is_one_and_a_folder_has_metadata(tmp_path, rng):
    write(gaussian(N, rng), tmp_path / "a.bag")
    assert (tmp_path / "a.bag").read_bytes().startswith(b"#ROSBAG V2.0")
    with Reader1(tmp_path / "a.bag") as bag:
        assert bag.topics["/pose"].msgtype == "geometry_msgs/msg/PoseWithCovarianceStamped"
        assert bag.message_count == N
    write(gaussian(N, rng), tmp_path / "a", format="bag")
    with Reader2(tmp_path / "a") as bag:
        assert bag.message_count == N
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["a.mcap", "metadata.yaml"]


def test_a_folder_that_is_there_is_not_replaced(tmp_path, capsys, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    write(gaussian(N, rng), "a.square")
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "mine").write_text("")
    assert "this is a folder" in refused(
        capsys, "convert", "a.square", "bag", "--to", "bag", "--force"
    )
    with pytest.raises(OptionError, match="a bag of ROS 2 is a new folder"):
        write(gaussian(N, rng), "bag", format="bag")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.square", "bag"]
    assert [path.name for path in (tmp_path / "bag").iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["a.mcap", "a.bag"])
def test_fixes_are_written_as_fixes_and_a_real_solution_scores_as_its_file(
    name, shared_data, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    source = shared_data / "gnss_nagoya" / "2023_rover_1Hz_rtk.pos"
    track = read(source)[:200]
    write(track, name)
    origin = dict(track.about.extra)["ENU_ORIGIN"]
    found = read(f"{name}:/fix", origin=origin)
    np.testing.assert_array_equal(found.stamp, track.stamp)
    np.testing.assert_allclose(found.position, track.position, atol=1e-8)
    np.testing.assert_allclose(found.covariance, track.covariance, rtol=1e-7, atol=1e-15)
    assert (found.about.oriented, found.about.body) == (False, "antenna")
    assert read(f"{name}:/fix").about.gauge == "fixed"
    plain = Track(track.stamp, track.position, track.rotation, about=track.about)
    write(plain, "plain.mcap")
    assert not isinstance(read("plain.mcap:/fix", origin=origin), GaussianTrack)
    write(track, "a.square")
    assert "lost" not in run(capsys, "convert", "a.square", "b.mcap").out


def test_convert_makes_a_bag_that_check_reads(tmp_path, capsys, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    write(gaussian(N, rng), "a.square")
    assert run(capsys, "convert", "a.square", "a.mcap", "-q").code == 0
    assert "PoseWithCovarianceStamped" in run(capsys, "check", "a.mcap").out
    assert "already; leave out the .gz" in run(capsys, "convert", "a.square", "b.mcap.gz").err
