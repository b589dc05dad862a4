"""Which IMU samples and scans of a recording can be used; notes count what is left out.

`drop_unusable` cleans streams as they are read. `usable_scans` is for filters that carry a state
through the IMU: they start at a stamp, hold out over short gaps and stop at a long one.
"""

from dataclasses import dataclass, replace

import numpy as np

from smfeval import words
from smfeval.errors import FormatError, OptionError
from smfeval.maths.arrays import Bools, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval_lab.recording.data import GRAVITY_M_S2, Imu, Recording, Scans

FEWEST_SAMPLES = 2  # of the IMU: fewer span no scan
NO_IMU = Imu(np.empty(0, dtype=np.int64), np.empty((0, 3)), np.empty((0, 3)))
GAP_PERIODS = 5  # an IMU gap is this many times the usual step; filters then extrapolate


@dataclass(frozen=True)
class SensorStreams:
    """What is left, and the notes about what is not."""

    imu: Imu
    scans: Scans
    notes: tuple[str, ...]


def drop_unusable(imu: Imu, scans: Scans, place: str) -> SensorStreams:
    """Sort the IMU, drop scans that are empty or that the IMU does not span, note the gaps.

    Without any sample, only empty scans are dropped.
    """
    if len(imu.stamp) == 0:
        return _drop_empty(scans, place)
    imu, notes = _sort_imu(imu)
    if len(imu.stamp) < FEWEST_SAMPLES:
        raise FormatError(
            f"{place}: {len(imu.stamp)} usable IMU samples "
            f"({'; '.join(notes) or 'no more are there'}); at least {FEWEST_SAMPLES} are needed"
        )
    imu, unit_notes = _in_si_units(imu)
    notes += unit_notes + _gap_notes(imu)
    points = np.diff(scans.offset)
    spanned = (scans.start >= imu.stamp[0]) & (scans.end <= imu.stamp[-1])
    notes += _count_notes(int((points == 0).sum()), "empty scan", "left out")
    outside = int((~spanned & (points > 0)).sum())
    notes += _count_notes(outside, "scan", "before the first or after the last IMU sample left out")
    kept = select_scans(scans, spanned & (points > 0))
    if len(kept) == 0:
        raise FormatError(f"{place}: no scan is left ({'; '.join(notes) or 'there is none'})")
    return SensorStreams(imu, kept, tuple(notes))


def _drop_empty(scans: Scans, place: str) -> SensorStreams:
    filled = np.diff(scans.offset) > 0
    if not filled.any():
        raise FormatError(f"{place}: no scan has points")
    notes = _count_notes(int((~filled).sum()), "empty scan", "left out")
    return SensorStreams(NO_IMU, select_scans(scans, filled), tuple(notes))


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
    notes += _count_notes(
        len(rows) - len(stamp), "IMU sample", "with a stamp already seen left out"
    )
    if (np.diff(imu.stamp) < 0).any():
        notes.append("IMU stamps step back; the samples were sorted by time")
    order = rows[first]
    return Imu(stamp, imu.gyro[order], imu.acceleration[order]), notes


def _in_si_units(imu: Imu) -> tuple[Imu, list[str]]:
    """Accelerations in m/s^2; some LiDARs' own IMUs report units of g."""
    size = float(np.median(np.linalg.norm(imu.acceleration, axis=1)))
    if 0.8 < size < 1.2:
        note = (
            f"accelerations have a median of {words.fixed(size, 2)}: taken as g, times "
            f"{GRAVITY_M_S2}"
        )
        return replace(imu, acceleration=GRAVITY_M_S2 * imu.acceleration), [note]
    if not 8 < size < 12:
        return imu, [f"accelerations have a median of {words.number(size)} m/s^2; 9.8 is expected"]
    return imu, []


def _gap_notes(imu: Imu) -> list[str]:
    step = np.diff(imu.stamp)
    gap = step > GAP_PERIODS * np.median(step)
    if not gap.any():
        return []
    longest = step.max() / NANOSECONDS
    return _count_notes(int(gap.sum()), "gap", f"in the IMU, the longest {words.duration(longest)}")


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


