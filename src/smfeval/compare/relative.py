"""Relative motion of A against B: a test of the pair that no alignment touches.

The displacement over a window, seen from the body at its start, differs between A and B by
delta_B - delta_A (`summarise.motion`). Where both joint covariances are known, of the same
freedoms, and the errors of the two are not opposed, its covariance is at most the sum of what each
claims, and twice that whatever their dependence. B is moved to the body of A that the kindest fit
found, and lever arm, rotation between the bodies and clock are columns of every horizon.
"""

from smfeval.align.body import move_to_body
from smfeval.align.joint import Claim, given_joint
from smfeval.align.nuisance import BodyMotion, Nuisance
from smfeval.compare.difference import Difference
from smfeval.evaluation.motion import RelativeMotion
from smfeval.judge.levels import STEADY
from smfeval.maths import se3
from smfeval.score.spaces import PositionSpace
from smfeval.summarise.motion import FEWEST_FOR_WINDOWS, SeenMotion
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
        reason = "the two integrate different degrees of freedom"
    if reason is not None:
        return RelativeMotion(reason=reason)
    b, other = found.b if body is None else at_body(found.b, body), joints[1]
    if other.kind == "given" and b.cross is not None:
        other = given_joint(b.cross.pairs, b.cross.block)
    seen = SeenMotion(
        joints[0],
        found.claims[0].fit.gauge,
        found.claims[0].claim,
        (b.position, b.rotation),
        found.a.stamp,
        motion=motion,
        beside=(other, Claim(b.position, b.rotation, b.covariance)),
        steady=STEADY,
    )
    return RelativeMotion(seen.rows())


def at_body(track: GaussianTrack, body: Nuisance) -> GaussianTrack:
    """The belief about the body of which the track's own has the pose that a fit found."""
    moved = move_to_body(track, se3.inverse((body.lever_m, body.body)), track.about.body)
    assert isinstance(moved, GaussianTrack)
    return moved
