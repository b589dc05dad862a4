"""Write a recording as a bag (MCAP, with metadata and reference), or as a data set is laid out.

The bag of the lab's own:

::

    /points     sensor_msgs/PointCloud2: x y z intensity (float32), time (float32, s since the
                stamp), t (uint32, the same in ns), ring (uint16); the stamp is the scan's start
    /imu        sensor_msgs/Imu
    /tf_static  the mounting: imu to lidar

Data sets of the field:

::

    Oxford Spires  sequences/<date-site-nn>/raw/ros2bag/  /hesai/pandar, /alphasense_driver_ros/imu
                   sequences/<date-site-nn>/processed/trajectory/gt-tum.txt
                   calibration/sensor.yaml                T_base_lidar, T_cam_lidar, T_cam_imu
    GEODE          sensor_data/<environment>/<sequence>_beta/<sequence>_beta.bag
                   groundtruth/traj/<sequence>.txt           position only: quaternion 0 0 0 0
                   calibration_files/beta.yaml               T_IMU_LiDAR

The ground truth is the measured reference; `exact/` beside it has the exact poses and the
measured ones with their covariances, which no data set has.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
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
from smfeval.maths import so3
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.track import Track
from smfeval_lab.recording import Recording, Scan, bag_files, metadata_json
from smfeval_lab.recording.calibration import FLAT_FILE, FOLDER, spires_calibration
from smfeval_lab.recording.folder import replacing_folder

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


def write_bag(recording: Recording, path: Path) -> list[Path]:
    """Write all files, or none."""
    made = bag_files(path)[: 2 if recording.reference is None else 3]
    made += bag_files(path)[3:] if recording.measured is not None else []
    try:
        with replacing_all(*made) as temporary:
            with tempfile.TemporaryDirectory(
                prefix=".smfeval.", dir=temporary[0].parent
            ) as scratch:  # the writer makes a folder with the bag in it, which is whole alone
                folder = Path(scratch) / path.stem
                write_messages(recording, folder, Dialect())
                shutil.move(folder / f"{path.stem}.mcap", temporary[0])
            if recording.measured is not None:
                write_track(recording.measured, temporary[3], format="square")
            temporary[1].write_text(metadata_json(recording))
            if recording.reference is not None:
                write_track(recording.reference, temporary[2], format="square")
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror or error})") from error
    return made


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
    store = maker.store
    opened: Any
    if dialect.ros == 1:
        opened, serialize = Writer1(target), store.serialize_ros1
    else:
        opened = Writer(target, version=9, storage_plugin=dialect.storage)
        serialize = store.serialize_cdr
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

    def make(self, kind: str, *parts: Any, **named: Any) -> Any:
        return self.store.types[kind](*parts, **named)

    def header(self, stamp: int, frame: str) -> Any:
        second, rest = divmod(int(stamp), NANOSECONDS)
        time = self.make("builtin_interfaces/msg/Time", sec=second, nanosec=rest)
        self.sent += 1
        number = {"seq": self.sent} if self.dialect.ros == 1 else {}
        return self.make("std_msgs/msg/Header", stamp=time, frame_id=frame, **number)

    def vector(self, numbers: Any) -> Any:
        return self.make("geometry_msgs/msg/Vector3", *map(float, numbers))

    def quaternion(self, numbers: Any) -> Any:
        return self.make("geometry_msgs/msg/Quaternion", *map(float, numbers))

    def mounting(self, recording: Recording) -> Any:
        shift, turn = recording.imu_T_lidar
        header = self.header(recording.imu.stamp[0], self.dialect.imu_frame)
        parts = (self.vector(shift), self.quaternion(turn))
        transform = self.make("geometry_msgs/msg/Transform", *parts)
        sent = (header, self.dialect.lidar_frame, transform)
        stamped = self.make("geometry_msgs/msg/TransformStamped", *sent)
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
        offset: Any = rows.dtype.fields
        fields = [
            self.make("sensor_msgs/msg/PointField", name, offset[name][1], POINT_FIELD[kind], 1)
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


SPIRES = Dialect(
    points="/hesai/pandar",
    imu="/alphasense_driver_ros/imu",
    layout=XYZ | {"timestamp": "<f8", "ring": "<u2"},
    storage=StoragePlugin.SQLITE3,
    says_mounting=False,
)
GEODE = Dialect(
    points="/ouster/points",
    imu="/imu/data",
    lidar_frame="os_lidar",
    imu_frame="imu_link",
    layout=XYZ | {"t": "<u4", "ring": "<u2"},
    ros=1,
    says_mounting=False,
)


def write_dataset(recording: Recording, path: Path, layout: str) -> list[Path]:
    """Write the folder of a data set: it appears whole or not at all; returns the files."""
    if recording.measured is None:
        raise OptionError(f"{path}: the layout {layout} has a measured reference; choose one")
    with replacing_folder(path) as new:
        DATASETS[layout](recording, new)
        exact = new / "exact" / recording.name
        exact.mkdir(parents=True)
        write_track(recording.measured, exact / "measured.square")
        if recording.reference is not None:
            write_track(recording.reference, exact / "reference.square")
        (exact / "recording.json").write_text(metadata_json(recording))
    return sorted(file for file in path.rglob("*") if file.is_file())


def _write_spires(recording: Recording, root: Path) -> None:
    world, _, seed = recording.name.rpartition("_")
    day = datetime.fromtimestamp(int(recording.imu.stamp[0]) // NANOSECONDS, tz=UTC)
    sequence = f"{day:%Y-%m-%d}-{world.replace('_', '-')}-{int(seed):02d}"
    folder = root / "sequences" / sequence
    (folder / "raw").mkdir(parents=True)
    (folder / "processed" / "trajectory").mkdir(parents=True)
    write_messages(recording, folder / "raw" / "ros2bag", SPIRES)
    _write_tum(recording.measured, folder / "processed" / "trajectory" / "gt-tum.txt")
    calibration = root / FOLDER
    calibration.mkdir()
    (calibration / FLAT_FILE).write_text(spires_calibration(recording))


def _write_geode(recording: Recording, root: Path) -> None:
    world, _, seed = recording.name.rpartition("_")
    sequence = f"{world.capitalize()}{seed}"
    folder = root / "sensor_data" / world / f"{sequence}_beta"
    folder.mkdir(parents=True)
    (root / "groundtruth" / "traj").mkdir(parents=True)
    write_messages(recording, folder / f"{sequence}_beta.bag", GEODE)
    _write_tum(recording.measured, root / "groundtruth" / "traj" / f"{sequence}.txt")
    matrix = np.eye(4)  # as four rows
    matrix[:3, :3], matrix[:3, 3] = so3.matrix(recording.imu_T_lidar[1]), recording.imu_T_lidar[0]
    rows = "".join(f"  - {[round(x, 9) for x in row]}\n" for row in matrix.tolist())
    (root / "calibration_files").mkdir()
    (root / "calibration_files" / "beta.yaml").write_text(f"T_IMU_LiDAR:\n{rows}")


DATASETS: dict[str, Callable[[Recording, Path], None]] = {
    "spires": _write_spires, "geode": _write_geode
}  # fmt: skip


def _write_tum(track: Track | None, path: Path) -> None:
    """Eight columns; a quaternion of zeros where the orientation is not measured."""
    if track is None:
        return
    turn = track.rotation if track.about.oriented else np.zeros_like(track.rotation)
    numbers = np.concatenate([track.position, turn], axis=1)
    stamps = (seconds_text(int(stamp)) for stamp in track.stamp)
    rows = zip(stamps, numbers.tolist(), strict=True)
    lines = (" ".join([stamp, *(repr(round(x, 9)) for x in row)]) for stamp, row in rows)
    path.write_text("\n".join(lines) + "\n")
