"""GTSAM-SMOOTHER: a fixed-lag smoother over scans and IMU, of the kind of GLIM.

A filter marginalises every scan but the last and takes its map for exact. Here the scans of the
last seconds stay variables, keyframes among them are the map, and a scan's registration to a
keyframe is a factor between two uncertain poses::

    odometry      the way from a recording to a run
    settings      the knobs
    keyframes     which earlier scans a scan is registered to, and what that says   small-gicp
    window        the graph of the last seconds: IMU and registrations              gtsam
"""

from smfeval.lab.filters.gtsam_smoother.odometry import run
from smfeval.lab.filters.gtsam_smoother.settings import Settings

__all__ = ["Settings", "run"]
