"""Which topics can be read, which one is, and what is said when it is not clear."""

import numpy as np
import pytest

from smfeval.errors import FormatError, OptionError
from smfeval.io import bag_contents, read
from smfeval.io.ros import candidates
from smfeval.io.ros.topics import Candidate


def fill(bag, topic, covariance):
    for i, matrix in enumerate(covariance):
        bag.add(topic, bag.odometry(10**9 + i, [i, 0, 0, 0, 0, 0, 1], matrix))
    return bag


def text(bag, topic="/chatter"):
    return bag.add(topic, bag.make("std_msgs/msg/String", data="hello"))


def test_candidates_tell_count_and_what_the_covariance_looks_like(bag, covariances):
    unknown = np.zeros((2, 6, 6))
    unknown[:, 0, 0] = -1
    fill(bag, "/a_filled", covariances(3))
    fill(bag, "/b_constant", [np.eye(6)] * 4)
    fill(bag, "/c_zero", np.zeros((2, 6, 6)))
    fill(bag, "/d_unknown", unknown)
    pose = bag.pose([0, 0, 0, 0, 0, 0, 1])
    plain = bag.make("geometry_msgs/msg/PoseStamped", header=bag.header(1), pose=pose)
    bag.add("/e_pose", plain)
    bag.add("/f_cloud", bag.cloud(1, [[0, 0, 0, 0, 0, 0, 1, 1]]))
    bag.add("/g_belief", bag.belief(1, [0, 0, 0, 0, 0, 0, 1], np.eye(6)))
    assert candidates(text(bag).write()) == [
        Candidate("/a_filled", "nav_msgs/Odometry", 3, "filled"),
        Candidate("/b_constant", "nav_msgs/Odometry", 4, "constant"),
        Candidate("/c_zero", "nav_msgs/Odometry", 2, "all zero"),
        Candidate("/d_unknown", "nav_msgs/Odometry", 2, "marked unknown (-1)"),
        Candidate("/e_pose", "geometry_msgs/PoseStamped", 1, "none"),
        Candidate("/f_cloud", "nav2_msgs/ParticleCloud", 1, "particles"),
        Candidate("/g_belief", "filter_msgs/Belief", 1, "filled"),
    ]


def test_a_bag_without_a_topic_names_its_candidates_in_one_sentence(bag, covariances):
    fill(bag, "/odom", np.zeros((2, 6, 6)))
    fill(bag, "/ekf", covariances(3))
    path = bag.write()
    with pytest.raises(FormatError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: the bag needs a topic to be named: "
        f"{path}:/ekf (covariance filled), {path}:/odom (covariance all zero)"
    )


@pytest.mark.parametrize(
    ("topic", "reference"),
    [("/ground_truth/pose", True), ("/gt", True), ("/vrpn_client_node/robot/pose", True),
     ("/robot/gt_pose", True), ("/odometry/filtered", False), ("/gtsam/odometry", False),
     ("/preference", False), ("/refined/odometry", False)],
)  # fmt: skip
def test_a_reference_is_known_by_its_name(topic, reference):
    assert Candidate(topic, "nav_msgs/Odometry", 3, "filled").is_reference == reference


def test_the_only_candidate_is_taken_with_a_note(bag, covariances):
    track = read(text(fill(bag, "/odom", covariances(3))).write())
    assert "topic /odom was chosen: no other can be read" in track.provenance.notes


def test_the_topic_of_a_preset_is_taken_with_a_note(new_bag, covariances):
    bag = fill(fill(new_bag(), "/odom", covariances(3)), "/odometry/filtered", covariances(2))
    track = read(bag.write(), preset="robot-localization")
    assert len(track) == 2
    assert any("robot-localization publishes it" in note for note in track.provenance.notes)


def test_a_preset_whose_topics_are_missing_says_so(new_bag, covariances):
    bag = fill(fill(new_bag(), "/a", covariances(3)), "/b", covariances(2))
    with pytest.raises(FormatError, match="none of /odometry/filtered and needs a topic"):
        read(bag.write(), preset="robot-localization")


