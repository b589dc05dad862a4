"""KISS-ICP: points to points, no IMU, no covariance. The baseline that reports no belief.

Its pose is of the LiDAR at the last point of a scan, in the world of the first LiDAR frame; the
mounting moves it to the IMU.
"""

from dataclasses import dataclass
from importlib.metadata import version
from time import process_time
from typing import Any

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.progress import report
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.track import About, Provenance, Track
from smfeval_lab.filters.run import Run
from smfeval_lab.filters.settings import ranged, refuse_outside, require_module
from smfeval_lab.recording import Recording, Scans
from smfeval_lab.recording.usable import drop_unusable

NAME = "kiss-icp"


@dataclass(frozen=True)
class Settings:
    """What a user may decide; the rest is as the package ships it."""

    voxel_m: float = ranged(1.0, 1e-3, 100.0)  # of the map; the package takes 1 % of the range
    nearest_m: float = ranged(0.5, 0.0, 1e3)
    farthest_m: float = ranged(100.0, 1e-3, 1e4)
    undistort: bool = True

    def __post_init__(self) -> None:
        refuse_outside(self)
        if not self.nearest_m < self.farthest_m:
            raise OptionError("setting nearest_m must be less than farthest_m")


def run(recording: Recording, settings: Settings | None = None) -> Run:
    """Poses of the IMU at the ends of the scans; of the LiDAR where there is no IMU."""
    settings = settings or Settings()
    odometry = make_odometry(settings)
    _, scans, notes = drop_unusable(recording.imu, recording.scans, recording.name)
    if settings.undistort and not scans.time.any():
        raise OptionError("the points have no times of their own; kiss-icp needs undistort=false")
    poses = np.empty((len(scans), 4, 4))

    clock = process_time()
    for i in range(len(poses)):
        scan = scans[i]  # the package counts times from 0 at the start to 1 at the end
        time = scan.time / max(scan.end - scan.start, 1)
        odometry.register_frame(scan.point.astype(np.float64), time)
        poses[i] = odometry.last_pose
        report(i + 1, len(poses))
    cpu_s = process_time() - clock

    position, rotation = imu_poses(poses, recording.imu_T_lidar)
    body, made = recording.body, version(NAME)
    about = About(body=body, world="map", gauge="se3", algorithm=NAME, version=made)
    provenance = Provenance(recording.name, NAME)
    stamp = last_point_stamps(scans)
    track = Track(stamp, position, rotation, about=about, provenance=provenance)
    return Run(track, None, cpu_s, notes)


def last_point_stamps(scans: Scans) -> Ints:
    """Stamps of the last point of each scan, none of them empty. (s,) ns."""
    return scans.start + np.maximum.reduceat(scans.time, scans.offset[:-1])


def imu_poses(first_T_lidar: Floats, imu_T_lidar: se3.Pose) -> se3.Pose:
    """T_first_imu, with the world where the IMU starts: E T E^-1. (n, 4, 4) -> pose of n."""
    pose = first_T_lidar[:, :3, 3], so3.quaternion(first_T_lidar[:, :3, :3])
    return se3.compose(se3.compose(imu_T_lidar, pose), se3.inverse(imu_T_lidar))


def make_odometry(settings: Settings) -> Any:
    """The package's own odometry object, on one thread."""
    package = require_module("kiss_icp.kiss_icp", NAME, NAME)
    config = require_module("kiss_icp.config", NAME, NAME).KISSConfig()
    config.data.max_range, config.data.min_range = settings.farthest_m, settings.nearest_m
    config.data.deskew = settings.undistort
    config.mapping.voxel_size = settings.voxel_m
    config.registration.max_num_threads = 1
    return package.KissICP(config)
