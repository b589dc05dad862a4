"""Rotations as unit quaternions xyzw and as matrices, batched.

``matrix(q)`` maps body coordinates to world coordinates for a world_q_body. The exponential takes
a rotation vector phi in radians: R = Exp(phi) = I + phi^ + ... with x^ the cross-product matrix.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from smfeval.maths.arrays import Floats


def hat(vector: Floats) -> Floats:
    """Cross-product matrix: hat(a) @ b = a x b. (..., 3) -> (..., 3, 3)."""
    x, y, z = np.moveaxis(vector, -1, 0)
    zero = np.zeros_like(x)
    rows = [zero, -z, y, z, zero, -x, -y, x, zero]
    return np.stack(rows, axis=-1).reshape(*vector.shape[:-1], 3, 3)


def matrix(quaternion: Floats) -> Floats:
    """Rotation matrix of a unit quaternion xyzw. (..., 4) -> (..., 3, 3)."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    rotation = np.empty((*quaternion.shape[:-1], 3, 3))
    rotation[..., 0, 0] = 1 - 2 * (y * y + z * z)
    rotation[..., 0, 1] = 2 * (x * y - z * w)
    rotation[..., 0, 2] = 2 * (x * z + y * w)
    rotation[..., 1, 0] = 2 * (x * y + z * w)
    rotation[..., 1, 1] = 1 - 2 * (x * x + z * z)
    rotation[..., 1, 2] = 2 * (y * z - x * w)
    rotation[..., 2, 0] = 2 * (x * z - y * w)
    rotation[..., 2, 1] = 2 * (y * z + x * w)
    rotation[..., 2, 2] = 1 - 2 * (x * x + y * y)
    return rotation


def quaternion(rotation: Floats) -> Floats:
    """Unit quaternion xyzw, w >= 0, of a rotation matrix. (..., 3, 3) -> (..., 4)."""
    return Rotation.from_matrix(rotation).as_quat(canonical=True)


def compose(left: Floats, right: Floats) -> Floats:
    """Hamilton product: matrix(compose(p, q)) = matrix(p) @ matrix(q). (..., 4) each."""
    a, b = left[..., :3], right[..., :3]
    aw, bw = left[..., 3:], right[..., 3:]
    vector = aw * b + bw * a + np.cross(a, b)
    return np.concatenate([vector, aw * bw - np.sum(a * b, axis=-1, keepdims=True)], axis=-1)


def inverse(quaternion: Floats) -> Floats:
    """Conjugate: the inverse of a unit quaternion."""
    return quaternion * np.array([-1.0, -1.0, -1.0, 1.0])


def exp(vector: Floats) -> Floats:
    """Quaternion of a rotation vector in radians. (..., 3) -> (..., 4)."""
    half = 0.5 * np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(half / np.pi) * vector, np.cos(half)], axis=-1)


def log(quaternion: Floats) -> Floats:
    """Rotation vector of at most pi radians. (..., 4) -> (..., 3)."""
    flip = np.where(quaternion[..., 3:] < 0, -1.0, 1.0)
    vector, w = flip * quaternion[..., :3], flip * quaternion[..., 3:]
    norm = np.linalg.norm(vector, axis=-1, keepdims=True)
    tiny = norm < 1e-8  # below this, 2 atan(x) / x differs from 2 by less than a rounding error
    ratio = np.where(tiny, 2.0, 2.0 * np.arctan2(norm, w) / np.where(tiny, 1.0, norm))
    return ratio * vector


def mean(moment: Floats) -> Floats:
    """Chordal mean rotation: the leading eigenvector of sum w q q^T. (..., 4, 4) -> (..., 4).

    Source: Markley et al., Averaging Quaternions, 2007.
    """
    leading = np.linalg.eigh(moment)[1][..., -1]
    return np.where(leading[..., 3:] < 0, -leading, leading)
