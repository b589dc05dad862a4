"""The kindest fit: all that an evaluator does not know about two tracks, as columns of one fit.

With the reference moved into the estimate's world by rotation N, scale k and translation s, x_i its
positions about their mean, and T_ref = T Exp(xi) E for bodies that differ by E = (l, C), the errors
in the axes of the estimate's body are

    e_i = R_i^T (k N x_i + s - p_i) - l - tau R_i^T v_i        position
    f_i = Log(R_i^T N R_ref,i C^T) - tau w_i                   rotation

for a reference that is late by tau. Their claimed covariances do not depend on N, k, s, C and tau,
so errors are whitened once, u_i = L_i^-1 e_i with S_i = L_i L_i^T, and sum |u_i|^2 is minimised by
Gauss and Newton's steps. At the true values it is the sum of honest errors, so the least sum is no
larger than that, whatever the correlations: that is all that a verdict needs (`judge.evidence`). A
lever arm carries rotation errors into the position, and the claim is moved with it.
"""

from dataclasses import field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from smfeval.align.fit import turn_and_scale
from smfeval.align.joint import lever, rotate_blocks
from smfeval.dataclass import dataclass
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats, Ints, spaced_indices
from smfeval.maths.stamps import NANOSECONDS

Freedom = Literal["translation", "rotation", "yaw", "scale", "lever arm", "body rotation", "clock"]
Frame = Literal["body", "world"]

OF_GAUGE: dict[str, tuple[Freedom, ...]] = {
    "none": (),
    "yaw": ("translation", "yaw"),
    "se3": ("translation", "rotation"),
    "sim3": ("translation", "rotation", "scale"),
}
OF_BODY: tuple[Freedom, ...] = ("lever arm", "body rotation", "clock")
OF_TURN: tuple[Freedom, ...] = ("rotation", "yaw", "scale")  # whose columns depend on their values
WIDTH = {"yaw": 1, "scale": 1, "clock": 1}  # columns; the others have 3
MOST_SCANS = 2000  # evenly spaced: every subset of scans is a valid test, and more tell little more
START_SCANS = 300  # of them, that give a start
VARIES = 1e-12  # eigenvalue of unit columns of motion, below which they are not independent
STEPS = 40  # Gauss-Newton steps
SETTLED = 1e-7  # relative fall of the sum after which it has settled
FAR, COARSE = 100.0, 1e-4  # where T is so large, no honest belief is near: the sum may be coarser
NOISE = 1e-10  # a column this small beside the largest is what rounding leaves of none
OPEN = 1e-11  # eigenvalue of the scaled normal matrix, below which a direction is left alone
DAMPINGS = (0.0, 1e-4, 1e-2, 1.0, 1e2, 1e4)  # Levenberg's, until the sum falls
NEAR_RAD = 0.05  # between rotations of the world, that end at one solution
ALTERNATIONS = 10  # of the mean rotations of the world and of the body
SETTLED_RAD = 1e-3  # between two of them: a start need not be nearer
MOST: dict[Freedom, float] = {
    "lever arm": 5.0,  # m: a longer one is of another vehicle
    "clock": 1.0,  # s: one that is later shows at once
}
# Weights by which the square of such a quantity is held to its limit, beside that of its columns.
FIRST_WEIGHT, GROWTH, PRIOR_STEPS = 1e-3, 4.0, 15
IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True)
class BodyMotion:
    """Velocity (m/s) and rate of turn (rad/s) of a body at some scans, in its own axes. (n, 3).

    They are made of the scans before and after each when they are asked for, in a world that is
    `scale` times as large.
    """

    track: tuple[Ints, Floats, Floats]  # stamp, position and rotation of all scans
    scans: Ints
    scale: float = 1.0

    def __getitem__(self, chosen: Ints | slice) -> "BodyMotion":
        return replace(self, scans=self.scans[chosen])

    def __len__(self) -> int:
        return len(self.scans)

    @cached_property
    def velocity(self) -> Floats:
        """In body axes. (n, 3)."""
        rotation = self.track[2][self.scans]
        return self.scale * so3.rotate_back(rotation, self._velocity(self.scans))

    @cached_property
    def rate(self) -> Floats:
        """In body axes. (n, 3)."""
        return self._rate(self.scans)

    @cached_property
    def around(self) -> Floats:
        """As the scans before and after see it, which the error of a scan is not in. (n, 12).

        Velocity in body and in world axes, rate, and the vertical seen from the body.
        """

        def seen(scans: Ints) -> Floats:
            velocity, rotation = self._velocity(scans), self.track[2][scans]
            up, own = so3.matrix(rotation)[:, 2], so3.rotate_back(rotation, velocity)
            return np.concatenate([own, velocity, self._rate(scans), up], axis=1)

        before, after = self._beside(self.scans)
        return 0.5 * (seen(before) + seen(after))

    @cached_property
    def basis(self) -> Floats:
        """Orthonormal columns of what `around` varies by. (n, q)."""
        X = self.around - self.around.mean(axis=0)
        size = np.linalg.norm(X, axis=0)
        X = X[:, size > 0] / size[size > 0]
        value, vector = np.linalg.eigh(X.T @ X)
        seen = value > VARIES
        return X @ (vector[:, seen] / np.sqrt(value[seen]))

    def _velocity(self, scans: Ints) -> Floats:
        position, (before, after) = self.track[1], self._beside(scans)
        return (position[after] - position[before]) / self._step_s(scans)

    def _rate(self, scans: Ints) -> Floats:
        rotation, (before, after) = self.track[2], self._beside(scans)
        turned = so3.log(so3.compose(so3.inverse(rotation[before]), rotation[after]))
        return turned / self._step_s(scans)

    def _step_s(self, scans: Ints) -> Floats:
        """Between the scans before and after; of a single scan, which does not move, any."""
        stamp, (before, after) = self.track[0], self._beside(scans)
        step = stamp[after] - stamp[before] if len(stamp) > 1 else np.ones(len(scans))
        return step[:, None] / NANOSECONDS

    def _beside(self, scans: Ints) -> tuple[Ints, Ints]:
        return np.maximum(scans - 1, 0), np.minimum(scans + 1, len(self.track[0]) - 1)


