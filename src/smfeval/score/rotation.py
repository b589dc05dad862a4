"""Scores of rotations: the wrapped Gaussian on the group, and chordal energy.

The belief is R = R_mean Exp(phi), phi ~ N(0, S), and the error is phi = Log(R_mean^T R_ref), with
angle th <= pi and axis n. Every phi_k = (th + 2 pi k) n has the same rotation, so the density is

    p(R_ref) = sum_k N(phi_k; 0, S) th_k^2 / (4 sin^2(th/2)),    th_k = th + 2 pi k,

against the Haar measure that agrees with the volume of phi (Lebesgue's) at the identity,
4 sin^2(th/2) dth dn, of 8 pi^2 in all: for small sigma the log score is that of the Gaussian. Near
the mean the terms k != 0 grow as 1 / th^2 (a whole sphere |phi| = 2 pi is one rotation); they are
left out below TINY_RAD, where they hold no probability to speak of.

About one axis alone (yaw) the group is the circle: sum_k N(yaw + 2 pi k; 0, s^2).

Energy: E d(X, R_ref)^beta - 1/2 E d(X, X')^beta with the chord d = 2 sin(th/2) = |R_1 - R_2|_F /
sqrt(2). It is strictly proper for 0 < beta < 2, since it is a Euclidean distance in the space of
matrices. With the angle itself instead it would not be: a mixture of rotations far apart can score
as well as the truth. Between Exp(a) and Exp(c), with d = c - a, the angle is to second order

    sqrt(d^T N d),    N = I - (|w|^2 I - w w^T) / 12,    w = (a + c) / 2.

For the reference at e, w x d = -e x d: the expectation is that of a Gaussian N(B e, B S B), where B
shrinks directions across e by sqrt((th/2) cot(th/2)), exact for small S. For two draws w and d are
independent: N(0, 2 C S C) with C = I - (tr S I - S) / 48. Both chords are then integrals of
Gaussians (`maths.chord_distance`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from smfeval.maths import normal
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.chord_distance import expected_central_chord, expected_chord
from smfeval.maths.normal_distance import energy_score
from smfeval.maths.symmetric import SAFE_PIVOT, chunks, smallest_pivot, symmetrise
from smfeval.score.energy import check_beta

SIGMA_WARNED_RAD = 0.5  # above: a Gaussian on rotations is a poor picture of what is known
SIGMA_REFUSED_RAD = 1.0  # above: the belief wraps, and scores say little about it
NEGLIGIBLE = 40.0  # a wrap below exp(-40) of the rest changes nothing
TINY_RAD = 1e-8  # below: the axis of a rotation is rounding
SERIES_RAD = 1e-3  # below: series of the cotangent, exact to 1e-14
SMALL_RAD = 0.05  # chord and angle differ by th^2 / 24 of themselves
TURN = 2 * np.pi


def log_rotation(error: ArrayLike, covariance: ArrayLike) -> Floats:
    """Log score of a rotation: minus the log of the wrapped Gaussian density at the reference.

    Against the Haar measure that agrees with Lebesgue's at the identity, so that it is the log
    score of the Gaussian for small sigma. Strictly proper.

    Parameters
    ----------
    error : (..., 3) or (..., 1)
        phi = Log(R_mean^T R_ref) in radians, at most pi long; of one axis (yaw), the angle.
    covariance : (..., 3, 3) or (..., 1, 1)
        Of the right perturbation, R = R_mean Exp(phi); rad^2, positive definite. With an
        uncertain reference pass the sum of both.

    Returns
    -------
    (...)
        In nats; lower is better.
    """
    batch, error, covariance = normal.flatten_scans(error, covariance)
    d = error.shape[1]
    if d not in (1, 3):
        raise ValueError(f"a rotation error has 3 components, or 1 about one axis; not {d}")
    terms = normal.likelihood_terms(error, covariance)
    angle = angles(error)
    score = -normal.log_density(terms, d) + (d - 1) * log_sinc(angle)
    if d == 1:
        stiffness = 1 / covariance[:, 0, 0]
    else:
        stiffness = np.divide(terms.nees, angle**2, out=np.zeros_like(angle), where=angle > 0)
    rows = wrapping_scans(angle, stiffness, terms.nees, d - 1)
    if len(rows):
        none = np.zeros(len(rows))
        score[rows] -= log_wraps(angle[rows], none, stiffness[rows], d - 1)
    return score.reshape(batch)


def angles(error: Floats) -> Floats:
    """Length of each vector. (n, d) -> (n,)."""
    return np.sqrt(np.einsum("ni,ni->n", error, error))


def log_sinc(angle: Floats) -> Floats:
    """log of sin(th/2) / (th/2): half the log of the volume that Exp leaves. (n,)."""
    return np.log(np.sinc(angle / TURN))


def wrapping_scans(angle: Floats, stiffness: Floats, nees: Floats, power: int) -> Ints:
    """Scans whose other wraps matter: (2 pi - th)^2 n^T S^-1 n is not far beyond the NEES.

    `stiffness` is n^T S^-1 n of the rotation's own covariance, so that no wrap of a pose has a
    smaller NEES than (2 pi - th)^2 of it. Wraps are weighted by (th_k / th)^power.
    """
    reach = NEGLIGIBLE + power * np.log(TURN / TINY_RAD)
    near = (TURN - angle) ** 2 * stiffness < nees + 2 * reach
    if power:
        near &= angle >= TINY_RAD
    return np.flatnonzero(near)


def log_wraps(angle: Floats, slope: Floats, stiffness: Floats, power: int) -> Floats:
    """log(sum over all k of N(k) / N(0) (th_k / th)^power). (m,) each -> (m,).

    Along the wraps the NEES is c + 2 slope th_k + stiffness th_k^2.
    """
    centre = np.rint(-(slope / stiffness + angle) / TURN)  # the wrap of least NEES
    reach = np.sqrt(2 * (NEGLIGIBLE + power * np.log(TURN / TINY_RAD)) / stiffness.min()) / TURN
    total = np.zeros_like(angle)
    for step in range(-int(reach) - 2, int(reach) + 3):
        k = centre + step
        ratio = -np.pi * k * (2 * slope + stiffness * (2 * angle + TURN * k))
        if power:
            ratio = ratio + power * np.log(np.abs(angle + TURN * k) / angle)
        total = np.where(k == 0, total, np.logaddexp(total, ratio))
    return total


def energy_rotation(error: ArrayLike, covariance: ArrayLike, beta: float = 1.0) -> Floats:
    """Energy score of a rotation with the chord d = 2 sin(th/2): for small angles, radians.

    E d(X, R_ref)^beta - 1/2 E d(X, X')^beta, X and X' independent draws of the belief. Strictly
    proper. A belief without uncertainty scores its chord.

    Parameters
    ----------
    error : (..., 3)
        phi = Log(R_mean^T R_ref) in radians, at most pi long.
    covariance : (..., 3, 3)
        Of the right perturbation, R = R_mean Exp(phi); rad^2. It may be singular: a belief about
        yaw alone has zeros elsewhere, in error and covariance.
    beta : float
        Power of the chord, 0 < beta < 2.

    Returns
    -------
    (...)
        Lower is better. Relative error at most 1e-3 up to sigma = 0.5 rad and
        1.5e-2 at 1 rad (2e-4 and 2e-3 for errors within two sigma at 0.3 and 1 rad).
    """
    check_beta(beta)
    batch, error, covariance = normal.flatten_scans(error, covariance)
    if error.shape[1] != 3:
        raise ValueError(f"a rotation error has 3 components, not {error.shape[1]}")
    score = np.empty(len(error))
    for part in chunks(len(error)):
        small = _is_small(error[part], covariance[part])
        for rows, formula in ((small, energy_score), (~small, _chordal_energy)):
            if rows.any():
                at = part.start + np.flatnonzero(rows)
                score[at] = formula(error[at], covariance[at], beta=beta)
    return score.reshape(batch)


def _is_small(error: Floats, covariance: Floats) -> Bools:
    """Scans so certain and so near that chords are lengths, to 2e-4 of the score. (m,)."""
    size = np.einsum("ni,ni->n", error, error) + 4 * np.einsum("nii->n", covariance)
    return (size < SMALL_RAD**2) & (smallest_pivot(covariance) > SAFE_PIVOT)


def _chordal_energy(error: Floats, covariance: Floats, *, beta: float) -> Floats:
    seen = _between(shrink_across(error), covariance)
    apart = _between(shrink_between(covariance), 2 * covariance)
    score = expected_chord(error, seen, beta=beta)
    return score - 0.5 * expected_central_chord(apart, beta=beta)


def _between(outer: Floats, inner: Floats) -> Floats:
    """B S B of symmetric matrices; a product for each takes three times as long. (n, 3, 3)."""
    B, S = (np.ascontiguousarray(each.transpose(1, 2, 0)) for each in (outer, inner))
    product = np.einsum("ijn,jkn->ikn", np.einsum("ijn,jkn->ikn", B, S), B)
    return symmetrise(product.transpose(2, 0, 1))


def shrink_across(error: Floats) -> Floats:
    """B = b I + (1 - b) n n^T with b^2 = (th/2) cot(th/2). (n, 3) -> (n, 3, 3)."""
    angle = angles(error)
    small = angle < SERIES_RAD
    half = np.where(small, 1.0, angle / 2)
    cotangent = np.where(small, 1 - angle**2 / 12, half / np.tan(half))
    b = np.sqrt(np.maximum(cotangent, 0))
    along = np.where(small, 1 / 24, (1 - b) / (4 * half**2))
    outer = error[:, :, None] * error[:, None, :]
    return b[:, None, None] * np.eye(3) + along[:, None, None] * outer


def shrink_between(covariance: Floats) -> Floats:
    """C = I - (tr S I - S) / 48. (n, 3, 3) -> (n, 3, 3)."""
    trace = np.einsum("nii->n", covariance)[:, None, None]
    return np.eye(3) * (1 - trace / 48) + covariance / 48
