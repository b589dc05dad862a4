"""IESKF: an iterated error-state Kalman filter with point-to-plane residuals.

The Fast-LIO2 family, written from its published mathematics (Xu et al., Fast-LIO2, T-RO 2022; He et
al., Kalman filters on differentiable manifolds, 2021), with the map taken as exact. State, IMU
propagation, undistortion, start and maps also serve other filters.
"""

from smfeval_lab.filters.ieskf.maps import KnownMap
from smfeval_lab.filters.ieskf.odometry import run
from smfeval_lab.filters.ieskf.state import Settings

__all__ = ["KnownMap", "Settings", "run"]
