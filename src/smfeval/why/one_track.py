"""Doubts: things that parse and yet look wrong. One function per suspicion, one table of them.

Each takes what is known of the track and returns a sentence, or None. A doubt is a hint, not a
proof; `check --strict` refuses a file that raises any.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from smfeval import words
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, median_of, quantile_of
from smfeval.maths.normal import is_singular
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.maths.symmetric import axis_ratio_bound, chunks
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track
from smfeval.why.health import (
    UNKNOWN_VARIANCE,
    Health,
    TrackMotion,
    growth,
    health,
    motion,
    sigmas,
)

SURELY_REGULAR = 1e-9  # smallest over largest eigenvalue: far from what `is_singular` refuses
AXES = ("xy", "xz", "yz", "x", "y", "z")  # where xyz cannot be scored, the first that can


@dataclass(frozen=True)
class Scorable:
    """The axes on which every scan has a usable covariance; None, and why, if there are none."""

    axes: str | None
    reason: str


def scorable(known: "ExaminedTrack") -> Scorable:
    """Find the axes that can be scored (world axes of the track)."""
    track = known.gaussian
    if track is None:
        return Scorable(None, "poses without uncertainty: only distances (APE) can be computed")
    if not known.unusable_scans:
        return Scorable("xyz", "every position covariance is regular")
    trouble = (
        f"{known.unusable_scans} of {len(track)} scans have a singular or placeholder "
        "position covariance"
    )
    best = next((axes for axes in AXES if not unusable_scans(track, axes).any()), None)
    if best is not None:
        return Scorable(best, f"{trouble}; on axes {best} none has")
    return Scorable(None, f"{trouble}, and no single axis is free of them")


def unusable_scans(track: GaussianTrack, axes: str) -> Bools:
    """Scans whose position covariance has no inverse on the axes, or stands for unknown. (n,)."""
    index = ["xyz".index(axis) for axis in axes]
    block = track.position_covariance[:, index][:, :, index]
    unknown: Bools = np.diagonal(block, axis1=1, axis2=2).max(axis=1) >= UNKNOWN_VARIANCE
    return is_singular(block) | unknown


def surely_usable_scans(track: GaussianTrack) -> Bools:
    """Scans whose position covariance is regular in whatever axes, and no placeholder. (n,)."""
    usable = np.empty(len(track), dtype=np.bool_)
    for part in chunks(len(track)):
        block = track.covariance[part, :3, :3]
        known = np.einsum("nii->n", block) < UNKNOWN_VARIANCE
        usable[part] = known & (axis_ratio_bound(block) > SURELY_REGULAR)
    return usable


# Limits, chosen on the real tracks of six estimators and on the same tracks made wrong on purpose.
PLAUSIBLE_SPEED = 150.0  # m/s: faster than any ground vehicle and most drones
OWN_SPEEDS = 20.0  # times the 95 % speed of the track itself
JUMP_M, JUMP_SIGMAS = 1.0, 6.0  # a jump is at least this long, and not explained by sigma
SLOW_STEP_S, FAST_STEP_S = 5.0, 1e-4  # scans come between 10 kHz and once in five seconds
LONG_GAP_S, LONG_GAP_STEPS = 3600.0, 1000.0  # a pause of an hour within a track of quick steps
TINY_SIGMA_M, HUGE_SIGMA_M = 1e-6, 1e4
LEVER_M = 0.6  # position sigma over rotation sigma: real filters are at 2-23 m, swapped below 0.5
STEADY, GROWING = 1.5, 4.0  # factors over the track
DIRECTED, MUCH_BETTER = 0.7, 0.25  # mean resultant length of the direction of motion in body axes
NEAR_IDENTITY = 0.02  # a first quaternion this close to 1 0 0 0 was probably written wxyz
DIRECTION_STEPS = 2000  # evenly spaced, that stand for the motion of a track
MOVING_M = 0.01  # a step shorter than this says nothing about direction
SMOOTH_FACTOR, ALIKE = 8.0, 4.0  # sigma against the jitter of the positions
ENOUGH_SCANS = 20
NO_CORRELATION = 1e-9  # relative to the largest entry


@dataclass(frozen=True)
class Doubt:
    """A suspicion by its name, and the sentence that explains it.

    `explains` says that a verdict may come from this alone: none is given beside it. `remedy` names
    options to try, each with its value; commands and pages write them as flags.
    """

    name: str
    sentence: str
    explains: bool = False
    remedy: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        tries = ", ".join(f"{option} {value}" for option, value in self.remedy)
        return f"{self.sentence}; try {tries}" if tries else self.sentence

    def to_dict(self) -> dict[str, Any]:
        """The same as lists and plain values, for JSON."""
        return asdict(self) | {"remedy": [list(each) for each in self.remedy]}


@dataclass(frozen=True)
class ExaminedTrack:
    """What a suspicion may look at."""

    track: Track
    motion: TrackMotion
    health: Health | None

    @property
    def gaussian(self) -> GaussianTrack | None:
        """The track, if it has covariances."""
        return self.track if isinstance(self.track, GaussianTrack) else None

    @cached_property
    def unusable_scans(self) -> int:
        """How many scans cannot be scored on all axes."""
        if self.gaussian is None:
            return 0
        doubtful = np.flatnonzero(~surely_usable_scans(self.gaussian))
        return int(unusable_scans(self.gaussian[doubtful], "xyz").sum()) if len(doubtful) else 0


def doubts(known: ExaminedTrack) -> tuple[Doubt, ...]:
    """All doubts about a track, in the order of the table."""
    spoken = ((name, suspicion(known)) for name, suspicion in SUSPICIONS.items())
    return tuple(
        Doubt(name, sentence, explains=name in EXPLAINING) for name, sentence in spoken if sentence
    )


def _scalar_first(known: ExaminedTrack) -> str | None:
    """Quaternions written wxyz: the track then starts upside down, or slides in all directions."""
    if not known.track.about.oriented:
        return None
    if np.abs(known.track.rotation[0, 1:]).max() < NEAR_IDENTITY:
        return "the first quaternion is near 1 0 0 0, a half turn as xyzw: was it written wxyz?"
    if len(known.track) < ENOUGH_SCANS:
        return None
    as_read = _directedness(known.track.position, known.track.rotation)
    as_wxyz = _directedness(known.track.position, known.track.rotation[:, [1, 2, 3, 0]])
    if as_wxyz > DIRECTED and as_wxyz > as_read + MUCH_BETTER:
        return (
            f"read as wxyz, the body would move in one direction of its own "
            f"({words.fixed(as_wxyz, 2)} of 1, as read {words.fixed(as_read, 2)}): are the "
            "quaternions written wxyz?"
        )
    return None


def _directedness(position: Floats, rotation: Floats) -> float:
    """Mean resultant length of the direction of motion in body axes: 1 if it never changes."""
    start = np.arange(0, len(position) - 1, max(1, len(position) // DIRECTION_STEPS))
    step, rotation = position[start + 1] - position[start], rotation[start]
    length = np.linalg.norm(step, axis=1)
    moving = length > MOVING_M
    if moving.sum() < ENOUGH_SCANS:
        return 0.0
    to_body = so3.matrix(rotation[moving]).swapaxes(-1, -2)
    direction = (to_body @ (step[moving] / length[moving, None])[..., None])[..., 0]
    return float(np.linalg.norm(direction.mean(axis=0)))


def _jump(known: ExaminedTrack) -> str | None:
    """A step faster than any vehicle, or than the track's own habit, and not within sigma."""
    if len(known.track) < 2:
        return None
    step_m = np.linalg.norm(np.diff(known.track.position, axis=0), axis=1)
    speed = step_m / np.diff(known.track.stamp) * NANOSECONDS
    limit = min(PLAUSIBLE_SPEED, OWN_SPEEDS * float(quantile_of(speed, 0.95)))
    jumps = (speed > limit) & (step_m > JUMP_M)
    if known.gaussian is not None:
        sigma = sigmas(known.gaussian.covariance[:, :3, :3])
        jumps &= step_m > JUMP_SIGMAS * (sigma[:-1] + sigma[1:])
    if not jumps.any():
        return None
    scan = int(np.argmax(np.where(jumps, speed, 0.0)))
    stamp = seconds_text(int(known.track.stamp[scan + 1]))
    return (
        f"the position jumps by {words.length(step_m[scan])} ({words.number(speed[scan])} m/s) "
        f"before stamp {stamp}"
    )


