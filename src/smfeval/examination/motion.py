"""Time and motion of a track: rate, gaps, path length, speeds."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import Track

GAP_FACTOR = 2.5  # a step longer than this many median steps is a gap: at least one scan is missing


@dataclass(frozen=True)
class Motion:
    """Scans in time and the way they cover. Rates and speeds are None for a single scan."""

    scans: int
    duration_s: float
    rate_hz: float | None
    gaps: int
    longest_gap_s: float | None
    path_m: float
    median_speed: float | None  # m/s
    fastest_speed: float | None
    fastest_scan: int | None  # index of the scan that the fastest step leads to


def motion(track: Track) -> Motion:
    """Describe the motion of a track of poses."""
    step_s = np.diff(track.stamp) / NANOSECONDS
    step_m = np.linalg.norm(np.diff(track.position, axis=0), axis=1)
    if len(step_s) == 0:
        return Motion(1, 0.0, None, 0, None, 0.0, None, None, None)
    usual = float(np.median(step_s))
    speed = step_m / step_s
    return Motion(
        scans=len(track),
        duration_s=track.duration_s,
        rate_hz=1 / usual,
        gaps=int((step_s > GAP_FACTOR * usual).sum()),
        longest_gap_s=float(step_s.max()),
        path_m=float(step_m.sum()),
        median_speed=float(np.median(speed)),
        fastest_speed=float(speed.max()),
        fastest_scan=int(np.argmax(speed)) + 1,
    )
