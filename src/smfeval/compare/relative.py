"""Relative motion of A against B: a test of the pair that no alignment touches.

The displacement over a window, seen from the body at its start, differs between A and B by
delta_B - delta_A (`summarise.windows`). Where both joint covariances are known, of the same
freedoms, and the errors of the two are not opposed, its covariance is at most the sum of what each
claims, and twice that whatever their dependence. B is moved to the body of A that the kindest fit
found, and lever arm, rotation between the bodies and clock are columns of every horizon.
"""

import numpy as np

from smfeval.align.body import move_to_body
from smfeval.align.joint import Claim, Joint, given_joint
from smfeval.align.nuisance import BodyMotion, Nuisance
from smfeval.compare.difference import Difference
from smfeval.errors import PairingError
from smfeval.evaluation.motion import FEWEST_FOR_WINDOWS, RelativeMotion
from smfeval.judge.levels import STEADY
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.score.spaces import PositionSpace
from smfeval.summarise.windows import (
    GUARD,
    WindowRow,
    Windows,
    body_columns,
    displacement_error,
    given_horizons,
    halves,
    horizons,
    motion_covariance,
    path_length,
    rotate_symmetric,
    select_ends,
    window_ends,
    window_row,
    without_columns,
    without_standstill,
    world_columns,
)
from smfeval.track import GaussianTrack


def compare_motion(
    found: Difference,
    space: PositionSpace,
    motion: BodyMotion | None = None,
    body: Nuisance | None = None,
) -> RelativeMotion:
    """k_pair over horizons where both joint covariances are known.

    `motion` is that of A where body and clock are open, `body` the pose of B's body in A's.
    """
    joints = [claim.joint for claim in found.claims]
    reason = next((each.reason for each in found.claims if each.joint.kind == "unknown"), None)
    if not space.is_whole:
        reason = f"axes {space.axes} alone are scored, and relative motion is seen from the body"
    elif len(found.a) < FEWEST_FOR_WINDOWS:
        reason = "the scans are too few"
    elif not (found.a.about.oriented and found.b.about.oriented):
        reason = "one of the tracks has no orientation"
    elif reason is None and len({joint.level or 6 for joint in joints}) > 1:
        reason = "the two integrate different freedoms"
    if reason is not None:
        return RelativeMotion(reason=reason)
    beside = found.b if body is None else at_body(found.b, body)
    rows = (_row(found, beside, each, motion) for each in _horizons(joints, len(found.a)))
    return RelativeMotion(tuple(row for row in rows if row is not None))


def at_body(track: GaussianTrack, body: Nuisance) -> GaussianTrack:
    """The belief about the body of which the track's own has the pose that a fit found."""
    moved = move_to_body(track, se3.inverse((body.lever_m, body.body)), track.about.body)
    assert isinstance(moved, GaussianTrack)
    return moved


def _horizons(joints: list[Joint], scans: int) -> list[int]:
    """Horizons that both claim something about."""
    given = [given_horizons(joint) for joint in joints if joint.kind == "given"]
    if not given:
        return horizons(scans)
    return [horizon for horizon in given[0] if all(horizon in each for each in given)]


def _row(
    found: Difference, b: GaussianTrack, horizon: int, motion: BodyMotion | None
) -> WindowRow | None:
    """k_pair over one horizon; None where too few windows, or no steady claim, stand behind it."""
    try:
        made = pair_windows(found, b, horizon, motion)
    except PairingError:  # a cross-covariance of these scans is not given
        return None
    if made is None:
        return None
    return window_row(made, found.a.stamp, path_length(b.position))


def pair_windows(
    found: Difference, b: GaussianTrack, horizon: int, motion: BodyMotion | None
) -> Windows | None:
    """Windows of one horizon under the sum of both claims; None where a claim is not steady."""
    ours, joint = found.claims[0].claim, found.claims[0].joint
    other = found.claims[1].joint
    if other.kind == "given" and b.cross is not None:
        other = given_joint(b.cross.pairs, b.cross.block)
    ends = window_ends(other if other.kind == "given" else joint, horizon, len(ours))
    beside = Claim(b.position, b.rotation, b.covariance)
    first, second = _steady_covariance(joint, ours, *ends), _steady_covariance(other, beside, *ends)
    if first is None or second is None:
        return None
    start, end = ours[ends[0]], ours[ends[1]]
    level, up = joint.level or 6, np.array(joint.up)
    theirs = select_ends(beside.pose, *ends)
    error = displacement_error(level, start.pose, end.pose, theirs, up)
    shared = "given" in (joint.kind, other.kind)
    made = without_standstill(Windows(horizon, *ends, error, first + second, shared=shared))
    columns = world_columns(made, ours, found.claims[0].fit.gauge, level, up)
    if motion is not None:
        columns = np.concatenate([columns, body_columns(made, ours, motion, level, up)], axis=2)
    return without_columns(made, columns)


def _steady_covariance(joint: Joint, claim: Claim, first: Ints, second: Ints) -> Floats | None:
    """What one track claims in body axes of the start; None where its growth is not steady.

    A growth that is only assumed to be that of an odometry is widened as in `windows.GUARD`.
    """
    back = np.swapaxes(so3.matrix(claim.rotation[first]), 1, 2)
    claimed = rotate_symmetric(back, motion_covariance(joint, claim, first, second))
    if joint.kind != "implied":
        return claimed
    if len(claimed) < 2:
        return None
    low, _ = halves(claimed)
    return None if low < 1 / STEADY else claimed / low**GUARD