def _long_gap(known: ExaminedTrack) -> str | None:
    """A pause so long that a stamp is probably wrong."""
    gap, rate = known.motion.longest_gap_s, known.motion.rate_hz
    if gap is None or rate is None or gap < max(LONG_GAP_S, LONG_GAP_STEPS / rate):
        return None
    return (
        f"there is a gap of {words.duration(gap)} in a track at {words.number(rate)} Hz: is a "
        "stamp wrong?"
    )


def _odd_rate(known: ExaminedTrack) -> str | None:
    """Steps so long or short that the unit of the stamps is in doubt."""
    if known.motion.rate_hz is None:
        return None
    step = 1 / known.motion.rate_hz
    if FAST_STEP_S <= step <= SLOW_STEP_S:
        return None
    return f"scans are {words.duration(step)} apart: are the stamps in another unit?"


def _zero(known: ExaminedTrack) -> str | None:
    """Covariances that are all zero: not a belief."""
    if known.health is None or known.health.zero_scans == 0:
        return None
    return f"the covariance is zero in {known.health.zero_scans} of {len(known.track)} scans"


def _constant(known: ExaminedTrack) -> str | None:
    """One covariance for all scans: configured, not estimated."""
    if known.health is None or not known.health.constant or known.health.zero_scans:
        return None
    return "the covariance is the same in every scan: it was configured, not estimated"


