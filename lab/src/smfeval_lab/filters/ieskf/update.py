"""The iterated update of a state by a scan, in information form.

At each linearisation x of the prior x0, with e the error state at x, delta = x - x0 and
J = d(x + e - x0)/de, the sum (r + H e)^T R^-1 (r + H e) + (delta + J e)^T P^-1 (delta + J e) is
least at e = -L^-1 (H^T R^-1 r + J^T P^-1 delta), L = H^T R^-1 H + J^T P^-1 J, and L^-1 is the
covariance: the gain of Fast-LIO2, K = L^-1 H^T R^-1.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.symmetric import symmetrise
from smfeval_lab.filters.ieskf.maps import Map
from smfeval_lab.filters.ieskf.planes import Planes, refuse_other_side
from smfeval_lab.filters.ieskf.rotations import cross_product, right_jacobian
from smfeval_lab.filters.ieskf.state import POSE, ROTATION, SIZE, Kernel, Noise, Settings, State

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
    row_weight: Floats | None = None  # (m,) W: 1 / R, times the weight of the kernel
    kept: Floats = field(default_factory=lambda: np.eye(6))  # b = kept H^T W r; A likewise


def compute_information(
    residual: Floats, H: Floats, variance: float, settings: Settings
) -> Information:
    """Information of residuals with a variance: weights, then the test, then the displacement."""
    weight = KERNELS[settings.kernel](residual / np.sqrt(variance))
    weighted = H * weight[:, None]
    normals = H[:, :3].T @ H[:, :3]
    A, b = weighted.T @ H / variance, weighted.T @ residual / variance
    square, kept = float(weight @ residual**2 / variance), np.eye(6)

    if settings.observability > 0:
        A, b, kept = drop_weak_directions(A, b, settings.observability * weight.sum() / variance)
    if settings.shared_m > 0 or settings.shared_rad > 0:
        S = np.diag(np.repeat([settings.shared_m**2, settings.shared_rad**2], 3))  # S_d
        undisplaced = b
        A, b, inflated = inflate_by_displacement(A, b, S)
        kept = inflated @ kept
        square -= float(undisplaced @ S @ b)
    return Information(A, b, normals, square, float(weight.mean()), weight / variance, kept)


def inflate_by_displacement(A: Floats, b: Floats, S: Floats) -> tuple[Floats, Floats, Floats]:
    """Information under R + H S H^T: by Woodbury, (I + A S)^-1 A = (A^-1 + S)^-1, and b alike.

    Also (I + A S)^-1 itself.
    """
    kept = np.asarray(np.linalg.inv(np.eye(6) + A @ S), dtype=np.float64)
    matrix = kept @ A
    return symmetrise(matrix), kept @ b, kept


def drop_weak_directions(A: Floats, b: Floats, least: float) -> tuple[Floats, Floats, Floats]:
    """Information without the position's weak directions.

    What is known of the position while the rotation is free is L = A_tt - A_tr A_rr^-1 A_rt. Along
    an eigenvector u of L with a value l below `least`, the motion e = (u, -A_rr^-1 A_rt u) has
    e^T A e = l and A e = (l u, 0): taking l u u^T away from A and (e^T b) u from b leaves no
    information along e, and all of it elsewhere. Also the matrix that does this to A and b.
    """
    turn = -np.linalg.solve(A[3:, 3:], A[3:, :3])
    value, direction = np.linalg.eigh(A[:3, :3] + A[:3, 3:] @ turn)
    weak = direction[:, value < least]
    gone = np.zeros((6, 6))
    gone[:3, :3] = weak * value[value < least] @ weak.T
    motion = np.concatenate([weak, turn @ weak])
    kept = np.eye(6)
    kept[:3] -= weak @ motion.T
    return A - gone, kept @ b, kept


# Weights of residuals in units of their sigma: the derivative of the loss, divided by z.
KERNELS: dict[Kernel, Callable[[Floats], Floats]] = {
    "none": np.ones_like,
    "huber": lambda z: HUBER / np.maximum(np.abs(z), HUBER),
    "cauchy": lambda z: 1 / (1 + (z / CAUCHY) ** 2),
}


GATE = 1 / 9  # |r| / sqrt(range) may reach this: 1 - 0.9 |r| / sqrt(range) > 0.9 (Fast-LIO2)


def to_world(point: Floats, state: State) -> Floats:
    """Points in body axes, put into the world. (n, 3)."""
    return point @ state.rotation.T + state.position


def orient_normals(planes: Planes, place: Floats, position: Floats) -> Planes:
    """The planes with normals towards the body, so that a point before its plane is positive."""
    side = np.where(np.einsum("ni,ni->n", planes.normal, position - place) < 0, -1.0, 1.0)
    return planes._replace(normal=side[:, None] * planes.normal, offset=side * planes.offset)


def residuals(place: Floats, planes: Planes) -> Floats:
    """Signed distance of every place from its plane, m. (n,)."""
    return np.einsum("ni,ni->n", planes.normal, place) + planes.offset


def jacobian(point: Floats, normal: Floats, rotation: Floats) -> Floats:
    """H: derivative of the residuals by position and rotation. (n, 6)."""
    return np.concatenate([normal, cross_product(point, normal @ rotation)], axis=1)


def credible_matches(residual: Floats, point: Floats, good: Bools) -> Bools:
    """Matches whose residual is small for their range. (n,)."""
    squared_range = np.einsum("ni,ni->n", point, point)
    return good & (np.square(residual * residual) < GATE**4 * squared_range)


def match_planes(point: Floats, state: State, field: Map, *, both_sides: bool = True) -> Planes:
    """The planes near points in body axes, their normals towards the body.

    Unless `both_sides` count, those that were mapped from their other side are not good.
    """
    place = to_world(point, state)
    planes = orient_normals(field.planes(place), place, state.position)
    return planes if both_sides else refuse_other_side(planes)


def linearise(
    point: Floats, state: State, planes: Planes
) -> tuple[Floats, Floats, Floats, Ints | None]:
    """Residuals (m,), derivative (m, 6), places (m, 3) and births of points that have a plane."""
    place = to_world(point, state)
    residual = residuals(place, planes)
    used = np.flatnonzero(credible_matches(residual, point, planes.good))
    H = jacobian(point[used], planes.normal[used], state.rotation)
    birth = None if planes.birth is None else planes.birth[used]
    return residual[used], H, place[used], birth


@dataclass(frozen=True)
class Linearisation:
    """Residuals at one linearisation, and what they say."""

    residual: Floats  # (m,)
    H: Floats  # (m, 6)
    place: Floats  # (m, 3) world
    information: Information
    birth: Ints | None = None  # (m, k) insertions that brought the map points of each plane


@dataclass(frozen=True)
class Update:
    """A state before and after a scan, and the looks that led there."""

    prior: State
    posterior: State
    first: Linearisation | None  # at the prior; None: no point was matched
    last: Linearisation | None  # at the last linearisation
    posterior_residual: Floats  # (m,) residuals at the posterior, to first order
    points: int  # of the scan, matched or not
    variance: float  # of a residual, as used
    iterations: int
    contraction: Floats = field(default_factory=lambda: np.eye(SIZE))  # I - K H: of the error
    jacobian: Floats = field(default_factory=lambda: np.eye(SIZE))  # J of the last linearisation

    @property
    def matched(self) -> int:
        """Points that the posterior rests on."""
        return 0 if self.last is None else len(self.last.residual)


def update_state(
    prior: State,
    point: Floats,
    field: Map,
    variance: float,
    settings: Settings,
    *,
    start: State | None = None,
) -> Update:
    """Linearise, match and move until the pose stands still. (n, 3) points in body axes.

    The first linearisation is at `start`, at the prior unless given.

    With rematch="converged" the planes stay until the pose stands still; then they are matched
    anew, and once more before the last iteration, and the pose has to stand still again.
    """
    known = invert_symmetric(prior.covariance)
    state, looks, stood, search = start or prior, list[Linearisation](), 0, True
    enough = 1 if settings.rematch == "always" else 2
    for left in reversed(range(settings.iterations)):
        if search:
            both = not settings.refuse_other_side
            planes = match_planes(point, state, field, both_sides=both)
        residual, H, place, birth = linearise(point, state, planes)
        if len(residual) == 0:
            return Update(prior, prior, None, None, residual, len(point), variance, len(looks))
        information = compute_information(residual, H, variance, settings)
        looks.append(Linearisation(residual, H, place, information, birth))
        delta = state.minus(prior)
        step, total = solve_step(known, delta, looks[-1].information)
        state = state.plus(step)
        standing = bool(np.abs(step[POSE]).max() < settings.converged_step)
        stood += standing
        search = settings.rematch == "always" or standing or left == 1
        if stood == enough:
            break
    posterior = replace(state, covariance=invert_symmetric(total))
    return Update(
        prior,
        posterior,
        looks[0],
        looks[-1],
        residual + H @ step[POSE],
        len(point),
        variance,
        len(looks),
        posterior.covariance @ prior_jacobian(delta).T @ known,
        prior_jacobian(delta),
    )


def solve_step(known: Floats, delta: Floats, new: Information) -> tuple[Floats, Floats]:
    """The step e (17,) and the information L (17, 17) of one linearisation."""
    J = prior_jacobian(delta)
    total = J.T @ known @ J
    pull = J.T @ (known @ delta)
    total[POSE, POSE] += new.matrix
    pull[POSE] += new.vector
    return -invert_symmetric(total) @ pull, total


def prior_jacobian(delta: Floats) -> Floats:
    """J = d((x0 + delta) + e - x0)/de at e = 0: the inverse right Jacobian for the rotation."""
    J = np.eye(SIZE)
    J[ROTATION, ROTATION] = np.linalg.inv(right_jacobian(delta[ROTATION]))
    return J


def invert_symmetric(matrix: Floats) -> Floats:
    """Inverse of a symmetric matrix, exactly symmetric."""
    inverse: Floats = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    return symmetrise(inverse)


NEWEST_WEIGHT = 0.1  # weight of the newest scan: a second of scans at 10 Hz
PATCH_M = 4.0  # residuals of one side of a cube of this size are relatives
FEWEST_RESIDUALS = 20  # residuals that a spread is taken from
LEAST_VARIANCE = 1e-8  # m^2: no range finder is better than 0.1 mm
LARGEST_FACTOR = 10.0  # factor by which one scan may change the variance at most, before MEMORY


def _variance_from_residuals(update: Update) -> float:
    """Spread of the residuals, times the design effect of those that share an error.

    Residuals of one patch (near each other, alike in normal) err together, through the map and
    through the undistortion; m of them with a correlation c carry the information of
    m / (1 + (m - 1) c) (Kish 1965), so the variance of each is raised by that factor.
    """
    if update.last is None or update.matched < FEWEST_RESIDUALS:
        return update.variance
    residual = update.last.residual
    seen = float(np.mean(residual**2)) * design_effect(residual, patches(update.last))
    return max((1 - NEWEST_WEIGHT) * update.variance + NEWEST_WEIGHT * seen, LEAST_VARIANCE)


def _variance_from_innovations(update: Update) -> float:
    """Raise or lower the variance until the displacement of scans is as large as it predicts.

    With A and b at the prior, the displacement A^-1 b has covariance P + A^-1 if all is right, so
    q = b^T (A + A P A)^-1 b / 6 is one on average.
    """
    if update.first is None or update.last is None:
        return update.variance
    floor = float(np.mean(update.last.residual**2))
    nis = displacement_nis(update.first, update.prior.covariance)
    factor = np.clip(nis, 1 / LARGEST_FACTOR, LARGEST_FACTOR)
    return max(update.variance * float(factor) ** NEWEST_WEIGHT, floor, LEAST_VARIANCE)


def displacement_nis(look: Linearisation, covariance: Floats) -> float:
    """b^T (A + A P A)^-1 b / 6 with the covariance P of the pose."""
    A, b = look.information.matrix, look.information.vector
    expected = A + A @ covariance[POSE, POSE] @ A
    return float(b @ np.linalg.lstsq(expected, b, rcond=None)[0]) / 6


def patches(look: Linearisation) -> Ints:
    """A number for each residual; equal ones lie near each other on surfaces that face alike."""
    cube = np.floor(look.place / PATCH_M).astype(np.int64)
    facing = np.argmax(np.abs(look.H[:, :3]), axis=1)
    i, j, k = (cube - cube.min(axis=0)).T
    return ((i << 40) | (j << 20) | k) * 3 + facing


def design_effect(residual: Floats, group: Ints) -> float:
    """1 + (m - 1) c with c the correlation within groups, by the analysis of variance."""
    _, index, count = np.unique(group, return_inverse=True, return_counts=True)
    n, groups = len(residual), len(count)
    if groups < 2 or groups == n:
        return 1.0
    mean = np.bincount(index, residual) / count
    between = count @ (mean - residual.mean()) ** 2 / (groups - 1)
    within = np.sum((residual - mean[index]) ** 2) / (n - groups)
    size = (n - count @ count / n) / (groups - 1)
    spread = between + (size - 1) * within
    alike = max(float((between - within) / spread), 0.0) if spread > 0 else 0.0
    return 1 + (float(count @ count) / n - 1) * alike


NOISE_ESTIMATORS: dict[Noise, Callable[[Update], float]] = {
    "fixed": attrgetter("variance"),
    "residuals": _variance_from_residuals,
    "innovations": _variance_from_innovations,
}
