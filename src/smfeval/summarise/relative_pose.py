"""Relative rotation and pose over windows of a track: errors that no world alignment touches.

The error of a window from scan i to scan j is that of T_ij = T_i^-1 T_j, in the axes of the body at
j: xi_ij = Log(T_ij^-1 T_ij,ref), whose covariance the joint claim gives (`align.joint`). What of it
is claimed depends on how the joint covariance is known:

    given             all of rotation (d = 3) and pose (6)
    dead reckoning    the same
    gravity observed  the heading (1); the displacement seen from the body at i, and the heading
                      (4). Errors of roll and pitch are not integrated, and how they move together
                      is not implied
    random walk       nothing of the rotation

Windows that do not overlap are independent for dead reckoning; `summarise.windows` says the rest,
and `window_row` makes k of them.
"""

from dataclasses import replace
from typing import Literal

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
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.se3 import Pose
from smfeval.maths.symmetric import symmetrise
from smfeval.summarise.windows import (
    Windows,
    body_columns,
    displacement_error,
    select_ends,
    twist,
    window_ends,
    without_columns,
    without_standstill,
)

Space = Literal["rotation", "pose"]

ROWS = {"rotation": slice(3, 6), "pose": slice(0, 6)}
HEADING = {"rotation": slice(3, 4), "pose": slice(0, 4)}
GRAVITY_OBSERVED = 4


def relative_windows(
    space: Space,
    joint: Joint,
    horizon: int,
    claim: Claim,
    reference: Pose,
    *,
    gauge: Gauge = "se3",
    ends: tuple[Ints, Ints] | None = None,
    reference_covariance: Floats | None = None,
    motion: BodyMotion | None = None,
) -> Windows | None:
    """Windows of one horizon that do not overlap, with errors of rotation or pose. (m, d).

    Arguments are those of `summarise.windows.windows`. None where the joint covariance says nothing
    of them; for poses also where the gauge took freedoms of the world that windows do not remove (a
    scale; the tilt of the world where gravity is observed).
    """
    level, known = joint.level or 6, joint.kind == "given"
    if joint.kind == "unknown" or level < GRAVITY_OBSERVED:
        return None
    tilted = level == GRAVITY_OBSERVED and gauge not in ("none", "yaw")
    if space == "pose" and (gauge == "sim3" or tilted):
        return None
    first, second = window_ends(joint, horizon, len(claim)) if ends is None else ends
    noise = None if reference_covariance is None else claim.with_covariance(reference_covariance)
    found = Windows(
        horizon,
        first,
        second,
        np.zeros((len(first), 0)),
        np.zeros((len(first), 0, 0)),
        assumed=not known,
        shared=known or noise is not None,
    )
    if level == GRAVITY_OBSERVED:
        found = _of_heading(found, joint, claim, reference, noise=noise, rows=HEADING[space])
    else:
        found = _of_pose(found, joint, claim, reference, noise=noise, rows=ROWS[space])
    found = found if known else without_standstill(found)
    if motion is None:
        return found
    if level == GRAVITY_OBSERVED:
        return without_columns(
            found, _heading_columns(found, joint, claim, motion)[:, HEADING[space]]
        )
    return without_columns(found, pose_columns(found, claim, motion)[:, ROWS[space]])


def pose_columns(found: Windows, claim: Claim, motion: BodyMotion) -> Floats:
    """What a pose E = Exp(eps) between the bodies and a late clock do to relative poses. (m, 6, 7).

    E^-1 T_ij E differs from T_ij by eps - B eps, B = Ad(T_ij^-1), and a moment later by
    zeta_j - B zeta_i with zeta the velocities of the body.
    """
    (p, q), end = claim[found.first].pose, claim[found.second].pose
    carry = se3.adjoint(se3.inverse(se3.compose(se3.inverse((p, q)), end)))
    twist = np.concatenate([motion.velocity, motion.rate], axis=1)
    late = twist[found.second] - np.einsum("nij,nj->ni", carry, twist[found.first])
    return np.concatenate([np.eye(6) - carry, late[..., None]], axis=2)


