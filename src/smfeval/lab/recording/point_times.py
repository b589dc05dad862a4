"""Per-point times: vendors differ in name, unit and origin.

::

    Velodyne            time         float32  s since the stamp of the cloud (negative: before it)
    Ouster              t            uint32   ns since the stamp
    Hesai, Robosense    timestamp    float64  s, absolute
    Livox PointCloud2   timestamp    float64  ns, absolute
    Livox CustomMsg     offset_time  uint32   ns since the stamp

A scan lasts between some milliseconds and a second, so its span tells the unit; times beyond a
second tell that they are absolute.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.errors import FormatError
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS

NAMES = ("t", "offset_time", "time", "timestamp", "time_stamp", "t_offset", "time_offset")
UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}  # in ns
SHORTEST_S, LONGEST_S = 5e-3, 1.0  # of a scan; less than a factor 1000, so one unit fits
FAR_SPANS = 3.0  # scan lengths from the middle of its scan: farther, a point's time is damaged


@dataclass(frozen=True)
class PointTimes:
    """How the numbers of a time field are to be read."""

    field: str
    unit: str
    absolute: bool
    span: float  # of a scan, in that unit

    @property
    def words(self) -> str:
        """'field t in ns since the stamp of the cloud'."""
        if not self.field:
            return "per-point times are not used: all points of a cloud are taken at its stamp"
        origin = "absolute" if self.absolute else "since the stamp of the cloud"
        return f"per-point times: field {self.field} in {self.unit}, {origin}"


UNTIMED = PointTimes("", "ns", absolute=False, span=0.0)


def settled(field: str, scans: list[Floats], place: str) -> PointTimes:
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
            f"{place}: the per-point times (field {field}) of a scan span {span:.3g}, which is no "
            "scan of 5 ms to 1 s in s, ms, us or ns"
        )
    unit = fitting[0]
    middle = float(np.median([np.median(np.abs(values)) for values in full]))
    return PointTimes(field, unit, middle * UNITS[unit] > 2 * LONGEST_S * NANOSECONDS, span)


def _span(values: Floats) -> float:
    """Of the times of a scan, without the outermost tenth: single damaged times do not count."""
    low, high = np.quantile(values, [0.05, 0.95])
    return float(high - low) / 0.9


def sound_times(times: PointTimes, values: Floats) -> Bools:
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
