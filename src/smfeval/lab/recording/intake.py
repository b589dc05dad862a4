"""What is left out of a recording on the way in, and what is noted; everything is counted."""

from dataclasses import dataclass, replace

import numpy as np

from smfeval.errors import FormatError
from smfeval.lab.recording.data import GRAVITY_M_S2, Imu, Scans
from smfeval.maths.arrays import Bools, Ints
from smfeval.maths.stamps import NANOSECONDS

FEWEST_SAMPLES = 2  # of the IMU: fewer span no scan
GAP_PERIODS = 5  # an IMU gap is this many times the usual step; filters then extrapolate


@dataclass(frozen=True)
class Kept:
    """What is left, and the notes about what is not."""

    imu: Imu
    scans: Scans
    notes: tuple[str, ...]


def sifted(imu: Imu, scans: Scans, place: str) -> Kept:
    """Sort the IMU, drop scans that are empty or that the IMU does not span, note the gaps."""
    imu, notes = _ordered(imu)
    if len(imu.stamp) < FEWEST_SAMPLES:
        told = f"{len(imu.stamp)} usable IMU samples ({'; '.join(notes) or 'no more are there'})"
        raise FormatError(f"{place}: {told}; at least {FEWEST_SAMPLES} are needed")
    imu, units = _in_metres(imu)
    notes += units + _gaps(imu)
    count = np.diff(scans.offset)
    spanned = (scans.start >= imu.stamp[0]) & (scans.end <= imu.stamp[-1])
    notes += _counted(int((count == 0).sum()), "empty scan", "left out")
    outside = int((~spanned & (count > 0)).sum())
    notes += _counted(outside, "scan", "before the first or after the last IMU sample left out")
    kept = chosen(scans, spanned & (count > 0))
    if len(kept) == 0:
        raise FormatError(f"{place}: no scan is left ({'; '.join(notes) or 'there is none'})")
    return Kept(imu, kept, tuple(notes))


def chosen(scans: Scans, mask: Bools) -> Scans:
    """The scans that a mask (s,) names."""
    if mask.all():
        return scans
    count = np.diff(scans.offset)
    points = np.repeat(mask, count)
    offset: Ints = np.concatenate([[0], np.cumsum(count[mask])])
    ring = None if scans.ring is None else scans.ring[points]
    return Scans(
        scans.start[mask], scans.end[mask], offset, scans.point[points], scans.time[points], ring
    )


def _ordered(imu: Imu) -> tuple[Imu, list[str]]:
    """Samples in the order of time, each stamp once, without NaN."""
    finite = np.isfinite(np.concatenate([imu.gyro, imu.acceleration], axis=1)).all(axis=1)
    notes = _counted(int((~finite).sum()), "IMU sample", "with NaN left out")
    rows = np.flatnonzero(finite)
    stamp, first = np.unique(imu.stamp[rows], return_index=True)
    notes += _counted(len(rows) - len(stamp), "IMU sample", "with a stamp already seen left out")
    if (np.diff(imu.stamp) < 0).any():
        notes.append("IMU stamps step back; the samples were sorted by time")
    order = rows[first]
    return Imu(stamp, imu.gyro[order], imu.acceleration[order]), notes


def _in_metres(imu: Imu) -> tuple[Imu, list[str]]:
    """Accelerations in m/s^2; some LiDARs' own IMUs report units of g."""
    size = float(np.median(np.linalg.norm(imu.acceleration, axis=1)))
    if 0.8 < size < 1.2:
        note = f"accelerations have a median of {size:.2f}: taken as g, times {GRAVITY_M_S2}"
        return replace(imu, acceleration=GRAVITY_M_S2 * imu.acceleration), [note]
    if not 8 < size < 12:
        return imu, [f"accelerations have a median of {size:.3g} m/s^2; 9.8 is expected"]
    return imu, []


def _gaps(imu: Imu) -> list[str]:
    step = np.diff(imu.stamp)
    gap = step > GAP_PERIODS * np.median(step)
    if not gap.any():
        return []
    longest = step.max() / NANOSECONDS
    return [*_counted(int(gap.sum()), "gap", f"in the IMU, the longest {longest:.3g} s")]


def _counted(number: int, noun: str, words: str) -> list[str]:
    return [f"{number:,} {noun}{'' if number == 1 else 's'} {words}"] if number else []
