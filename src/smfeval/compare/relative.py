"""Relative motion of A against B: a test of the pair that no alignment touches.

The displacement over a window, seen from the body at its start, differs between A and B by
delta_B - delta_A (`summarise.windows`). If their errors are not opposed, its covariance is at most
the sum of what each claims, and twice that whatever their dependence. Each claims

    J given      Cov of the relative motion
    J implied    the growth of its covariance over the window
    J unknown    at most the widest sum of its covariances at both ends: a bound

so that windows convict, and never acquit. If A and B integrate different freedoms, windows are
those of dead reckoning, and the rotation that the other does not integrate is added to its claim.
"""

from dataclasses import replace

import numpy as np

from smfeval.align.joint import UNKNOWN, Claim, Joint, relative_covariance
from smfeval.align.projection import widest_sum
from smfeval.compare.difference import Difference
from smfeval.errors import PairingError
from smfeval.evaluation.claim import FEWEST_FOR_EVIDENCE, has_constant_rotation
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.score.spaces import PositionSpace
from smfeval.summarise.judgement import DOUBT, STEADY, Bound, Evidence, horizon_bounds
from smfeval.summarise.relative import RelativeMotion
from smfeval.summarise.windows import (
    GUARD,
    WindowRow,
    Windows,
    alternate_starts,
    bound_horizons,
    covariances_at_end,
    displacement_error,
    given_horizons,
    halves,
    horizons,
    open_freedoms,
    path_length,
    rotate_symmetric,
    sampled_starts,
    window_row,
    without_freedoms,
    without_standstill,
)

DEAD_RECKONING = 6  # freedoms: all of a pose


def compare_motion(found: Difference, space: PositionSpace) -> RelativeMotion:
    """k_pair over horizons where both joint covariances are known, else bounds."""
    gauge = found.fits[0].gauge
    nothing = Evidence(UNKNOWN, gauge, (), ())
    reason = _unseen(found, space)
    if reason is not None:
        return RelativeMotion(nothing, reason=reason)
    unknown = [why for joint, why in found.joints if joint.kind == "unknown"]
    if unknown:
        bounds = tuple(_bounds(found))
        return RelativeMotion(replace(nothing, bounds=bounds), reason=unknown[0])
    rows = tuple(row for horizon in _horizons(found) if (row := _row(found, horizon)))
    return RelativeMotion(replace(nothing, joint=found.joints[0][0], rows=rows))


def _unseen(found: Difference, space: PositionSpace) -> str | None:
    """Why relative motion cannot be compared; None where it can."""
    if not space.is_whole:
        return f"axes {space.axes} alone are scored, and relative motion is seen from the body"
    if len(found.a) < FEWEST_FOR_EVIDENCE:
        return "the scans are too few"
    if not (found.a.about.oriented and found.b.about.oriented):
        return "one of the tracks has no orientation"
    if has_constant_rotation(found.claims[0], found.b):
        return "the axes of the two bodies differ by a constant rotation"
    return None


def _horizons(found: Difference) -> list[int]:
    """Horizons that both claim something about."""
    given = [given_horizons(joint) for joint, _ in found.joints if joint.kind == "given"]
    if not given:
        return horizons(len(found.a))
    return [horizon for horizon in given[0] if all(horizon in each for each in given)]


def _row(found: Difference, horizon: int) -> WindowRow | None:
    """k_pair over one horizon; None where too few windows, or no steady claim, stand behind it."""
    first = np.arange(0, len(found.a) - horizon, horizon)
    try:
        made = pair_windows(found, horizon, first)
    except PairingError:  # a cross-covariance of these scans is not given
        return None
    if made is None:
        return None
    return window_row(made, found.a.stamp, path_length(found.b.position))


def pair_windows(found: Difference, horizon: int, first: Ints) -> Windows | None:
    """Windows of one horizon under the sum of both claims; None where a claim is not steady."""
    level = _level(found)
    parts = [
        _guarded_covariance(joint, claim, first, first + horizon, level)
        for (joint, _), claim in zip(found.joints, found.claims, strict=True)
    ]
    if parts[0] is None or parts[1] is None:
        return None
    shared = any(joint.kind == "given" or joint.level != level for joint, _ in found.joints)
    made = _windows(found, horizon, first, parts[0] + parts[1], level)
    made = without_standstill(replace(made, shared=shared))
    freedoms = open_freedoms(found.fits[0].gauge, level, np.array(found.joints[0][0].up))
    return without_freedoms(made, freedoms, found.claims[0])


