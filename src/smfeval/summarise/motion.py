"""Relative motion of a track as its body sees it: errors over windows that no alignment touches.

Of positions, the error of a window from scan i to scan j is that of the displacement seen from the
body at i,

    delta = e_j - (e_i - (p_j - p_i) x theta_i)

with all of theta_i where the estimator integrates six freedoms (or the joint covariance is
given), its part about the vertical where gravity is observed, none for a position random walk.
Of rotations and poses it is that of T_ij = T_i^-1 T_j, in the axes of the body at j: xi_ij =
Log(T_ij^-1 T_ij,ref). What of it is claimed depends on how the joint covariance J is known
(`align.joint`):

    given             all of rotation (d = 3) and pose (6)
    dead reckoning    the same
    gravity observed  the heading (1); the displacement seen from the body at i, and the heading
                      (4). Errors of roll and pitch are not integrated, and how they move together
                      is not implied
    random walk       nothing of the rotation

With J implied, C = Sigma_j minus the carried Sigma_i, and windows that do not overlap are
independent. With J given, neighbours share the error of a scan. With J unknown there are no
windows.

What relative motion does not remove but the gauge leaves open (the scale under sim3, the tilt of
the world at level 4, its rotation at level 3), a lever arm, a rotation between the bodies and a
late clock are fitted to the windows themselves by generalised least squares and cost their degrees
of freedom.

Of two estimates, B stands in the place of the reference: displacements differ by delta_B - delta_A,
whose covariance is at most the sum of what each claims if their errors are not opposed.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from smfeval.align.joint import (
    Claim,
    Joint,
    integrated_covariance,
    lever,
    relative_covariance,
    rotate_blocks,
)
from smfeval.align.nuisance import BodyMotion
from smfeval.align.projection import Gauge
from smfeval.dataclass import dataclass
from smfeval.errors import PairingError
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints, count_gaps
from smfeval.maths.se3 import Pose
from smfeval.maths.symmetric import symmetrise
from smfeval.score.residuals import SpaceName
from smfeval.summarise.windows import (
    GUARD,
    WindowRow,
    Windows,
    given_horizons,
    halves,
    horizons,
    path_length,
    window_ends,
    window_row,
    without_columns,
    without_standstill,
)

FEWEST_FOR_WINDOWS = 12  # scans: fewer have no windows to speak of
DEAD_RECKONING, GRAVITY_OBSERVED = 6, 4  # freedoms that are integrated

Measured = tuple[Floats, Floats]  # errors of windows (m, d), their claimed covariance (m, d, d)


@dataclass(frozen=True)
class SeenMotion:
    """A claim and a reference in one world, nearly about one body.

    Attributes
    ----------
    joint, gauge
        What is claimed of all errors together, and what was fitted of the world.
    claim, reference, stamp
        Matched scans.
    noise
        Covariances of the reference (n, 6, 6), right perturbations, independent between scans; or
        None.
    motion
        Of the body; None where extrinsic and clock are known exactly.
    beside
        What the reference claims where it is another estimate; None: it is a reference.
    steady
        How much two such claims may change between the halves of the track and have windows.
    """

    joint: Joint
    gauge: Gauge
    claim: Claim
    reference: Pose
    stamp: Ints
    noise: Floats | None = None
    motion: BodyMotion | None = None
    beside: tuple[Joint, Claim] | None = None
    steady: float = np.inf

    @cached_property
    def path_m(self) -> Floats:
        """Metres that the reference travelled up to every scan. (n,)."""
        return path_length(self.reference[0])

    @cached_property
    def gaps(self) -> Ints:
        """Gaps that the reference bridged up to every scan. (n,)."""
        return count_gaps(self.stamp)

    @property
    def level(self) -> int:
        """Freedoms that the estimator integrates."""
        return self.joint.level or DEAD_RECKONING

    @property
    def up(self) -> Floats:
        """The vertical. (3,)."""
        return np.array(self.joint.up)

    def with_noise(self, covariance: Floats) -> "SeenMotion":
        """Against a reference that is uncertain by so much more, in body axes. (n, 6, 6)."""
        return replace(self, noise=covariance if self.noise is None else self.noise + covariance)

    def rows(self, space: SpaceName = "position") -> tuple[WindowRow, ...]:
        """k over every horizon, of the whole track and, unless of a pair, of its first half."""
        if self.joint.kind == "unknown" or len(self.claim) < FEWEST_FOR_WINDOWS:
            return ()
        joints = [self.joint] if self.beside is None else [self.joint, self.beside[0]]
        given = [given_horizons(joint) for joint in joints if joint.kind == "given"]
        chosen = given[0] if given else horizons(len(self.claim))
        rows = []
        for horizon in chosen:
            if not all(horizon in each for each in given):
                continue
            try:
                found = self._open_windows(horizon, space)
            except PairingError:  # a cross-covariance of these scans is not given
                continue
            if found is not None:
                rows += [self.row(found)]
                rows += [self.row(found, first_half=True)] if self.beside is None else []
        return tuple(row for row in rows if row is not None)

    def row(self, found: Windows, *, first_half: bool = False) -> WindowRow | None:
        """k of windows; None where these are too few, or their covariance is thin."""
        return window_row(found, self.stamp, self.path_m, first_half=first_half)

    def windows(
        self, horizon: int, space: SpaceName = "position", ends: tuple[Ints, Ints] | None = None
    ) -> Windows | None:
        """Windows of one horizon that do not overlap, under the joint covariance of the claim.

        `ends` are first and last scans of windows of equal duration or path (`ends_over`) instead.
        No window bridges a gap in the reference. None where the joint covariance says nothing of
        the space, where a pair's claim is not steady, and of poses that the gauge was fitted to.
        """
        found = self._open_windows(horizon, space, ends)
        return None if found is None else without_columns(found)

    def _open_windows(
        self, horizon: int, space: SpaceName, ends: tuple[Ints, Ints] | None = None
    ) -> Windows | None:
        """The same before what is open is fitted to them."""
        if not self._is_claimed(space):
            return None
        known = self.joint.kind == "given"
        white = self.joint.white is not None
        shared, other = known or white or self.noise is not None, self.joint
        if self.beside is not None:
            other = self.beside[0]
            shared = known or white or other.kind == "given" or other.white is not None
        if ends is None:
            given = other if other.kind == "given" else self.joint
            ends = window_ends(given, horizon, len(self.claim))
        inside = self.gaps[ends[1]] == self.gaps[ends[0]]
        ends = ends[0][inside], ends[1][inside]

        rows, found = slice(0, 3), None
        if space == "position":
            found = self._displacements(*ends)
        elif self.level == GRAVITY_OBSERVED:
            rows = slice(3, 4) if space == "rotation" else slice(0, 4)
            found = self._displacements_and_headings(*ends)
        else:
            rows = slice(3, 6) if space == "rotation" else slice(0, 6)
            found = self._poses(*ends)
        if found is None:
            return None
        error, covariance = found[0][:, rows], found[1][:, rows, rows]
        assumed = not known and self.beside is None
        made = Windows(horizon, *ends, error, covariance, assumed=assumed, shared=shared)
        if not known or self.beside is not None:
            made = without_standstill(made)
        return replace(made, columns=self._columns(made, space)[:, rows])

    def _is_claimed(self, space: SpaceName) -> bool:
        """Whether the joint covariance says something of a space, and the gauge left it."""
        if space == "position":
            return True
        if self.joint.kind == "unknown" or self.level < GRAVITY_OBSERVED:
            return False
        tilted = self.level == GRAVITY_OBSERVED and self.gauge not in ("none", "yaw")
        return space == "rotation" or not (self.gauge == "sim3" or tilted)

    def _displacements(self, first: Ints, second: Ints) -> Measured | None:
        """Errors of p_j - p_i and what is claimed of them, in axes of the body at i."""
        level, up = self.level, self.up
        start, end = self.claim[first], self.claim[second]
        truth = select_ends(self.reference, first, second)
        error = displacement_error(level, start.pose, end.pose, truth, up)
        if self.beside is not None:
            ours, theirs = (
                steady_covariance(*each, first, second, steady=self.steady)
                for each in ((self.joint, self.claim), self.beside)
            )
            return None if ours is None or theirs is None else (error, ours + theirs)
        claimed = motion_covariance(self.joint, self.claim, first, second)
        if self.noise is not None:
            noise = self.claim.with_covariance(self.noise)
            early, late = covariances_at_end(level, noise[first], noise[second], up)
            claimed = claimed + late + early
        return error, rotate_symmetric(np.swapaxes(so3.matrix(start.rotation), 1, 2), claimed)

    def _poses(self, first: Ints, second: Ints) -> Measured:
        """Errors xi_ij, and what is claimed of them, in axes of the body at j."""
        claim = self.claim
        covariance = relative_covariance(self.joint, claim, first, second)
        if self.noise is not None:
            noise = claim.with_covariance(self.noise)
            carry = lever(claim.position[second] - claim.position[first])
            early = carry @ noise[first].in_world() @ np.swapaxes(carry, 1, 2)
            both = symmetrise(early + noise[second].in_world())
            back = np.swapaxes(so3.matrix(claim.rotation[second]), 1, 2)
            covariance = covariance + rotate_blocks(back, both)
        return relative_error(claim.pose, self.reference, first, second), covariance

    def _displacements_and_headings(self, first: Ints, second: Ints) -> Measured:
        """Displacement in axes of the body at i, and heading about the vertical. d = 4."""
        up, level = self.up, GRAVITY_OBSERVED
        start, end = self.claim[first], self.claim[second]

        def integrated(start: Claim, end: Claim) -> tuple[Floats, Floats]:
            """Covariance at p_j of what is integrated, of scan i carried there and of scan j."""
            arm = start.position - end.position
            early = integrated_covariance(level, arm, start.in_world(), up)
            return early, integrated_covariance(level, None, end.in_world(), up)

        early, late = integrated(start, end)
        covariance = late - early
        if self.joint.white is not None:  # of both ends, as in `motion_covariance`
            white = np.broadcast_to(self.joint.white, (len(first), 6, 6))
            covariance += 2 * integrated_covariance(level, start.position - end.position, white, up)
        if self.noise is not None:
            noise = self.claim.with_covariance(self.noise)
            early, late = integrated(noise[first], noise[second])
            covariance = covariance + early + late
        back = np.zeros_like(covariance)
        back[:, :3, :3], back[:, 3, 3] = np.swapaxes(so3.matrix(start.rotation), 1, 2), 1.0

        truth = select_ends(self.reference, first, second)
        moved = displacement_error(level, start.pose, end.pose, truth, up)
        headings = [
            twist(so3.compose(true, so3.inverse(own)), up)
            for true, own in ((truth[1][1], end.rotation), (truth[0][1], start.rotation))
        ]
        turned = so3.log(so3.compose(headings[0], so3.inverse(headings[1]))) @ up
        return np.concatenate([moved, turned[:, None]], axis=1), se3.sandwich(back, covariance)

    def _columns(self, found: Windows, space: SpaceName) -> Floats:
        """What is open between the worlds, bodies and clocks, as it shows in windows. (m, d, q)."""
        claim, motion, level = self.claim, self.motion, self.level
        if space == "position":
            columns = world_columns(found, claim, self.gauge, level, self.up)
            if motion is None:
                return columns
            of_body = body_columns(found, claim, motion, level, self.up)
            return np.concatenate([columns, of_body], axis=2)
        if motion is None:
            return np.zeros((len(found.first), DEAD_RECKONING, 0))
        if level == GRAVITY_OBSERVED:
            return heading_columns(found, claim, motion, self.up)
        return pose_columns(found, claim, motion)


# Errors


def select_ends(pose: Pose, first: Ints, second: Ints) -> tuple[Pose, Pose]:
    """Poses at the starts and at the ends of windows."""
    return (pose[0][first], pose[1][first]), (pose[0][second], pose[1][second])


def displacement_error(
    level: int, start: Pose, end: Pose, reference: tuple[Pose, Pose], up: Floats
) -> Floats:
    """Truth minus estimate of p_j - p_i, seen from the body at i. -> (m, 3).

    `reference` holds the true poses at the start and at the end.
    """
    (true_position, true_rotation), (true_end, _) = reference
    ours, theirs = end[0] - start[0], true_end - true_position
    if level == DEAD_RECKONING:
        return so3.rotate_back(true_rotation, theirs) - so3.rotate_back(start[1], ours)
    if level == GRAVITY_OBSERVED:
        between = so3.compose(true_rotation, so3.inverse(start[1]))
        theirs = so3.rotate_back(twist(between, up), theirs)
    return so3.rotate_back(start[1], theirs - ours)


def twist(quaternion: Floats, axis: Floats) -> Floats:
    """The part of rotations about an axis (swing-twist). (m, 4) -> (m, 4)."""
    along = quaternion[:, :3] @ axis
    part = np.concatenate([along[:, None] * axis, quaternion[:, 3:]], axis=1)
    return part / np.linalg.norm(part, axis=1)[:, None]


def relative_error(estimate: Pose, reference: Pose, first: Ints, second: Ints) -> Floats:
    """xi_ij = Log(T_ij^-1 T_ij,ref), in the axes of the body at j. (m,), (m,) -> (m, 6)."""
    motions = []
    for pose in (estimate, reference):
        start, end = select_ends(pose, first, second)
        motions.append(se3.compose(se3.inverse(start), end))
    return se3.log(se3.compose(se3.inverse(motions[0]), motions[1]))


# What is claimed of them


def covariances_at_end(level: int, start: Claim, end: Claim, up: Floats) -> tuple[Floats, Floats]:
    """Position covariance at p_j, in world axes, of scan i carried there and of scan j."""
    early = integrated_covariance(level, start.position - end.position, start.in_world(), up)
    return early[:, :3, :3], end.in_world()[:, :3, :3]


def motion_covariance(joint: Joint, claim: Claim, first: Ints, second: Ints) -> Floats:
    """Claimed covariance of displacements seen from the body at their start, in world axes."""
    start, end = claim[first], claim[second]
    if joint.kind == "given":
        known = relative_covariance(joint, claim, first, second)[:, :3, :3]
        return rotate_symmetric(so3.matrix(end.rotation), known)
    level, up = joint.level or DEAD_RECKONING, np.array(joint.up)
    early, late = covariances_at_end(level, start, end, up)
    if joint.white is None:
        return late - early
    # X_j + W_j - (X_i + W_i) + 2 W_i = X_j - X_i + W_j + W_i, all of scan i carried to p_j
    white = np.broadcast_to(joint.white, (len(first), 6, 6))
    own = integrated_covariance(level, start.position - end.position, white, up)[:, :3, :3]
    return late - early + 2 * own


def covariance_in_body(joint: Joint, claim: Claim, first: Ints, second: Ints) -> Floats:
    """Claimed covariance of displacements, in axes of the body at their start. (m, 3, 3)."""
    back = np.swapaxes(so3.matrix(claim.rotation[first]), 1, 2)
    return rotate_symmetric(back, motion_covariance(joint, claim, first, second))


def steady_covariance(
    joint: Joint, claim: Claim, first: Ints, second: Ints, *, steady: float
) -> Floats | None:
    """`covariance_in_body` of one of two estimates; None where its growth is not steady.

    A growth that is only assumed to be that of an odometry is widened as in `windows.GUARD`.
    """
    claimed = covariance_in_body(joint, claim, first, second)
    if joint.kind != "implied":
        return claimed
    if len(claimed) < 2:
        return None
    low, _ = halves(claimed)
    return None if low < 1 / steady else claimed / low**GUARD


def rotate_symmetric(rotation: Floats, covariance: Floats) -> Floats:
    """R S R^T, symmetric to the last bit. (n, 3, 3) each."""
    turned = rotation @ covariance @ np.swapaxes(rotation, 1, 2)
    return 0.5 * (turned + np.swapaxes(turned, 1, 2))


# What is open beside them


def world_columns(found: Windows, claim: Claim, gauge: Gauge, level: int, up: Floats) -> Floats:
    """What a fit took of the world and windows do not remove: rotations, and a scale. (m, 3, q)."""
    axes = np.zeros((0, 3))
    if gauge != "none" and level == 3:
        axes = up[None] if gauge == "yaw" else np.eye(3)
    elif gauge not in ("none", "yaw") and level == GRAVITY_OBSERVED:
        axes = np.linalg.svd(up[None])[2][1:]
    moved = claim.position[found.second] - claim.position[found.first]
    columns = [np.cross(axis, moved) for axis in axes] + ([moved] if gauge == "sim3" else [])
    turn = claim.rotation[found.first]
    seen = [so3.rotate_back(turn, column) for column in columns]
    return np.stack(seen, axis=2) if seen else np.zeros((len(moved), 3, 0))


def body_columns(
    found: Windows, claim: Claim, motion: BodyMotion, level: int, up: Floats
) -> Floats:
    """What a lever arm, a rotation of the body and a late clock do to displacements. (m, 3, 7).

    (R_ij - I) l + d x b + tau (R_ij v_j - v_i - w_i x d), with R_ij = R_i^T R_j and d the
    displacement seen from the body at i; of b and w the part by which that body is turned.
    """
    start, end = claim[found.first], claim[found.second]
    d = so3.rotate_back(start.rotation, end.position - start.position)
    between = so3.matrix(so3.compose(so3.inverse(start.rotation), end.rotation))
    turned = so3.hat(d)
    if level == GRAVITY_OBSERVED:
        axis = so3.rotate_back(start.rotation, np.broadcast_to(up, d.shape))
        turned = np.cross(d, axis)[:, :, None] * axis[:, None, :]
    elif level == 3:
        turned = np.zeros_like(turned)
    velocity, rate = motion.velocity, motion.rate[found.first]
    faster = np.einsum("nij,nj->ni", between, velocity[found.second]) - velocity[found.first]
    late = faster + np.einsum("nij,nj->ni", turned, rate)
    return np.concatenate([between - np.eye(3), turned, late[..., None]], axis=2)


def heading_columns(found: Windows, claim: Claim, motion: BodyMotion, up: Floats) -> Floats:
    """What they do to the displacement seen from the body at i, and to the heading. (m, 4, 7)."""
    moved = body_columns(found, claim, motion, GRAVITY_OBSERVED, up)
    axes, rates = [], []
    for at in (found.first, found.second):
        axis = so3.rotate_back(claim.rotation[at], np.broadcast_to(up, (len(at), 3)))
        axes.append(axis)
        rates.append(np.einsum("ni,ni->n", axis, motion.rate[at]))
    turned = np.zeros((len(found.first), 1, 7))
    turned[:, 0, 3:6], turned[:, 0, 6] = axes[1] - axes[0], rates[1] - rates[0]
    return np.concatenate([moved, turned], axis=1)


def pose_columns(found: Windows, claim: Claim, motion: BodyMotion) -> Floats:
    """What a pose E = Exp(eps) between the bodies and a late clock do to relative poses. (m, 6, 7).

    E^-1 T_ij E differs from T_ij by eps - B eps, B = Ad(T_ij^-1), and a moment later by
    zeta_j - B zeta_i with zeta the velocities of the body.
    """
    (p, q), end = claim[found.first].pose, claim[found.second].pose
    carry = se3.adjoint(se3.inverse(se3.compose(se3.inverse((p, q)), end)))
    early, late = (
        np.concatenate([motion.velocity[at], motion.rate[at]], axis=1)
        for at in (found.first, found.second)
    )
    late = late - np.einsum("nij,nj->ni", carry, early)
    return np.concatenate([np.eye(6) - carry, late[..., None]], axis=2)
