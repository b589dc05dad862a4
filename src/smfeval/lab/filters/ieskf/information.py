"""What the matched points of a scan say about the pose: A = H^T R^-1 H and b = H^T R^-1 r.

The published filter has R = sigma^2 I. The rest goes beyond it and is off by default.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smfeval.lab.filters.ieskf.settings import Kernel, Settings
from smfeval.maths.arrays import Floats

HUBER = 1.345  # sigma: 95 % efficient when errors are Gaussian (Huber 1981)
CAUCHY = 2.385  # sigma: likewise


@dataclass(frozen=True)
class Information:
    """Of the pose (position in world axes, rotation in body axes), from one linearisation."""

    matrix: Floats  # A (6, 6)
    vector: Floats  # b (6,)
    normals: Floats  # (3, 3) sum of n n^T, whatever the kernel makes of the points
    square: float  # r^T R^-1 r
    weight: float = 1.0  # mean weight that the kernel gives a point


def informed(residual: Floats, H: Floats, variance: float, settings: Settings) -> Information:
    """Information of residuals with a variance: weights, then the test, then the displacement."""
    weight = KERNELS[settings.kernel](residual / np.sqrt(variance))
    weighted = H * weight[:, None]
    normals = H[:, :3].T @ H[:, :3]
    A, b = weighted.T @ H / variance, weighted.T @ residual / variance
    square = float(weight @ residual**2 / variance)

    if settings.observability > 0:
        A, b = observable(A, b, settings.observability * weight.sum() / variance)
    if settings.shared_m > 0 or settings.shared_rad > 0:
        S = displacement(settings)
        undisplaced = b
        A, b = displaced(A, b, S)
        square -= float(undisplaced @ S @ b)
    return Information(A, b, normals, square, float(weight.mean()))


def displacement(settings: Settings) -> Floats:
    """S_d: covariance of a displacement that all points of a scan share. (6, 6)."""
    return np.diag(np.repeat([settings.shared_m**2, settings.shared_rad**2], 3))


def displaced(A: Floats, b: Floats, S: Floats) -> tuple[Floats, Floats]:
    """Information under R + H S H^T: by Woodbury, (I + A S)^-1 A = (A^-1 + S)^-1, and b alike."""
    kept = np.asarray(np.linalg.inv(np.eye(6) + A @ S), dtype=np.float64)
    matrix = kept @ A
    return 0.5 * (matrix + matrix.T), kept @ b


def observable(A: Floats, b: Floats, least: float) -> tuple[Floats, Floats]:
    """Information without the position's weak directions.

    What is known of the position while the rotation is free is L = A_tt - A_tr A_rr^-1 A_rt. Along
    an eigenvector u of L with a value l below `least`, the motion e = (u, -A_rr^-1 A_rt u) has
    e^T A e = l and A e = (l u, 0): taking l u u^T away from A and (e^T b) u from b leaves no
    information along e, and all of it elsewhere.
    """
    turn = -np.linalg.solve(A[3:, 3:], A[3:, :3])
    value, direction = np.linalg.eigh(A[:3, :3] + A[:3, 3:] @ turn)
    weak = direction[:, value < least]
    gone = np.zeros((6, 6))
    gone[:3, :3] = weak * value[value < least] @ weak.T
    motion = np.concatenate([weak, turn @ weak])
    b = b.copy()
    b[:3] -= weak @ (motion.T @ b)
    return A - gone, b


def _one(z: Floats) -> Floats:
    return np.ones_like(z)


def _huber(z: Floats) -> Floats:
    return HUBER / np.maximum(np.abs(z), HUBER)


def _cauchy(z: Floats) -> Floats:
    return 1 / (1 + (z / CAUCHY) ** 2)


# Weights of residuals in units of their sigma: the derivative of the loss, divided by z.
KERNELS: dict[Kernel, Callable[[Floats], Floats]] = {
    "none": _one,
    "huber": _huber,
    "cauchy": _cauchy,
}
