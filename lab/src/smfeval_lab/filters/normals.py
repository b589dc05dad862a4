"""What normals through few points are worth: how much of a scan's information answers at all.

The normal of a plane through k points of the map scatters by Cov(n) = s^2 / k sum_i t_i t_i^T / l_i
about the true one, with l_i the variances of the points along the directions t_i within the plane
and s^2 = k l_0 / (k - 3) their variance across it. In sum w h h^T this scatter counts as
information N = sum w B Cov(n) B^T, B = [I; [arm]x], although no displacement answers to it: along a
smooth tunnel the information that a filter sees is N alone.
"""

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import symmetrise
from smfeval_lab.compiled import jit_compile

LEAST_SPREAD_M2 = 1e-4  # added to the variances of points within a plane: none are on a line


@jit_compile
def scatter_information(
    point: Floats, normal: Floats, arm: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """N of rows whose planes go through `point` (m, k, 3), and the variance of each across it.

    (m, 3), (m, 3), (m,) -> (6, 6), (m,)
    """
    out, k, rough = np.zeros((6, 6)), point.shape[1], np.empty(len(normal))
    first, second = np.empty(6), np.empty(6)
    for row in range(len(normal)):
        across, a, b, c = spread_in_plane(point[row], normal[row], first, second)
        rough[row] = across
        for vector in (first, second):  # B t = (t, arm x t)
            x, y, z = arm[row]
            vector[3] = y * vector[2] - z * vector[1]
            vector[4] = z * vector[0] - x * vector[2]
            vector[5] = x * vector[1] - y * vector[0]
        scale = weight[row] * across / (k - 3) / (a * b - c * c)
        for i in range(6):
            for j in range(i + 1):
                out[i, j] += scale * (
                    b * first[i] * first[j]
                    + a * second[i] * second[j]
                    - c * (first[i] * second[j] + second[i] * first[j])
                )
    for i in range(6):
        for j in range(i):
            out[j, i] = out[i, j]
    return out, rough


@jit_compile
def spread_in_plane(
    point: Floats, normal: Floats, first: Floats, second: Floats
) -> tuple[float, float, float, float]:
    """Variance of points (k, 3) across their plane, along two directions in it, and both.

    Writes the directions, orthonormal, into the first three of `first` and `second`.
    """
    x, y, z = normal
    upright = abs(z) < 0.9
    size = np.sqrt(x * x + y * y) if upright else np.sqrt(y * y + z * z)
    if upright:  # across the normal and an axis that it is not near to
        first[0], first[1], first[2] = -y / size, x / size, 0.0
    else:
        first[0], first[1], first[2] = 0.0, -z / size, y / size
    second[0] = y * first[2] - z * first[1]
    second[1] = z * first[0] - x * first[2]
    second[2] = x * first[1] - y * first[0]

    k, mean = len(point), np.zeros(3)
    across, a, b, c = 0.0, LEAST_SPREAD_M2, LEAST_SPREAD_M2, 0.0
    for m in range(k):
        for i in range(3):
            mean[i] += point[m, i] / k
    for m in range(k):
        u, v, w = 0.0, 0.0, 0.0
        for i in range(3):
            apart = point[m, i] - mean[i]
            u, v, w = u + apart * first[i], v + apart * second[i], w + apart * normal[i]
        across, a, b, c = across + w * w / k, a + u * u / k, b + v * v / k, c + u * v / k
    return across, a, b, c


def response(A: Floats, N: Floats) -> Floats:
    """U such that U A U^T = (A - N)+: what of the information answers to a displacement. (6, 6)."""
    whole, inverse = square_roots(A)
    value, vector = np.linalg.eigh(symmetrise(np.eye(6) - inverse @ N @ inverse))
    return whole @ (vector * np.sqrt(np.maximum(value, 0.0))) @ vector.T @ inverse


def world_axes(rotation: Floats) -> Floats:
    """C = diag(I, R): position in world axes, rotation from body into world axes. (6, 6)."""
    turn = np.eye(6)
    turn[3:, 3:] = rotation
    return turn


LEAST = 1e-12  # of the largest eigenvalue: directions with less are not known


def square_roots(A: Floats) -> tuple[Floats, Floats]:
    """A^1/2 and A^-1/2 of a positive semidefinite matrix, both zero where it is."""
    value, vector = np.linalg.eigh(A)
    known = value > LEAST * value[-1]
    root = np.sqrt(np.where(known, value, 0.0))
    inverse = np.where(known, 1 / np.where(known, root, 1.0), 0.0)
    return (vector * root) @ vector.T, (vector * inverse) @ vector.T


def positive_part(matrix: Floats, least: float = 0.0) -> Floats:
    """A symmetric matrix with its eigenvalues raised to `least`."""
    value, vector = np.linalg.eigh(symmetrise(matrix))
    return (vector * np.maximum(value, least)) @ vector.T
