"""The inner loop of `point_lio`: predict to each time, weigh the IMU, weigh the points.

Rows of one update are taken one after the other, with the residuals of the first linearisation:
with independent noise this is the update by all of them at once. Mean and covariance change in
place, for there are a thousand updates in a scan.
"""

from typing import NamedTuple

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval_lab.compiled import jit_compile
from smfeval_lab.filters.ieskf.maps import NEIGHBOURS, PointSearch, nearest_points
from smfeval_lab.filters.ieskf.planes import FLAT_M, fit_plane
from smfeval_lab.filters.ieskf.update import GATE

POSITION, VELOCITY, RATE, ACCELERATION, GRAVITY, GYRO_BIAS, ACCELERATION_BIAS = range(7)
CROWD = 30  # rows of one update from which Point-LIO takes another branch: its number of states


class PointBelief(NamedTuple):
    """Mean and covariance, changed in place."""

    time: Floats  # (2,) s: of the mean, and of the covariance
    rotation: Floats  # (3, 3)
    vector: Floats  # (7, 3) position, velocity, rate, acceleration, gravity, both biases
    covariance: Floats  # (24, 24)


class ImuSamples(NamedTuple):
    """Samples of the IMU."""

    time: Floats  # (m,) s since the start
    value: Floats  # (m, 6) rad/s, m/s^2


class TimedPoints(NamedTuple):
    """Points of a scan in the order of time."""

    point: Floats  # (n, 3) body axes, at its own time
    time: Floats  # (n,) s since the start


class PointNoise(NamedTuple):
    """Variances."""

    process: Floats  # (24,) times dt^2 in a step
    sample: Floats  # (6,) of a sample of the IMU
    most: Floats  # (6,) magnitude from which a channel is not believed
    point: float  # m^2, r
    crowded: float  # m^2, as used where more than `CROWD` points share a time


class Tally(NamedTuple):
    """What a scan did."""

    place: Floats  # (n, 3) of its points in the world, each at its own update
    matched: int
    normals: Floats  # (3, 3) sum of n n^T
    sums: Floats  # (4,) squares after, residuals before, squares before, squares over variance
    unmatched: Floats  # (24, 24) covariance, had no point been matched
    step: Floats  # (24, 24) what became of the error of the scan before


@jit_compile
def follow_scan(
    belief: PointBelief,
    imu: ImuSamples,
    points: TimedPoints,
    search: PointSearch,
    noise: PointNoise,
) -> Tally:
    """Go through the points of a scan."""
    point, time = points.point, points.time
    n, matched, first = len(point), 0, 0
    sums, unmatched = np.zeros(4), belief.covariance.copy()
    tally = Tally(np.empty((n, 3)), 0, np.zeros((3, 3)), sums, unmatched, np.eye(24))
    sample = np.searchsorted(imu.time, belief.time[1], side="right")
    H, residual = np.empty((n, 6)), np.empty(n)
    while first < n:
        last = first + 1
        while last < n and time[last] == time[first]:
            last += 1
        while sample < len(imu.time) and imu.time[sample] <= time[first]:
            weigh_sample(belief, imu.time[sample], imu.value[sample], noise, tally)
            sample += 1
        advance(belief, time[first])
        rows = 0
        for i in range(first, last):
            rows += match_point(belief, point[i], search, H[rows], residual[rows : rows + 1])
        if rows > 0:
            weigh_points(belief, H[:rows], residual[:rows], noise, tally)
            matched += rows
        for i in range(first, last):
            to_world(belief, point[i], tally.place[i])
        first = last
    return Tally(tally.place, matched, tally.normals, tally.sums, tally.unmatched, tally.step)


@jit_compile
def product(A: Floats, B: Floats) -> Floats:
    """A B of matrices, by loops: they compile in a tenth of the time of calls to BLAS."""
    n, m = A.shape[0], B.shape[1]
    out = np.zeros((n, m))
    for i in range(n):
        for k in range(A.shape[1]):
            a = A[i, k]
            if a != 0.0:
                for j in range(m):
                    out[i, j] += a * B[k, j]
    return out


