"""Gaussian vectors in d = 1, 2 or 3 dimensions, for many scans at once.

Everything comes from the pivots of S = L D L^T, written out for d <= 3 and computed for whole
chunks of scans, so that a million scans take a fraction of a second. S must be positive definite.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.special import chi_squared
from smfeval.maths.symmetric import chunks, correlation_eigenvalue, smallest_pivot

SINGULAR = 1e-12  # smallest eigenvalue of the correlation matrix of a regular covariance
ROUNDING = 1e-15  # a variance this small beside another is what a rotation leaves of zero
SURELY_REGULAR = 1e-6  # a smallest pivot above this needs no eigenvalues
ILL_CONDITIONED = 1e-6  # a smallest pivot below this: the closed-form root loses digits, use eigh


@dataclass(frozen=True)
class Fit:
    """How an error fits a covariance: squared Mahalanobis length and log determinant. (n,) each."""

    nees: Floats
    logdet: Floats


def fit(error: Floats, covariance: Floats) -> Fit:
    """NEES e^T S^-1 e and log det S. (n, d), (n, d, d) -> (n,) twice."""
    nees, logdet = np.empty(len(error)), np.empty(len(error))
    for part in chunks(len(error)):
        factor, pivot = _factored(covariance[part])
        forward = _forward(factor, error[part])
        nees[part] = sum(y * y / d for y, d in zip(forward, pivot, strict=True))
        logdet[part] = np.log(np.array(pivot)).sum(axis=0)
    return Fit(nees, logdet)


def log_density(fit: Fit, dimension: int) -> Floats:
    """Logarithm of the normal density: -1/2 (NEES + log det S + d log 2 pi)."""
    return -0.5 * (fit.nees + fit.logdet + dimension * np.log(2 * np.pi))


def probability_within(nees: Floats, dimension: int) -> Floats:
    """Probability that an honest belief gives to a smaller NEES: the chi-squared distribution."""
    inside = np.empty_like(nees)
    for part in chunks(len(nees)):
        inside[part] = chi_squared(dimension, nees[part])
    return inside


def is_singular(covariance: Floats) -> Bools:
    """Scans whose covariance has no inverse, up to rounding. (n, d, d) -> (n,)."""
    singular = np.zeros(len(covariance), dtype=np.bool_)
    for part in chunks(len(covariance)):
        variance = np.diagonal(covariance[part], axis1=1, axis2=2)
        singular[part] = variance.min(axis=1) <= ROUNDING * variance.max(axis=1)
        unsure = ~singular[part] & (smallest_pivot(covariance[part]) <= SURELY_REGULAR)
        rows = np.flatnonzero(unsure)
        singular[part.start + rows] = correlation_eigenvalue(covariance[part][rows]) <= SINGULAR
    return singular


def whitened(error: Floats, covariance: Floats) -> Floats:
    """S^(-1/2) e with the symmetric root. (n, d), (n, d, d) -> (n, d).

    By Cayley and Hamilton, with i, ii, iii the invariants of S^(1/2) (sum, sum of products of two
    and product of its eigenvalues): S^(-1/2) e = ((i^2 - ii) e - S e + i iii S^-1 e) / (i ii - iii)
    in three dimensions. Ill-conditioned covariances go through their eigenvectors.
    """
    out = np.empty_like(error)
    for part in chunks(len(error)):
        out[part] = ROOTS[error.shape[1]](error[part], covariance[part])
        bad = np.flatnonzero(smallest_pivot(covariance[part]) < ILL_CONDITIONED)
        if len(bad):
            out[part.start + bad] = _by_eigenvectors(error[part][bad], covariance[part][bad])
    return out


def _factored(covariance: Floats) -> tuple[list[list[Floats]], list[Floats]]:
    """Unit lower factor and pivots of S = L D L^T, each entry an array over scans."""
    dimension = covariance.shape[-1]
    factor: list[list[Floats]] = []
    pivot: list[Floats] = []
    for i in range(dimension):
        row: list[Floats] = []
        rest = covariance[:, i, i]
        for j in range(i):
            entry = covariance[:, i, j]
            for k in range(j):
                entry = entry - row[k] * pivot[k] * factor[j][k]
            row.append(entry / pivot[j])
            rest = rest - row[j] * entry
        factor.append(row)
        pivot.append(rest)
    return factor, pivot


def _forward(factor: list[list[Floats]], error: Floats) -> list[Floats]:
    """L^-1 e, one array per dimension."""
    solved: list[Floats] = []
    for i, row in enumerate(factor):
        value = error[:, i]
        for entry, before in zip(row, solved, strict=True):
            value = value - entry * before
        solved.append(value)
    return solved


def _solved(error: Floats, covariance: Floats) -> Floats:
    """S^-1 e."""
    factor, pivot = _factored(covariance)
    forward = _forward(factor, error)
    solved = [y / d for y, d in zip(forward, pivot, strict=True)]
    for i in range(len(solved) - 2, -1, -1):
        for j in range(i + 1, len(solved)):
            solved[i] = solved[i] - factor[j][i] * solved[j]
    return np.stack(solved, axis=1)


def _times(covariance: Floats, error: Floats) -> Floats:
    return np.einsum("nij,nj->ni", covariance, error)


def _root_line(error: Floats, covariance: Floats) -> Floats:
    return error / np.sqrt(covariance[:, 0])


def _root_plane(error: Floats, covariance: Floats) -> Floats:
    """(i e - S^(-1/2)...): with det = ii^2, S^(-1/2) e = (e + ii S^-1 e) / i."""
    _, (first, second) = _factored(covariance)
    product = np.sqrt(first * second)
    total = np.sqrt(covariance[:, 0, 0] + covariance[:, 1, 1] + 2 * product)
    return (error + product[:, None] * _solved(error, covariance)) / total[:, None]


def _root_space(error: Floats, covariance: Floats) -> Floats:
    root = np.sqrt(_eigenvalues(covariance))
    i = root.sum(axis=0)
    ii = root[0] * root[1] + root[1] * root[2] + root[2] * root[0]
    iii = root.prod(axis=0)
    inverse = _solved(error, covariance)
    straight = (i * i - ii)[:, None] * error - _times(covariance, error)
    return (straight + (i * iii)[:, None] * inverse) / (i * ii - iii)[:, None]


ROOTS = {1: _root_line, 2: _root_plane, 3: _root_space}


def _eigenvalues(covariance: Floats) -> Floats:
    """Eigenvalues of symmetric 3x3 matrices by the trigonometric solution of the cubic. (3, n)."""
    c = covariance
    mean = (c[:, 0, 0] + c[:, 1, 1] + c[:, 2, 2]) / 3
    a, b, d = c[:, 0, 0] - mean, c[:, 1, 1] - mean, c[:, 2, 2] - mean
    x, y, z = c[:, 1, 0], c[:, 2, 0], c[:, 2, 1]
    size = np.sqrt((a * a + b * b + d * d + 2 * (x * x + y * y + z * z)) / 6)
    safe = np.where(size > 0, size, 1.0)
    det = a * (b * d - z * z) - x * (x * d - z * y) + y * (x * z - b * y)
    angle = np.arccos(np.clip(det / safe**3 / 2, -1, 1)) / 3
    turn = angle + np.array([0, 2, 4])[:, None] * (np.pi / 3)
    return np.maximum(mean + 2 * size * np.cos(turn), np.finfo(np.float64).tiny)


def _by_eigenvectors(error: Floats, covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    along = np.einsum("nij,ni->nj", vectors, error) / np.sqrt(values)
    return np.einsum("nij,nj->ni", vectors, along)
