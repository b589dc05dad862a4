"""Planes through few points: the plane of least squares, and whether the points are flat."""

from typing import Literal, NamedTuple

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval_lab.compiled import jit_compile


class Planes(NamedTuple):
    """A plane n x + d = 0 for each of some points, where there is one."""

    normal: Floats  # (n, 3) world
    offset: Floats  # (n,) m
    good: Bools  # (n,)
    point: Floats | None = None  # (n, k, 3) of the map, through which it goes
    birth: Ints | None = None  # (n, k) which call of `add` brought each point of the plane
    seen_from: Floats | None = None  # (births, 3) where the body was at each call of `add`


GRAZING = 0.3  # cosine: seen from nearer to the plane than this, a side is the scatter of normals
PlaneFit = Literal["principal", "offset"]  # least squares of distances; of n x = -1 (Fast-LIO2)
MOST_BEHIND = 0.5  # share of a plane's points, seen from its other side, from which it is refused
FLAT_M = 0.1  # no point may lie farther from the plane (Fast-LIO2)
LEAST_SPREAD = 0.02  # of the second direction, in squared voxels: points on a line are no plane


def planes_through(
    point: Floats,
    voxel_m: float,
    have: Ints | None = None,
    *,
    least_spread: float = LEAST_SPREAD,
    fit: PlaneFit = "principal",
) -> Planes:
    """Planes n x + d = 0 through sets of k points, good if the points are flat. (n, k, 3).

    `have` (n,) tells how many of the k points of a set there are, the first ones; all unless given.
    Points that spread less than `least_spread` in the second direction are on a line: no plane.
    """
    if have is None:
        have = np.full(len(point), point.shape[1])
    normal, offset, middle, farthest = fit_planes(point, have, fit == "offset")
    good = (middle >= least_spread * voxel_m**2) & (farthest < FLAT_M)
    return Planes(normal, offset, good)


@jit_compile
def fit_planes(point: Floats, have: Ints, by_offset: bool) -> tuple[Floats, Floats, Floats, Floats]:
    """Normal, offset, middle eigenvalue and farthest point of each set. (n, k, 3), (n,)."""
    n = len(point)
    normal, offset = np.zeros((n, 3)), np.zeros(n)
    middle, farthest = np.zeros(n), np.zeros(n)
    for i in range(n):
        if have[i] > 0:
            those = point[i, : have[i]]
            offset[i], middle[i], farthest[i] = fit_plane(those, normal[i], by_offset)
    return normal, offset, middle, farthest


@jit_compile
def fit_plane(point: Floats, normal: Floats, by_offset: bool) -> tuple[float, float, float]:
    """Offset, middle eigenvalue and farthest distance of a set; writes its normal. (k, 3), (3,).

    The plane of least squares; `by_offset` of n x = -1, as published filters have it.
    """
    count = len(point)
    x, y, z = 0.0, 0.0, 0.0
    for m in range(count):
        x, y, z = x + point[m, 0], y + point[m, 1], z + point[m, 2]
    x, y, z = x / count, y / count, z / count
    C = np.zeros((3, 3))
    for m in range(count):
        a, b, c = point[m, 0] - x, point[m, 1] - y, point[m, 2] - z
        C[0, 0] += a * a / count
        C[1, 1] += b * b / count
        C[2, 2] += c * c / count
        C[0, 1] += a * b / count
        C[0, 2] += a * c / count
        C[1, 2] += b * c / count
    C[1, 0], C[2, 0], C[2, 1] = C[0, 1], C[0, 2], C[1, 2]

    low, middle = lower_eigenvalues(C)
    if by_offset:
        offset = solve_offset_plane(C, x, y, z, normal)
    else:
        null_direction(C, low, normal)
        offset = -(normal[0] * x + normal[1] * y + normal[2] * z)
    farthest = 0.0
    for m in range(count):
        off = normal[0] * point[m, 0] + normal[1] * point[m, 1] + normal[2] * point[m, 2] + offset
        farthest = max(farthest, abs(off))
    return offset, middle, farthest


