"""IESKF: an iterated error-state Kalman filter with point-to-plane residuals.

The Fast-LIO2 family, written from its published mathematics (Xu et al., Fast-LIO2, T-RO 2022; He et
al., Kalman filters on differentiable manifolds, 2021), with the map taken as exact::

    odometry      the way from a recording to a run
    settings      the knobs
    intake        which scans can be used
    start         the first state, from standing still
    state         the state and its error state
    motion        the IMU between two scans                      propagation, rotations
    cloud         the scan, undistorted and thinned              hashing
    maps          planes near a place                            voxel_map, planes
    equations     residuals and their derivative
    information   what they say: kernel, observability, shared displacement
    update        the iterated update
    noise         the variance of a residual, fixed or learned
    history       belief track and telemetry
"""

from smfeval.lab.filters.ieskf.odometry import run
from smfeval.lab.filters.ieskf.state import Settings
from smfeval.lab.filters.ieskf.voxel_map import KnownMap

__all__ = ["KnownMap", "Settings", "run"]