def _heading_columns(found: Windows, joint: Joint, claim: Claim, motion: BodyMotion) -> Floats:
    """The same of the displacement seen from the body at i, and of the heading. (m, 4, 7)."""
    up = np.array(joint.up)
    moved = body_columns(found, claim, motion, GRAVITY_OBSERVED, up)
    axes = [
        so3.rotate_back(claim.rotation[at], np.broadcast_to(up, (len(at), 3))) for at in ends(found)
    ]
    rates = [
        np.einsum("ni,ni->n", axis, motion.rate[at])
        for axis, at in zip(axes, ends(found), strict=True)
    ]
    turned = np.zeros((len(found.first), 1, 7))
    turned[:, 0, 3:6], turned[:, 0, 6] = axes[1] - axes[0], rates[1] - rates[0]
    return np.concatenate([moved, turned], axis=1)


def ends(found: Windows) -> tuple[Ints, Ints]:
    """First and second scans of windows."""
    return found.first, found.second


def relative_error(estimate: Pose, reference: Pose, first: Ints, second: Ints) -> Floats:
    """xi_ij = Log(T_ij^-1 T_ij,ref), in the axes of the body at j. (m,), (m,) -> (m, 6)."""
    motions = []
    for pose in (estimate, reference):
        start, end = select_ends(pose, first, second)
        motions.append(se3.compose(se3.inverse(start), end))
    return se3.log(se3.compose(se3.inverse(motions[0]), motions[1]))


def _of_pose(
    found: Windows,
    joint: Joint,
    claim: Claim,
    reference: Pose,
    *,
    noise: Claim | None,
    rows: slice,
) -> Windows:
    first, second = found.first, found.second
    covariance = relative_covariance(joint, claim, first, second)
    if noise is not None:
        carry = lever(claim.position[second] - claim.position[first])
        early = carry @ noise[first].in_world() @ np.swapaxes(carry, 1, 2)
        both = symmetrise(early + noise[second].in_world())
        back = np.swapaxes(so3.matrix(claim.rotation[second]), 1, 2)
        covariance = covariance + rotate_blocks(back, both)
    error = relative_error(claim.pose, reference, first, second)
    return replace(found, error=error[:, rows], covariance=covariance[:, rows, rows])


def _of_heading(
    found: Windows,
    joint: Joint,
    claim: Claim,
    reference: Pose,
    *,
    noise: Claim | None,
    rows: slice,
) -> Windows:
    """Displacement in the axes of the body at i, and heading about the vertical."""
    up = np.array(joint.up)
    start, end = claim[found.first], claim[found.second]
    early, late = _integrated(start, end, up)
    covariance = late - early
    if noise is not None:
        early, late = _integrated(noise[found.first], noise[found.second], up)
        covariance = covariance + early + late
    back = np.zeros_like(covariance)
    back[:, :3, :3], back[:, 3, 3] = np.swapaxes(so3.matrix(start.rotation), 1, 2), 1.0
    truth = select_ends(reference, found.first, found.second)
    moved = displacement_error(GRAVITY_OBSERVED, start.pose, end.pose, truth, up)
    headings = [
        twist(so3.compose(true, so3.inverse(own)), up)
        for true, own in ((truth[1][1], end.rotation), (truth[0][1], start.rotation))
    ]
    turned = so3.log(so3.compose(headings[0], so3.inverse(headings[1]))) @ up
    error = np.concatenate([moved, turned[:, None]], axis=1)
    covariance = se3.sandwich(back, covariance)
    return replace(found, error=error[:, rows], covariance=covariance[:, rows, rows])


def _integrated(start: Claim, end: Claim, up: Floats) -> tuple[Floats, Floats]:
    """Covariance at p_j of what is integrated, of scan i carried there and of scan j. (m, 4, 4)."""
    arm = start.position - end.position
    early = integrated_covariance(GRAVITY_OBSERVED, arm, start.in_world(), up)
    late = integrated_covariance(GRAVITY_OBSERVED, None, end.in_world(), up)
    return early, late
