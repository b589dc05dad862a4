"""The covariance of the map's error after a run: from a log, for a belief with the same means."""

from dataclasses import dataclass, replace

import numpy as np

from smfeval.errors import SeriesError
from smfeval.maths import se3, so3
from smfeval.track import GaussianTrack, Track
from smfeval_lab.filters.ieskf.odometry import right_perturbations, turn_cross
from smfeval_lab.filters.map_log import MapLog, unpack

NEAR_NS = 1_000_000  # a belief is of the scan whose stamp is as near as this


@dataclass(frozen=True)
class Remapped:
    """A belief with the covariance of a log."""

    belief: GaussianTrack
    scans: int  # of the log
    left_out: int  # beliefs without a scan in the log


def remap(log: MapLog, belief: Track, *, lags: int = 0) -> Remapped:
    """The means of `belief`, with the covariance that the log leads to.

    `lags` beliefs back have cross-covariances.
    """
    stamp = np.array(log.stamp, dtype=np.int64)
    if not belief.about.oriented:
        raise SeriesError("the belief has positions alone: the covariance needs its rotations")
    scan = np.searchsorted(0.5 * (stamp[:-1] + stamp[1:]), belief.stamp)
    near = np.flatnonzero(np.abs(stamp[scan] - belief.stamp) <= NEAR_NS)
    if len(near) == 0:
        raise SeriesError("no stamp of the belief is within 1 ms of a scan of the log")
    left_out, belief, reported = len(belief) - len(near), belief[near], set(scan[near].tolist())

    poses, covariance = log.poses(lags), []
    for number, row in enumerate(log.rows):
        whole = poses.follow(unpack(row), reported=number in reported)
        if number in reported:
            covariance.append(whole[:6, :6])
    turn, cross = right_perturbations(so3.matrix(belief.rotation)), poses.cross()
    made = GaussianTrack(
        belief.stamp,
        belief.position,
        belief.rotation,
        se3.sandwich(turn, np.stack(covariance)),
        about=belief.about,
        provenance=replace(belief.provenance, remarks=()),
    )
    if cross is not None:
        made = made.with_cross(turn_cross(cross, turn))
    return Remapped(made, len(stamp), left_out)
