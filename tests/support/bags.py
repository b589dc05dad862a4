"""Small bags, written on the spot with rosbags' own writers."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

KINDS = ("bag", "db3", "mcap")
CUSTOM = {
    "tf2_msgs/msg/TFMessage": "geometry_msgs/TransformStamped[] transforms\n",
    "nav2_msgs/msg/Particle": "geometry_msgs/Pose pose\nfloat64 weight\n",
    "nav2_msgs/msg/ParticleCloud": "std_msgs/Header header\nnav2_msgs/Particle[] particles\n",
    "filter_msgs/msg/Belief": (
        "std_msgs/Header header\ngeometry_msgs/Pose pose\nfloat64[36] covariance\nstring gauge\n"
    ),
    "filter_msgs/msg/Both": (
        "string note\nstd_msgs/Header head\ngeometry_msgs/PoseWithCovariance estimate\n"
        "string child_frame_id\n"
    ),
    "filter_msgs/msg/Short": (
        "std_msgs/Header header\ngeometry_msgs/Pose pose\nfloat64[21] covariance\n"
    ),
}


@dataclass
class Bag:
    """Messages to be written as a bag of one kind, and helpers to make them."""

    kind: str
    folder: Path
    name: str = "run"
    store: Typestore = field(init=False)
    written: list[tuple[str, str, int, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = get_typestore(Stores.ROS1_NOETIC if self.kind == "bag" else Stores.ROS2_JAZZY)
        for name, text in CUSTOM.items():
            self.store.register(get_types_from_msg(text, name))

    def make(self, type_name: str, **fields: Any) -> Any:
        return self.store.types[type_name](**fields)

    def header(self, stamp: int, frame: str = "odom") -> Any:
        seconds, nanoseconds = divmod(stamp, 10**9)
        time = self.make("builtin_interfaces/msg/Time", sec=seconds, nanosec=nanoseconds)
        extra = {"seq": 0} if self.kind == "bag" else {}
        return self.make("std_msgs/msg/Header", stamp=time, frame_id=frame, **extra)

    def pose(self, seven: Any) -> Any:
        x, y, z, *quaternion = (float(number) for number in seven)
        return self.make(
            "geometry_msgs/msg/Pose",
            position=self.make("geometry_msgs/msg/Point", x=x, y=y, z=z),
            orientation=self.quaternion(quaternion),
        )

    def quaternion(self, xyzw: Any) -> Any:
        x, y, z, w = (float(number) for number in xyzw)
        return self.make("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)

    def vector(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Any:
        return self.make("geometry_msgs/msg/Vector3", x=float(x), y=float(y), z=float(z))

    def with_covariance(self, seven: Any, covariance: Any) -> Any:
        flat = np.array(covariance, dtype=np.float64, order="C").reshape(36)
        name = "geometry_msgs/msg/PoseWithCovariance"
        return self.make(name, pose=self.pose(seven), covariance=flat)

    def odometry(
        self, stamp: int, seven: Any, covariance: Any, frame: str = "odom", child: str = "base"
    ) -> Any:
        twist = self.make(
            "geometry_msgs/msg/TwistWithCovariance",
            twist=self.make("geometry_msgs/msg/Twist", linear=self.vector(), angular=self.vector()),
            covariance=np.full(36, 7.0),
        )
        return self.make(
            "nav_msgs/msg/Odometry",
            header=self.header(stamp, frame),
            child_frame_id=child,
            pose=self.with_covariance(seven, covariance),
            twist=twist,
        )

    def transform(self, stamp: int, parent: str, child: str, seven: Any) -> Any:
        inner = self.make(
            "geometry_msgs/msg/Transform",
            translation=self.vector(*seven[:3]),
            rotation=self.quaternion(seven[3:]),
        )
        return self.make(
            "geometry_msgs/msg/TransformStamped",
            header=self.header(stamp, parent),
            child_frame_id=child,
            transform=inner,
        )

    def cloud(self, stamp: int, particles: Any) -> Any:
        members = [
            self.make("nav2_msgs/msg/Particle", pose=self.pose(row[:7]), weight=float(row[7]))
            for row in particles
        ]
        name = "nav2_msgs/msg/ParticleCloud"
        return self.make(name, header=self.header(stamp, "map"), particles=members)

    def belief(self, stamp: int, seven: Any, covariance: Any, gauge: str = "se3") -> Any:
        return self.make(
            "filter_msgs/msg/Belief",
            header=self.header(stamp, "odom"),
            pose=self.pose(seven),
            covariance=np.array(covariance, dtype=np.float64, order="C").reshape(36),
            gauge=gauge,
        )

    def add(self, topic: str, message: Any, received: int | None = None) -> "Bag":
        when = 10**18 + len(self.written) * 10**6 if received is None else received
        self.written.append((topic, message.__msgtype__, when, message))
        return self

    def write(self, *, compress: bool = False) -> Path:
        """Write the bag: a .bag file, or a folder with metadata.yaml."""
        return self._write_ros1() if self.kind == "bag" else self._write_ros2(compress)

    def file(self, path: Path) -> Path:
        """The file inside a ROS 2 folder; a ROS 1 bag itself."""
        return path if path.is_file() else path / f"{path.name}.{self.kind}"

    def _write_ros1(self) -> Path:
        path = self.folder / f"{self.name}.bag"
        with Writer1(path) as writer:
            self._fill(writer, self.store.serialize_ros1)
        return path

    def _write_ros2(self, compress: bool) -> Path:
        path = self.folder / self.name
        plugin = StoragePlugin.MCAP if self.kind == "mcap" else StoragePlugin.SQLITE3
        writer = Writer2(path, version=9, storage_plugin=plugin)
        if compress:
            writer.set_compression(CompressionMode.MESSAGE, CompressionFormat.ZSTD)
        with writer:
            self._fill(writer, self.store.serialize_cdr)
        return path

    def _fill(self, writer: Any, serialise: Any) -> None:
        connections: dict[str, Any] = {}
        for topic, type_name, when, message in self.written:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, type_name, typestore=self.store)
            writer.write(connections[topic], when, serialise(message, type_name))
