"""Bags of a LiDAR and an IMU as drivers of several vendors write them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from smfeval.io.ros.bag import EXTRA_DEFINITIONS

START = 1_700_000_000 * 10**9
NUMBERS = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 8}
POINTS, SCANS, PERIOD = 40, 6, 100_000_000


@dataclass
class UserBag:
    """A bag of a LiDAR and an IMU that some driver wrote."""

    folder: Path
    kind: str = "mcap"

    def __post_init__(self):
        self.store = get_typestore(Stores.ROS1_NOETIC if self.kind == "bag" else Stores.ROS2_JAZZY)
        for name, text in EXTRA_DEFINITIONS.items():
            self.store.register(get_types_from_msg(text, name))
        self.store.register(
            get_types_from_msg(
                "geometry_msgs/TransformStamped[] transforms\n", "tf2_msgs/msg/TFMessage"
            )
        )
        self.messages = []

    def make(self, kind, **parts):
        return self.store.types[kind](**parts)

    def header(self, stamp, frame):
        second, rest = divmod(stamp, 10**9)
        time = self.make("builtin_interfaces/msg/Time", sec=second, nanosec=rest)
        extra = {"seq": 0} if self.kind == "bag" else {}
        return self.make("std_msgs/msg/Header", stamp=time, frame_id=frame, **extra)

    def vector(self, x, y, z):
        return self.make("geometry_msgs/msg/Vector3", x=float(x), y=float(y), z=float(z))

    def turn(self):
        return self.make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0)

    def add(self, topic, stamp, message):
        self.messages.append((topic, stamp, message))

    def add_imu(self, stamps, *, topic="/imu/data", scale=1.0):
        for i, stamp in enumerate(stamps):
            message = self.make(
                "sensor_msgs/msg/Imu",
                header=self.header(int(stamp), "imu_link"),
                orientation=self.turn(),
                orientation_covariance=np.zeros(9),
                angular_velocity=self.vector(0.1, 0.2, i),
                angular_velocity_covariance=np.zeros(9),
                linear_acceleration=self.vector(0, 0, 9.81 * scale),
                linear_acceleration_covariance=np.zeros(9),
            )
            self.add(topic, int(stamp), message)
        return self

    def add_cloud(self, stamp, columns, *, topic="/points", big=False, padding=0, height=1):
        """A cloud of columns (name -> array); rows may have bytes behind them."""
        order = ">" if big else "<"
        layout = [(name, order + array.dtype.str[1:]) for name, array in columns.items()]
        rows = np.zeros(len(next(iter(columns.values()))), dtype=layout)
        for name, array in columns.items():
            rows[name] = array
        lines = rows.view(np.uint8).reshape(height, -1)
        lines = np.pad(lines, ((0, 0), (0, padding)))
        fields = [
            self.make("sensor_msgs/msg/PointField", name=name, offset=rows.dtype.fields[name][1],
                      datatype=NUMBERS[array.dtype.str[1:]], count=1)
            for name, array in columns.items()
        ]  # fmt: skip
        message = self.make(
            "sensor_msgs/msg/PointCloud2",
            header=self.header(stamp, "lidar_link"),
            height=height,
            width=len(rows) // height,
            fields=fields,
            is_bigendian=big,
            point_step=rows.itemsize,
            row_step=lines.shape[1],
            data=lines.ravel(),
            is_dense=True,
        )
        self.add(topic, stamp, message)

    def write(self):
        path = self.folder / ("user.bag" if self.kind == "bag" else "user")
        if self.kind == "bag":
            writer, serialise = Writer1(path), self.store.serialize_ros1
        else:
            plugin = StoragePlugin.MCAP if self.kind == "mcap" else StoragePlugin.SQLITE3
            writer, serialise = (
                Writer2(path, version=8, storage_plugin=plugin),
                self.store.serialize_cdr,
            )
        with writer:
            opened = {}
            for topic, stamp, message in sorted(self.messages, key=lambda each: each[1]):
                kind = message.__msgtype__
                if topic not in opened:
                    opened[topic] = writer.add_connection(topic, kind, typestore=self.store)
                writer.write(opened[topic], stamp, serialise(message, kind))
        return path


def truth(rng):
    """Starts of scans, points and times in ns since the start: what every vendor means."""
    starts = [START + (i + 2) * PERIOD for i in range(SCANS)]
    points = [rng.uniform(1, 9, size=(POINTS, 3)).astype("f4") for _ in starts]
    times = np.linspace(0, PERIOD - 1000, POINTS).astype(np.int64) // 1000 * 1000
    return starts, points, times


def xyz(point):
    return {axis: point[:, i] for i, axis in enumerate("xyz")}


VENDORS = {
    "velodyne": lambda t, start: {"time": (t / 1e9).astype("f4")},
    "ouster": lambda t, start: {"t": t.astype("u4")},
    "hesai": lambda t, start: {"timestamp": (start + t) / 1e9},
    "livox PointCloud2": lambda t, start: {"timestamp": (start + t).astype("f8")},
    "microseconds": lambda t, start: {"time": (t // 1000).astype("u4")},
    "milliseconds": lambda t, start: {"time": (t / 1e6).astype("f4")},
}
CLOSE_NS = {"velodyne": 8, "hesai": 500, "livox PointCloud2": 300, "milliseconds": 8}


def imu_stamps(first=START, last=START + (SCANS + 4) * PERIOD):
    return np.arange(first, last, 5_000_000)


def vendor_bag(folder, rng, vendor="ouster", kind="mcap", **layout):
    bag = UserBag(folder, kind).add_imu(imu_stamps())
    starts, points, times = truth(rng)
    for start, point in zip(starts, points, strict=True):
        ring = np.arange(POINTS, dtype="u2") % 4
        columns = xyz(point) | VENDORS[vendor](times, start) | {"ring": ring}
        bag.add_cloud(start, columns, **layout)
    return bag, (starts, points, times)