def body_motion(stamp: Ints, position: Floats, rotation: Floats) -> BodyMotion:
    """Of all scans of a track. (n,), (n, 3), (n, 4)."""
    return BodyMotion((stamp, position, rotation), np.arange(len(stamp)))


@dataclass(frozen=True)
class MatchedPoses:
    """Matched scans of an estimate and a reference in about one world.

    Attributes
    ----------
    position, rotation, motion
        Of the estimate: (n, 3), (n, 4) and its motion.
    reference_position, reference_rotation
        (n, 3), (n, 4).
    covariance
        That is claimed for (e, f), with the reference's, in body axes. (n, 6, 6).
    rows, frame
        Components of (e, f) that are compared, in the axes of the body or of the world.
    """

    position: Floats
    rotation: Floats
    motion: BodyMotion
    reference_position: Floats
    reference_rotation: Floats
    covariance: Floats
    rows: tuple[int, ...] = (0, 1, 2)
    frame: Frame = "body"

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, scans: Ints) -> "MatchedPoses":
        arrays = {name: part[scans] for name, part in vars(self).items() if name not in CHOICES}
        return replace(self, **arrays)

    @property
    def moves(self) -> bool:
        """Whether positions are compared."""
        return self.rows[0] < 3

    @property
    def turns(self) -> bool:
        """Whether rotations are compared."""
        return self.rows[-1] >= 3

    @property
    def _picked(self) -> slice | tuple[int, ...]:
        """The rows; as a slice, which copies nothing, where they are neighbours."""
        first, last = self.rows[0], self.rows[-1] + 1
        return slice(first, last) if last - first == len(self.rows) else self.rows

    def thin(self, most: int = MOST_SCANS) -> "MatchedPoses":
        """At most so many scans, evenly spaced, of those with a regular covariance."""
        regular = np.flatnonzero(~normal.is_singular(self.select_blocks(self.covariance)))
        kept = regular[spaced_indices(len(regular), most)]
        return self if len(kept) == len(self) else self[kept]

    def select_blocks(self, covariance: Floats) -> Floats:
        """The covariance of the compared components. (n, 6, 6) -> (n, d, d)."""
        if self.frame == "world":
            covariance = rotate_blocks(so3.matrix(self.rotation), covariance)
        picked = self._picked
        return covariance[:, picked][:, :, picked]

    def spread(self, forms: Floats, R: Floats) -> Floats:
        """Linear forms of the compared components as those of (e, f). (p, d, n) -> (p, 6, n)."""
        out = np.zeros((len(forms), 6, len(self)))
        out[:, self._picked] = forms
        if self.frame == "world":
            for half in (slice(3), slice(3, 6)):
                out[:, half] = np.einsum("pin,ijn->pjn", out[:, half], R)
        return out

    def with_noise(self, covariance: Floats) -> "MatchedPoses":
        """Against a reference that is uncertain by so much more, in body axes. (n, 6, 6)."""
        return replace(self, covariance=self.covariance + covariance)


