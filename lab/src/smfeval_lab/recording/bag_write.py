"""Write a recording as a bag: MCAP with metadata and reference beside it, or that of a data set.

The bag of the lab's own:

::

    /points     sensor_msgs/PointCloud2: x y z intensity (float32), time (float32, s since the
                stamp), t (uint32, the same in ns), ring (uint16); the stamp is the scan's start
    /imu        sensor_msgs/Imu
    /tf_static  the mounting: imu to lidar
"""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from smfeval.errors import OptionError
from smfeval.io import write as write_track
from smfeval.io.atomic import replacing_all
from smfeval.io.progress import report
from smfeval.maths.stamps import NANOSECONDS
from smfeval_lab.recording.data import Recording, Scan, bag_files, metadata_json

POINTS, IMU, STATIC = "/points", "/imu", "/tf_static"
XYZ = {"x": "<f4", "y": "<f4", "z": "<f4", "intensity": "<f4"}
POINT_FIELD = {"<f4": 7, "<f8": 8, "<u4": 6, "<u2": 4}  # the numbers that PointField gives to types


@dataclass(frozen=True)
class Dialect:
    """Names of topics and frames, and the fields of a point."""

    points: str = POINTS
    imu: str = IMU
    lidar_frame: str = "lidar"
    imu_frame: str = "imu"
    layout: dict[str, str] = field(
        default_factory=lambda: XYZ | {"time": "<f4", "t": "<u4", "ring": "<u2"}
    )
    ros: Literal[1, 2] = 2
    storage: StoragePlugin = StoragePlugin.MCAP
    says_mounting: bool = True


OWN = Dialect()


def write_bag(recording: Recording, path: Path) -> list[Path]:
    """Write all files, or none."""
    made = bag_files(path)[: 2 if recording.reference is None else 3]
    made += bag_files(path)[3:] if recording.measured is not None else []
    try:
        with replacing_all(*made) as temporary:
            _write_mcap(recording, temporary[0], path.stem)
            if recording.measured is not None:
                write_track(recording.measured, temporary[3], format="square")
            temporary[1].write_text(metadata_json(recording))
            if recording.reference is not None:
                write_track(recording.reference, temporary[2], format="square")
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror or error})") from error
    return made


def _write_mcap(recording: Recording, target: Path, name: str) -> None:
    """The writer makes a folder with the bag in it; the bag alone is whole without the rest."""
    with tempfile.TemporaryDirectory(prefix=".smfeval.", dir=target.parent) as scratch:
        folder = Path(scratch) / name
        write_messages(recording, folder, OWN)
        shutil.move(folder / f"{name}.mcap", target)


def write_messages(recording: Recording, target: Path, dialect: Dialect) -> None:
    """Write the messages of a recording: a folder of ROS 2, or a file of ROS 1."""
    maker = _MessageFactory(dialect)
    topics = {
        dialect.points: "sensor_msgs/msg/PointCloud2",
        dialect.imu: "sensor_msgs/msg/Imu",
        STATIC: "tf2_msgs/msg/TFMessage",
    }
    if not dialect.says_mounting:
        del topics[STATIC]
    opened: Any = (
        Writer1(target)
        if dialect.ros == 1
        else Writer(target, version=9, storage_plugin=dialect.storage)
    )
    store = maker.store
    serialize = store.serialize_ros1 if dialect.ros == 1 else store.serialize_cdr
    with opened as writer:
        connection = {
            topic: writer.add_connection(topic, kind, typestore=store)
            for topic, kind in topics.items()
        }
        for topic, stamp, message in maker.messages(recording):
            writer.write(connection[topic], stamp, serialize(message, topics[topic]))


