"""Points, times and rings out of PointCloud2 messages, whatever fields the vendor chose."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfeval.errors import FormatError
from smfeval.lab.recording.point_times import NAMES
from smfeval.maths.arrays import Bools, Floats, Ints

NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}  # PointField
RINGS = ("ring", "line", "channel")


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


def from_cloud(message: Any, place: str, *, timed: bool = True) -> Cloud:
    """Points of a sensor_msgs/PointCloud2; without times of their own only if none are asked."""
    rows = _records(message, place)
    names = rows.dtype.names or ()
    field = next((name for name in NAMES if name in names), None)
    if field is None and timed:
        raise FormatError(
            f"{place}: the points have no times of their own (fields: {', '.join(names)}); "
            f"one of {', '.join(NAMES)} is needed to undo the motion within a scan; "
            "--no-point-times and undistort=false run a filter on the points as they are"
        )
    point = np.stack([rows[axis].astype("f4") for axis in "xyz"], axis=1)
    ring = next((rows[name] for name in RINGS if name in names), None)
    head = message.header
    stamp = (head.stamp.sec, head.stamp.nanosec)
    time = np.zeros(len(rows)) if field is None else rows[field].astype("f8")
    return sound(Cloud(stamp, head.frame_id, field or "", point, time, ring))


def _records(message: Any, place: str) -> NDArray[np.void]:
    """The bytes of a cloud as records with the fields that it declares."""
    fields = {f.name: f for f in message.fields if f.datatype in NUMBERS and f.count in (0, 1)}
    if not {"x", "y", "z"} <= fields.keys():
        raise FormatError(f"{place}: a cloud without x, y and z ({', '.join(fields)})")
    order = ">" if message.is_bigendian else "<"
    layout = np.dtype(
        {
            "names": list(fields),
            "formats": [order + NUMBERS[f.datatype] for f in fields.values()],
            "offsets": [f.offset for f in fields.values()],
            "itemsize": message.point_step,
        }
    )
    width, height = message.width, message.height
    data = np.asarray(message.data, dtype=np.uint8)
    if width * height == 0:
        return np.zeros(0, dtype=layout)
    if len(data) < message.row_step * height or message.row_step < width * message.point_step:
        raise FormatError(
            f"{place}: a cloud with fewer bytes than its {width * height} points need"
        )
    lines = data[: message.row_step * height].reshape(height, message.row_step)
    return np.ascontiguousarray(lines[:, : width * message.point_step]).view(layout).ravel()


def sound(cloud: Cloud) -> Cloud:
    """The cloud without points that are not finite or that had no return."""
    point, time = cloud.point, cloud.time
    good = np.isfinite(point).all(axis=1) & point.any(axis=1) & np.isfinite(time)
    return replace(chosen_points(cloud, good), left_out=int((~good).sum()))


def chosen_points(cloud: Cloud, good: Bools) -> Cloud:
    """The cloud with those points that a mask (n,) names."""
    if good.all() and (cloud.ring is None or cloud.ring.dtype == np.uint16):
        return cloud
    ring = None if cloud.ring is None else cloud.ring[good].astype("u2")
    return replace(cloud, point=cloud.point[good], time=cloud.time[good], ring=ring)
