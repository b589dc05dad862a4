"""The knobs of the filter. Defaults are those of the Fast-LIO2 family."""

from dataclasses import dataclass
from typing import Literal

from smfeval.errors import OptionError
from smfeval.lab.filters.settings import Range, refuse_outside

MapKind = Literal["incremental", "frozen", "known"]
Noise = Literal["fixed", "residuals", "innovations"]
Kernel = Literal["none", "huber", "cauchy"]

# Wider than any sensor asks for, and narrow enough that no covariance overflows or is singular.
RANGES = {
    "point_variance": Range(1e-10, 1e4),
    "process_scale": Range(1e-6, 1e6),
    "voxel_m": Range(1e-3, 100.0, or_zero=True),
    "map_voxel_m": Range(1e-3, 100.0, or_zero=True),
    "iterations": Range(1, 1000),
    "frozen_after_s": Range(0.0, 1e6),
    "nearest_m": Range(0.0, 1e3),
    "standing_s": Range(1e-3, 1e4),
    "start_m": Range(1e-6, 1e3),
    "start_rad": Range(1e-6, 3.2),
    "start_acceleration_bias": Range(0.0, 10.0),
    "observability": Range(0.0, 1.0),
    "shared_m": Range(0.0, 1e3),
    "shared_rad": Range(0.0, 3.2),
}


@dataclass(frozen=True)
class Settings:
    """What a user may decide. The last four go beyond the published filter and are off."""

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

    def __post_init__(self) -> None:
        refuse_outside(self, RANGES)
        if self.map != "known" and not self.voxel_m + self.map_voxel_m > 0:
            raise OptionError("with voxel_m=0 the map needs a voxel of its own: map_voxel_m=0.5")

    @property
    def map_spacing_m(self) -> float:
        """Size of the voxels of the map."""
        return self.map_voxel_m or self.voxel_m
