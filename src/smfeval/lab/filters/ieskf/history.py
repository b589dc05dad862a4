"""The run's memory: a record of every scan, turned into a belief track and telemetry at the end."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from smfeval.lab.filters.ieskf.state import POSE, POSITION, State
from smfeval.lab.filters.ieskf.update import Update
from smfeval.lab.filters.run import Telemetry
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats
from smfeval.track import About, GaussianTrack, Provenance


@dataclass(frozen=True)
class Record:
    """One scan: the belief after it, and a row of `Telemetry`; zeros if nothing matched."""

    belief: State
    points: int  # of the scan, thinned
    stamp: int
    matched: int
    normals: Floats
    sigma_m: float
    residual_rms_m: float
    innovation_mean_m: float
    innovation_rms_m: float
    innovation_nis: float
    iterations: int
    prior: Floats
    posterior: Floats


def recorded(update: Update) -> Record:
    """What is kept of an update; its residuals are not."""
    innovation = np.empty(0) if update.first is None else update.first.residual
    return Record(
        belief=update.posterior,
        points=update.points,
        stamp=update.posterior.stamp,
        matched=update.matched,
        normals=np.zeros((3, 3)) if update.last is None else update.last.information.normals,
        sigma_m=sigma_used(update),
        residual_rms_m=_rms(update.left),
        innovation_mean_m=float(innovation.mean()) if len(innovation) else 0.0,
        innovation_rms_m=_rms(innovation),
        innovation_nis=nis(update),
        iterations=update.iterations,
        prior=update.prior.covariance[POSITION, POSITION],
        posterior=update.posterior.covariance[POSITION, POSITION],
    )


def sigma_used(update: Update) -> float:
    """Of one residual, m: a kernel that gives points the mean weight w makes it 1 / sqrt(w) wider.

    With it tr J = N / sigma^2 is the information that the points of the update really had.
    """
    weight = 1.0 if update.last is None else update.last.information.weight
    return float(np.sqrt(update.variance / weight))


def nis(update: Update) -> float:
    """r^T (H P H^T + R)^-1 r / m at the prior, by Woodbury: r^T R^-1 r - b^T (P^-1 + A)^-1 b."""
    look = update.first
    if look is None:
        return 0.0
    A, b = look.information.matrix, look.information.vector
    P = update.prior.covariance[POSE, POSE]
    explained = b @ np.linalg.solve(np.eye(6) + P @ A, P @ b)
    return float(look.information.square - explained) / len(look.residual)


def _rms(residual: Floats) -> float:
    return float(np.sqrt(np.mean(residual**2))) if len(residual) else 0.0


def telemetry_of(records: Sequence[Record]) -> Telemetry:
    """How each belief came about."""
    names = [field.name for field in fields(Telemetry)]
    return Telemetry(
        **{name: np.array([getattr(record, name) for record in records]) for name in names}
    )


def belief_of(records: Sequence[Record], about: About, name: str) -> GaussianTrack:
    """Beliefs at the ends of the scans.

    The filter's error state adds the position in world axes; the right perturbation of a track has
    it in body axes: rho = R^T d.
    """
    states = [record.belief for record in records]
    rotation = np.stack([state.rotation for state in states])
    turn = np.zeros((len(states), 6, 6))
    turn[:, :3, :3] = np.swapaxes(rotation, 1, 2)
    turn[:, 3:, 3:] = np.eye(3)
    return GaussianTrack(
        np.array([state.stamp for state in states], dtype=np.int64),
        np.stack([state.position for state in states]),
        so3.quaternion(rotation),
        se3.sandwich(turn, np.stack([state.covariance[POSE, POSE] for state in states])),
        about=about,
        provenance=Provenance(name, "ieskf"),
    )