CHOICES = ("rows", "frame")


@dataclass(frozen=True)
class Nuisance:
    """Values of all that may be unknown; the defaults say that nothing is.

    `turn`, `shift` and `scale` move the reference into the estimate's world, about its mean
    position; `lever_m` and `body` are the pose of the reference's body in the estimate's; the
    reference is late by `clock_s`.
    """

    shift: Floats
    turn: Floats = field(default_factory=IDENTITY.copy)
    scale: float = 1.0
    lever_m: Floats = field(default_factory=lambda: np.zeros(3))
    body: Floats = field(default_factory=IDENTITY.copy)
    clock_s: float = 0.0

    def step(self, freedoms: tuple[Freedom, ...], by: Floats) -> "Nuisance":
        """A small step along the columns of the freedoms. (p,)."""
        parts: dict[Freedom, Floats] = {}
        for each in freedoms:
            parts[each], by = by[: WIDTH.get(each, 3)], by[WIDTH.get(each, 3) :]
        zero, turn, body = np.zeros(3), self.turn, self.body
        if "rotation" in parts:
            turn = so3.compose(so3.exp(parts["rotation"]), turn)
        if "yaw" in parts:
            turn = so3.compose(so3.exp(np.array([0.0, 0.0, *parts["yaw"]])), turn)
        if "body rotation" in parts:
            body = so3.compose(so3.exp(parts["body rotation"]), body)
        return Nuisance(
            self.shift + parts.get("translation", zero),
            turn,
            self.scale + float(parts.get("scale", zero)[0]),
            self.lever_m + parts.get("lever arm", zero),
            body,
            self.clock_s + float(parts.get("clock", zero)[0]),
        )


def widths(freedoms: tuple[Freedom, ...]) -> list[int]:
    """Columns of each freedom."""
    return [WIDTH.get(each, 3) for each in freedoms]


def open_freedoms(
    poses: MatchedPoses, gauge: str, *, body: bool, clock: bool, oriented: bool = True
) -> tuple[Freedom, ...]:
    """The freedoms that change what is compared: the gauge's, and of body and clock if open.

    An estimate that is not `oriented` has no axes that a lever arm could turn with.
    """
    of_gauge = OF_GAUGE[gauge]
    if not poses.moves:
        of_gauge = tuple(each for each in of_gauge if each in ("rotation", "yaw"))
    more: tuple[Freedom, ...] = ()
    more += ("lever arm",) if body and oriented and poses.moves else ()
    more += ("body rotation",) if body and poses.turns else ()
    more += ("clock",) if clock else ()
    return of_gauge + more


