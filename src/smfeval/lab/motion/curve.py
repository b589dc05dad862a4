"""A motion as splines: the exact answer, since everything is derived from the splines themselves.

The rotation is world_R_body = Rz(yaw) Ry(pitch) Rx(roll). Both splines are of fifth degree, so
acceleration and angular rate are smooth.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats

DEGREE = 5


@dataclass(frozen=True, eq=False)
class Motion:
    """Position (x, y, z) in m and angles (yaw, pitch, roll) in rad over time in seconds."""

    position: BSpline
    angles: BSpline
    duration_s: float  # the splines reach a little beyond it on both sides

    def pose(self, time: Floats) -> se3.Pose:
        """world_T_body. (n,) -> (n, 3), (n, 4)."""
        return self.position(time), so3.quaternion(self.rotation(time))

    def rotation(self, time: Floats) -> Floats:
        """world_R_body as matrices. (n,) -> (n, 3, 3)."""
        yaw, pitch, roll = self.angles(time).T
        (sy, cy), (sp, cp), (sr, cr) = ((np.sin(a), np.cos(a)) for a in (yaw, pitch, roll))
        out = np.empty((len(yaw), 3, 3))
        out[:, 0] = np.stack([cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr], axis=-1)
        out[:, 1] = np.stack([sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr], axis=-1)
        out[:, 2] = np.stack([-sp, cp * sr, cp * cr], axis=-1)
        return out

    def velocity(self, time: Floats) -> Floats:
        """In world axes, m/s. (n,) -> (n, 3)."""
        return self._derivatives[0](time)

    def acceleration(self, time: Floats) -> Floats:
        """In world axes, m/s^2. (n,) -> (n, 3)."""
        return self._derivatives[1](time)

    def rate(self, time: Floats) -> Floats:
        """Angular rate in body axes, rad/s: R' = R hat(rate). (n,) -> (n, 3)."""
        _, pitch, roll = self.angles(time).T
        yaw_rate, pitch_rate, roll_rate = self._derivatives[2](time).T
        turned = yaw_rate * np.cos(pitch)
        return np.stack(
            [
                roll_rate - yaw_rate * np.sin(pitch),
                pitch_rate * np.cos(roll) + turned * np.sin(roll),
                turned * np.cos(roll) - pitch_rate * np.sin(roll),
            ],
            axis=-1,
        )

    @cached_property
    def _derivatives(self) -> tuple[BSpline, BSpline, BSpline]:
        return self.position.derivative(1), self.position.derivative(2), self.angles.derivative(1)


def through(time: Floats, position: Floats, angles: Floats, duration_s: float) -> Motion:
    """The motion through given positions and angles. (n,), (n, 3), (n, 3)."""
    places = make_interp_spline(time, position, k=DEGREE)
    return Motion(places, make_interp_spline(time, angles, k=DEGREE), duration_s)
