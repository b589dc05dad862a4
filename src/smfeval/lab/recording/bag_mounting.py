"""The pose of the LiDAR in the IMU, from the static transforms of a bag."""

from typing import Any

import numpy as np

from smfeval.io.ros.recording import Recording as Bag
from smfeval.maths import se3

STATIC = "/tf_static"


def mounting(bag: Bag, imu: str, lidar: str) -> se3.Pose | None:
    """imu_T_lidar by the names of the frames; None if the bag does not say."""
    if STATIC not in bag.topics or not imu or not lidar:
        return None
    edges: dict[str, dict[str, se3.Pose]] = {}
    for _, _, message in bag.messages([STATIC]):
        for sent in message.transforms:
            parent, child = (n.lstrip("/") for n in (sent.header.frame_id, sent.child_frame_id))
            pose = _pose(sent.transform)
            edges.setdefault(parent, {})[child] = pose
            edges.setdefault(child, {})[parent] = se3.inverse(pose)
    return _walked(edges, imu.lstrip("/"), lidar.lstrip("/"))


def _walked(edges: dict[str, dict[str, se3.Pose]], start: str, end: str) -> se3.Pose | None:
    """The product of the transforms on the way from one frame to another."""
    reached = {start: (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))}
    waiting = [start]
    while waiting:
        frame = waiting.pop()
        for following, pose in edges.get(frame, {}).items():
            if following not in reached:
                reached[following] = se3.compose(reached[frame], pose)
                waiting.append(following)
    return reached.get(end)


def _pose(transform: Any) -> se3.Pose:
    shift, turn = transform.translation, transform.rotation
    quaternion = np.array([turn.x, turn.y, turn.z, turn.w])
    return np.array([shift.x, shift.y, shift.z]), quaternion / np.linalg.norm(quaternion)