def _placeholder(known: ExaminedTrack) -> str | None:
    """Variances such as 1e6 or 1e12, which stand for 'unknown'."""
    if known.health is None or not known.health.placeholders:
        return None
    return f"the variance of {', '.join(known.health.placeholders)} is a placeholder for 'unknown'"


def _rotation_first(known: ExaminedTrack) -> str | None:
    """The rotation block where the position block belongs."""
    health, track = known.health, known.gaussian
    if health is None or track is None or health.rotation_sigma_rad is None:
        return None
    position, rotation = health.position_sigma_m.median, health.rotation_sigma_rad.median
    if health.constant or health.placeholders or health.rank[0] < 6:
        return None
    if position < LEVER_M * rotation:
        return (
            f"the rotation sigma is {words.angle(np.degrees(rotation))} beside a position sigma of "
            f"{words.length(position)}: are the blocks exchanged (rotation first), or is the "
            "rotation in degrees?"
        )
    there, here = growth(sigmas(track.covariance[:, 3:, 3:])), health.growth
    if there is not None and here is not None and there > GROWING and 1 / STEADY < here < STEADY:
        return (
            "the rotation block grows along the track and the position block does not: exchanged?"
        )
    return None


def _deviation_for_variance(known: ExaminedTrack) -> str | None:
    """Standard deviations where variances belong.

    Only for purely diagonal covariances: the positions jitter by much less than the least sigma
    that the numbers give as variances (that of dead reckoning grows from its jitter), and by about
    what they give as standard deviations.
    """
    health, track = known.health, known.gaussian
    if health is None or track is None or len(track) < ENOUGH_SCANS or health.constant:
        return None
    jitter, sigma = _jitter(track.position), health.position_sigma_m.median
    in_proportion = jitter == 0 or health.position_sigma_m.smallest < SMOOTH_FACTOR * jitter
    fits = jitter / ALIKE < sigma**2 < jitter * ALIKE
    if in_proportion or not fits or not _diagonal(track.covariance):
        return None
    return (
        f"read as variances the numbers give a sigma of {words.length(sigma)}, but the positions "
        f"jitter by {words.length(jitter)}, which fits the numbers themselves: are they standard "
        "deviations?"
    )


def _diagonal(covariance: Floats) -> bool:
    """Whether every entry beside the diagonal is zero, up to rounding."""
    beside = ~np.eye(covariance.shape[-1], dtype=np.bool_)
    scale = np.abs(covariance).max(axis=(1, 2), keepdims=True)
    return bool((np.abs(covariance) <= NO_CORRELATION * scale)[:, beside].all())


def _jitter(position: Floats) -> float:
    """Noise of the positions from scan to scan: third differences, by their median size.

    A third difference of white noise has variance 20, and a smooth motion leaves nothing of it.
    """
    third = np.diff(position, n=3, axis=0)
    return float(median_of(np.abs(third)) / (0.6745 * np.sqrt(20)))


def _odd_size(known: ExaminedTrack) -> str | None:
    """A reported position sigma that no sensor reaches, or that is no information."""
    if known.health is None or known.health.position_sigma_m.median == 0:
        return None
    sigma = known.health.position_sigma_m.median
    if TINY_SIGMA_M < sigma < HUGE_SIGMA_M:
        return None
    return f"the position sigma is {words.length(sigma)}: is the unit right?"


def _partly_singular(known: ExaminedTrack) -> str | None:
    """Some scans without a usable position covariance among others that have one."""
    useless, scans = known.unusable_scans, len(known.track)
    if useless in (0, scans):
        return None
    return f"{useless} of {scans} position covariances are singular, the others are not"


SUSPICIONS: dict[str, Callable[[ExaminedTrack], str | None]] = {
    "scalar-first": _scalar_first,
    "jump": _jump,
    "odd-rate": _odd_rate,
    "long-gap": _long_gap,
    "zero-covariance": _zero,
    "constant-covariance": _constant,
    "placeholder": _placeholder,
    "rotation-first": _rotation_first,
    "deviation-for-variance": _deviation_for_variance,
    "odd-size": _odd_size,
    "partly-singular": _partly_singular,
}


EXPLAINING = ("scalar-first", "rotation-first", "deviation-for-variance")  # a verdict by themselves


@dataclass(frozen=True)
class Examination:
    """Everything `check` tells of a track."""

    track: AnyTrack
    motion: TrackMotion
    health: Health | None
    doubts: tuple[Doubt, ...]
    scorable: Scorable


def examine(track: AnyTrack) -> Examination:
    """Look at motion, covariance and plausibility of a track."""
    belief = track.moments if isinstance(track, ParticleTrack) else track
    moved = motion(belief)
    condition = health(belief) if isinstance(belief, GaussianTrack) else None
    known = ExaminedTrack(belief, moved, condition)
    return Examination(track, moved, condition, doubts(known), scorable(known))
