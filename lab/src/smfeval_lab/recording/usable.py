"""Which IMU samples and scans of a recording can be used; notes count what is left out.

`drop_unusable` cleans streams as they are read. `usable_scans` is for filters that carry a state
through the IMU: they start at a stamp, hold out over short gaps and stop at a long one.
"""

from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.errors import FormatError, OptionError
from smfeval.maths.arrays import Bools, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval_lab.recording import GRAVITY_M_S2, Imu, Recording, Scans

FEWEST_SAMPLES = 2  # of the IMU: fewer span no scan
NO_IMU = Imu(np.empty(0, dtype=np.int64), np.empty((0, 3)), np.empty((0, 3)))
GAP_PERIODS = 5  # an IMU gap is this many times the usual step; filters then extrapolate


def drop_unusable(imu: Imu, scans: Scans, place: str) -> tuple[Imu, Scans, tuple[str, ...]]:
    """Sort the IMU, drop scans that are empty or that the IMU does not span, note the gaps.

    Without any sample, only empty scans are dropped. Returns what is left, and notes on the rest.
    """
    points = np.diff(scans.offset)
    empty = _count_notes(int((points == 0).sum()), "empty scan", "left out")
    if len(imu.stamp) == 0:
        if not points.any():
            raise FormatError(f"{place}: no scan has points")
        return NO_IMU, select_scans(scans, points > 0), tuple(empty)
    imu, notes = _sort_imu(imu)
    if len(imu.stamp) < FEWEST_SAMPLES:
        raise FormatError(
            f"{place}: {len(imu.stamp)} usable IMU samples "
            f"({'; '.join(notes) or 'no more are there'}); at least {FEWEST_SAMPLES} are needed"
        )
    size = float(np.median(np.linalg.norm(imu.acceleration, axis=1)))
    if 0.8 < size < 1.2:  # some LiDARs' own IMUs report units of g
        imu = replace(imu, acceleration=GRAVITY_M_S2 * imu.acceleration)
        taken = f"taken as g, times {GRAVITY_M_S2}"
        notes.append(f"accelerations have a median of {words.fixed(size, 2)}: {taken}")
    elif not 8 < size < 12:
        notes.append(f"accelerations have a median of {words.number(size)} m/s^2; 9.8 is expected")
    step = np.diff(imu.stamp)
    longest = f"in the IMU, the longest {words.duration(step.max() / NANOSECONDS)}"
    gaps = int((step > GAP_PERIODS * np.median(step)).sum())
    notes += _count_notes(gaps, "gap", longest) + empty
    spanned = (scans.start >= imu.stamp[0]) & (scans.end <= imu.stamp[-1])
    outside = int((~spanned & (points > 0)).sum())
    notes += _count_notes(outside, "scan", "before the first or after the last IMU sample left out")
    kept = select_scans(scans, spanned & (points > 0))
    if len(kept) == 0:
        raise FormatError(f"{place}: no scan is left ({'; '.join(notes) or 'there is none'})")
    return imu, kept, tuple(notes)


def select_scans(scans: Scans, mask: Bools) -> Scans:
    """The scans that a mask (s,) names."""
    if mask.all():
        return scans
    size = np.diff(scans.offset)
    points = np.repeat(mask, size)
    offset: Ints = np.concatenate([[0], np.cumsum(size[mask])])
    ring = None if scans.ring is None else scans.ring[points]
    return Scans(
        scans.start[mask], scans.end[mask], offset, scans.point[points], scans.time[points], ring
    )


def _sort_imu(imu: Imu) -> tuple[Imu, list[str]]:
    """Samples in the order of time, each stamp once, without NaN."""
    finite = np.isfinite(np.concatenate([imu.gyro, imu.acceleration], axis=1)).all(axis=1)
    notes = _count_notes(int((~finite).sum()), "IMU sample", "with NaN left out")
    rows = np.flatnonzero(finite)
    stamp, first = np.unique(imu.stamp[rows], return_index=True)
    twice = len(rows) - len(stamp)
    notes += _count_notes(twice, "IMU sample", "with a stamp already seen left out")
    if (np.diff(imu.stamp) < 0).any():
        notes.append("IMU stamps step back; the samples were sorted by time")
    order = rows[first]
    return Imu(stamp, imu.gyro[order], imu.acceleration[order]), notes


