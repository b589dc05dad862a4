"""Symmetric matrices: packing, symmetry, and whether they are positive semi-definite.

The definiteness test is made for millions of small matrices: pivots of an LDL^T factorisation of
the correlation matrix, computed for all scans at once in chunks that stay in cache. Only the rare
matrix with a pivot near zero (planar robots, rounded files) is looked at by its eigenvalues.
"""

from functools import cache

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints

CHUNK = 4096  # scans: 36 columns of this many float64 are about 1 MB, the size of an L2 cache

# A correlation matrix whose smallest eigenvalue is below this is indefinite; above it, rounding.
# A double carries 1e-16; covariances that went through a product or two carry 1e-13 at worst.
NEGATIVE_EIGENVALUE = -1e-9

# A pivot above this proves definiteness without eigenvalues.
SAFE_PIVOT = 1e-6


def pack_lower(matrix: Floats) -> Floats:
    """Lower triangle row by row: L00 L10 L11 L20 ... (..., d, d) -> (..., d (d + 1) / 2)."""
    row, column = np.tril_indices(matrix.shape[-1])
    return matrix[..., row, column]


def unpack_lower(packed: Floats) -> Floats:
    """Inverse of `pack_lower`. (..., d (d + 1) / 2) -> (..., d, d)."""
    return packed.take(_places(packed.shape[-1]), axis=-1, mode="clip")


def packed_diagonal(packed: Floats) -> Floats:
    """The diagonals of packed matrices. (..., d (d + 1) / 2) -> (..., d)."""
    return packed[..., np.diagonal(_places(packed.shape[-1]))]


@cache
def _places(count: int) -> Ints:
    """Where the entries of a symmetric matrix stand in its packed triangle. (d, d)."""
    dimension = int((np.sqrt(8 * count + 1) - 1) / 2)
    row, column = np.tril_indices(dimension)
    places = np.empty((dimension, dimension), np.intp)
    places[row, column] = places[column, row] = np.arange(count)
    return places


def asymmetry(matrix: Floats) -> Floats:
    """Largest |S - S^T| relative to the largest |S|. (n, d, d) -> (n,)."""
    ratio = np.empty(len(matrix))
    for part in chunks(len(matrix)):
        columns = entries(matrix[part])
        difference = np.abs(columns - columns.swapaxes(0, 1)).max(axis=(0, 1))
        scale = np.abs(columns).max(axis=(0, 1))
        ratio[part] = difference / np.where(scale > 0, scale, 1.0)
    return ratio


def is_symmetric(matrix: Floats) -> bool:
    """Whether every matrix equals its transpose to the last bit. (n, d, d)."""
    parts = (matrix[part] for part in chunks(len(matrix)))
    return all(np.array_equal(part, part.swapaxes(-1, -2)) for part in parts)


def symmetrise(matrix: Floats) -> Floats:
    """(S + S^T) / 2."""
    return 0.5 * (matrix + np.swapaxes(matrix, -1, -2))


def is_semidefinite(matrix: Floats) -> Bools:
    """Whether each symmetric matrix is positive semi-definite, up to rounding.

    Judged on the correlation matrix, so that metres and radians weigh alike; a zero variance
    needs zero covariances. (n, d, d) -> (n,).
    """
    verdict = np.empty(len(matrix), dtype=np.bool_)
    for part in chunks(len(matrix)):
        safe = smallest_pivot(matrix[part]) > SAFE_PIVOT
        doubtful = np.flatnonzero(~safe)
        safe[doubtful] = correlation_eigenvalue(matrix[part][doubtful]) >= NEGATIVE_EIGENVALUE
        verdict[part] = safe
    return verdict


