"""Can a track be scored, and on which axes?"""

from dataclasses import dataclass

import numpy as np

from smfeval.examination.health import UNKNOWN_VARIANCE
from smfeval.maths.arrays import Bools
from smfeval.maths.normal import is_singular
from smfeval.track import GaussianTrack, Track

AXES = ("xyz", "xy", "xz", "yz", "x", "y", "z")  # the first that can be scored is offered


@dataclass(frozen=True)
class Scorable:
    """The axes on which every scan has a usable covariance; None, and why, if there are none."""

    axes: str | None
    reason: str


def scorable(track: Track) -> Scorable:
    """Find the axes that can be scored (world axes of the track)."""
    if not isinstance(track, GaussianTrack):
        return Scorable(None, "poses without uncertainty: only distances (APE) can be computed")
    useless = {axes: useless_scans(track, axes) for axes in AXES}
    best = next((axes for axes in AXES if not useless[axes].any()), None)
    if best == "xyz":
        return Scorable("xyz", "every position covariance is regular")
    trouble = (
        f"{int(useless['xyz'].sum())} of {len(track)} scans have a singular or placeholder "
        "position covariance"
    )
    if best is not None:
        return Scorable(best, f"{trouble}; on axes {best} none has")
    return Scorable(None, f"{trouble}, and no single axis is free of them")


def useless_scans(track: GaussianTrack, axes: str) -> Bools:
    """Scans whose position covariance has no inverse on the axes, or stands for unknown. (n,)."""
    index = ["xyz".index(axis) for axis in axes]
    block = track.position_covariance[:, index][:, :, index]
    unknown: Bools = np.diagonal(block, axis1=1, axis2=2).max(axis=1) >= UNKNOWN_VARIANCE
    return is_singular(block) | unknown