@dataclass(frozen=True)
class ScanSelection:
    """Scans to run over, in the order of time, and notes on what is left out."""

    scans: Ints  # indices
    notes: tuple[str, ...]


def usable_scans(
    recording: Recording, begin: int, *, undistort: bool, imu: bool = True
) -> ScanSelection:
    """The scans that end after `begin` and, if it is needed, before the IMU falls silent."""
    if undistort:
        refuse_without_times(recording.scans)
    if not imu:
        return ScanSelection(np.arange(len(recording.scans)), ())
    return _scans_with_imu(recording, begin)


def _scans_with_imu(recording: Recording, begin: int) -> ScanSelection:
    imu, scans = recording.imu, recording.scans
    early = int(np.sum(scans.end <= begin))
    late, silence = first_uncovered_scan(imu, scans, begin)
    silence_notes = _imu_silence_notes(len(scans) - late, silence)
    usable = np.arange(early, late)
    if len(usable) == 0:
        why = "".join(f" ({note})" for note in silence_notes)
        raise OptionError(f"{recording.name}: no scan ends while the IMU runs{why}")
    notes = [*_early_scan_notes(early), *imu_gap_notes(imu, begin), *silence_notes]
    return ScanSelection(usable, tuple(notes))


def refuse_without_times(scans: Scans) -> None:
    """Raise if all points of every scan have one time: motion within a scan cannot be undone."""
    if len(scans.time) > 1 and not np.ptp(scans.time):
        raise OptionError(
            "the points have no times of their own, so the motion within a scan cannot be undone; "
            "undistort=false runs on the points as they are"
        )


def first_uncovered_scan(imu: Imu, scans: Scans, begin: int) -> tuple[int, float]:
    """Number of the first scan that the IMU does not reach, and the length of the gap there, s.

    A gap of 0: the IMU ends.
    """
    stamp = imu_stamps_from(imu, begin)
    gap = np.diff(stamp)
    long = np.flatnonzero(gap > LONGEST_GAP_S * NANOSECONDS)
    last, silence = (stamp[long[0]], gap[long[0]]) if len(long) else (stamp[-1], 0)
    hold_ns = int(GAP_SAMPLES * np.median(np.diff(imu.stamp)))
    end = np.searchsorted(scans.end, last + hold_ns, side="right")
    return int(end), float(silence) / NANOSECONDS


def imu_stamps_from(imu: Imu, begin: int) -> Ints:
    """Stamps of the IMU from the last one at or before `begin` on: a gap may lie across it."""
    return imu.stamp[max(int(np.searchsorted(imu.stamp, begin, side="right")) - 1, 0) :]


def imu_gap_notes(imu: Imu, begin: int) -> list[str]:
    """A note on IMU samples that are missing in a row."""
    step = np.diff(imu_stamps_from(imu, begin))
    wide = step[step > (GAP_SAMPLES + 1) * np.median(np.diff(imu.stamp))]
    if len(wide) == 0:
        return []
    longest = float(wide.max()) / NANOSECONDS
    return [
        f"{words.count(len(wide), 'gap')} of more than {GAP_SAMPLES} samples in the IMU, the "
        f"longest of {words.duration(longest)}; its values are interpolated there"
    ]


def _early_scan_notes(scans: int) -> list[str]:
    why = "left out, over before the IMU has told how the body stands"
    return _count_notes(scans, "scan", why)


def _imu_silence_notes(scans: int, silence_s: float) -> list[str]:
    if scans == 0 or silence_s == 0:
        return _count_notes(scans, "scan", "left out, after the last IMU sample")
    return [
        f"stopped {words.count(scans, 'scan')} before the end: the IMU is silent for "
        f"{words.duration(silence_s)}, more than {words.duration(LONGEST_GAP_S)}"
    ]


def _count_notes(number: int, noun: str, why: str) -> list[str]:
    return [f"{words.count(number, noun)} {why}"] if number else []
