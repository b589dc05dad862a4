"""Clouds of a LiDAR in a bag: PointCloud2, whatever fields the vendor chose, and Livox."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.errors import FormatError
from smfeval.io.ros.bag import Bag, open_bag, translate_damage
from smfeval.io.ros.poses import settle_stamps
from smfeval.io.ros.topics import named_topic
from smfeval.maths.arrays import Bools, Floats, Ints

CLOUD = "sensor_msgs/msg/PointCloud2"
LIVOX = ("livox_ros_driver2/msg/CustomMsg", "livox_ros_driver/msg/CustomMsg")


@dataclass(frozen=True)
class Cloud:
    """One message. Points that are not finite, or at the origin (no return), are left out."""

    stamp: tuple[int, int]  # s, ns
    frame: str
    field: str  # that the times are from
    point: Floats  # (n, 3) float32
    time: Floats  # (n,) as written
    ring: Ints | None
    left_out: int = 0


TIME_FIELDS = ("t", "offset_time", "time", "timestamp", "time_stamp", "t_offset", "time_offset")
RING_FIELDS = ("ring", "line", "channel")
POINT_FIELD_TYPES = dict(enumerate(("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8"), start=1))


def decode_pointcloud2(message: Any, place: str, *, timed: bool = True) -> Cloud:
    """Points of a sensor_msgs/PointCloud2; without times of their own only if none are asked."""
    fields = {
        f.name: f for f in message.fields if f.datatype in POINT_FIELD_TYPES and f.count in (0, 1)
    }
    if not {"x", "y", "z"} <= fields.keys():
        raise FormatError(f"{place}: a cloud without x, y and z ({', '.join(fields)})")
    order, names = ">" if message.is_bigendian else "<", list(fields)
    layout = np.dtype(
        {
            "names": names,
            "formats": [order + POINT_FIELD_TYPES[f.datatype] for f in fields.values()],
            "offsets": [f.offset for f in fields.values()],
            "itemsize": message.point_step,
        }
    )
    height, width, rows = message.height, message.width, np.zeros(0, dtype=layout)
    if width * height:
        data, step, used = message.data, message.row_step, width * message.point_step
        if len(data) < step * height or step < used:
            raise FormatError(
                f"{place}: a cloud with fewer bytes than its {width * height} points need"
            )
        lines = np.asarray(data, dtype=np.uint8)[: step * height].reshape(height, step)
        rows = np.ascontiguousarray(lines[:, :used]).view(layout).ravel()

    field = next((name for name in TIME_FIELDS if name in names), None)
    if field is None and timed:
        raise FormatError(
            f"{place}: the points have no times of their own (fields: {', '.join(names)}); "
            f"one of {', '.join(TIME_FIELDS)} is needed to undo the motion within a scan; "
            "--no-point-times and undistort=false run a filter on the points as they are"
        )
    point = np.stack([rows[axis].astype("f4") for axis in "xyz"], axis=1)
    ring = next((rows[name] for name in RING_FIELDS if name in names), None)
    head = message.header
    stamp = (head.stamp.sec, head.stamp.nanosec)
    time = np.zeros(len(rows)) if field is None else rows[field].astype("f8")
    return drop_invalid_points(Cloud(stamp, head.frame_id, field or "", point, time, ring))


LIVOX_NAMES = ("time", "x", "y", "z", "reflectivity", "tag", "line")
LIVOX_FORMATS, LIVOX_OFFSETS = ("<u4", *3 * ("<f4",), *3 * ("u1",)), (0, 4, 8, 12, 16, 17, 18)
LIVOX_POINT_BYTES = 19  # bytes of a point
LIVOX_PREFIX_BYTES = 16  # from the header to the number of points: timebase, point_num, id, rsvd


def decode_livox(data: bytes, place: str, *, ros2: bool) -> Cloud:
    """Points of a Livox message: packed in ROS 1; numbers at multiples of their size in ROS 2."""
    if not ros2:
        _, second, rest, letters = struct.unpack_from("<4I", data, 0)
        frame, head, step = data[16 : 16 + letters].decode(), 16 + letters, LIVOX_POINT_BYTES
    elif data[1] != 1:
        raise FormatError(f"{place}: the messages are in big-endian order, which is not read")
    else:
        data, step = data[4:], LIVOX_POINT_BYTES + 1
        second, rest, letters = struct.unpack_from("<iII", data, 0)
        frame, head = data[12 : 12 + letters - 1].decode(), -(-(12 + letters) // 8) * 8

    at = head + LIVOX_PREFIX_BYTES
    (count,) = struct.unpack_from("<I", data, at)
    first = at + 4
    if count and first + (count - 1) * step + LIVOX_POINT_BYTES > len(data):
        raise FormatError(f"{place}: a cloud with fewer bytes than its {count} points need")
    fields = {"names": LIVOX_NAMES, "formats": LIVOX_FORMATS, "offsets": LIVOX_OFFSETS}
    layout = np.dtype(fields | {"itemsize": step})  # type: ignore[call-overload]
    whole = bytes(data[first : first + count * step]).ljust(count * step, b"\0")
    rows = np.frombuffer(whole, dtype=layout)
    point = np.stack([rows[axis] for axis in "xyz"], axis=1)
    time, stamp = rows["time"].astype("f8"), (second, rest)
    cloud = Cloud(stamp, frame, "offset_time", point, time, rows["line"])
    return drop_invalid_points(cloud)


def drop_invalid_points(cloud: Cloud) -> Cloud:
    """The cloud without points that are not finite or that had no return."""
    point, time = cloud.point, cloud.time
    good = np.isfinite(point).all(axis=1) & point.any(axis=1) & np.isfinite(time)
    return replace(select_points(cloud, good), left_out=int((~good).sum()))


def select_points(cloud: Cloud, good: Bools) -> Cloud:
    """The cloud with those points that a mask (n,) names."""
    if good.all() and (cloud.ring is None or cloud.ring.dtype == np.uint16):
        return cloud
    ring = None if cloud.ring is None else cloud.ring[good].astype("u2")
    return replace(cloud, point=cloud.point[good], time=cloud.time[good], ring=ring)


def cloud_decoder(bag: Bag, *, livox: bool, timed: bool) -> Callable[[Any, str], Cloud]:
    """How a message becomes a cloud."""
    if not livox:
        return partial(decode_pointcloud2, timed=timed)
    return partial(decode_livox, ros2=bag.kind == "ROS 2 bag")


def lidar_topic(bag: Bag, name: str | None, how: str) -> tuple[str, list[str]]:
    """The LiDAR topic, and a note if it was not named; `how` one of several can be."""
    return find_topic(bag, name, (CLOUD, *LIVOX), "LiDAR", how)


def find_topic(
    bag: Bag, name: str | None, types: tuple[str, ...], what: str, how: str
) -> tuple[str, list[str]]:
    """The topic of a name, or the only one of these types, with a note."""
    kinds = " or ".join(kind.replace("/msg/", "/") for kind in types)
    if name is not None:
        topic = named_topic(bag, name)
        if topic.type not in types:
            raise FormatError(f"{bag.path}:{topic.name}: {topic.type_words}; {kinds} is needed")
        if topic.count == 0:
            raise FormatError(f"{bag.path}:{topic.name}: the topic has no message")
        return topic.name, []
    found = sorted(t.name for t in bag.topics.values() if t.type in types and t.count)
    if not found:
        there = ", ".join(sorted(f"{t.name} ({t.type_words})" for t in bag.topics.values()))
        raise FormatError(f"{bag.path}: no {what} topic ({kinds}); there are: {there or 'none'}")
    if len(found) > 1:
        raise FormatError(
            f"{bag.path}: {len(found)} {what} topics, name one with {how}: {', '.join(found)}"
        )
    return found[0], [f"{what} topic {found[0]} was chosen: there is no other"]


def read_clouds(path: Path, topic: str | None = None) -> Iterator[tuple[int, Floats]]:
    """Stamp in ns and points (n, 3) of every cloud of a LiDAR, one after the other."""
    with open_bag(path) as bag:
        lidar, _ = lidar_topic(bag, topic, f"{path}:/TOPIC")
        livox = bag.topics[lidar].type != CLOUD
        decode = cloud_decoder(bag, livox=livox, timed=False)
        for _, received, message in bag.messages([lidar], raw=[lidar] if livox else []):
            with translate_damage(bag.path):
                cloud = decode(message, f"{bag.path}:{lidar}")
            stamp, _ = settle_stamps([cloud.stamp], [received])
            yield int(stamp[0]), cloud.point
