"""Scores of whole poses: the wrapped Gaussian on SE(3), and the energy of a body.

The belief is T = T_mean Exp(xi), xi = (rho, phi) ~ N(0, S), and the error xi = Log(T_mean^-1 T_ref).
With t the translation of T_mean^-1 T_ref and phi_k = (th + 2 pi k) n, the density is

    p(T_ref) = sum_k N((V(phi_k)^-1 t, phi_k); 0, S) / detJ(th_k)^2,   detJ = 4 sin^2(th/2) / th_k^2,

against the Haar measure that agrees with Lebesgue's at the identity. Along n the translation is the
same in every wrap, across n it grows with th_k: xi_k = a + th_k b, where a is the part of rho along
n and b = (xi - a) / th. So the NEES is a parabola in th_k.

A planar belief moves in SE(2) (x, y, yaw), where the weight is 1 / detJ.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from smfeval.errors import TrackError
from smfeval.maths import normal
from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import chunks
from smfeval.score.rotation import angles, log_rotation, log_sinc, log_wraps, wrapping_scans

AXES = ("x", "y", "z", "roll", "pitch", "yaw")
ROTATION = (3, 4, 5)
YAW = 5


def log_pose(
    error: ArrayLike, covariance: ArrayLike, *, axes: Sequence[int] | None = None
) -> Floats:
    """Log score of a pose: minus the log of the wrapped Gaussian density at the reference.

    Against the Haar measure of SE(3) that agrees with Lebesgue's at the identity, so that it is
    the log score of the Gaussian for small angles. Strictly proper.

    Parameters
    ----------
    error : (..., 6)
        xi = (rho, phi) = Log(T_mean^-1 T_ref), metres and radians, phi at most pi long.
    covariance : (..., 6, 6)
        Of the right perturbation, T = T_mean Exp(xi), positive definite. With an uncertain
        reference pass the sum of both.
    axes : sequence of int, optional
        Which of x, y, z, roll, pitch, yaw (0 to 5) the belief claims, if not all: error and
        covariance are those of these axes. They must be a group of motions (`check_axes`).

    Returns
    -------
    (...)
        In nats; lower is better.
    """
    chosen = tuple(range(6)) if axes is None else tuple(axes)
    check_axes(chosen)
    batch, error, covariance = normal.flatten_scans(error, covariance)
    if error.shape[1] != len(chosen):
        raise ValueError(f"the error has {error.shape[1]} components for {len(chosen)} axes")
    turning = [place for place, axis in enumerate(chosen) if axis in ROTATION]
    if not turning:
        terms = normal.likelihood_terms(error, covariance)
        return -normal.log_density(terms, len(chosen)).reshape(batch)
    if len(turning) == len(chosen):
        return log_rotation(error, covariance).reshape(batch)
    order = turning + [place for place in range(len(chosen)) if place not in turning]
    score = np.empty(len(error))
    for part in chunks(len(error)):
        ordered = covariance[part][:, order][:, :, order]
        score[part] = _log_chunk(error[part][:, order], ordered, [chosen[i] for i in order])
    return score.reshape(batch)


def check_axes(axes: Sequence[int]) -> None:
    """Refuse axes that do not make a group of motions, on which a pose has a density.

    Positions alone; rotations alone (all, or yaw); all six; or x, y and yaw, with or without z.
    """
    position, rotation = [a for a in axes if a not in ROTATION], [a for a in axes if a in ROTATION]
    whole = rotation == list(ROTATION) and position in ([], [0, 1, 2])
    flat = rotation == [YAW] and (not position or position[:2] == [0, 1])
    if list(axes) != sorted(set(axes)) or not axes or not (whole or flat or not rotation):
        names = ", ".join(AXES[a] for a in axes)
        raise TrackError(
            f"the belief is certain of some axes of the pose and claims {names or 'none'}: that is "
            "no group of motions; a pose is scored on all six axes, or on x, y and yaw (and z)"
        )


def _log_chunk(error: Floats, covariance: Floats, axes: Sequence[int]) -> Floats:
    """Minus the log density, axes of rotation first. (m, d), (m, d, d) -> (m,)."""
    d, turning = error.shape[1], sum(axis in ROTATION for axis in axes)
    factors = normal.factor_covariance(covariance)
    forward = factors.forward(normal.columns(error))
    squares = [y * y / pivot for y, pivot in zip(forward, factors.pivot, strict=True)]
    own, nees = sum(squares[:turning]), np.asarray(sum(squares))
    logdet = sum(np.log(pivot) for pivot in factors.pivot)
    power = turning + 1  # detJ^2 in space, detJ in the plane
    angle = angles(error[:, :turning])
    score = 0.5 * (nees + logdet + d * np.log(2 * np.pi)) + power * log_sinc(angle)
    safe = np.where(angle > 0, angle, 1.0)
    rows = wrapping_scans(angle, own / safe**2, nees, power)
    if len(rows):
        score[rows] -= _log_pose_wraps(error[rows], covariance[rows], axes, angle[rows], power)
    return score


def _log_pose_wraps(
    error: Floats, covariance: Floats, axes: Sequence[int], angle: Floats, power: int
) -> Floats:
    """log of all wraps over the first, with xi_k = a + th_k b. (m,)."""
    still = np.zeros_like(error)
    if power == 2:
        vertical = [place for place, axis in enumerate(axes) if axis == 2]
        still[:, vertical] = error[:, vertical]
    else:
        axis = error[:, :3] / angle[:, None]
        still[:, 3:] = np.einsum("ni,ni->n", axis, error[:, 3:])[:, None] * axis
    turning = (error - still) / angle[:, None]
    solved = np.linalg.solve(covariance, turning[..., None])[..., 0]
    slope, stiffness = (np.einsum("ni,ni->n", each, solved) for each in (still, turning))
    return log_wraps(angle, slope, stiffness, power)
