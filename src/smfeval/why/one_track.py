"""One track: what its covariances and its motion look like, and what looks wrong in them.

A doubt is a hint, not a proof: things that parse and yet look wrong. `check --strict` refuses a
file that raises any.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, median_of, quantile_of, spaced_indices
from smfeval.maths.normal import is_singular
from smfeval.maths.stamps import NANOSECONDS
from smfeval.maths.symmetric import (
    axis_ratio_bound,
    chunks,
    eigenvalue_bound,
    unpack_lower,
)
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track
from smfeval.why.causes import UNREAD, Why

OF_POSITION, OF_ROTATION = (0, 2, 5), (9, 14, 20)  # variances in a lower triangle, row by row
ZERO_RANK = 1e-12  # an eigenvalue of the correlation matrix below this counts as zero
REGULAR = 1e3 * ZERO_RANK  # above this, rounding cannot make one of zero
SURELY_REGULAR = 1e-9  # smallest over largest eigenvalue: far from what `is_singular` refuses
SAME = 1e-9  # covariances that differ by less than this, relatively, are one and the same
WORTH_COMPARING = 20  # scans: fewer are too short to say that anything grows
UNKNOWN_VARIANCE = 1e5  # m^2 or rad^2: from here on a variance is a placeholder for "unknown"
POSE_AXES = ("x", "y", "z", "roll", "pitch", "yaw")
SCORABLE_AXES = ("xyz", "xy", "xz", "yz", "x", "y", "z")  # the first that most scans have
MOVED_M = 1.0  # a shorter way may well be level
GAP_FACTOR = 2.5  # a step longer than this many median steps is a gap: at least one scan is missing
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


# Doubts that a verdict may come from: none is given beside them.
EXPLAINING = ("scalar-first", "rotation-first", "deviation-for-variance", *UNREAD)


@dataclass(frozen=True)
class Spread:
    """Smallest, median and largest standard deviation over the scans (root of the mean axis)."""

    smallest: float
    median: float
    largest: float


@dataclass(frozen=True)
class Health:
    """What the covariances of a track look like. Sigmas are per axis: sqrt(trace / 3).

    Rank counts position and rotation, or the position alone where the orientation is unknown.
    `placeholders` names the axes whose variance stands for "unknown", in world or body axes,
    whichever explains more.
    """

    rank: tuple[int, int]
    full_rank: int
    position_sigma_m: Spread
    rotation_sigma_rad: Spread | None
    zero_scans: int
    constant: bool
    growth: float | None  # position sigma at the end over that at the start
    placeholders: tuple[str, ...]


def health(track: GaussianTrack) -> Health:
    """Describe the covariances of a track."""
    size = 6 if track.about.oriented else 3
    covariance = track.covariance[:, :size, :size]
    position = sigmas(track.triangle)
    variance = position**2
    steady = np.abs(variance - variance[0]).max() <= 4 * SAME * variance.max()
    return Health(
        rank=_ranks(covariance),
        full_rank=size,
        position_sigma_m=_spread(position),
        rotation_sigma_rad=_spread(sigmas(track.triangle, OF_ROTATION)) if size == 6 else None,
        zero_scans=int((~covariance[position == 0].any(axis=(1, 2))).sum()),
        constant=len(track) > 1
        and bool(steady)  # as tr S is in any axes where S is constant
        and (_is_constant(covariance) or _is_constant(_in_world_axes(track, size))),
        growth=growth(position),
        placeholders=(unknown := _placeholders(covariance))
        and min(_placeholders(_in_world_axes(track, size)), unknown, key=len),
    )


def sigmas(triangle: Floats, variances: tuple[int, ...] = OF_POSITION) -> Floats:
    """Standard deviation per axis of the position or the rotation. Lower triangles -> (n,)."""
    return np.sqrt(sum(triangle[:, at] for at in variances) / 3)


def growth(sigma: Floats) -> float | None:
    """Median sigma of the last tenth over that of the first tenth; None if that says nothing."""
    tenth = len(sigma) // 10
    first = float(median_of(sigma[:tenth])) if len(sigma) >= WORTH_COMPARING else 0.0
    return float(median_of(sigma[-tenth:])) / first if first > 0 else None


def _in_world_axes(track: GaussianTrack, size: int) -> Floats:
    """Covariance of (R rho, R phi): position and rotation error in fixed axes. (n, d, d)."""
    turn = np.zeros((len(track), 6, 6))
    turn[:, :3, :3] = turn[:, 3:, 3:] = so3.matrix(track.rotation)
    return (turn @ track.covariance @ turn.swapaxes(1, 2))[:, :size, :size]


def _spread(sigma: Floats) -> Spread:
    return Spread(float(sigma.min()), float(median_of(sigma)), float(sigma.max()))


def _is_constant(covariance: Floats) -> bool:
    sigma = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2).max(axis=0))
    return bool((np.abs(covariance - covariance[0]) <= SAME * np.outer(sigma, sigma)).all())


def _placeholders(covariance: Floats) -> tuple[str, ...]:
    """Names of the axes whose variance is a placeholder in some scan."""
    large = np.diagonal(covariance, axis1=1, axis2=2).max(axis=0) >= UNKNOWN_VARIANCE
    return tuple(axis for axis, unknown in zip(POSE_AXES, large, strict=False) if unknown)


def _ranks(covariance: Floats) -> tuple[int, int]:
    """Smallest and largest rank; what pivots prove to be regular needs no eigenvalues."""
    rank = np.full(len(covariance), covariance.shape[-1])
    for part in chunks(len(covariance)):
        doubtful = ~(eigenvalue_bound(covariance[part]) > REGULAR)
        block = covariance[part][doubtful]
        diagonal = np.diagonal(block, axis1=1, axis2=2)
        scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        correlation = block / scale[:, :, None] / scale[:, None, :]
        rank[part][doubtful] = (np.linalg.eigvalsh(correlation) > ZERO_RANK).sum(axis=1)
    return int(rank.min()), int(rank.max())


@dataclass(frozen=True)
class TrackMotion:
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


def step_lengths(position: Floats) -> Floats:
    """From each position to the next. (n, 3) -> (n - 1,)."""
    length = np.empty(len(position) - 1)
    for part in chunks(len(length)):
        step = position[1:][part] - position[:-1][part]
        length[part] = np.sqrt(np.einsum("ni,ni->n", step, step))
    return length


def motion(track: Track) -> TrackMotion:
    """Describe the motion of a track of poses."""
    step_s = np.diff(track.stamp) / NANOSECONDS
    step_m = step_lengths(track.position)
    if len(step_s) == 0:
        return TrackMotion(1, 0.0, None, 0, None, 0.0, None, None, None)
    usual = float(median_of(step_s))
    speed = step_m / step_s
    return TrackMotion(
        scans=len(track),
        duration_s=track.duration_s,
        rate_hz=1 / usual,
        gaps=int((step_s > GAP_FACTOR * usual).sum()),
        longest_gap_s=float(step_s.max()),
        path_m=float(step_m.sum()),
        median_speed=float(median_of(speed)),
        fastest_speed=float(speed.max()),
        fastest_scan=int(np.argmax(speed)) + 1,
    )


@dataclass(frozen=True)
class Scorable:
    """The axes on which most scans have a usable covariance, why, and how many scans have none.

    The axes are None, with the reason, where there are none.
    """

    axes: str | None
    reason: str
    unusable: int = 0


@dataclass(frozen=True)
class ExaminedTrack:
    """What is known of a track: particles by their moments."""

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
        return 0 if self.gaussian is None else _count_unusable(self.gaussian, "xyz")


@dataclass(frozen=True)
class Revisits:
    """Places (1 m) that the path passes again, by its own poses, after at least 50 m.

    `allowed_m` is twice the bound of sigma of the distance between the two visits, whatever their
    correlation: what the reported covariances allow. Medians over places.
    """

    places: int
    way_m: float
    allowed_m: float
    height_m: float | None  # difference of the heights of the two visits


@dataclass(frozen=True)
class Examination:
    """Everything `check` tells of a track."""

    track: AnyTrack
    motion: TrackMotion
    health: Health | None
    doubts: tuple[Why, ...]
    scorable: Scorable
    findings: tuple[Why, ...] = ()  # of `no_reference`
    revisits: Revisits | None = None


def examine(track: AnyTrack) -> Examination:
    """Look at motion, covariance and plausibility of a track."""
    known = _look_at(track)
    return Examination(track, known.motion, known.health, _doubts(known), scorable_axes(track))


def doubts_about(track: AnyTrack, *, scans: int) -> tuple[Why, ...]:
    """All doubts about a track, its covariances described by so many scans, evenly spaced."""
    return _doubts(_look_at(track, scans))


def _look_at(track: AnyTrack, scans: int | None = None) -> ExaminedTrack:
    belief = track.moments if isinstance(track, ParticleTrack) else track
    if not isinstance(belief, GaussianTrack):
        return ExaminedTrack(belief, motion(belief), None)
    some = belief if scans is None else belief[spaced_indices(len(belief), scans)]
    return ExaminedTrack(belief, motion(belief), health(some))


def scorable_axes(track: AnyTrack) -> Scorable:
    """The axes (of the world) that a track reports something of; all, unless most scans lack some.

    A plane is one where z never changes; a log may say itself which axes it has.
    """
    belief = track.moments if isinstance(track, ParticleTrack) else track
    if not isinstance(belief, GaussianTrack):
        return Scorable(None, "poses without uncertainty: only distances (APE) can be computed")
    moved_m = np.ptp(belief.position, axis=0)
    level = bool(moved_m[2] == 0 and moved_m[:2].max() > MOVED_M)
    whole = ("xy", "its z never changes") if level else ("xyz", "all axes have a variance")
    known, why = track.provenance.axes or whole
    for axes in SCORABLE_AXES:
        if set(axes) <= set(known):
            unusable = _count_unusable(belief, axes)
            if 2 * unusable < len(belief):
                lacking = [axis for axis in known if axis not in axes]
                return Scorable(axes, _lack(belief, lacking) if lacking else why, unusable)
    return Scorable(None, "every position covariance is singular or a placeholder, on every axis")


def _lack(track: GaussianTrack, axes: list[str]) -> str:
    """What is wrong with the variances of axes that cannot be scored."""
    index = ["xyz".index(axis) for axis in axes]
    variance = np.diagonal(track.position_covariance, axis1=1, axis2=2)[:, index]
    if (np.median(variance, axis=0) >= UNKNOWN_VARIANCE).all():
        return f"its variance of {words.join(axes)} is a placeholder"
    return f"it reports no variance of {words.join(axes)}"


def _count_unusable(track: GaussianTrack, axes: str) -> int:
    """Scans whose position covariance has no inverse on the axes, or stands for unknown."""
    usable = np.empty(len(track), dtype=np.bool_)  # surely, in whatever axes
    for part in chunks(len(track)):
        block = unpack_lower(track.triangle[part, :6])
        known = np.einsum("nii->n", block) < UNKNOWN_VARIANCE
        usable[part] = known & (axis_ratio_bound(block) > SURELY_REGULAR)
    if usable.all():
        return 0
    index = ["xyz".index(axis) for axis in axes]
    block = track[~usable].position_covariance[:, index][:, :, index]
    unknown = np.diagonal(block, axis1=1, axis2=2).max(axis=1) >= UNKNOWN_VARIANCE
    return int((is_singular(block) | unknown).sum())


# Doubts


def _doubts(known: ExaminedTrack) -> tuple[Why, ...]:
    found = [*_doubts_of_motion(known), *_doubts_of_covariance(known)]
    doubts = tuple(Why(cause, seen, explains=cause in EXPLAINING) for cause, seen in found)
    unread = known.track.provenance.unread
    if unread is None:
        return doubts
    evidence = {"columns": unread.names}
    remedy = (("columns", unread.columns),) if unread.columns else ()
    return (Why(UNREAD[not unread.alike], evidence, remedy, explains=True), *doubts)


def _doubts_of_motion(known: ExaminedTrack) -> Iterator[tuple[str, dict[str, Any]]]:
    """Causes and their evidence in poses and stamps."""
    position, rotation = known.track.position, known.track.rotation
    # Quaternions written wxyz: the track starts upside down, or slides in all directions.
    if known.track.about.oriented and np.abs(rotation[0, 1:]).max() < NEAR_IDENTITY:
        yield "scalar-first", {}
    elif known.track.about.oriented and len(position) >= ENOUGH_SCANS:
        as_read = _directedness(position, rotation)
        as_wxyz = _directedness(position, rotation, order=(1, 2, 3, 0))
        if as_wxyz > DIRECTED and as_wxyz > as_read + MUCH_BETTER:
            yield "scalar-first", {"as_wxyz": as_wxyz, "as_read": as_read}
    if len(position) < 2:
        return

    # A step faster than any vehicle, or than the track's own habit, and not within sigma.
    step_m = step_lengths(position)
    speed = step_m / np.diff(known.track.stamp) * NANOSECONDS
    limit = min(PLAUSIBLE_SPEED, OWN_SPEEDS * float(quantile_of(speed, 0.95)))
    jumps = (speed > limit) & (step_m > JUMP_M)
    if known.gaussian is not None:
        sigma = sigmas(known.gaussian.triangle)
        jumps &= step_m > JUMP_SIGMAS * (sigma[:-1] + sigma[1:])
    if jumps.any():
        scan = int(np.argmax(np.where(jumps, speed, 0.0)))
        stamp = int(known.track.stamp[scan + 1])
        yield "jump", {"step_m": step_m[scan], "speed_m_s": speed[scan], "stamp": stamp}

    # Steps so long or short that the unit of the stamps is in doubt; a pause by a wrong stamp.
    gap_s, rate_hz = known.motion.longest_gap_s, known.motion.rate_hz
    assert gap_s is not None
    assert rate_hz is not None
    if not FAST_STEP_S <= 1 / rate_hz <= SLOW_STEP_S:
        yield "odd-rate", {"step_s": 1 / rate_hz}
    if gap_s >= max(LONG_GAP_S, LONG_GAP_STEPS / rate_hz):
        yield "long-gap", {"gap_s": gap_s, "rate_hz": rate_hz}


def _directedness(
    position: Floats, rotation: Floats, order: tuple[int, ...] = (0, 1, 2, 3)
) -> float:
    """Mean resultant length of the direction of motion in body axes: 1 if it never changes."""
    start = np.arange(0, len(position) - 1, max(1, len(position) // DIRECTION_STEPS))
    step, rotation = position[start + 1] - position[start], rotation[start][:, order]
    length = np.linalg.norm(step, axis=1)
    moving = length > MOVING_M
    if moving.sum() < ENOUGH_SCANS:
        return 0.0
    to_body = so3.matrix(rotation[moving]).swapaxes(-1, -2)
    direction = (to_body @ (step[moving] / length[moving, None])[..., None])[..., 0]
    return float(np.linalg.norm(direction.mean(axis=0)))


def _doubts_of_covariance(known: ExaminedTrack) -> Iterator[tuple[str, dict[str, Any]]]:
    """Causes and their evidence in covariances; none without any."""
    health, track = known.health, known.gaussian
    if health is None or track is None:
        return
    scans, sigma_m = len(track), health.position_sigma_m.median
    if health.zero_scans:
        yield "zero-covariance", {"zero": health.zero_scans, "scans": scans}
    if health.constant and not health.zero_scans:
        yield "constant-covariance", {}
    if health.placeholders:
        yield "placeholder", {"axes": health.placeholders}

    if (seen := _exchanged_blocks(track, health)) is not None:
        yield "rotation-first", seen
    if (seen := _deviations(track, health)) is not None:
        yield "deviation-for-variance", seen
    if sigma_m != 0 and not TINY_SIGMA_M < sigma_m < HUGE_SIGMA_M:
        yield "odd-size", {"sigma_m": sigma_m}
    if known.unusable_scans not in (0, scans):
        yield "partly-singular", {"singular": known.unusable_scans, "scans": scans}


def _exchanged_blocks(track: GaussianTrack, health: Health) -> dict[str, Any] | None:
    """Evidence of the rotation block where the position block belongs."""
    rotation, position_m = health.rotation_sigma_rad, health.position_sigma_m.median
    if rotation is None or health.constant or health.placeholders or health.rank[0] < 6:
        return None
    if position_m < LEVER_M * rotation.median:
        return {"rotation_deg": float(np.degrees(rotation.median)), "position_m": position_m}
    there, here = growth(sigmas(track.triangle, OF_ROTATION)), health.growth
    if there is not None and here is not None and there > GROWING and 1 / STEADY < here < STEADY:
        return {}
    return None


def _deviations(track: GaussianTrack, health: Health) -> dict[str, Any] | None:
    """Evidence of standard deviations where variances belong, in purely diagonal covariances.

    The positions jitter by much less than the least sigma that the numbers give as variances (that
    of dead reckoning grows from its jitter), and by about what they give as standard deviations.
    """
    if len(track) < ENOUGH_SCANS or health.constant:
        return None
    # A third difference of white noise has variance 20, and a smooth motion leaves nothing of it.
    third = np.diff(track.position, n=3, axis=0)
    jitter_m = float(median_of(np.abs(third, out=third)) / (0.6745 * np.sqrt(20)))
    sigma_m = health.position_sigma_m.median
    in_proportion = jitter_m == 0 or health.position_sigma_m.smallest < SMOOTH_FACTOR * jitter_m
    if in_proportion or not jitter_m / ALIKE < sigma_m**2 < jitter_m * ALIKE:
        return None
    beside = ~np.eye(track.covariance.shape[-1], dtype=np.bool_)
    scale = np.abs(track.covariance).max(axis=(1, 2), keepdims=True)
    is_diagonal = (np.abs(track.covariance) <= NO_CORRELATION * scale)[:, beside].all()
    return {"sigma_m": sigma_m, "jitter_m": jitter_m} if is_diagonal else None
