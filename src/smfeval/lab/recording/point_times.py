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
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS

NAMES = ("t", "offset_time", "time", "timestamp", "time_stamp", "t_offset", "time_offset")
UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}  # in ns
SHORTEST_S, LONGEST_S = 5e-3, 1.0  # of a scan; less than a factor 1000, so one unit fits


@dataclass(frozen=True)
class PointTimes:
    """How the numbers of a time field are to be read."""

    field: str
    unit: str
    absolute: bool

    @property
    def words(self) -> str:
        """'field t in ns since the stamp of the cloud'."""
        origin = "absolute" if self.absolute else "since the stamp of the cloud"
        return f"per-point times: field {self.field} in {self.unit}, {origin}"


def settled(field: str, scans: list[Floats], place: str) -> PointTimes:
    """Unit and origin of a field, from the values of all scans."""
    full = [values for values in scans if len(values)]
    if not full:
        raise FormatError(f"{place}: all scans are empty")
    span = float(np.median([np.ptp(values) for values in full]))
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
    largest = max(float(np.abs(values).max()) for values in full)
    return PointTimes(field, fitting[0], largest * UNITS[fitting[0]] > 2 * LONGEST_S * NANOSECONDS)


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
