"""The first state: learned while the body stands still, or taken from a reference.

Standing, the accelerometer shows -gravity plus its bias and the gyroscope its bias. The world is
levelled by what the accelerometer shows; what its bias hides of the level is the state's `tilt`,
tied to the bias: tilt = -(R ba) / G, horizontal part.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.errors import OptionError
from smfeval.lab.filters.ieskf.state import (
    ACCELERATION_BIAS,
    GYRO_BIAS,
    POSITION,
    ROTATION,
    SIZE,
    TILT,
    VELOCITY,
    Settings,
    State,
)
from smfeval.lab.recording import GRAVITY_M_S2, Imu, Recording, Scans
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS

FEWEST_SAMPLES = 10  # IMU samples that a mean is taken from
STILL_RAD_S = 0.1  # faster turns than this are no stand
BIAS_RAD_S = 0.1  # nor is a steady rate above this the bias of any gyroscope in use
STILL_M_S2 = 0.5  # nor are stronger shakes
VELOCITY_M_S = 0.02  # sigma of the first velocity: hands that hold a sensor are never quite still
LEAST_SIGMA = 1e-6  # nothing is known for certain: the covariance is inverted
PLAUSIBLE_GRAVITY = (0.8, 1.2)  # of gravity: what an accelerometer at rest may show


def state_from_standstill(
    recording: Recording, settings: Settings
) -> tuple[State, tuple[str, ...]]:
    """The state at the end of the first stand, and what is to be said about it."""
    imu = recording.imu
    end = int(imu.stamp[0]) + round(settings.standing_s * NANOSECONDS)
    still = slice(0, int(np.searchsorted(imu.stamp, end, side="right")))
    gyro, force = imu.gyro[still], imu.acceleration[still]
    if len(gyro) < FEWEST_SAMPLES:
        raise OptionError(f"{len(gyro)} IMU samples in the first {settings.standing_s:g} s are few")
    refuse_implausible(float(np.linalg.norm(force.mean(axis=0))))

    rotation = level_rotation(force.mean(axis=0))
    state = State(
        stamp=end,
        position=np.zeros(3),
        rotation=rotation,
        velocity=np.zeros(3),
        gyro_bias=gyro.mean(axis=0),
        acceleration_bias=np.zeros(3),
        tilt=np.zeros(2),
        covariance=first_covariance(recording, rotation, settings),
    )
    return state, tuple(standstill_warnings(gyro, force))


def refuse_implausible(length: float) -> None:
    """Raise if an acceleration at rest is not about gravity, m/s^2."""
    if not PLAUSIBLE_GRAVITY[0] < length / GRAVITY_M_S2 < PLAUSIBLE_GRAVITY[1]:
        raise OptionError(
            f"the acceleration at the start is {length:.3g} m/s^2, not about {GRAVITY_M_S2}: "
            "the body does not stand still, or the unit is another"
        )


def standstill_warnings(gyro: Floats, force: Floats) -> list[str]:
    """A word if the body moves while it should stand."""
    turn, shake = gyro.std(axis=0).max(), force.std(axis=0).max()
    if turn >= STILL_RAD_S or shake >= STILL_M_S2:
        return [
            f"the body does not stand still at the start (spread {turn:.2f} rad/s, {shake:.2f} "
            "m/s^2): gravity and biases start wrong"
        ]
    steady = float(np.linalg.norm(gyro.mean(axis=0)))
    if steady > BIAS_RAD_S:
        return [
            f"the gyroscope shows a steady {steady:.2f} rad/s at the start, which is taken as its "
            "bias: if the body turns, all that follows is wrong"
        ]
    return []


def level_rotation(force: Floats) -> Floats:
    """The rotation, without yaw, that turns a force at rest upward. (3,) -> (3, 3)."""
    up = force / np.linalg.norm(force)
    axis = np.cross(up, [0.0, 0.0, 1.0])
    angle = np.arctan2(np.linalg.norm(axis), up[2])
    length = np.linalg.norm(axis)
    turn = axis * (angle / length) if length > 1e-12 else np.array([angle, 0.0, 0.0])
    return so3.matrix(so3.exp(turn))


def first_covariance(recording: Recording, rotation: Floats, settings: Settings) -> Floats:
    """Covariance of the first state; tilt and bias of the accelerometer go together. (17, 17)."""
    noise, span = recording.imu_noise, settings.standing_s
    sigma = np.empty(SIZE)
    sigma[POSITION] = settings.start_m
    sigma[ROTATION] = settings.start_rad
    sigma[VELOCITY] = VELOCITY_M_S
    sigma[GYRO_BIAS] = np.hypot(noise.gyro / np.sqrt(span), noise.gyro_bias * np.sqrt(span))
    sigma[ACCELERATION_BIAS] = settings.start_acceleration_bias
    sigma[TILT] = noise.acceleration / np.sqrt(span) / GRAVITY_M_S2
    P = np.diag(np.maximum(sigma, LEAST_SIGMA) ** 2)
    tilt_by_bias = np.eye(SIZE)
    tilt_by_bias[TILT, ACCELERATION_BIAS] = -rotation[:2] / GRAVITY_M_S2
    return tilt_by_bias @ P @ tilt_by_bias.T


def state_from_reference(recording: Recording, settings: Settings) -> State:
    """The first state at the first pose of the exact reference, for a map that is known."""
    state, _ = state_from_standstill(recording, settings)
    reference = recording.reference
    if reference is None:
        raise OptionError("a known map needs a reference that says where the body starts in it")
    near = int(np.argmin(np.abs(reference.stamp - state.stamp)))
    return State(
        stamp=state.stamp,
        position=reference.position[near].copy(),
        rotation=so3.matrix(reference.rotation[near]),
        velocity=np.zeros(3),
        gyro_bias=state.gyro_bias,
        acceleration_bias=np.zeros(3),
        tilt=np.zeros(2),
        covariance=fix_tilt(state.covariance),
    )


def fix_tilt(covariance: Floats) -> Floats:
    """The covariance when the world is level for certain: the tilt depends on nothing."""
    P = covariance.copy()
    P[TILT] = 0.0
    P[:, TILT] = 0.0
    P[TILT, TILT] = LEAST_SIGMA**2 * np.eye(2)
    return P


GAP_SAMPLES = 5  # missing IMU samples that are worth a word; the values around are interpolated,
# and held for no longer where the IMU ends
LONGEST_GAP_S = 1.0  # without IMU for longer, nobody knows where the body is: the run stops


@dataclass(frozen=True)
class ScanSelection:
    """Scans to run over, in the order of time, and notes on what is left out."""

    scans: Ints  # indices
    notes: tuple[str, ...]


def usable_scans(recording: Recording, begin: int, *, undistort: bool) -> ScanSelection:
    """The scans that end after `begin` and before the IMU falls silent."""
    imu, scans = recording.imu, recording.scans
    if undistort:
        refuse_without_times(scans)
    early = int(np.sum(scans.end <= begin))
    late, silence = first_uncovered_scan(imu, scans, begin)
    silent = _imu_silence_notes(len(scans) - late, silence)
    usable = np.arange(early, late)
    if len(usable) == 0:
        why = "".join(f" ({note})" for note in silent)
        raise OptionError(f"{recording.name}: no scan ends while the IMU runs{why}")
    notes = [*_early_scan_notes(early), *imu_gap_notes(imu, begin), *silent]
    return ScanSelection(usable, tuple(notes))


def refuse_without_times(scans: Scans) -> None:
    """Raise if all points of every scan have one time: motion within a scan cannot be undone."""
    if len(scans.time) > 1 and not np.ptp(scans.time):
        raise OptionError(
            "the points have no times of their own, so the motion within a scan cannot be undone; "
            "undistort=false runs on the points as they are"
        )


def check_recording(recording: Recording) -> None:
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


def first_uncovered_scan(imu: Imu, scans: Scans, begin: int) -> tuple[int, float]:
    """Number of the first scan that the IMU does not reach, and how long it is silent there, s.

    Silence 0: it is not heard again.
    """
    heard = imu_stamps_from(imu, begin)
    gap = np.diff(heard)
    long = np.flatnonzero(gap > LONGEST_GAP_S * NANOSECONDS)
    last, silence = (heard[long[0]], gap[long[0]]) if len(long) else (heard[-1], 0)
    held = int(GAP_SAMPLES * np.median(np.diff(imu.stamp)))
    end = np.searchsorted(scans.end, last + held, side="right")
    return int(end), float(silence) / NANOSECONDS


def imu_stamps_from(imu: Imu, begin: int) -> Ints:
    """Stamps of the IMU from the last one at or before `begin` on: a gap may lie across it."""
    return imu.stamp[max(int(np.searchsorted(imu.stamp, begin, side="right")) - 1, 0) :]


def imu_gap_notes(imu: Imu, begin: int) -> list[str]:
    """A word on IMU samples that are missing in a row."""
    step = np.diff(imu_stamps_from(imu, begin))
    wide = step[step > (GAP_SAMPLES + 1) * np.median(np.diff(imu.stamp))]
    if len(wide) == 0:
        return []
    longest = float(wide.max()) / NANOSECONDS
    return [
        f"{format_count(len(wide), 'gap')} of more than {GAP_SAMPLES} samples in the IMU, "
        "the longest "
        f"of {longest:.3f} s; its values are interpolated there"
    ]


def format_count(count: int, noun: str) -> str:
    """'1 scan', '2 scans'."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _early_scan_notes(count: int) -> list[str]:
    if count == 0:
        return []
    return [
        f"{format_count(count, 'scan')} left out, over before the IMU has told how the body stands"
    ]


def _imu_silence_notes(count: int, silence_s: float) -> list[str]:
    if count == 0:
        return []
    if silence_s == 0:
        return [f"{format_count(count, 'scan')} left out, after the last IMU sample"]
    return [
        f"stopped {format_count(count, 'scan')} before the end: the IMU is silent for "
        f"{silence_s:.1f} s, more than {LONGEST_GAP_S:.0f} s"
    ]
