"""What normals through few points are worth: how much of a scan's information answers at all.

The normal of a plane through k points of the map scatters by Cov(n) = s^2 / k sum_i t_i t_i^T / l_i
about the true one, with l_i the variances of the points along the directions t_i within the plane
and s^2 = k l_0 / (k - 3) their variance across it. In sum w h h^T this scatter counts as
information N = sum w B Cov(n) B^T, B = [I; [arm]x], although no displacement answers to it: along a
smooth tunnel the information that a filter sees is N alone.
"""

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval_lab.compiled import jit_compile

LEAST_SPREAD_M2 = 1e-4  # added to the variances of points within a plane: none are on a line


@jit_compile
def scatter_information(
    point: Floats, normal: Floats, arm: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """N of rows whose planes go through `point` (m, k, 3), and the variance of each across it.

    (m, 3), (m, 3), (m,) -> (6, 6), (m,)
    """
    k, rough = point.shape[1], np.empty(len(normal))
    out, C, arm_C = np.zeros((6, 6)), np.zeros((3, 3)), np.zeros((3, 3))
    for row in range(len(normal)):
        rough[row] = normal_scatter(point, normal, row, C)
        scale = weight[row] * rough[row] / (k - 3)
        x, y, z = arm[row, 0], arm[row, 1], arm[row, 2]
        for j in range(3):  # [arm]x C, and what the lower triangle has of [arm]x C [arm]x^T
            arm_C[0, j] = scale * (y * C[2, j] - z * C[1, j])
            arm_C[1, j] = scale * (z * C[0, j] - x * C[2, j])
            arm_C[2, j] = scale * (x * C[1, j] - y * C[0, j])
        for i in range(3):
            for j in range(3):
                out[i, j] += scale * C[i, j]
                out[3 + i, j] += arm_C[i, j]
            out[3 + i, 3] += y * arm_C[i, 2] - z * arm_C[i, 1]
            out[3 + i, 4] += z * arm_C[i, 0] - x * arm_C[i, 2]
            out[3 + i, 5] += x * arm_C[i, 1] - y * arm_C[i, 0]
    for i in range(6):
        for j in range(i):
            out[j, i] = out[i, j]
    return out, rough


@jit_compile
def normal_scatter(point: Floats, normal: Floats, row: int, C: Floats) -> float:
    """Variance of the points of a row across their plane; writes sum_i t_i t_i^T / l_i into C."""
    x, y, z = normal[row, 0], normal[row, 1], normal[row, 2]
    if abs(z) < 0.9:  # two directions in the plane: across the normal and an axis not near to it
        size = 1 / np.sqrt(x * x + y * y)
        p, q, r = -y * size, x * size, 0.0
    else:
        size = 1 / np.sqrt(y * y + z * z)
        p, q, r = 0.0, -z * size, y * size
    s, t, o = y * r - z * q, z * p - x * r, x * q - y * p

    k, mx, my, mz = point.shape[1], 0.0, 0.0, 0.0
    for m in range(k):
        mx, my, mz = mx + point[row, m, 0], my + point[row, m, 1], mz + point[row, m, 2]
    mx, my, mz = mx / k, my / k, mz / k
    across, a, b, c = 0.0, 0.0, 0.0, 0.0
    for m in range(k):
        e, f, g = point[row, m, 0] - mx, point[row, m, 1] - my, point[row, m, 2] - mz
        u, v, w = e * p + f * q + g * r, e * s + f * t + g * o, e * x + f * y + g * z
        across, a, b, c = across + w * w, a + u * u, b + v * v, c + u * v
    a, b, c = a / k + LEAST_SPREAD_M2, b / k + LEAST_SPREAD_M2, c / k
    whole = 1 / (a * b - c * c)
    a, b, c = a * whole, b * whole, c * whole  # of the inverse of [a, c; c, b]
    C[0, 0] = b * p * p + a * s * s - 2 * c * p * s
    C[1, 1] = b * q * q + a * t * t - 2 * c * q * t
    C[2, 2] = b * r * r + a * o * o - 2 * c * r * o
    C[0, 1] = C[1, 0] = b * p * q + a * s * t - c * (p * t + s * q)
    C[0, 2] = C[2, 0] = b * p * r + a * s * o - c * (p * o + s * r)
    C[1, 2] = C[2, 1] = b * q * r + a * t * o - c * (q * o + t * r)
    return across / k


@jit_compile
def response(A: Floats, N: Floats) -> Floats:
    """U such that U A U^T = (A - N)+: what of the information answers to a displacement. (6, 6)."""
    whole, inverse = square_roots(A)
    answers = np.eye(len(A)) - inverse @ N @ inverse
    return whole @ of_eigenvalues(answers, 0.0, 0.5) @ inverse


def world_axes(rotation: Floats) -> Floats:
    """C = diag(I, R): position in world axes, rotation from body into world axes. (6, 6)."""
    turn = np.eye(6)
    turn[3:, 3:] = rotation
    return turn


LEAST = 1e-12  # of the largest eigenvalue: directions with less are not known


@jit_compile
def square_roots(A: Floats) -> tuple[Floats, Floats]:
    """A^1/2 and A^-1/2 of a positive semidefinite matrix, both zero where it is."""
    value, vector = np.linalg.eigh(A)
    known = value > LEAST * value[-1]
    root = np.sqrt(np.where(known, value, 0.0))
    inverse = np.where(known, 1 / np.where(known, root, 1.0), 0.0)
    return (vector * root) @ vector.T, (vector * inverse) @ vector.T


@jit_compile
def of_eigenvalues(matrix: Floats, least: float, power: float) -> Floats:
    """A symmetric matrix with its eigenvalues raised to `least`, then to a power."""
    value, vector = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vector * np.maximum(value, least) ** power) @ vector.T


def positive_part(matrix: Floats, least: float = 0.0) -> Floats:
    """A symmetric matrix with its eigenvalues raised to `least`."""
    return of_eigenvalues(matrix, least, 1.0)
