"""The state of the filter and its error state::

    position            world, m          d          t = t_mean + d
    rotation            world from body   phi        R = R_mean Exp(phi)
    velocity            world, m/s        added
    gyro_bias           body, rad/s       added
    acceleration_bias   body, m/s^2       added
    tilt                -                 added      gravity = -G (tilt, sqrt(1 - |tilt|^2))

`constant_velocity` has other things in the slots of velocity and gyro_bias.

The world is level at the start up to what the accelerometer's bias hides; `tilt` is that rest, the
horizontal part of the direction up. Two numbers in a flat chart: gravity keeps its length, and its
error needs no sphere.
"""

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats
from smfeval_lab.filters.ieskf import rotations
from smfeval_lab.filters.ieskf.maps import NEIGHBOURS, MapRule, Search
from smfeval_lab.filters.ieskf.planes import LEAST_SPREAD, PlaneFit
from smfeval_lab.filters.settings import ranged, refuse_outside

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


MapKind = Literal["incremental", "known"]
Noise = Literal["fixed", "residuals"]
MapErrorKind = Literal["ignored", "carried"]
ProcessNoise = Literal["told", "sample"]
AttitudeTransition = Literal["exact", "identity"]
StartCovariance = Literal["standing", "shipped"]
Rematch = Literal["always", "converged"]
MotionKind = Literal["imu", "constant_velocity"]
Thinning = Literal["mean", "first"]


@dataclass(frozen=True)
class Settings:
    """What a user may decide.

    Those from `noise` to `prior_view_m` go beyond the published filter and are off; those from
    `every` on are what published filters do otherwise (docs/research/families.md). Ranges are wider
    than any sensor asks for, and narrow enough that no covariance overflows or is singular.
    """

    point_variance: float = ranged(1e-3, 1e-10, 1e4)  # m^2: R of one point-to-plane residual
    process_scale: float = ranged(1.0, 1e-6, 1e6)  # on the recording's variances of the IMU: Q
    voxel_m: float = ranged(0.5, 1e-3, 100.0, or_zero=True)  # one point per voxel; 0: all
    map_voxel_m: float = ranged(0.0, 1e-3, 100.0, or_zero=True)  # and of the map; 0: as the scan
    iterations: int = ranged(4, 1, 1000)
    map: MapKind = "incremental"
    undistort: bool = True
    nearest_m: float = ranged(0.5, 0.0, 1e3)  # nearer points are the LiDAR's own carrier
    standing_s: float = ranged(1.0, 1e-3, 1e4)  # the start is learned from so long a stand
    start_m: float = ranged(1e-3, 1e-6, 1e3)  # sigma of the first position, which defines the world
    start_rad: float = ranged(1e-3, 1e-6, 3.2)  # and of the first rotation
    start_acceleration_bias: float = ranged(0.05, 0.0, 10.0)  # m/s^2, sigma
    noise: Noise = "fixed"
    cross_lags: int = ranged(0, 0, 1000)  # reported scans back that have cross-covariances
    report_every: int = ranged(1, 1, 1000)  # scan of which a belief is reported
    refuse_other_side: bool = True  # planes whose map points were seen from their other side
    map_rule: MapRule = "keep"  # points of a voxel that the map keeps
    map_error: MapErrorKind = "ignored"  # carried beside the filter
    map_log: bool = False  # keep what `lab remap` needs, see --map-log
    map_classes: int = ranged(16, 4, 256)  # parts of the map whose errors are carried
    range_sigma_m: float = ranged(0.02, 0.0, 1.0)  # of a range, where map_error is carried
    prior_extrinsic_m: float = ranged(
        0.0, 0.0, 1.0
    )  # sigmas of the data sheet, where map_error is carried
    prior_extrinsic_deg: float = ranged(0.0, 0.0, 30.0)
    prior_clock_s: float = ranged(0.0, 0.0, 1.0)
    prior_range_m: float = ranged(0.0, 0.0, 1.0)  # by which biases of ranges displace a scan
    prior_view_m: float = ranged(10.0, 0.1, 1e3)  # way after which they displace it otherwise
    every: int = ranged(1, 1, 1000)  # n-th point of a scan that is used
    process: ProcessNoise = "told"  # Q: of the recording; or as below, of a sample
    gyro_variance: float = ranged(0.1, 1e-12, 1e6)  # (rad/s)^2
    acceleration_variance: float = ranged(0.1, 1e-12, 1e6)  # (m/s^2)^2
    gyro_bias_variance: float = ranged(1e-4, 1e-12, 1e6)
    acceleration_bias_variance: float = ranged(1e-4, 1e-12, 1e6)
    attitude_transition: AttitudeTransition = "exact"  # of the rotation's error; or left as it is
    start_covariance: StartCovariance = "standing"  # what a stand tells; or as Fast-LIO2 ships it
    level: bool = True  # the world; or it has the axes of the body at the start
    rematch: Rematch = "always"  # planes in each iteration; or only after one that converged
    search: Search = "27"  # voxels in which neighbours are looked for
    fewest_neighbours: int = ranged(NEIGHBOURS, 3, NEIGHBOURS)  # that a plane goes through
    least_spread: float = ranged(LEAST_SPREAD, 0.0, 1.0)  # squared voxels; less is no plane
    plane_fit: PlaneFit = "principal"  # distances; or n x = -1, which depends on the origin
    converged_step: float = ranged(1e-3, 1e-9, 1.0)  # m and rad: less is standing still
    thinning: Thinning = "mean"  # of the points of a voxel of the scan
    motion: MotionKind = "imu"  # what predicts; without an IMU the body goes on as it went
    undistortions: int = ranged(1, 1, 100)  # of a scan, by the update before; without an IMU

    def __post_init__(self) -> None:
        refuse_outside(self)
        if self.map != "known" and not self.voxel_m + self.map_voxel_m > 0:
            raise OptionError("with voxel_m=0 the map needs a voxel of its own: map_voxel_m=0.5")
        if self.motion == "imu" and self.undistortions > 1:
            raise OptionError(
                "undistortions are for motion=constant_velocity; an IMU tells the motion in a scan"
            )
