"""N-cornered hat: the covariance of each of N >= 3 estimators from those of their differences.

If the errors are uncorrelated, D_ij = S_i + S_j for every pair. Least squares over the pairs gives

    S_i = (T_i - T) / (N - 2),   T_i = sum_j D_ij,   T = sum_(i<j) D_ij / (N - 1),

which may come out indefinite; the constrained fit keeps every S_i positive semi-definite. An error
shared by all vanishes from every difference: each S_i is too small by its covariance. An error C
shared by j and k alone lowers S_j and S_k, and for N = 3 raises S_i by C.

Source: J. Gray and D. Allan, 1974 (three clocks); A. Premoli and P. Tavella, 1993 (matrices).
"""

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import symmetrised

FEWEST = 3  # with two, only the sum of the covariances is known
STEPS = 2000
DONE = 1e-13  # relative change of a step


def free_hat(difference: Floats) -> Floats:
    """Least squares without constraint. (N, N, ...) symmetric in the pair -> (N, ...).

    Linear, so it may also be applied to the terms of each scan.
    """
    count = len(difference)
    row = np.array([sum(difference[i, j] for j in range(count) if j != i) for i in range(count)])
    total = row.sum(axis=0) / (2 * (count - 1))
    return (row - total) / (count - 2)


def cornered_hat(difference: Floats) -> Floats:
    """Least squares with every covariance positive semi-definite. (N, N, d, d) -> (N, d, d).

    Projected gradient on a convex problem whose Hessian has eigenvalues N - 2 and 2 N - 2.
    """
    count = len(difference)
    own = free_hat(difference)
    row = (count - 2) * own + own.sum(axis=0)
    found = _semidefinite(own)
    for _ in range(STEPS):
        slope = (count - 2) * found + found.sum(axis=0) - row
        new = _semidefinite(found - slope / (2 * count - 2))
        change = np.abs(new - found).max()
        found = new
        if change <= DONE * np.abs(found).max():
            break
    return found


def misfit(difference: Floats, own: Floats) -> float:
    """What the covariances leave unexplained: |S_i + S_j - D_ij| over |D_ij|, Frobenius."""
    first, second = np.triu_indices(len(own), 1)
    wanted = difference[first, second]
    return float(np.linalg.norm(own[first] + own[second] - wanted) / np.linalg.norm(wanted))


def _semidefinite(matrix: Floats) -> Floats:
    """The nearest positive semi-definite matrices. (..., d, d)."""
    values, vectors = np.linalg.eigh(symmetrised(matrix))
    return (vectors * np.maximum(values, 0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