# Missing IMU samples in a row that a note tells of. The values around a gap are interpolated; where
# the IMU ends its last value is held for as long.
GAP_SAMPLES = 5
LONGEST_GAP_S = 1.0  # without IMU for longer, nobody knows where the body is: the run stops


def check_recording(recording: Recording, *, imu: bool = True) -> None:
    """Raise if there is nothing to run on, or time runs backward; `imu`: whether it is needed."""
    sampled, scans = recording.imu, recording.scans
    if not imu:
        sampled = NO_IMU
        if len(scans) == 0:
            raise OptionError(f"{recording.name}: there are no scans")
    elif len(sampled.stamp) < FEWEST_SAMPLES or len(scans) == 0:
        has = f"{len(sampled.stamp)} IMU samples and {len(scans)} scans"
        raise OptionError(f"{recording.name}: the filter needs both IMU and scans; there are {has}")
    for what, stamp in (("IMU samples", sampled.stamp), ("scans", scans.end)):
        if not (np.diff(stamp) > 0).all():
            row = int(np.argmin(np.diff(stamp) > 0)) + 1
            raise OptionError(f"{recording.name}: {what} run backward in time at number {row + 1}")
    if not (np.isfinite(sampled.gyro).all() and np.isfinite(sampled.acceleration).all()):
        raise OptionError(f"{recording.name}: some IMU values are no numbers")


def usable_scans(
    recording: Recording, begin: int, *, undistort: bool, imu: bool = True
) -> tuple[Ints, list[str]]:
    """The scans that end after `begin` and, if it is needed, before the IMU falls silent.

    Returns their indices, in the order of time, and notes on what is left out.
    """
    sampled, scans = recording.imu, recording.scans
    if undistort and len(scans.time) > 1 and not np.ptp(scans.time):
        raise OptionError(
            "the points have no times of their own, so the motion within a scan cannot be undone; "
            "undistort=false runs on the points as they are"
        )
    if not imu:
        return np.arange(len(scans)), []

    early = int(np.sum(scans.end <= begin))
    # from the last stamp at or before `begin` on: a gap may lie across it
    stamp = sampled.stamp[max(int(np.searchsorted(sampled.stamp, begin, side="right")) - 1, 0) :]
    gap, usual = np.diff(stamp), np.median(np.diff(sampled.stamp))
    long = np.flatnonzero(gap > LONGEST_GAP_S * NANOSECONDS)
    last, silence = (stamp[long[0]], gap[long[0]]) if len(long) else (stamp[-1], 0)  # 0: it ends
    late = int(np.searchsorted(scans.end, last + int(GAP_SAMPLES * usual), side="right"))

    lost = len(scans) - late
    silent = _count_notes(lost, "scan", "left out, after the last IMU sample")
    if lost and silence:
        silent = [
            f"stopped {words.count(lost, 'scan')} before the end: the IMU is silent for "
            f"{words.duration(float(silence) / NANOSECONDS)}, more than "
            f"{words.duration(LONGEST_GAP_S)}"
        ]
    if late <= early:
        why = "".join(f" ({note})" for note in silent)
        raise OptionError(f"{recording.name}: no scan ends while the IMU runs{why}")
    standing = "left out, over before the IMU has shown the direction of gravity"
    notes = _count_notes(early, "scan", standing)
    wide = gap[gap > (GAP_SAMPLES + 1) * usual]
    if len(wide):
        notes.append(
            f"{words.count(len(wide), 'gap')} of more than {GAP_SAMPLES} samples in the IMU, the "
            f"longest of {words.duration(float(wide.max()) / NANOSECONDS)}; its values are "
            "interpolated there"
        )
    return np.arange(early, late), [*notes, *silent]


def _count_notes(number: int, noun: str, why: str) -> list[str]:
    return [f"{words.count(number, noun)} {why}"] if number else []