class WhitenedErrors:
    """The whitened errors u of matched poses, and their derivatives, for any values of the unknown.

    L^-1 is brought once to the axes that the unknown is in. In memory the scans of one component
    are neighbours, for products of many small matrices take several times as long.
    """

    def __init__(self, poses: MatchedPoses):
        whitening = normal.inverse_factor(poses.select_blocks(poses.covariance))
        R = np.ascontiguousarray(so3.matrix(poses.rotation).transpose(1, 2, 0))
        both = poses.spread(whitening.transpose(1, 2, 0), R)
        motion = np.concatenate([poses.motion.velocity, poses.motion.rate], axis=1)
        self.poses, self.shape = poses, whitening.shape[1::-1]
        self.source = (poses.reference_position - poses.reference_position.mean(axis=0)).T
        self.back = np.asfortranarray(so3.inverse(poses.rotation))
        self.lever, self.body = both[:, :3], both[:, 3:]  # of errors in axes of the body
        self.shift, self.turn = (np.einsum("din,jin->djn", of, R) for of in (self.lever, self.body))
        self.clock = np.einsum("din,in->dn", both, motion.T)

    def at(self, values: Nuisance) -> Floats:
        """u. -> (d, n)."""
        poses = self.poses
        white: Floats = -values.clock_s * self.clock
        if poses.moves:
            moved = self._moved(values) + (values.shift - poses.position).T
            white += np.einsum("din,in->dn", self.shift, moved)
            white -= np.einsum("din,i->dn", self.lever, values.lever_m)
        if poses.turns:
            turned = so3.compose(self.back, so3.compose(values.turn, poses.reference_rotation))
            f = so3.log(so3.compose(turned, so3.inverse(values.body)))
            white += np.einsum("din,in->dn", self.body, f.T)
        return white

    def columns(self, freedoms: tuple[Freedom, ...], values: Nuisance) -> Floats:
        """Derivatives of u by the freedoms. -> (p, d n)."""
        out = np.empty((sum(widths(freedoms)), *self.shape))
        start = 0
        for each, width in zip(freedoms, widths(freedoms), strict=True):
            self._fill(out[start : start + width], each, values)
            start += width
        return out.reshape(len(out), self.clock.size)

    def _fill(self, out: Floats, freedom: Freedom, values: Nuisance) -> None:
        """Write the derivatives by one freedom. (width, d, n)."""
        if freedom == "translation":
            out[:] = self.shift.transpose(1, 0, 2)
        elif freedom == "lever arm":
            np.negative(self.lever.transpose(1, 0, 2), out=out)
        elif freedom == "body rotation":
            np.negative(self.body.transpose(1, 0, 2), out=out)
        elif freedom == "clock":
            np.negative(self.clock, out=out[0])
        elif freedom == "scale":
            arm = so3.matrix(values.turn) @ self.source
            np.einsum("din,in->dn", self.shift, arm, out=out[0])
        else:
            moved, shift = self._moved(values), self.shift.transpose(1, 0, 2)
            for at, axis in enumerate((2,) if freedom == "yaw" else range(3)):
                j, k = (axis + 1) % 3, (axis + 2) % 3
                out[at] = self.turn[:, axis] + shift[k] * moved[j] - shift[j] * moved[k]

    def _moved(self, values: Nuisance) -> Floats:
        """k N x. -> (3, n)."""
        return values.scale * so3.matrix(values.turn) @ self.source


@dataclass(frozen=True)
class BestCaseFit:
    """The least sum of squares that was found.

    Attributes
    ----------
    freedoms
        That were fitted.
    values
        Their values.
    white
        Whitened errors left, (n, d).
    poses
        What was compared.
    """

    freedoms: tuple[Freedom, ...]
    values: Nuisance
    white: Floats
    poses: MatchedPoses

    @property
    def columns(self) -> int:
        """How many were fitted."""
        return sum(widths(self.freedoms))

    @property
    def nees(self) -> Floats:
        """Squared length of what is left of every scan. (n,)."""
        return np.einsum("nd,nd->n", self.white, self.white)

    @property
    def excess(self) -> float:
        """T: mean squared length over the dimension; 1 on average for errors as claimed."""
        return float(np.einsum("nd,nd->", self.white, self.white)) / self.white.size


