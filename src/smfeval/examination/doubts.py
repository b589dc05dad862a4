"""Doubts: things that parse and yet look wrong. One function per suspicion, one table of them.

Each takes what is known of the track and returns a sentence, or None. A doubt is a hint, not a
proof; `check --strict` refuses a file that raises any.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smfeval.examination.health import Health
from smfeval.examination.motion import Motion
from smfeval.examination.scorable import singular_scans
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.maths.stamps import seconds_text
from smfeval.track import GaussianTrack, Track

PLACEHOLDER = 1e5  # a variance of 1e5 m^2 or rad^2 and more means "unknown", not a belief
PLAUSIBLE_SPEED = 150.0  # m/s: faster than any ground vehicle and most drones
SLOW_STEP_S, FAST_STEP_S = 10.0, 1e-4  # scans come between 10 kHz and once in ten seconds
TINY_SIGMA_M, HUGE_SIGMA_M = 1e-6, 1e4
WIDE_ROTATION_RAD = 0.5  # a rotation known no better than 30 degrees is hardly an estimate
STEADY, GROWING = 1.5, 4.0  # factors over the track
DIRECTED = 0.7  # mean resultant length of a direction that deserves the name
MUCH_BETTER = 0.25
MOVING_M = 0.01  # a step shorter than this says nothing about direction
SMOOTH_FACTOR = 30.0  # sigma beyond this many times the jitter is out of proportion
ALIKE = 3.0
ENOUGH_SCANS = 20


@dataclass(frozen=True)
class Doubt:
    """A suspicion by its name, and the sentence that explains it."""

    name: str
    sentence: str


@dataclass(frozen=True)
class Known:
    """What a suspicion may look at."""

    track: Track
    motion: Motion
    health: Health | None

    @property
    def gaussian(self) -> GaussianTrack | None:
        """The track, if it has covariances."""
        return self.track if isinstance(self.track, GaussianTrack) else None


def doubts(track: Track, moved: Motion, condition: Health | None) -> tuple[Doubt, ...]:
    """All doubts about a track, in the order of the table."""
    known = Known(track, moved, condition)
    spoken = ((name, suspicion(known)) for name, suspicion in SUSPICIONS.items())
    return tuple(Doubt(name, sentence) for name, sentence in spoken if sentence)


def _scalar_first(known: Known) -> str | None:
    """Quaternions written wxyz: the body then moves in all directions of itself."""
    if not known.track.about.oriented:
        return None
    first = known.track.rotation[0]
    if np.abs(first[1:]).max() < 1e-6 < abs(first[0]):
        return "the first quaternion is 1 0 0 0, a half turn as xyzw: was it written wxyz?"
    if len(known.track) < ENOUGH_SCANS:
        return None
    as_read = _directedness(known.track.position, known.track.rotation)
    as_wxyz = _directedness(known.track.position, known.track.rotation[:, [1, 2, 3, 0]])
    if as_wxyz > DIRECTED and as_wxyz > as_read + MUCH_BETTER:
        return (
            f"read as wxyz, the body would move in one direction of its own "
            f"({as_wxyz:.2f} of 1, as read {as_read:.2f}): are the quaternions written wxyz?"
        )
    return None


def _directedness(position: Floats, rotation: Floats) -> float:
    """Mean resultant length of the direction of motion in body axes: 1 if it never changes."""
    step = np.diff(position, axis=0)
    length = np.linalg.norm(step, axis=1)
    moving = length > MOVING_M
    if moving.sum() < ENOUGH_SCANS:
        return 0.0
    to_body = so3.matrix(rotation[:-1][moving]).swapaxes(-1, -2)
    direction = (to_body @ (step[moving] / length[moving, None])[..., None])[..., 0]
    return float(np.linalg.norm(direction.mean(axis=0)))


def _jump(known: Known) -> str | None:
    """A step faster than any vehicle."""
    fastest, scan = known.motion.fastest_speed, known.motion.fastest_scan
    if fastest is None or scan is None or fastest <= PLAUSIBLE_SPEED:
        return None
    stamp = seconds_text(int(known.track.stamp[scan]))
    return f"the position jumps at {fastest:.3g} m/s before stamp {stamp}"


def _odd_rate(known: Known) -> str | None:
    """Steps so long or short that the unit of the stamps is in doubt."""
    if known.motion.rate_hz is None:
        return None
    step = 1 / known.motion.rate_hz
    if FAST_STEP_S <= step <= SLOW_STEP_S:
        return None
    return f"scans are {step:.3g} s apart: are the stamps in another unit?"


def _zero(known: Known) -> str | None:
    """Covariances that are all zero: not a belief."""
    if known.health is None or known.health.zero_scans == 0:
        return None
    return f"the covariance is zero in {known.health.zero_scans} of {len(known.track)} scans"


def _constant(known: Known) -> str | None:
    """One covariance for all scans: configured, not estimated."""
    if known.health is None or not known.health.constant or known.health.zero_scans:
        return None
    return "the covariance is the same in every scan: it was configured, not estimated"


def _placeholder(known: Known) -> str | None:
    """Variances such as 1e6 or 1e12, which stand for 'unknown'."""
    if known.gaussian is None:
        return None
    diagonal = np.diagonal(known.gaussian.covariance, axis1=1, axis2=2)
    large = diagonal.max(axis=0)
    names = np.array(["x", "y", "z", "roll", "pitch", "yaw"])[large >= PLACEHOLDER]
    if not len(names):
        return None
    return f"the variance of {', '.join(names)} reaches {large.max():.3g}: a placeholder?"


def _rotation_first(known: Known) -> str | None:
    """The rotation block where the position block belongs."""
    if known.health is None or known.gaussian is None:
        return None
    position, rotation = known.health.position_sigma_m, known.health.rotation_sigma_rad
    if (
        WIDE_ROTATION_RAD < rotation.median < np.sqrt(PLACEHOLDER)
        and position.median < rotation.median
    ):
        return (
            f"the rotation sigma is {np.degrees(rotation.median):.3g} degrees and the position "
            f"sigma {position.median:.3g} m: are the blocks exchanged (rotation first)?"
        )
    if _growth(known.gaussian.covariance[:, 3:, 3:]) > GROWING and (
        1 / STEADY < _growth(known.gaussian.covariance[:, :3, :3]) < STEADY
    ):
        return (
            "the rotation block grows along the track and the position block does not: exchanged?"
        )
    return None


def _growth(block: Floats) -> float:
    """Sigma of the last tenth over that of the first tenth; 1 if that says nothing."""
    tenth = len(block) // 10
    trace = np.trace(block, axis1=1, axis2=2)
    if tenth < 2 or np.median(trace[:tenth]) <= 0:
        return 1.0
    return float(np.sqrt(np.median(trace[-tenth:]) / np.median(trace[:tenth])))


def _deviation_for_variance(known: Known) -> str | None:
    """Standard deviations where variances belong: out of proportion unless read as such."""
    if known.gaussian is None or known.health is None or len(known.track) < ENOUGH_SCANS:
        return None
    jitter = _jitter(known.track.position)
    sigma = known.health.position_sigma_m.median
    in_proportion = jitter == 0 or sigma < SMOOTH_FACTOR * jitter
    fits = jitter / ALIKE < sigma**2 < jitter * ALIKE
    if in_proportion or not fits or not _could_be_deviations(known.gaussian.covariance):
        return None
    return (
        f"read as variances they give a sigma of {sigma:.3g} m, but the positions jitter by "
        f"{jitter:.3g} m, which fits the numbers themselves: are they standard deviations?"
    )


def _could_be_deviations(covariance: Floats) -> bool:
    """Whether no covariance exceeds the product of its diagonal entries, taken as sigmas."""
    sigma = np.diagonal(covariance, axis1=1, axis2=2)
    bound = sigma[:, :, None] * sigma[:, None, :]
    beside = ~np.eye(6, dtype=np.bool_)
    return bool((np.abs(covariance) <= bound)[:, beside].all())


def _jitter(position: Floats) -> float:
    """Noise of the positions from scan to scan: third differences, by their median size.

    A third difference of white noise has variance 20, and a smooth motion leaves nothing of it.
    """
    third = np.diff(position, n=3, axis=0)
    return float(np.median(np.abs(third)) / (0.6745 * np.sqrt(20)))


def _odd_size(known: Known) -> str | None:
    """A reported position sigma that no sensor reaches, or that is no information."""
    if known.health is None or known.health.position_sigma_m.median == 0:
        return None
    sigma = known.health.position_sigma_m.median
    if TINY_SIGMA_M < sigma < HUGE_SIGMA_M:
        return None
    return f"the position sigma is {sigma:.3g} m: is the unit right?"


def _partly_singular(known: Known) -> str | None:
    """Some scans without a regular position covariance among others that have one."""
    if known.gaussian is None:
        return None
    singular = int(singular_scans(known.gaussian, "xyz").sum())
    if singular in (0, len(known.track)):
        return None
    return f"{singular} of {len(known.track)} position covariances are singular, the others are not"


SUSPICIONS: dict[str, Callable[[Known], str | None]] = {
    "scalar-first": _scalar_first,
    "jump": _jump,
    "odd-rate": _odd_rate,
    "zero-covariance": _zero,
    "constant-covariance": _constant,
    "placeholder": _placeholder,
    "rotation-first": _rotation_first,
    "deviation-for-variance": _deviation_for_variance,
    "odd-size": _odd_size,
    "partly-singular": _partly_singular,
}
