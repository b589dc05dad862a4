"""Gauss-Jacobi quadrature: nodes and weights of integrals with (1 - x)^a (1 + x)^b on (-1, 1)."""

from math import exp, lgamma, log

import numpy as np

from smfeval.maths.arrays import Floats


def gauss_jacobi(count: int, a: float, b: float) -> tuple[Floats, Floats]:
    """Nodes and weights, from the eigenvectors of the recurrence of Jacobi's polynomials.

    (Golub and Welsch, "Calculation of Gauss quadrature rules", Mathematics of Computation 23, 1969)
    """
    k = np.arange(1.0, count)
    total = 2 * k + a + b
    centre = np.append((b - a) / (a + b + 2), (b * b - a * a) / (total * (total + 2)))
    # (k + a + b) / (total^2 - 1), which is 1 / (total + 1) at k = 1, even where that is 0 / 0
    ratio = np.append(1 / (total[:1] + 1), (k[1:] + a + b) / (total[1:] ** 2 - 1))
    off = np.sqrt(4 * k * (k + a) * (k + b) * ratio) / total
    recurrence = np.diag(centre) + np.diag(off, 1) + np.diag(off, -1)
    node, vector = np.linalg.eigh(recurrence)
    mass = exp((a + b + 1) * log(2) + lgamma(a + 1) + lgamma(b + 1) - lgamma(a + b + 2))
    return node, mass * vector[0] ** 2
