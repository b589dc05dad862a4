"""Scans from the clouds of a LiDAR.

Unit and origin of per-point times are inferred from the values of all scans.
"""

from dataclasses import dataclass, replace

import numpy as np

from smfeval import words
from smfeval.errors import FormatError
from smfeval.io.ros.clouds import Cloud, select_points
from smfeval.io.ros.poses import settle_stamps
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval_lab.recording.data import Scans

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
