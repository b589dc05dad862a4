"""Routes: waypoints on the ground, joined by straight lines and rounded at the corners."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline
from scipy.ndimage import gaussian_filter1d

from smfeval.maths.arrays import Floats

STEP_M = 0.1
BEYOND_M = 12.0  # the path goes straight on at both ends, so that rounding does not shorten it


@dataclass(frozen=True, eq=False)
class Route:
    """Waypoints, and how far the rounding of a corner reaches."""

    waypoint: Floats  # (k, 2) m
    rounding_m: float = 1.6  # a right angle at 1.5 m/s then turns at some 0.7 rad/s

    @cached_property
    def path(self) -> BSpline:
        """Place on the ground (2,) by the distance walked, in m; zero is the first waypoint."""
        line = self._sampled()
        smooth = gaussian_filter1d(line, self.rounding_m / STEP_M, axis=0, mode="nearest")
        walked = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(smooth, axis=0).T))])
        margin = int(4 * self.rounding_m / STEP_M)  # where the filter saw beyond the samples
        inner = slice(margin, -margin)
        start = np.argmin(np.hypot(*(smooth - self.waypoint[0]).T[:, : len(line) // 2]))
        return make_interp_spline(walked[inner] - walked[start], smooth[inner], k=5)

    @cached_property
    def length_m(self) -> float:
        """Distance walked from the first waypoint to the last."""
        path, last = self.path, self.waypoint[-1]
        walked = np.arange(0.0, path.t[-1], STEP_M)
        tail = walked[len(walked) // 2 :]
        return float(tail[np.argmin(np.hypot(*(path(tail) - last).T))])

    def _sampled(self) -> Floats:
        """Points every step along the lines, which go on straight at both ends."""
        first, last = self._extended(0, 1), self._extended(-1, -2)
        corner = np.concatenate([[first], self.waypoint, [last]])
        walked = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corner, axis=0).T))])
        at = np.arange(0.0, walked[-1], STEP_M)
        return np.stack([np.interp(at, walked, axis) for axis in corner.T], axis=-1)

    def _extended(self, end: int, before: int) -> Floats:
        line = self.waypoint[end] - self.waypoint[before]
        return self.waypoint[end] + BEYOND_M * line / np.hypot(*line)