class _MessageFactory:
    """Makes messages of a recording."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.store = get_typestore(Stores.ROS2_HUMBLE if dialect.ros == 2 else Stores.ROS1_NOETIC)
        self.sent = 0

    def messages(self, recording: Recording) -> Iterator[tuple[str, int, Any]]:
        """All messages in the order of time; a scan is sent when it ends."""
        imu, scans = recording.imu, recording.scans
        if self.dialect.says_mounting:
            yield STATIC, int(imu.stamp[0]), self.mounting(recording)
        sent = np.concatenate([imu.stamp, scans.end])
        for done, i in enumerate(np.argsort(sent, kind="stable")):
            report(done + 1, len(sent))
            if i < len(imu.stamp):
                message = self.imu(imu.stamp[i], imu.gyro[i], imu.acceleration[i])
                yield self.dialect.imu, int(sent[i]), message
            else:
                k = int(i) - len(imu.stamp)
                first, last = scans.offset[k], scans.offset[k + 1]
                ring = None if scans.ring is None else scans.ring[first:last]
                yield self.dialect.points, int(sent[i]), self.cloud(scans[k], ring)

    def make(self, kind: str, **parts: Any) -> Any:
        return self.store.types[kind](**parts)

    def header(self, stamp: int, frame: str) -> Any:
        second, rest = divmod(int(stamp), NANOSECONDS)
        time = self.make("builtin_interfaces/msg/Time", sec=second, nanosec=rest)
        self.sent += 1
        number = {"seq": self.sent} if self.dialect.ros == 1 else {}
        return self.make("std_msgs/msg/Header", stamp=time, frame_id=frame, **number)

    def vector(self, numbers: Any) -> Any:
        x, y, z = (float(number) for number in numbers)
        return self.make("geometry_msgs/msg/Vector3", x=x, y=y, z=z)

    def quaternion(self, numbers: Any) -> Any:
        x, y, z, w = (float(number) for number in numbers)
        return self.make("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)

    def mounting(self, recording: Recording) -> Any:
        shift, turn = recording.imu_T_lidar
        transform = self.make(
            "geometry_msgs/msg/Transform",
            translation=self.vector(shift),
            rotation=self.quaternion(turn),
        )
        stamped = self.make(
            "geometry_msgs/msg/TransformStamped",
            header=self.header(recording.imu.stamp[0], self.dialect.imu_frame),
            child_frame_id=self.dialect.lidar_frame,
            transform=transform,
        )
        return self.make("tf2_msgs/msg/TFMessage", transforms=[stamped])

    def imu(self, stamp: int, gyro: Any, acceleration: Any) -> Any:
        """The orientation is not known, which ROS writes as a first covariance of -1."""
        unknown = np.zeros(9)
        unknown[0] = -1.0
        return self.make(
            "sensor_msgs/msg/Imu",
            header=self.header(stamp, self.dialect.imu_frame),
            orientation=self.quaternion([0, 0, 0, 1]),
            orientation_covariance=unknown,
            angular_velocity=self.vector(gyro),
            angular_velocity_covariance=np.zeros(9),
            linear_acceleration=self.vector(acceleration),
            linear_acceleration_covariance=np.zeros(9),
        )

    def cloud(self, scan: Scan, ring: Any) -> Any:
        layout = self.dialect.layout
        rows = np.zeros(len(scan.point), dtype=list(layout.items()))
        values = {axis: scan.point[:, i] for i, axis in enumerate("xyz")} | {
            "intensity": 1.0,
            "t": scan.time,
            "time": scan.time / NANOSECONDS,
            "timestamp": scan.start / NANOSECONDS + scan.time / NANOSECONDS,
            "ring": 0 if ring is None else ring,
        }
        for name in layout:
            rows[name] = values[name]
        fields = [
            self.make(
                "sensor_msgs/msg/PointField",
                name=name,
                offset=rows.dtype.fields[name][1],  # type: ignore[index]
                datatype=POINT_FIELD[kind],
                count=1,
            )
            for name, kind in layout.items()
        ]
        return self.make(
            "sensor_msgs/msg/PointCloud2",
            header=self.header(scan.start, self.dialect.lidar_frame),
            height=1,
            width=len(rows),
            fields=fields,
            is_bigendian=False,
            point_step=rows.itemsize,
            row_step=rows.nbytes,
            data=rows.view(np.uint8),
            is_dense=True,
        )
