"""Tracks of one walk, seen by sensors whose clocks differ."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import lfilter

from smfeval.align.body import to_common_body
from smfeval.align.fit import choose_alignment
from smfeval.associate import check_reference
from smfeval.associate.clock import REACH_S, offset_between
from smfeval.associate.origin import share_origin
from smfeval.maths import so3
from smfeval.track import About, GaussianTrack, Track
from support.motion import walk

START_NS = 1_700_000_000 * 10**9
SIGMA_M, SIGMA_RAD = 0.02, 0.002


@dataclass(frozen=True)
class Walk:
    """A walk in continuous time: positions and rotation vectors."""

    position: CubicSpline
    turn: CubicSpline
    duration_s: float


def walked(duration_s: float, rng: np.random.Generator, rate_hz: float = 100.0) -> Walk:
    time = np.arange(-1.0, duration_s + 1.0, 1 / rate_hz)
    position, turn = walk(time, rng)
    return Walk(CubicSpline(time, position), CubicSpline(time, turn), duration_s)


def seen(
    motion: Walk, rate_hz: float, *, late_s: float = 0.0, first_s: float = 0.0, **about
) -> Track:
    """Poses of the walk, by a clock that shows `late_s` less than the true time."""
    time = np.arange(first_s, motion.duration_s, 1 / rate_hz)
    stamp = START_NS + np.round((time - late_s) * 1e9).astype(np.int64)
    return Track(stamp, motion.position(time), so3.exp(motion.turn(time)), about=About(**about))


def believed(track: Track, errors: np.ndarray, turns: np.ndarray) -> GaussianTrack:
    """The track with errors of position (m) and rotation (rad), and honest covariances."""
    covariance = np.diag([SIGMA_M**2] * 3 + [SIGMA_RAD**2] * 3)
    return GaussianTrack(
        track.stamp,
        track.position + errors,
        so3.compose(track.rotation, so3.exp(turns)),
        np.broadcast_to(covariance, (len(track), 6, 6)),
        about=track.about,
    )


def remembered(n: int, rho: float, rng: np.random.Generator) -> np.ndarray:
    """Three AR(1) series of variance one. (n, 3)."""
    shock = rng.normal(size=(n + 500, 3))
    return np.sqrt(1 - rho**2) * lfilter([1.0], [1.0, -rho], shock, axis=0)[500:]


def noisy(track: Track, rng: np.random.Generator, rho: float = 0.0) -> GaussianTrack:
    errors, turns = (remembered(len(track), rho, rng) for _ in range(2))
    return believed(track, SIGMA_M * errors, SIGMA_RAD * turns)


def find_offset(estimate, reference, options, *, reach_s=REACH_S):
    """The clock offset within `reach_s` of none; `options.offset_s` is not looked at.

    Raises a `PairingError` where the motion says nothing about the clock.
    """
    reference, estimate = share_origin(reference, estimate)
    poses = check_reference(estimate, reference)
    placed = to_common_body(estimate, reference, options.extrinsic)
    kind = choose_alignment(placed, options.alignment)
    return offset_between(placed, poses, kind, options, reach_s=reach_s)
