"""An MCAP bag with odometry, written with rosbags."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from smfeval.track import GaussianTrack

STORE = get_typestore(Stores.ROS2_JAZZY)
START_NS = 1_700_000_000 * 10**9  # when the messages were received

Topic = tuple[GaussianTrack, Any, str, str | None]  # poses, covariances, frame, child frame


def write_bag(path: Path, topics: dict[str, Topic]) -> None:
    """Write a topic for each entry: Odometry, or a stamped pose where there is no child frame."""
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside) / "bag"
        with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            for name, topic in topics.items():
                _write_topic(writer, name, topic)
        shutil.move(folder / "bag.mcap", path)


def write_fixes(path: Path, stamps: Any, places: Any, sigma: Any) -> None:
    """Write sensor_msgs/NavSatFix of latitudes, longitudes and heights on the topic /fix."""
    full = "sensor_msgs/msg/NavSatFix"
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside) / "bag"
        with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            connection = writer.add_connection("/fix", full, typestore=STORE)
            for stamp, place in zip(stamps, places, strict=True):
                message = _make(
                    "sensor_msgs",
                    "NavSatFix",
                    header=_header(stamp, "antenna"),
                    status=_make("sensor_msgs", "NavSatStatus", status=0, service=1),
                    **dict(zip(("latitude", "longitude", "altitude"), place.tolist(), strict=True)),
                    position_covariance=np.diag(np.square(sigma)).reshape(9),
                    position_covariance_type=2,
                )
                writer.write(connection, stamp, STORE.serialize_cdr(message, full))
        shutil.move(folder / "bag.mcap", path)


def _write_topic(writer: Any, name: str, topic: Topic) -> None:
    track, covariance, frame, child = topic
    package = "geometry_msgs" if child is None else "nav_msgs"
    kind = "PoseWithCovarianceStamped" if child is None else "Odometry"
    full = f"{package}/msg/{kind}"
    connection = writer.add_connection(name, full, typestore=STORE)
    rest = {} if child is None else {"child_frame_id": child, "twist": _twist()}
    for row, stamp in enumerate(track.stamp.tolist()):
        header = _header(stamp, frame)
        message = _make(package, kind, header=header, pose=_pose(track, row, covariance), **rest)
        writer.write(connection, START_NS + stamp, STORE.serialize_cdr(message, full))


def _header(stamp: int, frame: str) -> Any:
    seconds, nanoseconds = divmod(stamp, 10**9)
    time = _make("builtin_interfaces", "Time", sec=seconds, nanosec=nanoseconds)
    return _make("std_msgs", "Header", stamp=time, frame_id=frame)


def _pose(track: GaussianTrack, row: int, covariance: Any) -> Any:
    pose = _make(
        "geometry_msgs",
        "Pose",
        position=_make("geometry_msgs", "Point", **_parts("xyz", track.position[row])),
        orientation=_make("geometry_msgs", "Quaternion", **_parts("xyzw", track.rotation[row])),
    )
    believed = np.ascontiguousarray(covariance[row], dtype=np.float64).reshape(36)
    return _make("geometry_msgs", "PoseWithCovariance", pose=pose, covariance=believed)


def _twist() -> Any:
    zero = _make("geometry_msgs", "Vector3", x=0.0, y=0.0, z=0.0)
    twist = _make("geometry_msgs", "Twist", linear=zero, angular=zero)
    return _make("geometry_msgs", "TwistWithCovariance", twist=twist, covariance=np.zeros(36))


def _make(package: str, name: str, **fields: Any) -> Any:
    return STORE.types[f"{package}/msg/{name}"](**fields)


def _parts(names: str, numbers: Any) -> dict[str, float]:
    return {name: float(number) for name, number in zip(names, numbers, strict=True)}
