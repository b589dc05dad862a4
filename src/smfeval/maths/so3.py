"""Rotations as unit quaternions xyzw and as matrices, batched.

``matrix(q)`` maps body coordinates to world coordinates for a world_q_body. The exponential takes
a rotation vector phi in radians: R = Exp(phi) = I + phi^ + ... with x^ the cross-product matrix.
"""

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import chunks, entries


def hat(vector: Floats) -> Floats:
    """Cross-product matrix: hat(a) @ b = a x b. (..., 3) -> (..., 3, 3)."""
    x, y, z = vector[..., 0], vector[..., 1], vector[..., 2]
    out = np.zeros((*vector.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -z, y, -x
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = z, -y, x
    return out


def matrix(quaternion: Floats) -> Floats:
    """Rotation matrix of a unit quaternion xyzw. (..., 4) -> (..., 3, 3)."""
    rotation = np.empty((*quaternion.shape[:-1], 3, 3))
    rows = rotation.reshape(-1, 9)
    for part in chunks(len(rows)):  # entries apart, as they are made, and then put together
        entries = np.empty((3, 3, part.stop - part.start))
        _fill(entries, np.ascontiguousarray(quaternion.reshape(-1, 4)[part].T))
        rows[part] = entries.reshape(9, -1).T
    return rotation


def components(vectors: Floats) -> Floats:
    """The last axis in front, in a tenth of the time of np.moveaxis. (..., d) -> (d, ...)."""
    return vectors.transpose(vectors.ndim - 1, *range(vectors.ndim - 1))


def _fill(rotation: Floats, quaternion: Floats) -> None:
    """Write the entries of the rotation matrix of a unit quaternion. (3, 3, ...), (4, ...)."""
    x, y, z, w = quaternion
    x2, y2, z2 = 2 * x, 2 * y, 2 * z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    rotation[0, 0], rotation[0, 1], rotation[0, 2] = 1 - (yy + zz), xy - wz, xz + wy
    rotation[1, 0], rotation[1, 1], rotation[1, 2] = xy + wz, 1 - (xx + zz), yz - wx
    rotation[2, 0], rotation[2, 1], rotation[2, 2] = xz - wy, yz + wx, 1 - (xx + yy)


def quaternion(rotation: Floats) -> Floats:
    """Unit quaternion xyzw, w >= 0, of a rotation matrix. (..., 3, 3) -> (..., 4).

    q q^T is linear in the matrix; its column with the largest diagonal gives q without
    cancellation, whatever the angle (Shepperd 1978).
    """
    r = np.moveaxis(rotation, (-2, -1), (0, 1))
    outer = np.empty((4, 4, *rotation.shape[:-2]))
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        outer[i, i] = 1 + 2 * r[i, i] - trace
        outer[i, j] = outer[j, i] = r[i, j] + r[j, i]
        outer[i, 3] = outer[3, i] = r[k, j] - r[j, k]
    outer[3, 3] = 1 + trace
    largest = np.argmax(np.einsum("ii...->i...", outer), axis=0)
    column = np.take_along_axis(outer, largest[None, None], axis=1)[:, 0]
    unit = column / np.sqrt(np.sum(column**2, axis=0))
    unit = unit.transpose(*range(1, unit.ndim), 0)
    return np.where(unit[..., 3:] < 0, -unit, unit)


def compose(left: Floats, right: Floats) -> Floats:
    """Hamilton product: matrix(compose(p, q)) = matrix(p) @ matrix(q). (..., 4) each."""
    a, b = components(left), components(right)
    out = np.empty((4, *np.broadcast_shapes(left.shape[:-1], right.shape[:-1])))
    rows = left.ndim == 2 and left.shape == right.shape
    for part in chunks(len(left)) if rows else [slice(None)]:
        (ax, ay, az, aw), (bx, by, bz, bw) = a[..., part], b[..., part]
        product = out[..., part]
        product[0] = aw * bx + bw * ax + ay * bz - az * by
        product[1] = aw * by + bw * ay + az * bx - ax * bz
        product[2] = aw * bz + bw * az + ax * by - ay * bx
        product[3] = aw * bw - ax * bx - ay * by - az * bz
    return out.transpose(*range(1, out.ndim), 0)


CONJUGATE = np.array([-1.0, -1.0, -1.0, 1.0])


def inverse(quaternion: Floats) -> Floats:
    """Conjugate: the inverse of a unit quaternion."""
    return quaternion * CONJUGATE


def exp(vector: Floats) -> Floats:
    """Quaternion of a rotation vector in radians. (..., 3) -> (..., 4)."""
    half = 0.5 * np.sqrt(np.sum(vector * vector, axis=-1, keepdims=True))
    return np.concatenate([0.5 * np.sinc(half / np.pi) * vector, np.cos(half)], axis=-1)


def log(quaternion: Floats) -> Floats:
    """Rotation vector of at most pi radians. (..., 4) -> (..., 3)."""
    flip = np.where(quaternion[..., 3:] < 0, -1.0, 1.0)
    vector, w = flip * quaternion[..., :3], flip * quaternion[..., 3:]
    norm = np.sqrt(np.einsum("...i,...i->...", vector, vector))[..., None]
    tiny = norm < 1e-8  # below this, 2 atan(x) / x differs from 2 by less than a rounding error
    ratio = np.where(tiny, 2.0, 2.0 * np.arctan2(norm, w) / np.where(tiny, 1.0, norm))
    return ratio * vector


def angle(quaternion: Floats) -> Floats:
    """Angle of a rotation, 0 to pi. (..., 4) -> (...)."""
    x, y, z, w = components(quaternion)
    return 2 * np.arctan2(np.sqrt(x * x + y * y + z * z), np.abs(w))


def angle_between(first: Floats, second: Floats) -> Floats:
    """Angle of the rotation from one to the other, over chunks of scans. (n, 4) each -> (n,)."""
    out = np.empty(len(first))
    for part in chunks(len(first)):
        back = inverse(np.asfortranarray(first[part]))  # components apart, as they are needed
        out[part] = angle(compose(back, np.asfortranarray(second[part])))
    return out


def mean(moment: Floats) -> Floats:
    """Chordal mean rotation: the leading eigenvector of sum w q q^T. (..., 4, 4) -> (..., 4).

    Source: Markley et al., Averaging Quaternions, 2007.
    """
    leading = np.linalg.eigh(moment)[1][..., -1]
    return np.where(leading[..., 3:] < 0, -leading, leading)


def rotate_all(rotation: Floats, vector: Floats) -> Floats:
    """One matrix times many vectors. (3, 3), (n, 3) -> (n, 3)."""
    return vector @ rotation.T


def rotate(quaternion: Floats, vector: Floats) -> Floats:
    """R v without the matrix: v + 2 w (u x v) + 2 u x (u x v). (n, 4), (n, 3) -> (n, 3)."""
    return _rotate_signed(quaternion, vector, 1.0)


def rotate_back(quaternion: Floats, vector: Floats) -> Floats:
    """R^T v: the other way about. (n, 4), (n, 3) -> (n, 3)."""
    return _rotate_signed(quaternion, vector, -1.0)


def _rotate_signed(quaternion: Floats, vector: Floats, sense: float) -> Floats:
    out = np.empty((3, len(vector)))
    for part in chunks(len(vector)):
        ux, uy, uz, w = np.ascontiguousarray(quaternion[part].T)
        w = sense * w
        vx, vy, vz = np.ascontiguousarray(vector[part].T)
        cx, cy, cz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        out[0, part] = vx + 2 * (w * cx + uy * cz - uz * cy)
        out[1, part] = vy + 2 * (w * cy + uz * cx - ux * cz)
        out[2, part] = vz + 2 * (w * cz + ux * cy - uy * cx)
    return out.T


def rotate_covariance(quaternion: Floats, covariance: Floats) -> Floats:
    """R S R^T for symmetric S, exactly symmetric. (n, 4), (n, 3, 3) -> (n, 3, 3).

    S may also be packed, as lower triangles (n, 6).

    Over chunks of scans that stay in cache, ten times faster than a small product for each; in
    memory, too, the scans of one entry are neighbours.
    """
    out = np.empty((3, 3, len(quaternion)))
    for part in chunks(len(quaternion)):
        r = np.empty((3, 3, part.stop - part.start))
        _fill(r, np.ascontiguousarray(quaternion[part].T))
        s = entries(covariance[part])
        full = np.einsum("ijn,kjn->ikn", np.einsum("ijn,jkn->ikn", r, s), r)
        for i in range(3):
            for j in range(i + 1):
                out[i, j, part] = out[j, i, part] = full[i, j]
    return out.transpose(2, 0, 1)
