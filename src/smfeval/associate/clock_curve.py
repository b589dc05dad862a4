"""A track as a curve in time: where it was between its poses, and where nobody can tell.

Between neighbouring poses the curve is a cubic. Its tangents are seven-point differences over
median steps, not over the poses' own, so that two poses a hair apart give no wild tangent; three
points would shift the curve in time (by 1.7 ms for a gait seen at 10 Hz). Rotations are unrolled,
theta_(k+1) = theta_k + Log(R_k^T R_(k+1)), and R(t) = R_k Exp(theta(t) - theta_k). A gap of more
than LONG_GAP median steps is not bridged.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import AnyTrack

LONG_GAP = 3  # median steps
WEIGHTS = (45 / 60, -9 / 60, 1 / 60)  # of the differences over one, two and three steps either way


@dataclass(frozen=True)
class Curve:
    """Poses over seconds from a common origin, and tangents for the cubic (m/s, rad/s)."""

    seconds: Floats  # (n,)
    position: Floats  # (n, 3)
    rotation: Floats  # (n, 4)
    unrolled: Floats  # (n, 3), rad
    velocity: Floats  # (n, 3)
    rate: Floats  # (n, 3)
    gaps: Ints  # (n,): long gaps before each pose
    step_s: float  # median

    def known(self, time: Floats, reach_s: float = 0.0) -> Bools:
        """Whether no gap or end of the curve lies so near to an instant. (q,) -> (q,)."""
        first, last = time - reach_s, time + reach_s
        gaps = self.gaps[self._left(last) + 1] - self.gaps[self._left(first)]
        return (gaps == 0) & (first >= self.seconds[0]) & (last <= self.seconds[-1])

    @property
    def tangent_s(self) -> float:
        """How far a tangent looks to either side."""
        return len(WEIGHTS) * self.step_s

    def place(self, time: Floats) -> Floats:
        """Position at each instant. (q,) -> (q, 3)."""
        left = self._left(time)
        return self.position[left] + self._way(left, time, self.position, self.velocity)

    def turn(self, time: Floats) -> Floats:
        """Rotation at each instant. (q,) -> (q, 4)."""
        left = self._left(time)
        way = self._way(left, time, self.unrolled, self.rate)
        return so3.compose(self.rotation[left], so3.exp(way))

    def nearest(self, time: Floats) -> Ints:
        """The pose nearest to each instant. (q,) -> (q,)."""
        left = self._left(time)
        return left + (time - self.seconds[left] > self.seconds[left + 1] - time)

    def _left(self, time: Floats) -> Ints:
        """The pose before each instant; the last but one for the last instant."""
        after = np.searchsorted(self.seconds, time, side="right")
        return (after - 1).clip(0, len(self.seconds) - 2)

    def _way(self, left: Ints, time: Floats, values: Floats, tangents: Floats) -> Floats:
        """The cubic from the pose before each instant. (q,) -> (q, 3)."""
        width = (self.seconds[left + 1] - self.seconds[left])[:, None]
        share = ((time - self.seconds[left])[:, None] / width).clip(0, 1)
        chord = values[left + 1] - values[left]
        leave, arrive = width * tangents[left] - chord, chord - width * tangents[left + 1]
        return share * chord + share * (1 - share) * ((1 - share) * leave + share * arrive)


def curve_of(track: AnyTrack, origin_ns: int) -> Curve:
    """The curve through the poses of a track (at least two), in seconds from an origin."""
    seconds = (track.stamp - np.int64(origin_ns)) / NANOSECONDS
    step_s = float(np.median(np.diff(seconds)))
    turns = so3.log(so3.compose(so3.inverse(track.rotation[:-1]), track.rotation[1:]))
    unrolled = np.concatenate([np.zeros((1, 3)), np.cumsum(turns, axis=0)])
    velocity, rate = (_tangents(seconds, each, step_s) for each in (track.position, unrolled))
    long = np.diff(seconds, prepend=seconds[0]) > LONG_GAP * step_s
    gaps = np.cumsum(long, dtype=np.int64)
    return Curve(seconds, track.position, track.rotation, unrolled, velocity, rate, gaps, step_s)


def _tangents(seconds: Floats, values: Floats, step_s: float) -> Floats:
    """Sum of w_j (x(t + j h) - x(t - j h)) / h over j = 1, 2, 3. (n, 3) -> (n, 3)."""

    def at(time: Floats) -> Floats:
        return np.stack([np.interp(time, seconds, axis) for axis in values.T], axis=1)

    reach = [step_s * (j + 1) for j in range(len(WEIGHTS))]
    ways = [at(seconds + by) - at(seconds - by) for by in reach]
    return sum((w * way for w, way in zip(WEIGHTS, ways, strict=True)), np.zeros(())) / step_s
