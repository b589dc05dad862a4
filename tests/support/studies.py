"""Studies whose truth is known."""

import numpy as np

from smfeval.maths import so3
from smfeval.track import About, GaussianTrack, Track
from support.beliefs import circuit, stamps
from support.drifting import World

ABOUT = About(body="imu", world="world", gauge="fixed")
SIGMA_M = 0.05


def reference_of(n: int) -> Track:
    """The reference of a track of n scans."""
    return Track(*circuit(n), about=ABOUT)


def inflated(error: np.ndarray, inflation: float) -> GaussianTrack:
    """A belief that is off by SIGMA_M times `error` (standard normal) and reports a variance that
    is `inflation` times too small: its k is the inflation.
    """
    n = len(error)
    stamp, position, rotation = circuit(n)
    reported = np.zeros((n, 6, 6))
    world = np.broadcast_to(SIGMA_M**2 / inflation * np.eye(3), (n, 3, 3))
    reported[:, :3, :3] = so3.rotate_covariance(so3.inverse(rotation), world)
    reported[:, 3:, 3:] = 1e-4 * np.eye(3)
    return GaussianTrack(stamp, position + SIGMA_M * error, rotation, reported, about=ABOUT)


def drifting_tracks(world: World, tighter: float = 1.0) -> tuple[GaussianTrack, Track]:
    """A drifting world as tracks of the default gauge; covariances so many times too tight."""
    about = About(body="imu", world="odom", gauge="se3")
    claim, (position, rotation) = world.claim, world.truth
    stamp = stamps(len(position))
    estimate = GaussianTrack(
        stamp, claim.position, claim.rotation, claim.covariance / tighter, about=about
    )
    return estimate, Track(stamp, position, rotation, about=About(body="imu"))
