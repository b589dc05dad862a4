"""Gaussian vectors in d = 1 to 6 dimensions, for many scans at once.

Everything comes from the pivots of S = L D L^T, entry by entry and computed for whole
chunks of scans, so that a million scans take a fraction of a second. S must be positive definite.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.special import chi_squared_cdf
from smfeval.maths.symmetric import chunks, correlation_eigenvalue

Columns = list[Floats]  # one array over scans for each dimension


@dataclass(frozen=True)
class LdlFactors:
    """A factored chunk of covariances: lower triangle of S, of L (without its ones), and D."""

    matrix: list[Columns]
    factor: list[Columns]
    pivot: Columns

    def smallest_pivot(self) -> Floats:
        """Smallest pivot of the correlation matrix: near zero where S is nearly singular. (m,)."""
        least = np.ones_like(self.pivot[0])
        for row, pivot in zip(self.matrix[1:], self.pivot[1:], strict=True):
            np.minimum(least, pivot / row[-1], out=least)
        return least

    def is_singular(self) -> Bools:
        """Whether S has no inverse, up to rounding. (m,)."""
        variance = [row[-1] for row in self.matrix]
        least, most = variance[0], variance[0]
        for each in variance[1:]:
            least, most = np.minimum(least, each), np.maximum(most, each)
        singular: Bools = least <= ROUNDING * most
        rows = np.flatnonzero(~singular & ~(self.smallest_pivot() > SURELY_REGULAR))
        if len(rows):
            singular[rows] = correlation_eigenvalue(self._whole(rows)) <= SINGULAR
        return singular

    def _whole(self, rows: Ints) -> Floats:
        """S of some scans. (k, d, d)."""
        whole = np.empty((len(rows), len(self.matrix), len(self.matrix)))
        for i, row in enumerate(self.matrix):
            for j, entry in enumerate(row):
                whole[:, i, j] = whole[:, j, i] = entry[rows]
        return whole

    def minors(self) -> Floats:
        """Sum of the three principal minors of two rows; a sum of what is not negative. (m,)."""
        (d, e, f), ((x,), (y, z)) = self.pivot, self.factor[1:]
        return d * (e + f + z * z * e) + e * f + x * x * d * f + d * e * (y - x * z) ** 2

    def forward(self, error: Columns) -> Columns:
        """L^-1 e."""
        solved: Columns = []
        for own, row in zip(error, self.factor, strict=True):
            solved.append(_subtract_products(own, *zip(row, solved, strict=True)))
        return solved

    def squared_distance(self, error: Columns) -> Floats:
        """e^T S^-1 e. (m,)."""
        forward = self.forward(error)
        return np.asarray(sum(y * y / d for y, d in zip(forward, self.pivot, strict=True)))

    def solve(self, error: Columns) -> Columns:
        """S^-1 e."""
        solved = [y / d for y, d in zip(self.forward(error), self.pivot, strict=True)]
        for i in range(len(solved) - 2, -1, -1):
            for j in range(i + 1, len(solved)):
                solved[i] = solved[i] - self.factor[j][i] * solved[j]
        return solved


def factor_covariance(covariance: Floats) -> LdlFactors:
    """Factor a chunk of covariances. (m, d, d)."""
    dimension = covariance.shape[-1]
    matrix = [
        [np.ascontiguousarray(covariance[:, i, j]) for j in range(i + 1)] for i in range(dimension)
    ]
    factor: list[Columns] = []
    pivot: Columns = []
    for *beside, variance in matrix:
        scaled: Columns = []  # row of L D
        for entry, other in zip(beside, factor, strict=True):
            scaled.append(_subtract_products(entry, *zip(scaled, other, strict=True)))
        row = [entry / d for entry, d in zip(scaled, pivot, strict=True)]
        factor.append(row)
        pivot.append(_subtract_products(variance, *zip(row, scaled, strict=True)))
    return LdlFactors(matrix, factor, pivot)


def _subtract_products(value: Floats, *products: tuple[Floats, Floats]) -> Floats:
    """The value less the products of some pairs."""
    for one, other in products:
        value = value - one * other
    return value


def inverse_factor(covariance: Floats) -> Floats:
    """L^-1 of S = L L^T, row by row for all scans at once. (n, d, d) -> (n, d, d)."""
    n, dimension, _ = covariance.shape
    out = np.empty_like(covariance)
    for part in chunks(n):
        factors = factor_covariance(covariance[part])
        rows = np.zeros((dimension, dimension, len(factors.pivot[0])))
        for i, beside in enumerate(factors.factor):
            rows[i, i] = 1.0
            for j, entry in enumerate(beside):
                rows[i, : j + 1] -= entry * rows[j, : j + 1]
        for row, pivot in zip(rows, factors.pivot, strict=True):
            np.divide(row, np.sqrt(pivot), out=row)
        out[part] = rows.transpose(2, 0, 1)
    return out


def columns(error: Floats) -> Columns:
    """A chunk of vectors as one array for each dimension. (m, d)."""
    return list(np.ascontiguousarray(error.T))


MOST_DIMENSIONS = 6  # a pose
SINGULAR = 1e-12  # smallest eigenvalue of the correlation matrix of a regular covariance
ROUNDING = 1e-15  # a variance this small beside another is what a rotation leaves of zero
SURELY_REGULAR = 1e-6  # a smallest pivot above this needs no eigenvalues
ILL_CONDITIONED = 1e-6  # a smallest pivot below this: the closed-form root loses digits, use eigh
NEWTON_STEPS = 60  # each at least halves the distance
CLOSE = 1e-14  # relative step after which the next would change nothing


@dataclass(frozen=True)
class LikelihoodTerms:
    """How an error fits a covariance S. (n,) each.

    Attributes
    ----------
    nees
        Squared Mahalanobis length e^T S^-1 e.
    logdet
        log det S.
    singular
        Whether S has no inverse, up to rounding, so that the others mean nothing.
    """

    nees: Floats
    logdet: Floats
    singular: Bools


def likelihood_terms(error: ArrayLike, covariance: ArrayLike) -> LikelihoodTerms:
    """NEES, log determinant and whether they exist. (..., d), (..., d, d) -> (...) each."""
    batch, error, covariance = flatten_scans(error, covariance)
    n = len(error)
    found = LikelihoodTerms(np.empty(n), np.empty(n), np.empty(n, dtype=np.bool_))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for part in chunks(n):
            factors = factor_covariance(covariance[part])
            found.nees[part] = factors.squared_distance(columns(error[part]))
            found.logdet[part] = sum(np.log(pivot) for pivot in factors.pivot)
            found.singular[part] = factors.is_singular()
    if batch == found.nees.shape:
        return found
    return LikelihoodTerms(*(each.reshape(batch) for each in vars(found).values()))


def nees(error: ArrayLike, covariance: ArrayLike) -> Floats:
    """Normalised estimation error squared e^T S^-1 e. (..., d), (..., d, d) -> (...).

    Parameters
    ----------
    error : (..., d)
        Mean of the belief minus reference; d = 1 to 3 for positions and rotations, 6 for poses.
    covariance : (..., d, d)
        S, positive definite. With an uncertain reference pass S + S_ref.

    Returns
    -------
    (...)
        Chi-squared with d degrees of freedom if the belief is honest: mean d.
    """
    batch, error, covariance = flatten_scans(error, covariance)
    out = np.empty(len(error))
    for part in chunks(len(error)):
        out[part] = factor_covariance(covariance[part]).squared_distance(columns(error[part]))
    return out.reshape(batch)


def flatten_scans(
    error: ArrayLike, covariance: ArrayLike
) -> tuple[tuple[int, ...], Floats, Floats]:
    """Leading axes, broadcast against each other and made one. -> batch, (n, d), (n, d, d)."""
    e, s = np.asarray(error, np.float64), np.asarray(covariance, np.float64)
    if e.ndim == 2 and s.ndim == 3 and len(e) == len(s) and s.shape[1:] == 2 * e.shape[1:]:
        return e.shape[:1], e, s
    d = e.shape[-1] if e.ndim else 0
    if s.ndim < 2 or s.shape[-2:] != (d, d) or not 0 < d <= MOST_DIMENSIONS:
        raise ValueError(
            f"shapes {e.shape} and {s.shape}; expected (..., d) and (..., d, d) with d = 1 to 6"
        )
    batch = np.broadcast_shapes(e.shape[:-1], s.shape[:-2])
    error_rows = np.broadcast_to(e, (*batch, d)).reshape(-1, d)
    return batch, error_rows, np.broadcast_to(s, (*batch, d, d)).reshape(-1, d, d)


def log_density(fit: LikelihoodTerms, dimension: int) -> Floats:
    """Logarithm of the normal density: -1/2 (NEES + log det S + d log 2 pi)."""
    return -0.5 * (fit.nees + fit.logdet + dimension * np.log(2 * np.pi))


def probability_within(nees: Floats, dimension: int) -> Floats:
    """Probability that an honest belief gives to a smaller NEES: the chi-squared distribution."""
    if nees.ndim != 1:
        return chi_squared_cdf(dimension, nees)
    out = np.empty_like(nees)
    for part in chunks(len(nees)):
        out[part] = chi_squared_cdf(dimension, nees[part])
    return out


def is_singular(covariance: Floats) -> Bools:
    """Scans whose covariance has no inverse, up to rounding. (n, d, d) -> (n,)."""
    singular = np.empty(len(covariance), dtype=np.bool_)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for part in chunks(len(covariance)):
            singular[part] = factor_covariance(covariance[part]).is_singular()
    return singular


def whiten(error: Floats, covariance: Floats) -> Floats:
    """S^(-1/2) e with the symmetric root. (n, d), (n, d, d) -> (n, d).

    By Cayley and Hamilton, with i, ii, iii the invariants of S^(1/2) (sum, sum of products of two
    and product of its eigenvalues): S^(-1/2) e = ((i^2 - ii) e - S e + i iii S^-1 e) / (i ii - iii)
    in three dimensions. Ill-conditioned covariances go through their eigenvectors.
    """
    return whiten_all(error[..., None], covariance)[..., 0]


def whiten_all(vectors: Floats, covariance: Floats) -> Floats:
    """S^(-1/2) times many vectors of each scan. (n, d, p), (n, d, d) -> (n, d, p).

    One after the other in memory, so that each is as quick to read as if it were alone.
    """
    out = np.empty(vectors.shape[::-1])
    for part in chunks(len(vectors)):
        out[..., part] = _whiten_chunk(vectors[part], covariance[part])
    return out.transpose(2, 1, 0)


def whitened_moment(error: Floats, covariance: Floats) -> Floats:
    """Mean of S^(-1/2) e e^T S^(-1/2) with the symmetric root. (n, d), (n, d, d) -> (d, d)."""
    parts = (_whiten_chunk(error[part, :, None], covariance[part]) for part in chunks(len(error)))
    return np.asarray(sum(white @ white.T for (white,) in parts) / len(error))


def _whiten_chunk(vectors: Floats, covariance: Floats) -> Floats:
    """A chunk of `whiten_all`, in units (powers of two) that make tr S about one. -> (p, d, m)."""
    unit = np.ldexp(1.0, -(np.frexp(np.einsum("nii->n", covariance))[1] // 2))
    covariance = covariance * (unit * unit)[:, None, None]
    rows = np.ascontiguousarray(vectors.transpose(2, 1, 0)) * unit
    pivots = factor_covariance(covariance)
    white = np.array(ROOTS[rows.shape[1]]([list(each) for each in rows], pivots))
    bad = np.flatnonzero(~(pivots.smallest_pivot() >= ILL_CONDITIONED))
    if len(bad):
        white[..., bad] = _by_eigenvectors(rows[..., bad], covariance[bad])
    return white


def _root_line(vectors: list[Columns], pivots: LdlFactors) -> list[Columns]:
    root = np.sqrt(pivots.pivot[0])
    return [[each / root] for (each,) in vectors]


def _root_plane(vectors: list[Columns], pivots: LdlFactors) -> list[Columns]:
    """With i and ii the sum and the product of the roots: S^(-1/2) e = (e + ii S^-1 e) / i."""
    (a,), (_, b) = pivots.matrix
    ii = np.sqrt(pivots.pivot[0] * pivots.pivot[1])
    i = np.sqrt(a + b + 2 * ii)
    solved = ((each, pivots.solve(each)) for each in vectors)
    return [[(e + ii * s) / i for e, s in zip(*both, strict=True)] for both in solved]


def _root_space(vectors: list[Columns], pivots: LdlFactors) -> list[Columns]:
    i, ii, iii = _root_invariants(pivots)
    straight, inverse, scale = i * i - ii, i * iii, 1 / (i * ii - iii)
    terms = ((each, _multiply(pivots.matrix, each), pivots.solve(each)) for each in vectors)
    return [
        [(straight * e - c + inverse * s) * scale for e, c, s in zip(*three, strict=True)]
        for three in terms
    ]


def _root_invariants(pivots: LdlFactors) -> tuple[Floats, Floats, Floats]:
    """Sum, sum of products of two, and product of the roots of the eigenvalues, in space.

    With tr S, the sum of its minors M and det S: iii^2 = det, ii^2 = M + 2 i iii and
    i^2 = tr + 2 ii, hence (i^2 - tr)^2 = 4 M + 8 i iii. Newton's steps from sqrt(3 tr), which i
    never exceeds, fall to the solution; no eigenvalue is needed, and nothing cancels in M.
    """
    (a,), (_, b), (_, _, c) = pivots.matrix
    trace, minors = a + b + c, pivots.minors()
    iii = np.sqrt(pivots.pivot[0] * pivots.pivot[1] * pivots.pivot[2])
    i = np.sqrt(3 * trace)
    for _ in range(NEWTON_STEPS):
        above = i * i - trace
        step = (above * above - 4 * minors - 8 * iii * i) / (4 * i * above - 8 * iii)
        i -= step
        if not (step > CLOSE * i).any():
            break
    return i, np.sqrt(minors + 2 * i * iii), iii


ROOTS = {1: _root_line, 2: _root_plane, 3: _root_space}


def _multiply(matrix: list[Columns], error: Columns) -> Columns:
    """S e for three dimensions, from the lower triangle."""
    ((a,), (x, b), (y, z, c)), (e, f, g) = matrix, error
    return [a * e + x * f + y * g, x * e + b * f + z * g, y * e + z * f + c * g]


def _by_eigenvectors(vectors: Floats, covariance: Floats) -> Floats:
    """(p, d, m), (m, d, d) -> (p, d, m)."""
    values, axes = np.linalg.eigh(covariance)
    along = np.einsum("nij,pin->pjn", axes, vectors) / np.sqrt(values).T
    return np.einsum("nij,pjn->pin", axes, along)
