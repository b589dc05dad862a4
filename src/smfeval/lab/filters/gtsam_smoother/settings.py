"""The knobs of the smoother."""

from dataclasses import dataclass
from typing import Literal

from smfeval.errors import OptionError

Old = Literal["fixed", "none"]

POSITIVE = ("point_variance", "process_scale", "voxel_m", "lag_s", "keyframe_m", "keyframe_deg")


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
        for name in (*POSITIVE, "reach_m", "standing_s", "start_m", "start_rad"):
            if not getattr(self, name) > 0:
                raise OptionError(f"setting {name} must be positive, not {getattr(self, name)}")
        if self.matches < 1:
            raise OptionError(f"setting matches must be at least 1, not {self.matches}")
        if not self.lag_s >= 1:
            raise OptionError(f"setting lag_s must be at least 1 s, not {self.lag_s}")
