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
from smfeval_lab.filters.ieskf.planes import LEAST_SPREAD
from smfeval_lab.filters.settings import Range, refuse_outside

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


MapKind = Literal["incremental", "frozen", "known"]
Noise = Literal["fixed", "residuals", "innovations"]
Kernel = Literal["none", "huber", "cauchy"]
MapErrorKind = Literal["ignored", "carried", "schmidt"]
ProcessNoise = Literal["told", "sample", "density"]
AttitudeTransition = Literal["exact", "identity"]
StartCovariance = Literal["standing", "shipped"]
Rematch = Literal["always", "converged"]
MotionKind = Literal["imu", "constant_velocity"]
Thinning = Literal["mean", "first"]

# Wider than any sensor asks for, and narrow enough that no covariance overflows or is singular.
RANGES = {
    "point_variance": Range(1e-10, 1e4),
    "process_scale": Range(1e-6, 1e6),
    "voxel_m": Range(1e-3, 100.0, or_zero=True),
    "map_voxel_m": Range(1e-3, 100.0, or_zero=True),
    "iterations": Range(1, 1000),
    "every": Range(1, 1000),
    "gyro_variance": Range(1e-12, 1e6),
    "acceleration_variance": Range(1e-12, 1e6),
    "gyro_bias_variance": Range(1e-12, 1e6),
    "acceleration_bias_variance": Range(1e-12, 1e6),
    "fewest_neighbours": Range(3, NEIGHBOURS),
    "least_spread": Range(0.0, 1.0),
    "converged_step": Range(1e-9, 1.0),
    "undistortions": Range(1, 100),
    "frozen_after_s": Range(0.0, 1e6),
    "nearest_m": Range(0.0, 1e3),
    "standing_s": Range(1e-3, 1e4),
    "start_m": Range(1e-6, 1e3),
    "start_rad": Range(1e-6, 3.2),
    "start_acceleration_bias": Range(0.0, 10.0),
    "observability": Range(0.0, 1.0),
    "shared_m": Range(0.0, 1e3),
    "shared_rad": Range(0.0, 3.2),
    "cross_lags": Range(0, 1000),
    "report_every": Range(1, 1000),
    "map_classes": Range(4, 256),
    "prior_extrinsic_m": Range(0.0, 1.0),
    "prior_extrinsic_deg": Range(0.0, 30.0),
    "prior_clock_s": Range(0.0, 1.0),
    "prior_range_m": Range(0.0, 1.0),
    "prior_view_m": Range(0.1, 1e3),
}


@dataclass(frozen=True)
class Settings:
    """What a user may decide.

    Those from `noise` to `prior_view_m` go beyond the published filter and are off; those from
    `every` on are what published filters do otherwise (docs/research/families.md).
    """

    point_variance: float = 1e-3  # m^2: R of one point-to-plane residual
    process_scale: float = 1.0  # on the variances of the IMU that the recording tells: Q
    voxel_m: float = 0.5  # one point of the scan per voxel; 0 keeps every point
    map_voxel_m: float = 0.0  # and of the map; 0: as the scan
    iterations: int = 4
    map: MapKind = "incremental"
    frozen_after_s: float = 3.0  # a frozen map learns only so long
    undistort: bool = True
    nearest_m: float = 0.5  # points nearer to the LiDAR than this are its own carrier
    standing_s: float = 1.0  # the start is learned from so long a stand
    start_m: float = 1e-3  # sigma of the first position in the world that it defines
    start_rad: float = 1e-3  # and of the first rotation
    start_acceleration_bias: float = 0.05  # m/s^2, sigma
    noise: Noise = "fixed"
    kernel: Kernel = "none"
    observability: float = 0.0  # directions on which fewer than this share of points bear are left
    shared_m: float = 0.0  # sigma of a displacement that all points of a scan share
    shared_rad: float = 0.0
    cross_lags: int = 0  # reported scans back to which cross-covariances are reported
    report_every: int = 1  # scan of which a belief is reported
    map_rule: MapRule = "keep"  # points of a voxel: the first few, the one amid it, or their mean
    map_error: MapErrorKind = "ignored"  # carried beside the filter, or by a Schmidt gain within it
    map_classes: int = 16  # parts of the map whose errors are carried
    prior_extrinsic_m: float = (
        0.0  # sigmas of the data sheet, used where the map's error is carried
    )
    prior_extrinsic_deg: float = 0.0
    prior_clock_s: float = 0.0
    prior_range_m: float = 0.0  # by which biases of ranges displace a scan
    prior_view_m: float = 10.0  # way after which they displace it otherwise
    every: int = 1  # n-th point of a scan that is used
    process: ProcessNoise = (
        "told"  # Q: of the recording; or the variances below, of a sample or as densities squared
    )
    gyro_variance: float = 0.1  # (rad/s)^2
    acceleration_variance: float = 0.1  # (m/s^2)^2
    gyro_bias_variance: float = 1e-4
    acceleration_bias_variance: float = 1e-4
    attitude_transition: AttitudeTransition = "exact"  # of the rotation's error; or left as it is
    start_covariance: StartCovariance = "standing"  # what a stand tells; or as Fast-LIO2 ships it
    level: bool = True  # the world; or it has the axes of the body at the start
    rematch: Rematch = "always"  # planes in each iteration; or only after one that converged
    search: Search = "27"  # voxels in which neighbours are looked for
    fewest_neighbours: int = NEIGHBOURS  # that a plane goes through
    least_spread: float = LEAST_SPREAD  # squared voxels; points that spread less are no plane
    converged_step: float = 1e-3  # m and rad: a pose that moves by less stands still
    thinning: Thinning = "mean"  # of the points of a voxel of the scan
    motion: MotionKind = "imu"  # what predicts; without an IMU the body goes on as it went
    undistortions: int = 1  # of a scan, each by the pose of the update before; without an IMU
    adaptive_process: bool = False  # q by how far the first step goes; without an IMU

    def __post_init__(self) -> None:
        refuse_outside(self, RANGES)
        if self.map != "known" and not self.voxel_m + self.map_voxel_m > 0:
            raise OptionError("with voxel_m=0 the map needs a voxel of its own: map_voxel_m=0.5")
        if self.motion == "imu" and (self.undistortions > 1 or self.adaptive_process):
            raise OptionError(
                "undistortions and adaptive_process are for motion=constant_velocity; an IMU tells "
                "the motion within a scan"
            )

    @property
    def map_spacing_m(self) -> float:
        """Size of the voxels of the map."""
        return self.map_voxel_m or self.voxel_m
