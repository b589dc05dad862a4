"""Which scans of a recording can be used, and what has to be said about the others."""

from dataclasses import dataclass

import numpy as np

from smfeval.errors import OptionError
from smfeval.lab.recording import Imu, Recording, Scans
from smfeval.maths.arrays import Ints
from smfeval.maths.stamps import NANOSECONDS

GAP_SAMPLES = 5  # missing IMU samples that are worth a word; the values around are interpolated,
# and held for no longer where the IMU ends
LONGEST_GAP_S = 1.0  # without IMU for longer, nobody knows where the body is: the run stops


@dataclass(frozen=True)
class Intake:
    """Scans to run over, in the order of time, and notes on what is left out."""

    scans: Ints  # indices
    notes: tuple[str, ...]


def taken_in(recording: Recording, begin: int, *, undistort: bool) -> Intake:
    """The scans that end after `begin` and before the IMU falls silent."""
    imu, scans = recording.imu, recording.scans
    if undistort:
        refuse_without_times(scans)
    early = int(np.sum(scans.end <= begin))
    late, silence = silent_from(imu, scans, begin)
    silent = _silent(len(scans) - late, silence)
    usable = np.arange(early, late)
    if len(usable) == 0:
        why = "".join(f" ({note})" for note in silent)
        raise OptionError(f"{recording.name}: no scan ends while the IMU runs{why}")
    notes = [*_early(early), *gaps(imu, begin), *silent]
    return Intake(usable, tuple(notes))


def refuse_without_times(scans: Scans) -> None:
    """Raise if all points of every scan have one time: motion within a scan cannot be undone."""
    if len(scans.time) > 1 and not np.ptp(scans.time):
        raise OptionError(
            "the points have no times of their own, so the motion within a scan cannot be undone; "
            "undistort=false runs on the points as they are"
        )


def checked(recording: Recording) -> None:
    """Raise if there is nothing to run on, or time runs backward."""
    imu, scans = recording.imu, recording.scans
    if len(imu.stamp) < 2 or len(scans) == 0:
        has = f"{len(imu.stamp)} IMU samples and {len(scans)} scans"
        raise OptionError(f"{recording.name}: the filter needs both IMU and scans; there are {has}")
    for what, stamp in (("IMU samples", imu.stamp), ("scans", scans.end)):
        if not (np.diff(stamp) > 0).all():
            row = int(np.argmin(np.diff(stamp) > 0)) + 1
            raise OptionError(f"{recording.name}: {what} run backward in time at number {row + 1}")
    if not (np.isfinite(imu.gyro).all() and np.isfinite(imu.acceleration).all()):
        raise OptionError(f"{recording.name}: some IMU values are no numbers")


def silent_from(imu: Imu, scans: Scans, begin: int) -> tuple[int, float]:
    """Number of the first scan that the IMU does not reach, and how long it is silent there, s.

    Silence 0: it is not heard again.
    """
    heard = heard_from(imu, begin)
    gap = np.diff(heard)
    long = np.flatnonzero(gap > LONGEST_GAP_S * NANOSECONDS)
    last, silence = (heard[long[0]], gap[long[0]]) if len(long) else (heard[-1], 0)
    held = int(GAP_SAMPLES * np.median(np.diff(imu.stamp)))
    end = np.searchsorted(scans.end, last + held, side="right")
    return int(end), float(silence) / NANOSECONDS


def heard_from(imu: Imu, begin: int) -> Ints:
    """Stamps of the IMU from the last one at or before `begin` on: a gap may lie across it."""
    return imu.stamp[max(int(np.searchsorted(imu.stamp, begin, side="right")) - 1, 0) :]


def gaps(imu: Imu, begin: int) -> list[str]:
    """A word on IMU samples that are missing in a row."""
    step = np.diff(heard_from(imu, begin))
    wide = step[step > (GAP_SAMPLES + 1) * np.median(np.diff(imu.stamp))]
    if len(wide) == 0:
        return []
    longest = float(wide.max()) / NANOSECONDS
    return [
        f"{counted(len(wide), 'gap')} of more than {GAP_SAMPLES} samples in the IMU, the longest "
        f"of {longest:.3f} s; its values are interpolated there"
    ]


def counted(count: int, noun: str) -> str:
    """'1 scan', '2 scans'."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _early(count: int) -> list[str]:
    if count == 0:
        return []
    return [f"{counted(count, 'scan')} left out, over before the IMU has told how the body stands"]


def _silent(count: int, silence_s: float) -> list[str]:
    if count == 0:
        return []
    if silence_s == 0:
        return [f"{counted(count, 'scan')} left out, after the last IMU sample"]
    return [
        f"stopped {counted(count, 'scan')} before the end: the IMU is silent for "
        f"{silence_s:.1f} s, more than {LONGEST_GAP_S:.0f} s"
    ]
