"""Scans from the messages of a LiDAR: PointCloud2, whatever fields the vendor chose, and Livox.

Unit and origin of per-point times are inferred from the values of all scans.
"""

import struct
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfeval import words
from smfeval.errors import FormatError
from smfeval.io.ros.poses import settle_stamps
from smfeval.lab.recording.data import Scans
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS


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
POINT_FIELD_TYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    8: "f8",
}  # PointField


def decode_pointcloud2(message: Any, place: str, *, timed: bool = True) -> Cloud:
    """Points of a sensor_msgs/PointCloud2; without times of their own only if none are asked."""
    rows = _records(message, place)
    names = rows.dtype.names or ()
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


def _records(message: Any, place: str) -> NDArray[np.void]:
    """The bytes of a cloud as records with the fields that it declares."""
    fields = {
        f.name: f for f in message.fields if f.datatype in POINT_FIELD_TYPES and f.count in (0, 1)
    }
    if not {"x", "y", "z"} <= fields.keys():
        raise FormatError(f"{place}: a cloud without x, y and z ({', '.join(fields)})")
    order = ">" if message.is_bigendian else "<"
    layout = np.dtype(
        {
            "names": list(fields),
            "formats": [order + POINT_FIELD_TYPES[f.datatype] for f in fields.values()],
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


LIVOX_POINT = [("time", "<u4"), ("x", "<f4"), ("y", "<f4"), ("z", "<f4"),
         ("reflectivity", "u1"), ("tag", "u1"), ("line", "u1")]  # fmt: skip
LIVOX_POINT_BYTES = 19  # bytes of a point
LIVOX_PREFIX_BYTES = (
    16  # bytes between the header and the number of points: timebase, point_num, id, rsvd
)


def decode_livox_ros1(data: bytes, place: str) -> Cloud:
    """Points of a message of ROS 1: everything is packed."""
    _, second, rest, letters = struct.unpack_from("<4I", data, 0)
    frame = data[16 : 16 + letters].decode()
    return _decode_livox(
        data,
        place,
        stamp=(second, rest),
        frame=frame,
        at=16 + letters + LIVOX_PREFIX_BYTES,
        step=LIVOX_POINT_BYTES,
    )


def decode_livox_ros2(data: bytes, place: str) -> Cloud:
    """Points of a message of ROS 2 (CDR): numbers stand at multiples of their size."""
    if data[1] != 1:
        raise FormatError(f"{place}: the messages are in big-endian order, which is not read")
    body = data[4:]
    second, rest, letters = struct.unpack_from("<iII", body, 0)
    frame = body[12 : 12 + letters - 1].decode()
    at = -(-(12 + letters) // 8) * 8 + LIVOX_PREFIX_BYTES
    return _decode_livox(
        body, place, stamp=(second, rest), frame=frame, at=at, step=LIVOX_POINT_BYTES + 1
    )


def _decode_livox(
    data: bytes, place: str, *, stamp: tuple[int, int], frame: str, at: int, step: int
) -> Cloud:
    """Points from byte `at` on, which holds their number, one every `step` bytes."""
    (count,) = struct.unpack_from("<I", data, at)
    first = at + 4
    if count and first + (count - 1) * step + LIVOX_POINT_BYTES > len(data):
        raise FormatError(f"{place}: a cloud with fewer bytes than its {count} points need")
    layout = np.dtype({"names": [name for name, _ in LIVOX_POINT],
                       "formats": [kind for _, kind in LIVOX_POINT],
                       "offsets": [0, 4, 8, 12, 16, 17, 18], "itemsize": step})  # fmt: skip
    whole = bytes(data[first : first + count * step]).ljust(count * step, b"\0")
    rows = np.frombuffer(whole, dtype=layout)
    point = np.stack([rows[axis] for axis in "xyz"], axis=1)
    cloud = Cloud(stamp, frame, "offset_time", point, rows["time"].astype("f8"), rows["line"])
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


UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}  # in ns
SHORTEST_S, LONGEST_S = 5e-3, 1.0  # of a scan; less than a factor 1000, so one unit fits
FAR_SPANS = 3.0  # scan lengths from the middle of its scan: farther, a point's time is damaged
FAR_NS = 10**9  # farther from the stamp of its cloud, a point has the time of another clock


@dataclass(frozen=True)
class PointTimes:
    """How the numbers of a time field are to be read."""

    field: str
    unit: str
    absolute: bool
    span: float  # of a scan, in that unit

    @property
    def description(self) -> str:
        """'field t in ns since the stamp of the cloud'."""
        if not self.field:
            return "per-point times are not used: all points of a cloud are taken at its stamp"
        origin = "absolute" if self.absolute else "since the stamp of the cloud"
        return f"per-point times: field {self.field} in {self.unit}, {origin}"


NO_POINT_TIMES = PointTimes("", "ns", absolute=False, span=0.0)


def assemble_scans(
    received: list[tuple[int, Cloud]], place: str, stamp_at: str | None, *, timed: bool = True
) -> tuple[Scans, list[str]]:
    """Clouds as scans in the order of time, their points too; not timed: all at the stamp."""
    clouds = [cloud for _, cloud in received]
    if timed:
        times = infer_point_times(clouds[0].field, [cloud.time for cloud in clouds], place)
        clouds, damaged = _drop_damaged_times(clouds, times)
    else:
        times, damaged = NO_POINT_TIMES, []
        clouds = [replace(cloud, time=np.zeros(len(cloud.time))) for cloud in clouds]
    header, notes = settle_stamps([c.stamp for c in clouds], [late for late, _ in received])
    begun = [
        since_start(times, cloud.time, int(stamp), stamp_at=stamp_at)
        for cloud, stamp in zip(clouds, header, strict=True)
    ]
    start = np.array([first for first, _ in begun], dtype=np.int64)
    order = np.argsort(start, kind="stable")
    within = [np.argsort(begun[i][1], kind="stable") for i in order]
    time = [begun[i][1][inside] for i, inside in zip(order, within, strict=True)]
    length = np.array([int(each[-1]) if len(each) else 0 for each in time])
    scans = Scans(
        start[order],
        start[order] + length,
        np.concatenate([[0], np.cumsum([len(each) for each in time])]),
        np.concatenate([clouds[i].point[inside] for i, inside in zip(order, within, strict=True)]),
        np.concatenate(time),
        _rings([clouds[i] for i in order], within),
    )
    return scans, [times.description, *damaged, *notes, *_cloud_notes(clouds, begun, header)]


def _drop_damaged_times(clouds: list[Cloud], times: PointTimes) -> tuple[list[Cloud], list[str]]:
    """The clouds without points whose time is damaged, and how many those are."""
    good = [plausible_times(times, cloud.time) for cloud in clouds]
    lost = sum(int((~each).sum()) for each in good)
    kept = [select_points(cloud, each) for cloud, each in zip(clouds, good, strict=True)]
    return kept, [
        f"{words.count(lost)} points with a time far from their scan left out"
    ] if lost else []


def _rings(clouds: list[Cloud], within: list[Ints]) -> Ints | None:
    """Rings of all points, if every cloud has them."""
    rings = [c.ring[i] for c, i in zip(clouds, within, strict=True) if c.ring is not None]
    return np.concatenate(rings) if len(rings) == len(clouds) else None


def _cloud_notes(clouds: list[Cloud], timed: list[tuple[int, Ints]], header: Ints) -> list[str]:
    """Points left out, and scans whose own times are far from their stamps."""
    notes = []
    lost = sum(cloud.left_out for cloud in clouds)
    if lost:
        notes.append(f"{words.count(lost)} points without a return (NaN or zero) left out")
    apart = max(abs(first - int(stamp)) for (first, _), stamp in zip(timed, header, strict=True))
    if apart > FAR_NS:
        notes.append(
            f"per-point times are up to {words.duration(apart / 1e9)} from the stamps of the "
            "clouds: if the IMU has the clock of the stamps, read with stamp_at start or end"
        )
    return notes


def infer_point_times(field: str, scans: list[Floats], place: str) -> PointTimes:
    """Unit and origin of a field, from the values of all scans."""
    full = [values for values in scans if len(values)]
    if not full:
        raise FormatError(f"{place}: all scans are empty")
    span = float(np.median([_span(values) for values in full]))
    if span == 0:
        raise FormatError(
            f"{place}: the per-point times (field {field}) are all the same in each scan; "
            "without them the motion within a scan cannot be undone"
        )
    fitting = [u for u, ns in UNITS.items() if SHORTEST_S <= span * ns / NANOSECONDS <= LONGEST_S]
    if not fitting:
        raise FormatError(
            f"{place}: the per-point times (field {field}) of a scan span {words.number(span)}, "
            "which is no scan of 5 ms to 1 s in s, ms, us or ns"
        )
    unit = fitting[0]
    middle = float(np.median([np.median(np.abs(values)) for values in full]))
    return PointTimes(field, unit, middle * UNITS[unit] > 2 * LONGEST_S * NANOSECONDS, span)


def _span(values: Floats) -> float:
    """Of the times of a scan, without the outermost tenth: single damaged times do not count."""
    low, high = np.quantile(values, [0.05, 0.95])
    return float(high - low) / 0.9


def plausible_times(times: PointTimes, values: Floats) -> Bools:
    """Points whose time lies within some scan lengths of the middle of their scan. (n,)."""
    if len(values) == 0:
        return np.zeros(0, dtype=bool)
    return np.abs(values - np.median(values)) <= FAR_SPANS * times.span


def since_start(
    times: PointTimes, values: Floats, stamp: int, *, stamp_at: str | None
) -> tuple[int, Ints]:
    """Start of a scan in ns, and the times of its points since then."""
    unit = UNITS[times.unit]
    if len(values) == 0:
        return stamp, np.zeros(0, dtype=np.int32)
    first = values.min() if times.absolute else min(values.min(), 0)
    since = np.rint((values - first) * unit).astype(np.int32)
    start = round(float(first) * unit)
    if not times.absolute:
        start += stamp
    if stamp_at == "end":
        start = stamp - int(since.max())
    elif stamp_at == "start":
        start = stamp
    return start, since
