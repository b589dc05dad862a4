"""Livox messages: livox_ros_driver/CustomMsg and livox_ros_driver2/CustomMsg, from their bytes.

::

    Header header, uint64 timebase, uint32 point_num, uint8 lidar_id, uint8[3] rsvd,
    CustomPoint[] points: uint32 offset_time (ns), float32 x y z, uint8 reflectivity tag line

A message has some 20,000 points; as Python objects they take ten times longer.
"""

import struct

import numpy as np

from smfeval.errors import FormatError
from smfeval.lab.recording.bag_clouds import Cloud, sound

POINT = [("time", "<u4"), ("x", "<f4"), ("y", "<f4"), ("z", "<f4"),
         ("reflectivity", "u1"), ("tag", "u1"), ("line", "u1")]  # fmt: skip
SIZE = 19  # bytes of a point
AHEAD = 16  # bytes between the header and the number of points: timebase, point_num, id, rsvd


def from_ros1(data: bytes, place: str) -> Cloud:
    """Points of a message of ROS 1: everything is packed."""
    _, second, rest, letters = struct.unpack_from("<4I", data, 0)
    frame = data[16 : 16 + letters].decode()
    return _cloud(
        data, place, stamp=(second, rest), frame=frame, at=16 + letters + AHEAD, step=SIZE
    )


def from_ros2(data: bytes, place: str) -> Cloud:
    """Points of a message of ROS 2 (CDR): numbers stand at multiples of their size."""
    if data[1] != 1:
        raise FormatError(f"{place}: the messages are in big-endian order, which is not read")
    body = data[4:]
    second, rest, letters = struct.unpack_from("<iII", body, 0)
    frame = body[12 : 12 + letters - 1].decode()
    at = -(-(12 + letters) // 8) * 8 + AHEAD
    return _cloud(body, place, stamp=(second, rest), frame=frame, at=at, step=SIZE + 1)


def _cloud(
    data: bytes, place: str, *, stamp: tuple[int, int], frame: str, at: int, step: int
) -> Cloud:
    """Points from byte `at` on, which holds their number, one every `step` bytes."""
    (count,) = struct.unpack_from("<I", data, at)
    first = at + 4
    if count and first + (count - 1) * step + SIZE > len(data):
        raise FormatError(f"{place}: a cloud with fewer bytes than its {count} points need")
    layout = np.dtype({"names": [name for name, _ in POINT],
                       "formats": [kind for _, kind in POINT],
                       "offsets": [0, 4, 8, 12, 16, 17, 18], "itemsize": step})  # fmt: skip
    whole = bytes(data[first : first + count * step]).ljust(count * step, b"\0")
    rows = np.frombuffer(whole, dtype=layout)
    point = np.stack([rows[axis] for axis in "xyz"], axis=1)
    cloud = Cloud(stamp, frame, "offset_time", point, rows["time"].astype("f8"), rows["line"])
    return sound(cloud)