def _guarded_covariance(
    joint: Joint, claim: Claim, first: Ints, second: Ints, level: int
) -> Floats | None:
    """What one track claims at most; None where its growth is not steady.

    A growth that is only assumed to be that of an odometry is widened as in `windows.GUARD`.
    """
    claimed = motion_covariance(joint, claim, first, second, level)
    if joint.kind != "implied":
        return claimed
    if len(claimed) < 2:
        return None
    low, _ = halves(claimed)
    return None if low < 1 / STEADY else claimed / low**GUARD


def _level(found: Difference) -> int:
    """Freedoms that both integrate, or else those of dead reckoning."""
    levels = {joint.level for joint, _ in found.joints}
    return (levels.pop() if len(levels) == 1 else None) or DEAD_RECKONING


def motion_covariance(
    joint: Joint, claim: Claim, first: Ints, second: Ints, level: int = DEAD_RECKONING
) -> Floats:
    """Covariance of a displacement as one track claims it, in body axes of the start. (m, 3, 3).

    An upper bound where the joint covariance is unknown or of another level than the windows.
    """
    start, end, up = claim[first], claim[second], np.array(joint.up)
    if joint.kind == "given":
        found = relative_covariance(joint, claim, first, second)[:, :3, :3]
        found = rotate_symmetric(so3.matrix(end.rotation), found)
    else:
        early, late = covariances_at_end(joint.level or level, start, end, up)
        found = widest_sum(late, early) if joint.level is None else late - early
        if joint.level not in (None, level):
            found = widest_sum(found, _rest_of_rotation(joint, start, end))
    return rotate_symmetric(np.swapaxes(so3.matrix(start.rotation), 1, 2), found)


def seen_displacement(claim: Claim, first: Ints, second: Ints) -> Floats:
    """Displacements as the body at their start sees them. (m, 3)."""
    moved = claim.position[second] - claim.position[first]
    return so3.rotate_back(claim.rotation[first], moved)


def _rest_of_rotation(joint: Joint, start: Claim, end: Claim) -> Floats:
    """What rotations that are not integrated do to displacements, in world axes. (m, 3, 3)."""
    up = np.array(joint.up)
    kept = np.eye(3) - (np.outer(up, up) if joint.level == 4 else 0.0)
    arm = so3.hat(end.position - start.position) @ kept
    return arm @ start.in_world()[:, 3:, 3:] @ np.swapaxes(arm, 1, 2)


def _windows(
    found: Difference, horizon: int, first: Ints, covariance: Floats, level: int
) -> Windows:
    second, up = first + horizon, np.array(found.joints[0][0].up)
    a, b = found.claims
    theirs = b[first].pose, b[second].pose
    error = displacement_error(level, a[first].pose, a[second].pose, theirs, up)
    return Windows(horizon, first, second, error, covariance)


def _bounds(found: Difference) -> list[Bound]:
    scans, chosen = len(found.a), bound_horizons(len(found.a))
    freedoms = np.zeros((0, 3)), found.fits[0].gauge == "sim3"
    bounds = []
    for horizon in chosen:
        made = []
        for first in (sampled_starts(scans, horizon), alternate_starts(scans, horizon)):
            first_part, second_part = (
                _most_covariance(joint, claim, first, first + horizon)
                for (joint, _), claim in zip(found.joints, found.claims, strict=True)
            )
            windows = _windows(found, horizon, first, first_part + second_part, DEAD_RECKONING)
            made.append(without_freedoms(windows, freedoms, found.claims[0]))
        bounds += horizon_bounds(made[0], made[1], found.a.stamp, DOUBT / len(chosen))
    return bounds


def _most_covariance(joint: Joint, claim: Claim, first: Ints, second: Ints) -> Floats:
    """What one track claims at most over any windows; given pairs of scans are too few for that."""
    known = None
    if joint.kind == "implied":
        known = _guarded_covariance(joint, claim, first, second, DEAD_RECKONING)
    return motion_covariance(UNKNOWN, claim, first, second) if known is None else known
