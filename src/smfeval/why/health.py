"""The health of a track's covariances: rank, size, whether they are zero, constant or growing."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths import so3
from smfeval.maths.arrays import Floats, median_of
from smfeval.maths.stamps import NANOSECONDS
from smfeval.maths.symmetric import chunks, eigenvalue_bound
from smfeval.track import GaussianTrack, Track

ZERO_RANK = 1e-12  # an eigenvalue of the correlation matrix below this counts as zero
REGULAR = 1e3 * ZERO_RANK  # above this, rounding cannot make one of zero
SAME = 1e-9  # covariances that differ by less than this, relatively, are one and the same
WORTH_COMPARING = 20  # scans: fewer are too short to say that anything grows
UNKNOWN_VARIANCE = 1e5  # m^2 or rad^2: from here on a variance is a placeholder for "unknown"
AXES = ("x", "y", "z", "roll", "pitch", "yaw")


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
    position = sigmas(covariance[:, :3, :3])
    return Health(
        rank=_ranks(covariance),
        full_rank=size,
        position_sigma_m=_spread(position),
        rotation_sigma_rad=_spread(sigmas(covariance[:, 3:, 3:])) if size == 6 else None,
        zero_scans=int((~covariance[position == 0].any(axis=(1, 2))).sum()),
        constant=len(track) > 1 and _is_steady(position) and _is_constant_in_some_axes(track, size),
        growth=growth(position),
        placeholders=_placeholders(track, size),
    )


def _is_steady(sigma: Floats) -> bool:
    """Whether tr S / 3 keeps its size, as it does in any axes where S is constant."""
    variance = sigma**2
    return bool(np.abs(variance - variance[0]).max() <= 4 * SAME * variance.max())


def _is_constant_in_some_axes(track: GaussianTrack, size: int) -> bool:
    """Whether the covariance is one and the same, in body or in world axes."""
    body = track.covariance[:, :size, :size]
    return _is_constant(body) or _is_constant(in_world_axes(track)[:, :size, :size])


def _placeholders(track: GaussianTrack, size: int) -> tuple[str, ...]:
    """Axes whose variance is a placeholder, in world or body axes, whichever are fewer."""
    body = _placeholder_axes(track.covariance[:, :size, :size])
    return body and min(_placeholder_axes(in_world_axes(track)[:, :size, :size]), body, key=len)


def in_world_axes(track: GaussianTrack) -> Floats:
    """Covariance of (R rho, R phi): position and rotation error in fixed axes. (n, 6, 6)."""
    turn = np.zeros((len(track), 6, 6))
    turn[:, :3, :3] = turn[:, 3:, 3:] = so3.matrix(track.rotation)
    return turn @ track.covariance @ turn.swapaxes(1, 2)


def sigmas(block: Floats) -> Floats:
    """Standard deviation per axis of each 3x3 block. (n,)."""
    return np.sqrt(np.trace(block, axis1=1, axis2=2) / 3)


def growth(sigma: Floats) -> float | None:
    """Median sigma of the last tenth over that of the first tenth; None if that says nothing."""
    tenth = len(sigma) // 10
    first = float(median_of(sigma[:tenth])) if len(sigma) >= WORTH_COMPARING else 0.0
    return float(median_of(sigma[-tenth:])) / first if first > 0 else None


def _spread(sigma: Floats) -> Spread:
    return Spread(float(sigma.min()), float(median_of(sigma)), float(sigma.max()))


def _is_constant(covariance: Floats) -> bool:
    sigma = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2).max(axis=0))
    return bool((np.abs(covariance - covariance[0]) <= SAME * np.outer(sigma, sigma)).all())


def _placeholder_axes(covariance: Floats) -> tuple[str, ...]:
    """Names of the axes whose variance is a placeholder in some scan."""
    large = np.diagonal(covariance, axis1=1, axis2=2).max(axis=0) >= UNKNOWN_VARIANCE
    return tuple(axis for axis, unknown in zip(AXES, large, strict=False) if unknown)


def _ranks(covariance: Floats) -> tuple[int, int]:
    """Smallest and largest rank; what pivots prove to be regular needs no eigenvalues."""
    rank = np.full(len(covariance), covariance.shape[-1])
    for part in chunks(len(covariance)):
        doubtful = ~(eigenvalue_bound(covariance[part]) > REGULAR)
        rank[part][doubtful] = _rank(covariance[part][doubtful])
    return int(rank.min()), int(rank.max())


def _rank(covariance: Floats) -> Floats:
    """Rank of each covariance, counted on its correlation matrix."""
    diagonal = np.diagonal(covariance, axis1=1, axis2=2)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    correlation = covariance / scale[:, :, None] / scale[:, None, :]
    return (np.linalg.eigvalsh(correlation) > ZERO_RANK).sum(axis=1)


GAP_FACTOR = 2.5  # a step longer than this many median steps is a gap: at least one scan is missing


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


def motion(track: Track) -> TrackMotion:
    """Describe the motion of a track of poses."""
    step_s = np.diff(track.stamp) / NANOSECONDS
    step_m = np.linalg.norm(np.diff(track.position, axis=0), axis=1)
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
