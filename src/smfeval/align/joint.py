"""The joint covariance that an estimator claims for the errors of its whole track.

A file reports one covariance per scan; relative motion and aligned residuals depend on how the
errors of different scans move together. Three cases:

- *given*: cross-covariances of pairs of scans stand beside the track;
- *implied*: the covariances grow as those of an odometry do. The part x_t of the error that it
  integrates then has independent increments, Cov(x_s, x_t) = Cov(x_min(s,t));
- *unknown*: neither; only bounds hold (`align.projection`, `summarise.windows`).

Errors are written (e, theta): position and rotation in world axes, at the position p_t of the
scan; T_true = T Exp(xi) gives e = R rho and theta = R phi to first order. The integrated part is

    level 6, dead reckoning          x = (e + p x theta, theta)    the left error at the origin
    level 4, gravity observed        x = (e + p x u psi, psi)      psi = u . theta, u upwards
    level 3, position random walk    x = e

At levels 4 and 3 the rest of the rotation error is theta = K x + w with K = Cov(theta, x) X^-1 and
w independent between scans: of all joint covariances with these marginals the one of largest
entropy, and positive semidefinite by construction.

A track may declare its level, and a white part of (e, theta) that is independent between scans and
the same in all directions: the header key INCREMENTS, as a growth law writes it
(`calibration.law`).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, PairingError
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints, quantile_of, spaced_indices
from smfeval.maths.se3 import Pose
from smfeval.maths.symmetric import (
    correlation_eigenvalue,
    pack_lower,
    packed_diagonal,
    smallest_pivot,
    unpack_lower,
)

Kind = Literal["implied", "given", "unknown"]

UP = (0.0, 0.0, 1.0)  # of a world whose vertical is z
LEVELS = (6, 4, 3)  # freedoms that an odometry integrates, most first
SHRUNK = -1e-3  # growth below this is a covariance that shrank; above it, rounding in a file
SHRUNK_SHARE = 0.01  # share of scans that may shrink at each lag
SAMPLES = 600  # scans looked at per lag
FEWEST_SCANS = 40  # a shorter track does not show how it grows
SHORTEST_LAG = 10  # scans
LAGS_PER_TRACK = 200  # the shortest lag is at least this part of a track
GROWN = 0.8  # growth from the second scan to the last (see GUARD in summarise/windows.py)
RANDOM_WALK_GROWTH = 0.25  # of h / n, that 95 % of the lags h of a random walk reach
WIDER = 1.5  # rotation variance at the end over that of the second scan: it is integrated
FIRST_ORDER_RAD = 0.3  # rotation sigma above which first-order covariances of positions fail
NO_BLOCK = "the rotation covariance grows, but its block with the position is not reported"
UNCORRELATED = 1e-9  # a correlation below this is none
SINGULAR = 1e-10  # smallest eigenvalue of the correlation matrix of a regular covariance
SURELY_REGULAR = 1e-4  # a smallest pivot above this needs no eigenvalues


@dataclass(frozen=True)
class Claim:
    """What an estimator reports: world_T_body and the covariance of its right perturbation.

    Position (n, 3) in metres, rotation (n, 4) as unit quaternions xyzw, and the lower triangles of
    the covariances, row by row (n, 21).
    """

    position: Floats
    rotation: Floats
    triangle: Floats

    @classmethod
    def of(cls, position: Floats, rotation: Floats, covariance: Floats) -> "Claim":
        """With whole covariances. (n, 6, 6)."""
        return cls(position, rotation, pack_lower(covariance))

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, scans: Ints | slice) -> "Claim":
        return Claim(self.position[scans], self.rotation[scans], self.triangle[scans])

    @property
    def pose(self) -> Pose:
        """Position and rotation."""
        return self.position, self.rotation

    @property
    def covariance(self) -> Floats:
        """The whole matrices, made anew each time. (n, 6, 6)."""
        return unpack_lower(self.triangle)

    def with_covariance(self, covariance: Floats) -> "Claim":
        """The same poses with another covariance, such as that of the reference. (n, 6, 6)."""
        return Claim.of(self.position, self.rotation, covariance)

    def in_world(self) -> Floats:
        """Covariance of (e, theta), in world axes at p_t. -> (n, 6, 6)."""
        return rotate_blocks(so3.matrix(self.rotation), self.covariance)


@dataclass(frozen=True)
class Growth:
    """How a track's covariances grow, and which joint covariance that implies.

    Attributes
    ----------
    level
        Freedoms that the estimator integrates: 6, 4, 3, or None where no level passes.
    lags
        Scans apart at which growth was looked at.
    shrinking
        Share of scans whose covariance shrank over each lag, for each level; up to the first lag
        that speaks against it.
    reason
        One plain sentence.
    """

    level: int | None
    lags: tuple[int, ...]
    shrinking: dict[int, tuple[float, ...]]
    reason: str


@dataclass(frozen=True)
class Joint:
    """Which joint covariance a track claims.

    `pairs` (k, 2) are indices i < j of scans, `block` (k, 6, 6) is Cov(xi_i, xi_j) of their right
    perturbations, rows for i.
    """

    kind: Kind
    level: int | None = None
    up: tuple[float, float, float] = UP
    pairs: Ints | None = None
    block: Floats | None = None
    white: Floats | None = None  # of an implied one: covariance of (e, theta) of each scan (6, 6)


INCREMENTS = "INCREMENTS"  # header key: level, white sigma of the position (m), the rotation (rad)
UNKNOWN = Joint("unknown")


def joint_of(growth: Growth, up: tuple[float, float, float] = UP) -> Joint:
    """The joint covariance that a growth implies."""
    return UNKNOWN if growth.level is None else Joint("implied", growth.level, up)


def declared_joint(text: str, claim: Claim) -> tuple[Joint, str]:
    """The joint covariance that the value of INCREMENTS declares, and why it is that.

    Unknown where the white part is larger than a covariance of the track.
    """
    level, position, rotation = read_increments(text)
    white = np.diag([position**2] * 3 + [rotation**2] * 3)
    unit = np.sqrt(np.where(np.diag(white) > 0, np.diag(white), 1.0))
    if np.linalg.eigvalsh((claim.covariance - white) / np.outer(unit, unit)).min() < SHRUNK:
        return UNKNOWN, f"{INCREMENTS} declares more white noise than the covariances have"
    return Joint("implied", level, white=white), "cross-covariances declared: " + (
        f"independent increments of {level} degrees of freedom, and white noise"
    )


def read_increments(text: str) -> tuple[int, float, float]:
    """Level, and sigmas (m, rad) of the white noise, of the value of INCREMENTS."""
    try:
        level, position, rotation = (float(word) for word in text.split())
    except ValueError:
        level, position, rotation = 0.0, 0.0, 0.0
    if level not in LEVELS or not (0 <= position < np.inf and 0 <= rotation < np.inf):
        raise FormatError(f"{INCREMENTS} {text!r}: a level of 6, 4 or 3 and two sigmas are needed")
    return int(level), position, rotation


def increments_text(level: int, position: float, rotation: float) -> str:
    """The value of INCREMENTS, with all digits."""
    return f"{level} {position!r} {rotation!r}"


def align_joint(joint: Joint, rotation: Floats, scale: float = 1.0) -> Joint:
    """The same claim after a world alignment x -> scale R x + t. (3, 3).

    The estimator's own vertical turns with its world; a scale stretches positions.
    """
    x, y, z = (rotation @ np.array(joint.up)).tolist()
    stretch = np.array([scale] * 3 + [1.0] * 3)
    squared = np.outer(stretch, stretch)
    if joint.block is None:
        white = None if joint.white is None else joint.white * squared
        return replace(joint, up=(x, y, z), white=white)
    return replace(joint, up=(x, y, z), block=joint.block * squared)


def given_joint(pairs: Ints, block: Floats) -> Joint:
    """Cross-covariances Cov(xi_i, xi_j) of pairs of scans. (k, 2), (k, 6, 6).

    Pairs are turned so that i < j, and sorted.
    """
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise PairingError("a cross-covariance belongs to two scans, not to one scan twice")
    swap = pairs[:, 0] > pairs[:, 1]
    block = np.where(swap[:, None, None], np.swapaxes(block, 1, 2), block)
    pairs = np.sort(pairs, axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    pairs = pairs[order]
    if (np.diff(pairs, axis=0) == 0).all(axis=1).any():
        raise PairingError("a pair of scans has two cross-covariances")
    return Joint("given", pairs=pairs, block=block[order])


def rotate_blocks(rotation: Floats, covariance: Floats, second: Floats | None = None) -> Floats:
    """diag(R, R) S diag(Q, Q)^T, with Q = R unless a second is given. (n, 3, 3), (n, 6, 6)."""
    left = _block_diagonal(rotation)
    right = left if second is None else _block_diagonal(second)
    return left @ covariance @ np.swapaxes(right, 1, 2)


def _block_diagonal(rotation: Floats) -> Floats:
    """diag(R, R). Four times as fast to multiply by as block by block. (n, 3, 3) -> (n, 6, 6)."""
    both = np.zeros((len(rotation), 6, 6))
    both[:, :3, :3] = both[:, 3:, 3:] = rotation
    return both


def lever(arm: Floats) -> Floats:
    """(e, theta) at a point -> (e, theta) at the point + arm: [[I, -arm^], [0, I]]. (n, 6, 6)."""
    carry = np.zeros((*arm.shape[:-1], 6, 6))
    carry[..., range(6), range(6)] = 1.0
    carry[..., :3, 3:] = -so3.hat(arm)
    return carry


def is_first_order(claim: Claim) -> bool:
    """Whether rotations are certain enough for first-order lever arms over the track.

    Windows do not need it: their own rotations are small.
    """
    return bool(packed_diagonal(claim.triangle)[:, 3:].max(initial=0) <= FIRST_ORDER_RAD**2)


# How do the covariances grow?


def growth(claim: Claim, *, up: tuple[float, float, float] = UP) -> Growth:
    """Recognise the level at which a track's covariances grow, in the estimator's own world.

    With P_t the covariance of the integrated part and P_s->t the one of scan s carried to p_t,
    g = 1 - lambda_max(P_t^-1 P_s->t) is free of coordinates and negative where the covariance
    shrank in some direction. Independent increments need g >= 0.
    """
    n = len(claim)
    if n < FEWEST_SCANS:
        return Growth(None, (), {}, f"{n} scans are too few to derive cross-covariances")
    first = shortest_lag(n)
    lags = tuple(sorted({lag for lag in (first, 2 * first, n // 10, n // 4) if lag >= first}))

    @cache
    def steps_at(lag: int) -> Steps:
        scans = spaced_indices(n - lag, SAMPLES)  # evenly along the track
        return steps_between(claim, scans, scans + lag)

    shrinking = {}
    for level in LEVELS:
        shrinking[level], problem = _at_level(level, lags, steps_at, claim, np.array(up))
        if not problem:
            return Growth(level, lags, shrinking, GROWS_AS[level])
    reason, worst = problem, min(max(shares) for shares in shrinking.values())
    if worst > SHRUNK_SHARE:
        reason = f"covariances shrink between {words.share(worst)} of scans"
    if reason != NO_BLOCK and _has_no_blocks(claim):
        reason = f"no block between position and rotation is reported, and {reason}"
    return Growth(None, lags, shrinking, f"{reason}, so {NOT_DERIVED}")


NOT_DERIVED = "cross-covariances cannot be derived from them"
GROWS_AS = {
    6: "cross-covariances derived: covariances grow as in dead reckoning",
    4: "cross-covariances derived: covariances grow as in inertial odometry",
    3: "cross-covariances derived: covariances grow as in a random walk of the position",
}


def shortest_lag(scans: int) -> int:
    """Scans apart at which growth and relative motion are looked at first: never neighbours."""
    return max(SHORTEST_LAG, -(-scans // LAGS_PER_TRACK))


class Steps(NamedTuple):
    """Pairs of scans s < t: p_s - p_t, and the covariances of (e, theta) in world axes."""

    arm: Floats  # (m, 3)
    earlier: Floats  # (m, 6, 6)
    later: Floats  # (m, 6, 6)


def steps_between(claim: Claim, s: Ints, t: Ints) -> Steps:
    """Steps from scans to later ones."""
    early, late = claim[s], claim[t]
    return Steps(early.position - late.position, early.in_world(), late.in_world())


def _at_level(
    level: int,
    lags: tuple[int, ...],
    steps_at: Callable[[int], Steps],
    claim: Claim,
    up: Floats,
) -> tuple[tuple[float, ...], str]:
    """Share of shrinking scans at lags up to the first that is against the level, and what is."""
    n, shares = len(claim), tuple[float, ...]()
    for lag in lags:
        shares = (*shares, shrinking_share(level, steps_at(lag), up))
        if shares[-1] > SHRUNK_SHARE:
            return shares, f"covariances shrink between {words.share(shares[-1])} of scans"
    whole = growth_over(level, steps_between(claim, np.array([1]), np.array([n - 1])), up)
    if not (whole >= GROWN).all() or not len(whole):
        return shares, "covariances hardly grow from the start to the end"
    if level == 3:
        shortest = growth_over(level, steps_at(lags[0]), up)
        if quantile_of(shortest, 0.05) < RANDOM_WALK_GROWTH * lags[0] / n:
            return shares, "covariances do not grow steadily"
    first, last = np.einsum("nii->ni", claim[np.array([1, -1])].covariance)[:, 3:].sum(axis=1)
    if level < 6 and last > WIDER * first and _has_no_blocks(claim):  # integrated, but left out
        return shares, NO_BLOCK
    return shares, ""


def _has_no_blocks(claim: Claim) -> bool:
    """Whether sigmas, or blocks, alone are reported: no position is correlated with a rotation.

    Moved to another body by a lever arm l, such a claim has Cov(rho, phi) = -l^ Cov(phi) at every
    scan: one skew matrix for all of them.
    """
    at = sorted(set(np.linspace(1, len(claim) - 1, SAMPLES).astype(np.intp).tolist()))
    covariance = claim[np.array(at)].covariance
    shared, own = covariance[:, :3, 3:], covariance[:, 3:, 3:]
    arm = shared.sum(axis=0) @ np.linalg.pinv(own.sum(axis=0), hermitian=True)
    arm = 0.5 * (arm - arm.T)
    sigma = np.sqrt(np.einsum("nii->ni", covariance))
    none = UNCORRELATED * sigma[:, :3, None] * sigma[:, None, 3:]
    return bool((np.abs(shared - arm @ own) <= none).all())


def growth_over(level: int, steps: Steps, up: Floats) -> Floats:
    """g = 1 - lambda_max(P_t^-1 P_s->t); pairs whose P_t is singular are left out. (m,)."""
    later, earlier = _integrated_over(level, steps, up)
    scale = np.sqrt(np.diagonal(later, axis1=1, axis2=2))
    scale = scale[:, :, None] * scale[:, None, :]
    value, vector = np.linalg.eigh(later / scale)
    root = vector / np.sqrt(value)[:, None, :]
    return 1 - np.linalg.eigvalsh(np.swapaxes(root, 1, 2) @ (earlier / scale) @ root)[:, -1]


def shrinking_share(level: int, steps: Steps, up: Floats) -> float:
    """Share of pairs with g < SHRUNK: (1 - SHRUNK) P_t - P_s->t has a negative pivot.

    1 where P_t is singular throughout.
    """
    later, earlier = _integrated_over(level, steps, up)
    shrank = smallest_pivot((1 - SHRUNK) * later - earlier) < 0
    return float(np.mean(shrank)) if len(shrank) else 1.0


def _integrated_over(level: int, steps: Steps, up: Floats) -> tuple[Floats, Floats]:
    """P_t and P_s->t of the pairs whose P_t is regular."""
    later = integrated_covariance(level, None, steps.later, up)
    regular = smallest_pivot(later) > SURELY_REGULAR
    doubtful = np.flatnonzero(~regular)
    regular[doubtful] = correlation_eigenvalue(later[doubtful]) > SINGULAR
    earlier = integrated_covariance(level, steps.arm[regular], steps.earlier[regular], up)
    return later[regular], earlier


# The integrated part x, and the pose error (e, theta) = H x + w


def integrated_covariance(level: int, arm: Floats | None, sigma: Floats, up: Floats) -> Floats:
    """Covariance X of the integrated part x about p_t - arm. -> (n, level, level).

    `sigma` (n, 6, 6) is that of (e, theta), in world axes at p_t; no arm: about p_t itself.
    """
    if level == 3:
        return sigma[:, :3, :3]
    if arm is None and level == 6:
        return sigma
    carry = lever(np.zeros((len(sigma), 3)) if arm is None else -arm)
    if level == 4:
        carry = _heading(carry, up)
    return carry @ sigma @ np.swapaxes(carry, 1, 2)


def _heading(carry: Floats, up: Floats) -> Floats:
    """Rows of x = (e + arm x u psi, psi) with psi = u . theta. (n, 6, 6) -> (n, 4, 6)."""
    rows = np.zeros((len(carry), 4, 6))
    rows[:, :3, :3] = carry[:, :3, :3]
    rows[:, :3, 3:] = (carry[:, :3, 3:] @ up)[:, :, None] * up
    rows[:, 3, 3:] = up
    return rows


def position_part(level: int, arm: Floats, up: Floats) -> Floats:
    """H with the rows of the position; at level 6, which integrates rotations, with all rows."""
    if level == 6:
        return lever(arm)
    H = np.zeros((len(arm), 6, level))
    H[:, range(3), range(3)] = 1.0
    if level == 4:
        H[:, :3, 3] = np.cross(up, arm)
    return H


@dataclass(frozen=True)
class Parts:
    """(e, theta) = H x + w: H (n, 6, d), X = Cov(x) (n, d, d), W = Cov(w) (n, 6, 6) or None."""

    H: Floats
    X: Floats
    W: Floats | None


def parts(
    level: int,
    arm: Floats,
    sigma: Floats,
    up: Floats,
    *,
    oriented: bool = True,
    white: Floats | None = None,
) -> Parts:
    """The pose errors of scans by their integrated part, about p_t - arm.

    `sigma` (n, 6, 6) is that of (e, theta), in world axes, `white` (6, 6) what of it is declared to
    be independent between scans. Not `oriented`, the rotation rows of H stay zero at levels 4 and 3
    (the position alone does not need them).
    """
    sigma = sigma if white is None else sigma - white
    own = None if white is None else np.broadcast_to(white, sigma.shape)
    X = integrated_covariance(level, arm, sigma, up)
    H = position_part(level, arm, up)
    if level == 6 or not oriented:
        return Parts(H, X, own)
    carry = np.broadcast_to(np.eye(3, 6), (len(arm), 3, 6))
    carry = _heading(lever(-arm), up) if level == 4 else carry
    shared = sigma[:, 3:] @ np.swapaxes(carry, 1, 2)
    try:
        H[:, 3:] = np.swapaxes(np.linalg.solve(X, np.swapaxes(shared, 1, 2)), 1, 2)
    except np.linalg.LinAlgError:  # X is singular
        H[:, 3:] = shared @ np.linalg.pinv(X, hermitian=True)
    W = np.zeros_like(sigma) if own is None else own.copy()
    W[:, 3:, 3:] += sigma[:, 3:, 3:] - H[:, 3:] @ np.swapaxes(shared, 1, 2)
    return Parts(H, X, W)


# Relative motion


def relative_covariance(joint: Joint, claim: Claim, first: Ints, second: Ints) -> Floats:
    """Covariance of the relative motion from scan i to scan j, i < j. (m,), (m,) -> (m, 6, 6).

    The right perturbation of T_ij = T_i^-1 T_j is xi_ij = xi_j - B xi_i with B = Ad(T_ij^-1), so
    Cov = S_j + B S_i B^T - B C_ij - C_ij^T B^T.
    """
    at_i, at_j = claim[first], claim[second]
    carry = lever(at_j.position - at_i.position)
    cross = carry @ world_cross(joint, claim, first, second)
    early = carry @ at_i.in_world() @ np.swapaxes(carry, 1, 2)
    total = at_j.in_world() + early - cross - np.swapaxes(cross, 1, 2)
    total = 0.5 * (total + np.swapaxes(total, 1, 2))
    return rotate_blocks(np.swapaxes(so3.matrix(at_j.rotation), 1, 2), total)


def world_cross(joint: Joint, claim: Claim, first: Ints, second: Ints) -> Floats:
    """Cov((e, theta)_i, (e, theta)_j) in world axes for i < j. -> (m, 6, 6)."""
    at_i, at_j = claim[first], claim[second]
    if joint.kind == "given":
        known, where = find_pairs(joint, first, second)
        if not known.all():
            i, j = first[~known][0], second[~known][0]
            raise PairingError(f"no cross-covariance is given for scans {i} and {j}")
        assert joint.block is not None  # as `given_joint` makes it
        R_i, R_j = so3.matrix(at_i.rotation), so3.matrix(at_j.rotation)
        return rotate_blocks(R_i, joint.block[where], R_j)
    if joint.level is None:
        raise PairingError("the cross-covariances of this track are not known")
    up = np.array(joint.up)
    arm = at_j.position - at_i.position
    early = parts(joint.level, np.zeros_like(arm), at_i.in_world(), up, white=joint.white)
    late = parts(joint.level, arm, at_j.in_world(), up, white=joint.white)
    return early.H @ early.X @ np.swapaxes(late.H, 1, 2)


def find_pairs(joint: Joint, first: Ints, second: Ints) -> tuple[Bools, Ints]:
    """Whether each pair i < j is given, and its row. (m,) each."""
    assert joint.pairs is not None  # as `given_joint` makes it
    count = int(max(joint.pairs.max(initial=0), second.max(initial=0))) + 1
    keys = joint.pairs[:, 0].astype(np.int64) * count + joint.pairs[:, 1]
    wanted = np.asarray(first, dtype=np.int64) * count + second
    where = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return keys[where] == wanted, where
