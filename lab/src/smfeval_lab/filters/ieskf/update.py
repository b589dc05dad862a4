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
from smfeval_lab.filters.ieskf.state import POSE, ROTATION, SIZE, Noise, Settings, State


@dataclass(frozen=True)
class Information:
    """Of the pose (position in world axes, rotation in body axes), from one linearisation."""

    matrix: Floats  # A (6, 6)
    vector: Floats  # b (6,)
    normals: Floats  # (3, 3) sum of n n^T
    square: float  # r^T R^-1 r


def compute_information(residual: Floats, H: Floats, variance: float) -> Information:
    """Information of residuals that err alike and independently."""
    products = H.T @ H
    square = float(residual @ residual / variance)
    return Information(products / variance, H.T @ residual / variance, products[:3, :3], square)


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
    return planes if both_sides else refuse_other_side(planes, place)


def linearise(point: Floats, state: State, planes: Planes) -> tuple[Floats, Floats, Floats, Ints]:
    """Residuals (m,), derivative (m, 6), places (m, 3) and numbers of points that have a plane."""
    place = to_world(point, state)
    residual = residuals(place, planes)
    used = np.flatnonzero(credible_matches(residual, point, planes.good))
    H = jacobian(point[used], planes.normal[used], state.rotation)
    return residual[used], H, place[used], used


@dataclass(frozen=True)
class Linearisation:
    """Residuals at one linearisation, and what they say."""

    residual: Floats  # (m,)
    H: Floats  # (m, 6)
    place: Floats  # (m, 3) world
    information: Information
    planes: Planes | None = None  # of all points of the scan
    used: Ints | None = None  # (m,) those of the rows


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
        residual, H, place, used = linearise(point, state, planes)
        if len(residual) == 0:
            return Update(prior, prior, None, None, residual, len(point), variance, len(looks))
        information = compute_information(residual, H, variance)
        looks.append(Linearisation(residual, H, place, information, planes, used))
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
}