def fit_best_case(
    poses: MatchedPoses, freedoms: tuple[Freedom, ...], start: Nuisance | None = None
) -> BestCaseFit:
    """The least sum of squares over the freedoms, near a start or else the best of several.

    Those are as the tracks are, weighted Kabsch's, the mean rotations of both bodies, and the
    solution with the world's freedoms alone, so that no column raises the sum. The claim is moved
    by the lever arm of the start, or of the best.
    """
    fit = None
    if start is None:
        fit = _fit_from_starts(WhitenedErrors(poses), freedoms)
        start = fit.values
    moved = poses
    if np.any(start.lever_m):
        carry = lever(start.lever_m)
        moved = replace(poses, covariance=carry @ poses.covariance @ carry.T)
        if normal.is_singular(moved.select_blocks(moved.covariance)).any():
            moved = poses
    if fit is not None and moved is poses:
        return fit
    return replace(_descend(WhitenedErrors(moved), freedoms, start), poses=poses)


def _fit_from_starts(errors: WhitenedErrors, freedoms: tuple[Freedom, ...]) -> BestCaseFit:
    """As the tracks are; by weighted positions; by rotations: the best of them."""
    poses = errors.poses
    of_world = tuple(freedom for freedom in freedoms if freedom not in OF_BODY)
    body = "body rotation" in freedoms
    plain = Nuisance(poses.reference_position.mean(axis=0))
    starts, few = [plain], poses[spaced_indices(len(poses), START_SCANS)]
    if of_world and poses.moves:
        starts.append(_kabsch(few, of_world, plain))
    if poses.turns and "rotation" in of_world:
        starts.append(_mean_rotations(few, plain, body=body))

    tried: list[BestCaseFit] = []
    for start in starts:
        if not any(_is_near(start, each.values) for each in tried):
            tried.append(_descend(errors, of_world, start))
    best = min(tried, key=lambda each: each.excess)
    if freedoms == of_world:
        return best
    if not body:
        return _descend(errors, freedoms, best.values)
    bodies = (_mean_body(poses, each.values) for each in tried)
    found = [_descend(errors, freedoms, each) for each in bodies]
    fit = min(found, key=lambda each: each.excess)
    return fit if fit.excess <= best.excess else _descend(errors, freedoms, best.values)


def _is_near(start: Nuisance, found: Nuisance) -> bool:
    """Whether a start is so near to a solution that it would end there."""
    return float(so3.angle(so3.compose(so3.inverse(start.turn), found.turn))) < NEAR_RAD


def _kabsch(poses: MatchedPoses, of_world: tuple[Freedom, ...], plain: Nuisance) -> Nuisance:
    """Positions of the reference brought to those of the estimate, weighted by 1 / tr S."""
    weight = 1 / np.einsum("nii->n", poses.covariance[:, :3, :3])
    weight = weight[:, None] / weight.sum()
    source = poses.reference_position - plain.shift
    ours, theirs = (np.sum(weight * each, axis=0) for each in (source, poses.position))
    source, target = source - ours, poses.position - theirs
    kind = "sim3" if "scale" in of_world else "yaw" if "yaw" in of_world else "se3"
    cross, square = (weight * target).T @ source, float(np.sum(weight * source**2))
    rotation, scale = turn_and_scale(kind, cross, square)
    turn = so3.quaternion(rotation)
    return Nuisance(theirs - scale * rotation @ ours, turn, scale)


def _mean_rotations(poses: MatchedPoses, plain: Nuisance, *, body: bool) -> Nuisance:
    """N and C with N R_ref C^T nearest to R on average, in turns."""
    ours, theirs = poses.rotation, poses.reference_rotation
    turn, found = IDENTITY, plain
    for _ in range(ALTERNATIONS if body else 1):
        between = so3.compose(so3.compose(ours, found.body), so3.inverse(theirs))
        last, turn = turn, so3.mean(np.einsum("ni,nj->ij", between, between))
        found = replace(found, turn=turn)
        found = _mean_body(poses, found) if body else found
        if np.abs(turn - last).max() < SETTLED_RAD:
            break
    centre = poses.reference_position - plain.shift
    shift = (poses.position - so3.rotate_all(so3.matrix(turn), centre)).mean(axis=0)
    return replace(found, shift=shift)


