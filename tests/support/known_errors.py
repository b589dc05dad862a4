"""Beliefs about one motion with errors and covariances that we know."""

import numpy as np

from smfeval.maths import so3
from smfeval.track import About, GaussianTrack
from smfeval.track.beliefs import Provenance
from support.beliefs import circuit

S = np.diag([1.0, 2.0, 0.5]) * 1e-4  # m^2
ROTATION_VARIANCE = 1e-4


def belief(error, covariance=S, *, name="made", gauge="fixed", body="imu", stamp=None):
    """A track that is off by `error` (world axes) and reports `covariance` (world axes)."""
    n = len(error)
    stamps, position, rotation = circuit(n)
    world = np.broadcast_to(covariance, (n, 3, 3))
    full = np.zeros((n, 6, 6))
    full[:, :3, :3] = so3.rotate_covariance(so3.inverse(rotation), world)
    full[:, 3:, 3:] = ROTATION_VARIANCE * np.eye(3)
    return GaussianTrack(
        stamps if stamp is None else stamp,
        position + error,
        rotation,
        full,
        about=About(body=body, world="world", gauge=gauge),
        provenance=Provenance(name=name),
    )


def normal(rng, n, covariance=S):
    return rng.normal(size=(n, 3)) @ np.linalg.cholesky(covariance).T


def remembering(rng, n, rho, covariance=S):
    """AR(1) errors with the stationary covariance given."""
    noise = normal(rng, n, covariance)
    out = np.empty_like(noise)
    out[0] = noise[0]
    for i in range(1, n):
        out[i] = rho * out[i - 1] + np.sqrt(1 - rho**2) * noise[i]
    return out
