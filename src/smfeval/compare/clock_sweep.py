"""Clock sensitivity: k_pair if the clock of A were off by up to 50 ms.

A shift by s added to A's stamps moves A, at B's stamps, to x - v s + 1/2 a s^2, with velocity v and
acceleration a by finite differences of A's own track about the common body. The alignment is
fitted again; rotations and covariances stay, for they hardly change within 50 ms.
"""

from dataclasses import dataclass, replace

import numpy as np

from smfeval.compare.gauge_sweep import thinned
from smfeval.compare.sampled import GAUSSIANS, Sampled
from smfeval.evaluation.frames import one_world
from smfeval.evaluation.options import AlignmentKind, Options
from smfeval.evaluation.residuals import residuals_of
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import GaussianTrack

OFFSETS_MS = tuple(range(-50, 51, 10))
FEWEST = 3  # scans that a second difference needs


@dataclass(frozen=True)
class ClockRow:
    """k_pair with so much more added to the stamps of A."""

    offset_ms: float
    k: float


def clock_sweep(
    a: GaussianTrack,
    b: GaussianTrack,
    at: Ints,
    kind: AlignmentKind,
    options: Options,
    *,
    counts: Sampled = GAUSSIANS,
) -> tuple[ClockRow, ...]:
    """k_pair over OFFSETS_MS; `at` are the scans of the whole track A that meet those of B.

    Empty where A is too short for an acceleration.
    """
    if len(a) < FEWEST:
        return ()
    kept = thinned(len(at))
    velocity, acceleration = (motion[at[kept]] for motion in local_motion(a))
    a, b, counts = a[at[kept]], b[kept], counts.at(kept, kept)
    alignment, _ = one_world(a, b, kind, options)
    base = residuals_of(alignment(a), b, options)

    rows = []
    for offset_ms in OFFSETS_MS:
        shift_s = 1e-3 * offset_ms
        position = a.position - shift_s * velocity + 0.5 * shift_s**2 * acceleration
        moved = a.replaced({"position": position})
        alignment, _ = one_world(moved, b, kind, options)
        error = (alignment.moved(position) - b.position)[:, options.axis_index]
        rows.append(ClockRow(offset_ms, counts.inflation(replace(base, error=error))))
    return tuple(rows)


def local_motion(track: GaussianTrack) -> tuple[Floats, Floats]:
    """Velocity and acceleration of each scan by central differences. (n, 3) each."""
    time = (track.stamp - track.stamp[0]) / NANOSECONDS
    velocity = np.gradient(track.position, time, axis=0)
    return velocity, np.gradient(velocity, time, axis=0)
