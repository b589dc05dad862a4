"""Rigid motions (t, q): position (..., 3) and unit quaternion xyzw (..., 4), batched.

A tangent vector is xi = (rho, phi), translation first. Exp(xi) = [Exp(phi), V(phi) rho].
The adjoint moves a tangent vector through a motion: T Exp(xi) T^-1 = Exp(Ad(T) xi).
"""

import numpy as np

from smfeval.maths import so3
from smfeval.maths.arrays import Floats

Pose = tuple[Floats, Floats]


def compose(left: Pose, right: Pose) -> Pose:
    """Left motion after right motion: T_a_c = T_a_b T_b_c."""
    rotated = np.einsum("...ij,...j->...i", so3.matrix(left[1]), right[0])
    return left[0] + rotated, so3.compose(left[1], right[1])


def inverse(pose: Pose) -> Pose:
    """T_b_a of T_a_b."""
    turned = so3.inverse(pose[1])
    return -np.einsum("...ij,...j->...i", so3.matrix(turned), pose[0]), turned


def adjoint(pose: Pose) -> Floats:
    """Ad(T) = [[R, t^ R], [0, R]] for xi = (rho, phi). -> (..., 6, 6)."""
    rotation = so3.matrix(pose[1])
    ad = np.zeros((*rotation.shape[:-2], 6, 6))
    ad[..., :3, :3] = rotation
    ad[..., 3:, 3:] = rotation
    ad[..., :3, 3:] = so3.hat(pose[0]) @ rotation
    return ad


def exp(tangent: Floats) -> Pose:
    """Motion of a tangent vector. (..., 6) -> pose."""
    rho, phi = tangent[..., :3], tangent[..., 3:]
    angle = np.linalg.norm(phi, axis=-1)[..., None, None]
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    first = np.where(small, 0.5 - angle**2 / 24, (1 - np.cos(safe)) / safe**2)
    second = np.where(small, 1 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    cross = so3.hat(phi)
    v_matrix = np.eye(3) + first * cross + second * cross @ cross
    return np.einsum("...ij,...j->...i", v_matrix, rho), so3.exp(phi)


def log(pose: Pose) -> Floats:
    """Tangent vector of a motion: exp(log(T)) = T for rotations below pi. -> (..., 6)."""
    phi = so3.log(pose[1])
    angle = np.linalg.norm(phi, axis=-1)[..., None, None]
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    ratio = (1 - safe * np.sin(safe) / (2 * (1 - np.cos(safe)))) / safe**2
    second = np.where(small, 1 / 12 + angle**2 / 720, ratio)
    cross = so3.hat(phi)
    v_inverse = np.eye(3) - 0.5 * cross + second * cross @ cross
    return np.concatenate([np.einsum("...ij,...j->...i", v_inverse, pose[0]), phi], axis=-1)


def sandwich(jacobian: Floats, covariance: Floats) -> Floats:
    """J S J^T, exactly symmetric. (..., m, k), (..., k, k) -> (..., m, m)."""
    product = jacobian @ covariance @ np.swapaxes(jacobian, -1, -2)
    return 0.5 * (product + np.swapaxes(product, -1, -2))
