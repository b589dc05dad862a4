"""Belief tracks: one belief per scan, checked once, in one convention.

- stamps are int64 nanoseconds, strictly increasing;
- a pose is world_T_body: `position` (n, 3) in metres, `rotation` (n, 4) unit quaternion xyzw;
- a covariance (n, 6, 6) is of the SE(3) right perturbation: T = T_mean Exp(xi), xi = (rho, phi),
  translation first, so the position covariance in world axes is R S_tt R^T;
- cross-covariances, where there are any, are Cov(xi_i, xi_j) of the same perturbations;
- arrays are read-only; slicing and masking give new tracks.
"""

from smfeval.track.beliefs import About, Beliefs, Provenance, UnreadColumns
from smfeval.track.cross import CrossCovariance
from smfeval.track.particles import ParticleTrack
from smfeval.track.poses import GaussianTrack, Track
from smfeval.track.row_checks import DroppedRows, Intake

AnyTrack = Track | ParticleTrack

__all__ = [
    "About",
    "AnyTrack",
    "Beliefs",
    "CrossCovariance",
    "DroppedRows",
    "GaussianTrack",
    "Intake",
    "ParticleTrack",
    "Provenance",
    "Track",
    "UnreadColumns",
]