@jit_compile
def advance(belief: PointBelief, time: float) -> None:
    """Predict the mean to a time."""
    h = time - belief.time[0]
    belief.time[0] = time
    x, R = belief.vector, belief.rotation
    for i in range(3):
        pull = x[GRAVITY, i]
        for j in range(3):
            pull += R[i, j] * x[ACCELERATION, j]
        x[POSITION, i] += h * x[VELOCITY, i]
        x[VELOCITY, i] += h * pull
    turn_by(R, h * x[RATE, 0], h * x[RATE, 1], h * x[RATE, 2])


@jit_compile
def turn_by(R: Floats, x: float, y: float, z: float) -> None:
    """R Exp(x, y, z), in place."""
    R[:] = product(R, rotation_of(x, y, z))


@jit_compile
def rotation_of(x: float, y: float, z: float) -> Floats:
    """Exp of a rotation vector, by Rodrigues' formula. -> (3, 3)."""
    square = x * x + y * y + z * z
    angle = np.sqrt(square)
    once, twice = 1.0, 0.5
    if angle > 1e-6:
        once, twice = np.sin(angle) / angle, (1 - np.cos(angle)) / square
    K = cross_matrix(x, y, z)
    out = product(K, K)
    for i in range(3):
        for j in range(3):
            out[i, j] = twice * out[i, j] + once * K[i, j]
        out[i, i] += 1.0
    return out


@jit_compile
def cross_matrix(x: float, y: float, z: float) -> Floats:
    """The matrix that takes the cross product with a vector. -> (3, 3)."""
    K = np.zeros((3, 3))
    K[0, 1], K[0, 2], K[1, 2] = -z, y, -x
    K[1, 0], K[2, 0], K[2, 1] = z, -y, x
    return K


@jit_compile
def transition(belief: PointBelief, h: float) -> Floats:
    """F: how an error of the state becomes one after a time h. (24, 24)."""
    x, R = belief.vector, belief.rotation
    F = np.zeros((24, 24))
    for i in range(24):
        F[i, i] = 1.0
    back = rotation_of(-h * x[RATE, 0], -h * x[RATE, 1], -h * x[RATE, 2])
    a = x[ACCELERATION]
    tipped = product(R, cross_matrix(a[0], a[1], a[2]))
    for i in range(3):
        F[i, 6 + i] = F[3 + i, 9 + i] = F[6 + i, 15 + i] = h
        for j in range(3):
            F[3 + i, 3 + j] = back[i, j]
            F[6 + i, 3 + j] = -h * tipped[i, j]
            F[6 + i, 12 + j] = h * R[i, j]
    return F


@jit_compile
def carry(P: Floats, F: Floats, h: float, process: Floats) -> None:
    """P <- F P F^T + Q h^2, in place."""
    half = product(F, P)
    whole = product(F, half.T)
    for i in range(24):
        for j in range(24):
            P[i, j] = whole[j, i]
        P[i, i] += h * h * process[i]


@jit_compile
def weigh_sample(
    belief: PointBelief, time: float, value: Floats, noise: PointNoise, tally: Tally
) -> None:
    """Propagate to a sample of the IMU, and weigh it."""
    P, T, h = belief.covariance, tally.step, time - belief.time[1]
    F = transition(belief, h)
    advance(belief, time)
    belief.time[1] = time
    carry(P, F, h, noise.process)
    carry(tally.unmatched, F, h, noise.process)
    T[:] = product(F, T)

    x, step, row = belief.vector, np.zeros(24), np.zeros(24)
    for i in range(6):
        if abs(value[i]) >= noise.most[i]:
            continue
        of, axis = i // 3, i % 3
        innovation = value[i] - x[RATE + of, axis] - x[GYRO_BIAS + of, axis]
        row[9 + i] = row[18 + i] = 1.0
        K, _ = shrink(P, row, noise.sample[i])
        learn(step, T, K, row, innovation - step[9 + i] - step[18 + i])
        shrink(tally.unmatched, row, noise.sample[i])
        row[9 + i] = row[18 + i] = 0.0
    move(belief, step)


