"""A bag that is cut, overwritten or no bag at all gives one sentence and no other exception."""

import sqlite3

import numpy as np
import pytest

from smfeval.errors import FormatError, SmfevalError
from smfeval.io import read
from smfeval.io.ros import candidates

SCANS = 40


@pytest.fixture
def written(bag, poses, covariances):
    """One good bag of each kind as a single file, and what it holds."""
    for i, (pose, matrix) in enumerate(zip(poses(SCANS), covariances(SCANS), strict=True)):
        bag.add("/odom", bag.odometry(10**18 + i * 10**8, pose, matrix))
        bag.add("/tf", bag.make("tf2_msgs/msg/TFMessage", transforms=[]))
    return bag.file(bag.write())


def read_or_refuse(path, **options):
    try:
        return read(path, **options)
    except SmfevalError:
        return None


@pytest.mark.parametrize("share", [0.0, 0.0005, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999])
def test_a_cut_bag_is_refused(written, share):
    data = written.read_bytes()
    written.write_bytes(data[: int(share * len(data))])
    with pytest.raises(SmfevalError) as caught:
        read(written, format="bag")
    assert str(caught.value).startswith(str(written))
    assert "\n" not in str(caught.value)


def test_every_cut_near_the_end_is_refused_or_harmless(written):
    data, whole = written.read_bytes(), read(written)
    for missing in range(1, 60):
        written.write_bytes(data[:-missing])
        track = read_or_refuse(written)
        assert track is None or np.array_equal(track.covariance, whole.covariance)


def test_overwritten_bytes_raise_nothing_but_our_errors(written, rng):
    data = np.frombuffer(written.read_bytes(), dtype=np.uint8)
    refused = 0
    for _ in range(30):
        broken = data.copy()
        start = rng.integers(0, len(data))
        broken[start : start + rng.integers(1, 200)] = rng.integers(0, 256)
        written.write_bytes(broken.tobytes())
        track = read_or_refuse(written)
        refused += track is None
        assert track is None or len(track) == SCANS
    assert refused > 3


@pytest.mark.parametrize("ending", ["bag", "db3", "mcap"])
@pytest.mark.parametrize("content", [b"", b"junk\n" * 100, bytes(range(256)) * 20, b"\0" * 5000])
def test_junk_is_no_bag(tmp_path, ending, content):
    path = tmp_path / f"junk.{ending}"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=str(path)):
        read(path)


def test_a_missing_bag_and_a_folder_without_metadata_are_refused(tmp_path):
    with pytest.raises(FormatError, match="there is no such file"):
        candidates(tmp_path / "gone.mcap")
    with pytest.raises(FormatError, match=r"needs a metadata\.yaml"):
        read(tmp_path, format="bag")


@pytest.mark.parametrize("text", ["", "junk", "rosbag2_bagfile_information: {}", "a: [", "\x00"])
def test_broken_metadata_is_refused(new_bag, poses, covariances, text):
    bag = new_bag("mcap")
    bag.add("/odom", bag.odometry(1, poses(1)[0], covariances(1)[0]))
    path = bag.write()
    (path / "metadata.yaml").write_text(text)
    with pytest.raises(FormatError, match=str(path)):
        read(path)


def test_a_folder_whose_file_is_gone_is_refused(new_bag, poses, covariances):
    bag = new_bag("db3")
    bag.add("/odom", bag.odometry(1, poses(1)[0], covariances(1)[0]))
    path = bag.write()
    bag.file(path).unlink()
    with pytest.raises(FormatError, match="missing"):
        read(path)


def test_fewer_messages_than_announced_are_never_read_silently(new_bag, poses, covariances):
    bag = new_bag("db3")
    for i, (pose, matrix) in enumerate(zip(poses(5), covariances(5), strict=True)):
        bag.add("/odom", bag.odometry(10**9 + i, pose, matrix))
    path = bag.write()
    with sqlite3.connect(bag.file(path)) as database:
        database.execute("DELETE FROM messages WHERE id = 3")
    database.close()
    with pytest.raises(FormatError, match="5 messages are announced but 4 can be read"):
        read(path)


def test_the_wrong_ending_is_named(new_bag, poses, covariances, tmp_path):
    bag = new_bag("mcap")
    bag.add("/odom", bag.odometry(1, poses(1)[0], covariances(1)[0]))
    wrong = tmp_path / "run.bag"
    wrong.write_bytes(bag.file(bag.write()).read_bytes())
    with pytest.raises(FormatError, match=r"that of a \.mcap file; name it so"):
        read(wrong)


def test_a_topic_whose_definition_is_not_stored_is_refused(new_bag, tmp_path):
    bag = new_bag("db3")
    bag.add("/belief", bag.belief(1, [0, 0, 0, 0, 0, 0, 1], np.eye(6)))
    path = bag.file(bag.write())
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM message_definitions")
        database.execute("UPDATE topics SET type_description_hash = ''")
    database.close()
    with pytest.raises(FormatError, match="whose definition is not in the bag"):
        read(path, topic="/belief")