def correlation_eigenvalue(matrix: Floats) -> Floats:
    """Smallest eigenvalue of D^-1/2 S D^-1/2, with D the diagonal of S. (n, d, d) -> (n,).

    A zero variance with zero covariances counts as a zero eigenvalue. A negative variance, a zero
    variance with a covariance that is not zero, or numbers beyond all range give -inf.
    """
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    flat = diagonal <= 0
    scale = np.sqrt(np.where(flat, 1.0, diagonal))
    with np.errstate(over="ignore", invalid="ignore"):
        correlation = matrix / scale[..., :, None] / scale[..., None, :]
    impossible = (np.abs(matrix).max(axis=-1) * flat > 0).any(axis=-1)
    impossible |= ~np.isfinite(correlation).all(axis=(-1, -2))
    correlation[impossible] = 0.0
    return np.where(impossible, -np.inf, np.linalg.eigvalsh(correlation)[..., 0])


def chunks(count: int) -> list[slice]:
    """Slices of at most CHUNK that cover range(count)."""
    return [slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]


def entries(matrix: Floats) -> Floats:
    """One long row per matrix entry, a copy: (n, d, d), or packed triangles -> (d, d, n)."""
    if matrix.ndim == 2:
        return np.ascontiguousarray(matrix.T)[_places(matrix.shape[1])]
    return np.array(np.moveaxis(matrix, 0, -1), order="C", copy=True)


def smallest_pivot(matrix: Floats) -> Floats:
    """Smallest pivot of LDL^T of the correlation matrix; -inf where a variance is not positive."""
    variance, pivots = _pivots(entries(matrix))
    smallest = np.where((variance > 0).all(axis=0), pivots.min(axis=0), -np.inf)
    return np.nan_to_num(smallest, nan=-np.inf)


def are_surely_definite(matrix: Floats) -> bool:
    """Whether all are finite, symmetric to the last bit and, by pivots, definite.

    (n, d, d), or packed (n, d (d + 1) / 2).
    """
    columns = entries(matrix)
    if not all(np.array_equal(columns[i, :i], columns[:i, i]) for i in range(len(columns))):
        return False
    variance, pivots = _pivots(columns)
    return bool(variance.min() > 0 and pivots.min() > SAFE_PIVOT)


def eigenvalue_bound(matrix: Floats) -> Floats:
    """Lower bound of the smallest eigenvalue of the correlation matrix: det (1 - 1/d)^(d - 1).

    The others sum to at most d, so their product is at most (d / (d - 1))^(d - 1). -inf where a
    variance or a pivot is not positive. (n, d, d) -> (n,).
    """
    positive, _, pivots = _positive_pivots(matrix)
    dimension = len(pivots)
    return np.where(positive, pivots.prod(axis=0) * (1 - 1 / dimension) ** (dimension - 1), -np.inf)


def axis_ratio_bound(matrix: Floats) -> Floats:
    """Lower bound of smallest over largest eigenvalue, the same in all axes: det / tr^d.

    -inf where a variance or a pivot is not positive. (n, d, d) -> (n,).
    """
    positive, variance, pivots = _positive_pivots(matrix)
    share = variance / variance.max(axis=0)
    share /= share.sum(axis=0)
    return np.where(positive, pivots.prod(axis=0) * share.prod(axis=0), -np.inf)


def _positive_pivots(matrix: Floats) -> tuple[Bools, Floats, Floats]:
    """Where variances and pivots are all positive; both, and ones elsewhere. (n,), (d, n) twice."""
    variance, pivots = _pivots(entries(matrix))
    positive: Bools = np.all((variance > 0) & (variance < np.inf) & (pivots > 0), axis=0)
    return positive, np.where(positive, variance, 1.0), np.where(positive, pivots, 1.0)


def _pivots(columns: Floats) -> tuple[Floats, Floats]:
    """Diagonal, and pivots of LDL^T of the correlation matrix; (d, d, n), overwritten -> (d, n)."""
    dimension = len(columns)
    variance = columns[range(dimension), range(dimension)]
    pivots = np.empty_like(variance)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for i in range(dimension):
            pivots[i] = columns[i, i] / variance[i]
            for j in range(i + 1, dimension):
                factor = columns[j, i] / columns[i, i]
                columns[j, i + 1 : j + 1] -= factor * columns[i + 1 : j + 1, i]
    return variance, pivots