@jit_compile
def shrink(P: Floats, row: Floats, variance: float) -> tuple[Floats, float]:
    """P after one row h with noise r: P - K h P; returns K = P h / (h P h + r) and h P h + r."""
    K, total = np.zeros(24), variance
    for i in range(24):
        for j in range(24):
            K[i] += P[i, j] * row[j]
    for i in range(24):
        total += row[i] * K[i]
    for i in range(24):
        for j in range(24):
            P[i, j] -= K[i] * K[j] / total
    for i in range(24):
        K[i] /= total
    return K, total


@jit_compile
def learn(step: Floats, T: Floats, K: Floats, row: Floats, innovation: float) -> None:
    """Step by K times the innovation, and T <- (I - K h) T, in place."""
    for j in range(24):
        seen = 0.0
        for i in range(24):
            seen += row[i] * T[i, j]
        for i in range(24):
            T[i, j] -= K[i] * seen
    for i in range(24):
        step[i] += K[i] * innovation


@jit_compile
def move(belief: PointBelief, step: Floats) -> None:
    """Add an error state to the mean."""
    turn_by(belief.rotation, step[3], step[4], step[5])
    for axis in range(3):
        belief.vector[POSITION, axis] += step[axis]
        for i in range(1, 7):
            belief.vector[i, axis] += step[3 + 3 * i + axis]


@jit_compile
def to_world(belief: PointBelief, point: Floats, out: Floats) -> None:
    """A point in body axes, put into the world."""
    R = belief.rotation
    for i in range(3):
        out[i] = belief.vector[POSITION, i]
        for j in range(3):
            out[i] += R[i, j] * point[j]


@jit_compile
def match_point(
    belief: PointBelief, point: Floats, search: PointSearch, h: Floats, residual: Floats
) -> int:
    """Whether a point has a plane; writes its row and its residual. (3,) body."""
    place, normal, n = np.empty((1, 3)), np.zeros(3), np.zeros(3)
    to_world(belief, point, place[0])
    found, have, _ = nearest_points(place, search.table, search.steps)
    if have[0] < NEIGHBOURS:
        return 0
    off, _, farthest = fit_plane(found[0], normal, search.by_offset)
    square = 0.0
    for i in range(3):
        off += normal[i] * place[0, i]
        square += point[i] * point[i]
        for j in range(3):
            n[i] += belief.rotation[j, i] * normal[j]
    if farthest >= FLAT_M or off**4 >= GATE**4 * square:
        return 0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        h[i] = normal[i]
        h[3 + i] = point[j] * n[k] - point[k] * n[j]
    residual[0] = off
    return 1


@jit_compile
def weigh_points(
    belief: PointBelief, H: Floats, residual: Floats, noise: PointNoise, tally: Tally
) -> None:
    """The update by points of one time."""
    variance = noise.crowded if len(H) > CROWD else noise.point
    step, row = np.zeros(24), np.zeros(24)
    for i in range(len(H)):
        for j in range(6):
            row[j] = H[i, j]
        left = residual_after(H[i], residual[i], step)
        K, total = shrink(belief.covariance, row, variance)
        learn(step, tally.step, K, row, -left)
        tally.sums[1] += residual[i]
        tally.sums[2] += residual[i] ** 2
        tally.sums[3] += left**2 / total
        for j in range(3):
            for k in range(3):
                tally.normals[j, k] += H[i, j] * H[i, k]
    for i in range(len(H)):
        tally.sums[0] += residual_after(H[i], residual[i], step) ** 2
    move(belief, step)


@jit_compile
def residual_after(h: Floats, residual: float, step: Floats) -> float:
    """A residual after a step, to first order."""
    for j in range(6):
        residual += h[j] * step[j]
    return residual