@pytest.mark.parametrize("spelled", ["/odom", "odom", "/odom/"])
def test_a_topic_is_found_however_its_slashes_are_written(new_bag, covariances, spelled):
    bag = fill(fill(new_bag(), "/odom", covariances(2)), "/other", covariances(3))
    assert len(read(bag.write(), topic=spelled)) == 2


@pytest.mark.parametrize("kind", ["mcap", "db3", "bag"])
def test_a_topic_after_a_colon_is_a_source_with_or_without_a_slash(new_bag, covariances, kind):
    bag = fill(fill(new_bag(kind), "/odom", covariances(2)), "/a/other", covariances(3))
    path = bag.write()
    for source in (path, bag.file(path)):
        assert len(read(f"{source}:/a/other")) == len(read(f"{source}:a/other")) == 3
    with pytest.raises(FormatError, match="there is no such file"):
        read(f"{path.parent}/nothing.tum:odom")


def test_a_topic_that_is_not_there_names_those_near_it(bag, covariances):
    path = fill(bag, "/odometry", covariances(2)).write()
    with pytest.raises(FormatError, match="no topic /odometri; near it: /odometry; topics to read"):
        read(path, topic="/odometri")


def test_a_topic_of_another_type_says_what_can_be_read(bag, covariances):
    path = text(fill(bag, "/odom", covariances(2))).write()
    with pytest.raises(FormatError, match=r"std_msgs/String; what can be read is nav_msgs/Odom"):
        read(path, topic="/chatter")


def test_21_numbers_are_no_covariance_message(new_bag):
    bag = new_bag("mcap")
    message = bag.make(
        "filter_msgs/msg/Short",
        header=bag.header(1),
        pose=bag.pose([0, 0, 0, 0, 0, 0, 1]),
        covariance=np.zeros(21),
    )
    with pytest.raises(FormatError, match="filter_msgs/Short; what can be read"):
        read(bag.add("/short", message).write(), topic="/short")


def test_a_bag_with_nothing_to_read_says_what_there_is(bag):
    with pytest.raises(FormatError, match=r"no topic can be read \(there are: /chatter\)"):
        read(text(bag).write())


def test_an_empty_bag_has_no_topic(bag):
    with pytest.raises(FormatError, match=r"no topic can be read \(there are: none\)|metadata"):
        read(bag.write())


@pytest.mark.parametrize(
    ("preset", "hint"),
    [("fastlio", "'fast-lio2' may be meant"), ("mine", "it is one of fast-lio2")],
)
def test_an_unknown_preset_lists_the_nearest_or_the_known_ones(preset, hint, new_bag, covariances):
    path = fill(new_bag(), "/odom", covariances(2)).write()
    with pytest.raises(OptionError, match=f"preset '{preset}' is unknown; {hint}"):
        read(path, preset=preset)


def test_two_different_topics_are_refused(new_bag, covariances):
    bag = fill(fill(new_bag("mcap"), "/odom", covariances(2)), "/imu", covariances(3))
    path = bag.file(bag.write())
    with pytest.raises(OptionError, match="topic is given twice, /odom there and /imu beside it"):
        read(f"{path}:/odom", topic="/imu")
    assert len(read(f"{path}:/odom", topic="odom")) == 2
    assert len(read(f"{path}:imu?convention=ros")) == 3


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"convention": "ros"}, "convention"),
        ({"order": "rotation-first"}, "order"),
        ({"body": "imu"}, "body"),
        ({"bad_rows": "drop"}, "bad-rows"),
        ({"lag": 0}, "lag"),
    ],
)
def test_options_that_a_list_of_topics_would_ignore_are_refused(
    options, word, new_bag, covariances
):
    path = fill(new_bag(), "/odom", covariances(2)).write()
    assert len(bag_contents(path)) == 1
    assert len(bag_contents(path, format="bag", bad_rows="refuse", duplicates="refuse")) == 1
    with pytest.raises(OptionError, match=f"option {word} means nothing for the list of topics"):
        bag_contents(path, **options)
    assert bag_contents(path, **options, topic="/odom") is None


def test_a_candidate_is_rendered_in_one_place_with_the_right_number():
    assert str(Candidate("/a", "T", 1, "none")) == "/a  T, 1 message, no covariance"
    assert str(Candidate("/a", "T", 1234, "filled")) == "/a  T, 1,234 messages, covariance filled"
