"""The extrinsic that a bag holds itself."""

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from smfeval.align.body import move_to_body
from smfeval.io import extrinsic_in_bags, read, write
from smfeval.io.convention import CONVENTIONS, from_right
from smfeval.maths import se3
from support.beliefs import gaussian
from support.commands import refused, run

SECOND = 10**9
MOUNTS = {  # parent, child: x y z qx qy qz qw
    ("base_link", "base_footprint"): (0.1, 0.0, -0.2, 0.0, 0.0, 0.6, 0.8),
    ("base_link", "lidar"): (0.3, 0.2, 0.5, 0.6, 0.0, 0.0, 0.8),
}


def pose_of(seven):
    return np.array(seven[:3]), np.array(seven[3:])


class Bag:
    """An MCAP bag of beliefs on /amcl_pose and of mounts on /tf_static."""

    def __init__(self):
        self.store = get_typestore(Stores.ROS2_HUMBLE)
        text = "geometry_msgs/TransformStamped[] transforms\n"
        self.store.register(get_types_from_msg(text, "tf2_msgs/msg/TFMessage"))

    def make(self, name, **parts):
        return self.store.types[name](**parts)

    def header(self, stamp, frame):
        second, rest = divmod(stamp, SECOND)
        time = self.make("builtin_interfaces/msg/Time", sec=second, nanosec=rest)
        return self.make("std_msgs/msg/Header", stamp=time, frame_id=frame)

    def belief(self, stamp, position, rotation, covariance):
        pose = self.make(
            "geometry_msgs/msg/Pose",
            position=self.make(
                "geometry_msgs/msg/Point", **dict(zip("xyz", position, strict=True))
            ),
            orientation=self.make(
                "geometry_msgs/msg/Quaternion", **dict(zip("xyzw", rotation, strict=True))
            ),
        )
        both = self.make(
            "geometry_msgs/msg/PoseWithCovariance", pose=pose, covariance=covariance.ravel()
        )
        name = "geometry_msgs/msg/PoseWithCovarianceStamped"
        return self.make(name, header=self.header(stamp, "map"), pose=both)

    def mounts(self, mounts):
        sent = []
        for (parent, child), (x, y, z, *turn) in mounts.items():
            shift = self.make("geometry_msgs/msg/Vector3", x=x, y=y, z=z)
            names = dict(zip("xyzw", turn, strict=True))
            transform = self.make(
                "geometry_msgs/msg/Transform",
                translation=shift,
                rotation=self.make("geometry_msgs/msg/Quaternion", **names),
            )
            stamped = self.make(
                "geometry_msgs/msg/TransformStamped",
                header=self.header(0, parent),
                child_frame_id=child,
                transform=transform,
            )
            sent.append(stamped)
        return self.make("tf2_msgs/msg/TFMessage", transforms=sent)

    def write(self, folder, track, mounts):
        pose = track.position, track.rotation
        covariance = from_right(track.covariance, pose, CONVENTIONS["ros"], "translation-first")
        kinds = {
            "/amcl_pose": "geometry_msgs/msg/PoseWithCovarianceStamped",
            "/tf_static": "tf2_msgs/msg/TFMessage",
        }
        with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            topic = {n: writer.add_connection(n, k, typestore=self.store) for n, k in kinds.items()}
            rows = zip(track.stamp.tolist(), *pose, covariance, strict=True)
            messages = [("/amcl_pose", row[0], self.belief(*row)) for row in rows]
            if mounts:
                messages.insert(0, ("/tf_static", 0, self.mounts(mounts)))
            for name, stamp, message in messages:
                writer.write(topic[name], stamp, self.store.serialize_cdr(message, kinds[name]))
        return next(folder.glob("*.mcap"))


@pytest.fixture
def here(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    return gaussian(80, rng)


def test_static_transforms_are_composed_and_inverted(here, tmp_path):
    """From footprint to lidar: up to base_link, which inverts, and down again."""
    path = Bag().write(tmp_path / "run", here, MOUNTS)
    found, note = extrinsic_in_bags("base_footprint", "lidar", [path])
    up, down = (pose_of(seven) for seven in MOUNTS.values())
    expected = se3.compose(se3.inverse(up), down)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-12)
    assert "from base_footprint to lidar" in note
    assert extrinsic_in_bags("base_footprint", "camera", [path]) is None
    assert extrinsic_in_bags("lidar", "lidar", [path]) is None
    assert extrinsic_in_bags(None, "lidar", [path]) is None


def test_score_takes_the_extrinsic_that_the_bag_holds(here, tmp_path, capsys):
    """As if it had been given; without it in the bag, it is demanded."""
    path = Bag().write(tmp_path / "run", here, MOUNTS)
    extrinsic = se3.inverse(pose_of(MOUNTS["base_link", "base_footprint"]))
    truth = move_to_body(read(f"{path}:/amcl_pose"), extrinsic, "base_link")
    write(truth.with_about(gauge="fixed"), "truth.square")
    words = ("score", f"{path}:/amcl_pose", "--from", "amcl", "--ref", "truth.square")
    outcome = run(capsys, *words, "-v")
    assert outcome.code == 0
    assert "is of /tf_static" in outcome.out
    given = ",".join(repr(float(n)) for part in extrinsic for n in part)
    by_hand = run(capsys, *words, "-q", "--extrinsic", given)
    assert run(capsys, *words, "-q").out == by_hand.out

    bare = Bag().write(tmp_path / "bare", here, {})
    words = ("score", f"{bare}:/amcl_pose", "--from", "amcl", "--ref", "truth.square")
    assert "an extrinsic (pose of base_link in base_footprint) is needed" in refused(capsys, *words)
