"""What an alignment on the scored scans has taken away, and how well it is known.

An unweighted fit charges the errors of wide scans to tight ones: an honest covariance that varies
would look too tight where it is tight. So the freedoms J of the alignment (first order:
c + w x (x - x_mean)) are fitted again with the reported covariance, and each scan is granted the
covariance J P J^T of that fit beside its own, where

    P = n / m  (sum of J^T S^-1 J)^-1

for n scans that are worth m independent ones (those of the slowest axis: rather too few, so
rather too much is granted).
"""

import numpy as np

from smfeval.explain.diagnoses.case import Case
from smfeval.maths import normal
from smfeval.maths.arrays import Floats

BLIND = 1e-10  # of the largest: a turn about the line that a straight track is, moves nothing

TURNS = {"none": "", "yaw": "z", "se3": "xyz", "sim3": "xyz", "first-pose": "xyz"}


def freedoms(case: Case) -> Floats:
    """What the alignment could absorb: error per unit of each freedom. (n, d, q)."""
    if case.alignment == "none":
        return np.zeros((len(case), case.dimension, 0))
    centred = case.position - case.position.mean(axis=0)
    shifts = [np.broadcast_to(np.eye(3)[i], centred.shape) for i in case.axes]
    turns = [np.cross(np.eye(3)["xyz".index(axis)], centred) for axis in TURNS[case.alignment]]
    scale = [centred] if case.alignment == "sim3" else []
    return np.stack([*shifts, *turns, *scale], axis=-1)[:, case.axes]


def in_sigmas(case: Case, metres: Floats) -> Floats:
    """S^(-1/2) times errors or columns; plain poses have no sigma. (n, d) or (n, d, p)."""
    if not case.believes:
        return metres
    if metres.ndim == 2:
        return normal.whitened(metres, case.covariance)
    white = np.empty(metres.shape)
    for i in range(metres.shape[-1]):
        white[..., i] = normal.whitened(metres[..., i], case.covariance)
    return white


def weight(case: Case) -> Floats:
    """How much a scan says by its reported covariance: mean of 1 / sigma^2. (n,)."""
    if not case.believes:
        return np.ones(len(case))
    root = in_sigmas(case, np.broadcast_to(np.eye(case.dimension), case.covariance.shape))
    return np.einsum("nij,nij->n", root, root) / case.dimension


def doubt(case: Case, white: Floats, *, independent: float) -> Floats | None:
    """Covariance J P J^T of the fitted alignment; None where nothing was fitted. (n, d, d).

    `white` are the freedoms in sigmas (n, d, q), `independent` the scans that the errors are worth.
    """
    if not (case.fitted and case.believes):
        return None
    size = np.sqrt(np.einsum("ndp,ndp->p", white, white))
    columns, unit = (each / np.where(size > 0, size, 1.0) for each in (freedoms(case), white))
    known = np.linalg.pinv(np.einsum("ndp,ndq->pq", unit, unit), rcond=BLIND, hermitian=True)
    return len(case) / independent * np.einsum("ndp,pq,neq->nde", columns, known, columns)
