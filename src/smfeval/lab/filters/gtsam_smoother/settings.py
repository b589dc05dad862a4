"""The knobs of the smoother."""

from dataclasses import dataclass
from typing import Literal

from smfeval.lab.filters.settings import Range, refuse_outside

Old = Literal["fixed", "none"]

RANGES = {
    "point_variance": Range(1e-10, 1e4),
    "process_scale": Range(1e-6, 1e6),
    "voxel_m": Range(1e-3, 100.0),
    "lag_s": Range(1.0, 1e4),
    "keyframe_m": Range(1e-3, 1e3),
    "keyframe_deg": Range(0.01, 360.0),
    "matches": Range(1, 1000),
    "reach_m": Range(1e-3, 100.0),
    "nearest_m": Range(0.0, 1e3),
    "standing_s": Range(1e-3, 1e4),
    "start_m": Range(1e-6, 1e3),
    "start_rad": Range(1e-6, 3.2),
    "start_acceleration_bias": Range(0.0, 10.0),
}


@dataclass(frozen=True)
class Settings:
    """What a user may decide."""

    point_variance: float = 1e-3  # m^2 along the normal of a pair of points, as R of a filter
    process_scale: float = 1.0  # on the variances of the IMU that the recording tells
    voxel_m: float = 0.5  # one point of the scan per voxel
    lag_s: float = 5.0  # states older than this are marginalised
    old_keyframes: Old = (
        "fixed"  # those that left the window: their poses taken as exact, or unused
    )
    keyframe_m: float = 1.0  # a scan this far from the last keyframe becomes one
    keyframe_deg: float = 15.0  # or turned by so much
    matches: int = 3  # keyframes that a scan is registered to
    reach_m: float = 1.0  # points farther apart are no pair
    undistort: bool = True
    nearest_m: float = 0.5  # points nearer to the LiDAR than this are its own carrier
    standing_s: float = 1.0  # the start is learned from so long a stand
    start_m: float = 1e-5  # sigma of the first position: it defines the world
    start_rad: float = 1e-5  # and of the first rotation, which a long way turns into metres
    start_acceleration_bias: float = 0.05  # m/s^2, sigma

    def __post_init__(self) -> None:
        refuse_outside(self, RANGES)
