"""Tubes: cylinders without caps, met from outside (trunks, pillars) and from inside (tunnels)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smfeval.lab.scene.footprint import Footprint
from smfeval.maths.arrays import Bools, Floats


@dataclass(frozen=True, eq=False)
class Tube:
    """All points at `radius` from the axis and within `half_length` of the centre along it."""

    centre: Floats  # (3,) m
    axis: Floats  # (3,) unit vector
    radius: float  # m
    half_length: float  # m

    @cached_property
    def footprint(self) -> Footprint:
        """A rectangle along the axis."""
        x, y, _ = self.axis
        along = self.half_length * float(np.hypot(x, y)) + self.radius
        yaw = float(np.arctan2(y, x))
        return Footprint(self.centre[0], self.centre[1], along, self.radius, yaw)

    def hit(self, origin: Floats, direction: Floats) -> Floats:
        """Distance to the first wall along each ray, inf without one. (3, n), (3, n) -> (n,).

        With both parts across the axis, |o + t d|^2 = radius^2 is quadratic in t.
        """
        start = origin - self.centre[:, None]
        start_along, step_along = self.axis @ start, self.axis @ direction
        start = start - self.axis[:, None] * start_along
        step = direction - self.axis[:, None] * step_along
        a, b = (step * step).sum(axis=0), (start * step).sum(axis=0)
        c = (start * start).sum(axis=0) - self.radius**2
        with np.errstate(divide="ignore", invalid="ignore"):  # no root, or along the axis: a miss
            root = np.sqrt(b * b - a * c)
            near, far = (-b - root) / a, (-b + root) / a
            near_met = self._met(near, start_along, step_along)
            far_met = self._met(far, start_along, step_along)
        return np.where(near_met, near, np.where(far_met, far, np.inf))

    def _met(self, distance: Floats, start: Floats, step: Floats) -> Bools:
        return (distance > 0) & (np.abs(start + distance * step) <= self.half_length)


def pillar(x: float, y: float, radius: float, low: float, high: float) -> Tube:
    """A vertical tube from height `low` to height `high`."""
    centre = np.array([x, y, (low + high) / 2])
    return Tube(centre, np.array([0.0, 0.0, 1.0]), radius, (high - low) / 2)
