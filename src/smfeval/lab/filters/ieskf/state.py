"""The state of the filter and its error state::

    position            world, m          d          t = t_mean + d
    rotation            world from body   phi        R = R_mean Exp(phi)
    velocity            world, m/s        added
    gyro_bias           body, rad/s       added
    acceleration_bias   body, m/s^2       added
    tilt                -                 added      gravity = -G (tilt, sqrt(1 - |tilt|^2))

The world is level at the start up to what the accelerometer's bias hides; `tilt` is that rest, the
horizontal part of the direction up. Two numbers in a flat chart: gravity keeps its length, and its
error needs no sphere.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from smfeval.lab.filters.ieskf import rotations
from smfeval.maths.arrays import Floats

SIZE = 17
POSITION, ROTATION, VELOCITY = slice(0, 3), slice(3, 6), slice(6, 9)
GYRO_BIAS, ACCELERATION_BIAS, TILT = slice(9, 12), slice(12, 15), slice(15, 17)
POSE = slice(0, 6)


@dataclass(frozen=True)
class State:
    """Mean and covariance at an instant."""

    stamp: int  # ns
    position: Floats  # (3,)
    rotation: Floats  # (3, 3)
    velocity: Floats  # (3,)
    gyro_bias: Floats  # (3,)
    acceleration_bias: Floats  # (3,)
    tilt: Floats  # (2,)
    covariance: Floats  # (17, 17)

    def plus(self, delta: Floats) -> Self:
        """The state moved by an error state; the covariance stays. (17,)."""
        return replace(
            self,
            position=self.position + delta[POSITION],
            rotation=self.rotation @ rotations.exp(delta[ROTATION]),
            velocity=self.velocity + delta[VELOCITY],
            gyro_bias=self.gyro_bias + delta[GYRO_BIAS],
            acceleration_bias=self.acceleration_bias + delta[ACCELERATION_BIAS],
            tilt=self.tilt + delta[TILT],
        )

    def minus(self, other: Self) -> Floats:
        """The error state that leads from the other to this one: other.plus(delta) = self."""
        delta = np.empty(SIZE)
        delta[POSITION] = self.position - other.position
        delta[ROTATION] = rotations.log(other.rotation.T @ self.rotation)
        delta[VELOCITY] = self.velocity - other.velocity
        delta[GYRO_BIAS] = self.gyro_bias - other.gyro_bias
        delta[ACCELERATION_BIAS] = self.acceleration_bias - other.acceleration_bias
        delta[TILT] = self.tilt - other.tilt
        return delta