def _mean_body(poses: MatchedPoses, found: Nuisance) -> Nuisance:
    """With the body's rotation C nearest to R^T N R_ref on average."""
    between = so3.compose(
        so3.compose(so3.inverse(poses.rotation), found.turn), poses.reference_rotation
    )
    return replace(found, body=so3.mean(np.einsum("ni,nj->ij", between, between)))


def _descend(errors: WhitenedErrors, freedoms: tuple[Freedom, ...], start: Nuisance) -> BestCaseFit:
    """Gauss and Newton's steps from a start, lever arm and clock held to what is plausible.

    Where one comes out too large, its square is added to the sum with a growing weight, which ends
    at the least sum within the limit.
    """
    held: dict[Freedom, float] = {}
    fit = _minimise(errors, freedoms, start, held)
    for _ in range(PRIOR_STEPS):
        large: dict[Freedom, bool] = {
            "lever arm": float(np.linalg.norm(fit.values.lever_m)) > MOST["lever arm"],
            "clock": abs(fit.values.clock_s) > MOST["clock"],
        }
        if not any(large.values()):
            break
        for each in (name for name, too_large in large.items() if too_large):
            if each not in held:
                column = errors.columns((each,), fit.values)
                held[each] = FIRST_WEIGHT * float(np.sum(column**2)) / GROWTH
            held[each] *= GROWTH
        fit = _minimise(errors, freedoms, fit.values, held)
    return fit


def _minimise(
    errors: WhitenedErrors,
    freedoms: tuple[Freedom, ...],
    values: Nuisance,
    held: dict[Freedom, float],
) -> BestCaseFit:
    """The least sum |u|^2 near a start, plus the weighted squares of what is held."""
    weight = np.repeat([held.get(each, 0.0) for each in freedoms], widths(freedoms))
    turning = tuple(each for each in freedoms if each in OF_TURN)  # columns that follow the values
    moves = np.repeat([each in turning for each in freedoms], widths(freedoms))

    def at(values: Nuisance) -> tuple[Nuisance, Floats, Floats, float]:
        white = errors.at(values)
        known = {"lever arm": values.lever_m, "clock": np.array([values.clock_s])}
        sizes = (known.get(each, np.zeros(WIDTH.get(each, 3))) for each in freedoms)
        size = np.concatenate([np.zeros(0), *sizes])
        total = float(np.einsum("dn,dn->", white, white) + weight @ size**2)
        return values, white, size, total

    def fall(damping: float) -> tuple[Nuisance, Floats, Floats, float]:
        return at(values.step(freedoms, -solve_shortest(curvature, slope, damping)[0]))

    values, white, size, total = at(values)
    G = errors.columns(freedoms, values)
    curvature = G @ G.T + np.diag(weight)
    for step in range(STEPS if freedoms else 0):
        settled = COARSE if total > FAR * white.size else SETTLED
        slope = G @ white.reshape(-1) + weight * size
        if step:
            if slope @ solve_shortest(curvature, slope)[0] < settled * total:
                break  # what a next step promises
            if turning:
                G[moves] = errors.columns(turning, values)
                slope = G @ white.reshape(-1) + weight * size
                curvature = G @ G.T + np.diag(weight)
        before, here = total, (values, white, size, total)
        fallen = (each for each in map(fall, DAMPINGS) if each[-1] < before)
        values, white, size, total = next(fallen, here)
        if not total < (1 - settled) * before:
            break
    return BestCaseFit(freedoms, values, np.ascontiguousarray(white.T), errors.poses)


def solve_shortest(curvature: Floats, slope: Floats, damping: float = 0.0) -> tuple[Floats, int]:
    """The shortest solution in units that make the columns alike, and their rank. (p, p), (p,)."""
    unit = np.sqrt(np.diagonal(curvature))
    unit = np.where(unit > NOISE * unit.max(initial=0.0), unit, np.inf)
    value, vector = np.linalg.eigh(curvature / np.outer(unit, unit))
    known = value > OPEN * value[-1]
    root = vector[:, known]
    solution = (root @ ((root.T @ (slope / unit)) / (value[known] + damping))) / unit
    return solution, root.shape[1]