@jit_compile
def solve_offset_plane(C: Floats, x: float, y: float, z: float, normal: Floats) -> float:
    """The plane of least squares of n x = -1 through points of mean m and covariance C.

    n = -(C + m m^T)^-1 m, which is along a = adj(C) m; its offset is (det C + m a) / |a|. It tilts
    away from the plane of the points as these spread, and as the origin lies beside them: by
    L s^2 / (D w^2) for a spread s across and w along a plane at distance D from the origin, with
    the points a way L beside its foot.
    """
    a = C[1, 1] * C[2, 2] - C[1, 2] ** 2
    b = C[0, 2] * C[1, 2] - C[0, 1] * C[2, 2]
    c = C[0, 1] * C[1, 2] - C[0, 2] * C[1, 1]
    d = C[0, 0] * C[2, 2] - C[0, 2] ** 2
    e = C[0, 1] * C[0, 2] - C[0, 0] * C[1, 2]
    f = C[0, 0] * C[1, 1] - C[0, 1] ** 2
    u, v, w = a * x + b * y + c * z, b * x + d * y + e * z, c * x + e * y + f * z
    length = np.sqrt(u * u + v * v + w * w)
    if length == 0.0:  # points on a line
        return np.inf
    normal[0], normal[1], normal[2] = -u / length, -v / length, -w / length
    determinant = C[0, 0] * a + C[0, 1] * b + C[0, 2] * c
    return (determinant + x * u + y * v + z * w) / length


@jit_compile
def share_behind(
    place: Floats, normal: Floats, offset: Floats, birth: Ints, seen_from: Floats
) -> Floats:
    """Share of the points of the plane near each place that were clearly seen from n x + d < 0."""
    out = np.zeros(len(normal))
    for i in range(len(normal)):
        x, y, z, d = normal[i, 0], normal[i, 1], normal[i, 2], offset[i]
        for m in range(birth.shape[1]):
            eye = seen_from[birth[i, m]]
            a, b, c = eye[0] - place[i, 0], eye[1] - place[i, 1], eye[2] - place[i, 2]
            clear = GRAZING * np.sqrt(a * a + b * b + c * c)
            if x * eye[0] + y * eye[1] + z * eye[2] + d < -clear:
                out[i] += 1.0 / birth.shape[1]
    return out


def refuse_other_side(planes: Planes, place: Floats) -> Planes:
    """Without planes of which half or more of the points were seen from the other side.

    Normals point towards the body: what it sees now is another surface than what made the map (the
    back of a rib, of a trunk or of a thin wall). A map that does not know its births refuses none.
    """
    if planes.birth is None or planes.seen_from is None:
        return planes
    behind = share_behind(place, planes.normal, planes.offset, planes.birth, planes.seen_from)
    return planes._replace(good=planes.good & (behind < MOST_BEHIND - 1e-9))


TINY = np.finfo(np.float64).tiny ** 0.25


@jit_compile
def lower_eigenvalues(C: Floats) -> tuple[float, float]:
    """The smallest and the middle eigenvalue of a symmetric matrix, by angles (Smith 1961)."""
    mean = (C[0, 0] + C[1, 1] + C[2, 2]) / 3
    a, b, c = C[0, 0] - mean, C[1, 1] - mean, C[2, 2] - mean
    d, e, f = C[0, 1], C[0, 2], C[1, 2]
    scale = np.sqrt((a * a + b * b + c * c + 2 * (d * d + e * e + f * f)) / 6)
    determinant = a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e)
    half = 0.5 * determinant / max(scale, TINY) ** 3
    angle = np.arccos(min(max(half, -1.0), 1.0)) / 3
    high = mean + 2 * scale * np.cos(angle)
    low = mean + 2 * scale * np.cos(angle + 2 * np.pi / 3)
    return low, 3 * mean - high - low


@jit_compile
def null_direction(C: Floats, value: float, out: Floats) -> None:
    """Unit eigenvector of a single eigenvalue: across the two rows of C - value I that differ most.

    Zero where all rows are alike.
    """
    best = 0.0
    for r in range(3):
        s, t = r, (r + 1) % 3
        a0, a1, a2 = C[s, 0], C[s, 1], C[s, 2]
        b0, b1, b2 = C[t, 0], C[t, 1], C[t, 2]
        if s == 0:
            a0, b1 = a0 - value, b1 - value
        elif s == 1:
            a1, b2 = a1 - value, b2 - value
        else:
            a2, b0 = a2 - value, b0 - value
        x, y, z = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
        square = x * x + y * y + z * z
        if square > best:
            best = square
            out[0], out[1], out[2] = x, y, z
    if best > 0.0:
        length = np.sqrt(best)
        out[0], out[1], out[2] = out[0] / length, out[1] / length, out[2] / length
