"""The covariance of the map's error after a run: from a log, for a belief with the same means."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError

from smfeval import words
from smfeval.errors import SeriesError
from smfeval.maths import se3
from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import is_semidefinite
from smfeval.track import GaussianTrack, Track
from smfeval_lab.filters.ieskf.odometry import right_perturbations, turn_cross
from smfeval_lab.filters.map_log import MapLog, unpack

SAME_SHARE, SAME_M = 0.01, 1e-3  # of the way, and of each step: what rounding may change
NEAR_NS = 1_000_000  # a belief is of the scan whose stamp is as near as this


@dataclass(frozen=True)
class Remapped:
    """A belief with the covariance of a log."""

    belief: GaussianTrack
    scans: int  # of the log
    left_out: int  # beliefs without a scan in the log
    breaks_off: bool = False  # the log, within a scan


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
    reported, first = np.unique(scan[near], return_index=True)
    left_out, belief = len(belief) - len(reported), belief[near[first]]
    _refuse_other_run(belief.position, np.array([log.rows[i]["position"] for i in reported]))

    poses, covariance, wanted = log.poses(lags), [], set(reported.tolist())
    for number, row in enumerate(log.rows):
        whole = poses.follow(unpack(row), reported=number in wanted)
        if number in wanted:
            covariance.append(whole[:6, :6])
    if not is_semidefinite(np.stack(covariance)).all():
        raise LinAlgError("a variance is negative")
    # the rotation of the log: the world of the belief may be another one
    turn = right_perturbations(np.stack([log.rows[i]["rotation"] for i in reported]))
    cross = poses.cross()
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
    return Remapped(made, len(stamp), left_out, log.breaks_off)


def _refuse_other_run(belief: Floats, log: Floats) -> None:
    """Raise where the steps between poses differ: another run, or another body. (n, 3) each."""
    steps, own = (np.linalg.norm(np.diff(each, axis=0), axis=1) for each in (belief, log))
    if np.abs(steps - own).sum() > SAME_SHARE * own.sum() + SAME_M * len(own):
        raise SeriesError(
            f"the belief moves {words.length(steps.sum())} where the log moves "
            f"{words.length(own.sum())}, or by other steps: they must be of one run and one body"
        )
