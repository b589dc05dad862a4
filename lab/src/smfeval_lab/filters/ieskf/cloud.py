"""A scan made ready: every point brought to the body at the end of the scan, one per voxel."""

from collections.abc import Callable

import numpy as np

from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval_lab.filters.ieskf.inertial import ImuTrajectory
from smfeval_lab.filters.ieskf.maps import voxel_number
from smfeval_lab.filters.ieskf.rotations import cross_product
from smfeval_lab.filters.ieskf.state import Settings, Thinning
from smfeval_lab.recording import Scan


def preprocess_scan(
    scan: Scan, way: ImuTrajectory, begin: int, imu_T_lidar: se3.Pose, settings: Settings
) -> Floats:
    """Points in body axes at the end of the scan, undistorted, thinned; the way begins at `begin`.

    -> (n, 3)
    """
    seen = far_points(scan.point, settings.nearest_m, settings.every)
    when = scan.time[seen] if settings.undistort else np.full(len(seen), scan.end - scan.start)
    time = (when + np.int64(scan.start - begin)) / NANOSECONDS
    mounted = so3.rotate_all(so3.matrix(imu_T_lidar[1]), scan.point[seen].astype(np.float64))
    point = undistort(mounted + imu_T_lidar[0], time, way)
    return THINNINGS[settings.thinning](point, settings.voxel_m) if settings.voxel_m else point


def far_points(point: Floats, nearest_m: float, every: int = 1) -> Ints:
    """Every n-th of the points that are finite and not on the carrier of the LiDAR itself."""
    square = np.einsum("ni,ni->n", point, point)
    return np.flatnonzero(np.isfinite(square) & (square >= nearest_m**2))[::every]


def undistort(point: Floats, time: Floats, way: ImuTrajectory) -> Floats:
    """T_end^-1 T(time) point for every point, with T(time) from the knot before it. (n, 3).

    Points before the first knot are carried backward from it.
    """
    knot = np.clip(np.searchsorted(way.time, time) - 1, 0, len(way.rate) - 1)
    h = (time - way.time[knot])[:, None]
    back = way.rotation[-1].T
    turns, turned = back @ way.rotation[:-1], rotate_small(h * way.rate[knot], point)
    if len(turns) == 1:  # without an IMU
        turned = turned @ turns[0].T
    else:
        turned = np.einsum("nij,nj->ni", turns[knot], turned)
    place = (way.position[:-1] - way.position[-1]) @ back.T
    velocity, pull = way.velocity[:-1] @ back.T, 0.5 * way.acceleration @ back.T
    return turned + place[knot] + h * (velocity[knot] + h * pull[knot])


def rotate_small(turn: Floats, vector: Floats) -> Floats:
    """Exp(turn) vector to third order: turns within an IMU interval are small. (n, 3)."""
    once = cross_product(turn, vector)
    twice = cross_product(turn, once)
    return vector + once + 0.5 * twice + cross_product(turn, twice) / 6


def downsample(point: Floats, voxel_m: float) -> Floats:
    """Mean of the points in each voxel, in the order of the voxels' numbers. (k, 3)."""
    _, voxel, count = np.unique(
        voxel_number(point, voxel_m), return_inverse=True, return_counts=True
    )
    return np.stack([np.bincount(voxel, axis) / count for axis in point.T], axis=1)


def first_points(point: Floats, voxel_m: float) -> Floats:
    """A point of each voxel as it was measured, drawn without preference. (k, 3).

    The draw is the same each time: points are taken in an order that is shuffled by a fixed seed.
    """
    shuffled = point[np.random.default_rng(0).permutation(len(point))]
    _, first = np.unique(voxel_number(shuffled, voxel_m), return_index=True)
    return shuffled[first]


THINNINGS: dict[Thinning, Callable[[Floats, float], Floats]] = {
    "mean": downsample,
    "first": first_points,
}
