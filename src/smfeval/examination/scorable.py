"""Can a track be scored, and on which axes?"""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Bools
from smfeval.maths.symmetric import correlation_eigenvalue
from smfeval.track import GaussianTrack, Track

AXES = ("xyz", "xy", "xz", "yz", "x", "y", "z")  # the first that can be scored is offered
SINGULAR = 1e-12  # smallest eigenvalue of the correlation matrix on the scored axes


@dataclass(frozen=True)
class Scorable:
    """The axes on which every scan has a regular covariance; None, and why, if there are none."""

    axes: str | None
    reason: str


def scorable(track: Track) -> Scorable:
    """Find the axes that can be scored (world axes of the track)."""
    if not isinstance(track, GaussianTrack):
        return Scorable(None, "poses without uncertainty: only distances (APE) can be computed")
    singular = {axes: singular_scans(track, axes) for axes in AXES}
    full = int(singular["xyz"].sum())
    best = next((axes for axes in AXES if not singular[axes].any()), None)
    if best == "xyz":
        return Scorable("xyz", "every position covariance is regular")
    trouble = f"{full} of {len(track)} scans have a singular position covariance"
    if best is not None:
        return Scorable(best, f"{trouble}; on axes {best} none has")
    return Scorable(None, f"{trouble}, and no single axis is free of them")


def singular_scans(track: GaussianTrack, axes: str) -> Bools:
    """Scans whose position covariance has no inverse on the axes. (n,)."""
    index = ["xyz".index(axis) for axis in axes]
    block = track.position_covariance[:, index][:, :, index]
    positive: Bools = np.diagonal(block, axis1=1, axis2=2).min(axis=1) > 0
    singular = ~positive
    singular[positive] = correlation_eigenvalue(block[positive]) <= SINGULAR
    return singular
