"""Scores of whole poses: the wrapped Gaussian on SE(3), and the energy of a body.

The belief is T = T_mean Exp(xi), xi = (rho, phi) ~ N(0, S); the error is Log(T_mean^-1 T_ref).
With t the translation of T_mean^-1 T_ref and phi_k = (th + 2 pi k) n, the density is

    p(T_ref) = sum_k N((V(phi_k)^-1 t, phi_k); 0, S) / detJ_k^2,   detJ_k = 4 sin^2(th/2) / th_k^2,

against the Haar measure that agrees with Lebesgue's at the identity. Along n the translation is the
same in every wrap, across n it grows with th_k: xi_k = a + th_k b, where a is the part of rho along
n and b = (xi - a) / th. So the NEES is a parabola in th_k.

A planar belief moves in SE(2) (x, y, yaw), where the weight is 1 / detJ.

Energy: E d(X, T_ref)^beta - 1/2 E d(X, X')^beta in metres, d^2 = |dp|^2 + (2 L sin(th/2))^2, with
L the body's declared radius of gyration, which weighs rotation against position. Strictly proper,
as a Euclidean distance of positions and matrices (an average of the energy scores of body points
would not see a screw correlation). Both terms are expected lengths of Gaussians in six dimensions,
to second order in phi. Seen from the reference a draw is Log(Exp(-error) Exp(xi)), J_r(error)
(xi - error) with a remainder of third order, and |V(phi) rho|^2 = |rho|^2 - |phi x rho|^2 / 12.
Between two draws, p = V(phi) rho = rho + 1/2 phi x rho + 1/6 phi x (phi x rho) + ... has

    a linear part   (I + (S_pp - tr S_pp I) / 6) rho + (tr F I + F - 2 F^T) / 6 phi,
    and beside it   1/2 phi x rho, not correlated with (rho, phi),

where S_pp is the covariance of phi and F = Cov(phi, rho). Chords are as in `score.rotation`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from smfeval import words
from smfeval.errors import OptionError, TrackError
from smfeval.maths import normal, se3, so3
from smfeval.maths.arrays import Floats
from smfeval.maths.chord_distance import expected_length
from smfeval.maths.symmetric import chunks
from smfeval.score.energy import check_beta, energy
from smfeval.score.residuals import Ensemble, Residuals
from smfeval.score.rotation import (
    angles,
    log_rotation,
    log_sinc,
    log_wraps,
    shrink_across,
    shrink_between,
    wrapping_scans,
)

AXES = ("x", "y", "z", "roll", "pitch", "yaw")
ROTATION = (3, 4, 5)
YAW = 5
SMALL = 1e-5  # rad^2: below, the series of a sine over its angle to one term is exact to 1e-12


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
            f"the covariance of the pose is zero but for {names or 'none'}: that is no group of "
            "motions; a pose is scored on all six axes, or on x, y and yaw (and z)"
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


def energy_body(
    error: ArrayLike, covariance: ArrayLike, body_size: float, beta: float = 1.0
) -> Floats:
    """Energy score of a pose in metres, for a body of a given size.

    E d(X, T_ref)^beta - 1/2 E d(X, X')^beta, X and X' independent draws of the belief, with
    d^2 = |dp|^2 + (2 L sin(th/2))^2. Strictly proper. A belief without uncertainty scores its
    distance.

    Parameters
    ----------
    error : (..., 6)
        xi = (rho, phi) = Log(T_mean^-1 T_ref), metres and radians, phi at most pi long.
    covariance : (..., 6, 6)
        Of the right perturbation, T = T_mean Exp(xi). It may be singular: a planar belief has
        zeros outside x, y and yaw, in error and covariance.
    body_size : float
        L, the body's radius of gyration about its origin in metres.
    beta : float
        Power of the distance, 0 < beta < 2.

    Returns
    -------
    (...)
        In metres to the power beta; lower is better. Relative error of one scan at most 5e-4 where
        the largest sigma of the rotation is 0.03 rad, 5e-3 at 0.1 and 7e-2 at 0.3 rad, for strong
        correlations and errors within three sigma; a quarter of that in the mean over scans.
    """
    check_beta(beta)
    if not 0 < body_size < np.inf:
        raise OptionError(f"the body's size must be above 0 m, not {words.exact(body_size)}")
    batch, error, covariance = normal.flatten_scans(error, covariance)
    if error.shape[1] != 6:
        raise ValueError(f"a pose error has 6 components, not {error.shape[1]}")
    score = np.empty(len(error))
    for part in chunks(len(error)):
        score[part] = _energy_chunk(error[part], covariance[part], body_size, beta)
    return score.reshape(batch)


def _energy_chunk(error: Floats, covariance: Floats, body_size: float, beta: float) -> Floats:
    """Both terms, each the expected length of a Gaussian in six dimensions. (m,)."""
    seen = _distance_to_reference(error, covariance, body_size, beta)
    return seen - 0.5 * _distance_between_draws(covariance, body_size, beta)


def _distance_to_reference(
    error: Floats, covariance: Floats, body_size: float, beta: float
) -> Floats:
    """E d^beta with xi seen from the reference: J_r(error) (xi - error). (m,)."""
    rho, phi = so3.hat(error[:, :3]), so3.hat(error[:, 3:])
    J = np.zeros_like(covariance)
    J[:, :3, :3] = np.eye(3) + phi @ phi / 6 - phi / 2
    J[:, :3, 3:] = (phi @ rho + rho @ phi) / 6 - rho / 2
    W = covariance[:, 3:, 3:] + error[:, 3:, None] * error[:, None, 3:]
    shorter = _shrink_translations(W)
    J[:, :3] = shorter @ J[:, :3]
    across = shrink_across(error[:, 3:])
    weights = _square(error[:, :3]), _square(error[:, 3:])
    chord = body_size * _shrink_to_chords(across, covariance, weights, body_size, beta)
    J[:, 3:, 3:] = chord @ across
    missed = np.einsum("nij,nj->ni", shorter, error[:, :3])
    turned = np.einsum("nij,nj->ni", chord, error[:, 3:])
    mean = np.concatenate([missed, turned], axis=1)
    return expected_length(mean, se3.sandwich(J, covariance), beta=beta)


def _shrink_translations(W: Floats) -> Floats:
    """I - c (tr W I - W), W = E phi phi^T: |V(phi) rho| is less than |rho|. (m, 3, 3).

    Across phi by sin(th/2) / (th/2), exactly so for one phi; c is 1/24 for small angles.
    """
    trace = _trace(W)
    small = trace < SMALL
    safe = np.where(small, 1.0, trace)
    c = np.where(small, 1 / 24, (1 - np.sinc(np.sqrt(safe) / (2 * np.pi))) / safe)
    return np.eye(3) * (1 - c * trace) + c * W


def _distance_between_draws(covariance: Floats, body_size: float, beta: float) -> Floats:
    """E d^beta with the covariance of (p, phi), p = V(phi) rho, to second order. (m,)."""
    rho, phi, F = covariance[:, :3, :3], covariance[:, 3:, 3:], covariance[:, 3:, :3]
    back = np.swapaxes(F, 1, 2)
    A = np.zeros_like(covariance)
    A[:, :3, :3] = np.eye(3) * (1 - _trace(phi) / 6) + phi / 6
    A[:, :3, 3:] = (_trace(F) * np.eye(3) + F - 2 * back) / 6
    between = shrink_between(phi)
    A[:, 3:, 3:] = body_size * _shrink_to_chords(between, 2 * covariance, None, body_size, beta)
    A[:, 3:, 3:] = A[:, 3:, 3:] @ between
    spread = se3.sandwich(A, covariance)
    spread[:, :3, :3] += 0.25 * (_mixed_cofactor(phi, rho) - _mixed_cofactor(F, back))
    return expected_length(None, 2 * spread, beta=beta)


def _shrink_to_chords(
    turn: Floats,
    covariance: Floats,
    mean_squares: tuple[Floats, Floats] | None,
    body_size: float,
    beta: float,
) -> Floats:
    """Linear map of rotation vectors v = turn phi to chords |v| (1 - |v|^2 / 24). (m, 3, 3).

    E |v|^2 v v^T of N(0, G) is tr G G + 2 G^2. With tr G G + beta G^2 instead, E |v|^beta is right
    to this order for G along one axis and for round G; 2 is right where positions outweigh
    rotations: the shares of both in d^2 decide. `mean_squares` are those of rho and phi.
    """
    G = turn @ covariance[:, 3:, 3:] @ turn
    square, position = np.einsum("nii->n", G), np.einsum("nii->n", covariance[:, :3, :3])
    if mean_squares is not None:
        position, square = position + mean_squares[0], square + mean_squares[1]
    total = body_size**2 * square + position
    share = body_size**2 * square / np.where(total > 0, total, 1.0)
    power = (2 - (2 - beta) * share)[:, None, None]
    return np.sinc(np.sqrt(square) / (2 * np.pi))[:, None, None] * np.eye(3) - power * G / 24


def _square(vector: Floats) -> Floats:
    return np.einsum("ni,ni->n", vector, vector)


def _trace(matrix: Floats) -> Floats:
    return np.einsum("nii->n", matrix)[:, None, None]


def _mixed_cofactor(A: Floats, B: Floats) -> Floats:
    """sum of e_ijk e_lmn A_jm B_kn, which is twice the cofactor matrix for A = B. (m, 3, 3)."""
    product = A @ B
    swapped = np.swapaxes(product + B @ A, 1, 2)
    own = _trace(A) * np.swapaxes(B, 1, 2) + _trace(B) * np.swapaxes(A, 1, 2)
    return (_trace(A) * _trace(B) - _trace(product)) * np.eye(3) - own + swapped


def whiten_pose(error: Floats, covariance: Floats, *, rotations: int = 3) -> Floats:
    """Errors in units of their claim: phi first, then rho given phi. (n, d), (n, d, d) -> (n, d).

    z_phi = S_pp^(-1/2) phi and z_rho = S_rho|phi^(-1/2) (rho - K phi) with K = F^T S_pp^-1, the
    roots symmetric, so that neither units nor another origin or other axes of the body change
    their lengths. The last `rotations` components are the rotation. Order (rho, phi), as given.
    """
    place = error.shape[1] - rotations
    S, turned = covariance[:, place:, place:], normal.columns(error[:, place:])
    cross = [normal.columns(covariance[:, row, place:]) for row in range(place)]
    factors = normal.factor_covariance(S)
    gain = [factors.solve(row) for row in cross]
    rest = [error[:, row] - _dot(gain[row], turned) for row in range(place)]
    given = np.empty((len(error), place, place))
    for i in range(place):
        for j in range(i + 1):
            given[:, i, j] = given[:, j, i] = covariance[:, i, j] - _dot(gain[i], cross[j])
    white = normal.whiten(np.stack(rest, axis=1), given) if rest else error[:, :0]
    return np.concatenate([white, normal.whiten(error[:, place:], S)], axis=1)


def _dot(a: normal.Columns, b: normal.Columns) -> Floats:
    return np.asarray(sum(x * y for x, y in zip(a, b, strict=True)))


def energy_particles(
    ensemble: Ensemble,
    noise: Floats | None = None,
    *,
    body_size: float = 1.0,
    beta: float = 1.0,
    unbiased: bool = False,
) -> Floats:
    """Energy score of weighted particles with chords: of rotations, or of poses in metres. (n,).

    `ensemble` holds particles seen from the reference: Log(R_ref^T R_i) (m, 3), in radians, or
    (R_ref^T (t_i - t_ref), Log(R_ref^T R_i)) (m, 6). As positions and matrices, (t, L R / sqrt(2)),
    they lie in a Euclidean space of 9 or 12 dimensions, where their distances are exact and the
    estimator is that of positions (`score.energy`). An uncertain reference of covariance `noise`
    (n, 3, 3) or (n, 6, 6) gives each particle a kernel; chords are then vectors 2 sin(th/2) n,
    whose differences are chords to second order.
    """
    check_beta(beta)
    seen, place = ensemble.difference, ensemble.difference.shape[1] - 3
    if noise is None:
        turned = so3.matrix(so3.exp(seen[:, place:])).reshape(-1, 9)
        turned -= np.eye(3).ravel()
        turned *= body_size / np.sqrt(2)
    else:
        chord = np.sinc(angles(seen[:, place:]) / (2 * np.pi))
        turned = body_size * chord[:, None] * seen[:, place:]
        scale = np.repeat([1.0, body_size], [place, 3])
        noise = noise * np.outer(scale, scale)
    points = np.concatenate([seen[:, :place], turned], axis=1) if place else turned
    cloud = Ensemble(ensemble.offset, points, ensemble.probability)
    mean = cloud.sum(cloud.probability[:, None] * points)
    return energy(Residuals(mean, None, noise, cloud), beta=beta, unbiased=unbiased)
