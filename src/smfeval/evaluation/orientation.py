"""Rotation and pose of a track: scored where both tracks are oriented, each with its own verdict.

The verdict of an evaluation is about the position. Rotation and pose are judged beside it by the
same rules: two-sided by k where nothing was fitted; after a fit by what the claim allows, and with
the joint covariance unknown by bounds, which convict and never acquit. A yaw fit leaves roll and
pitch alone. A constant rotation between the bodies looks like an extrinsic: who is convicted must
be so without it.
"""

from dataclasses import dataclass, replace

import numpy as np

from smfeval import words
from smfeval.associate.reference_noise import independent_noise
from smfeval.errors import TrackError
from smfeval.evaluation.claim import (
    FEWEST_FOR_EVIDENCE,
    AlignedClaim,
    constant_rotation,
    spaced_scans,
)
from smfeval.evaluation.metrics import FittedFreedoms, most_rank_k
from smfeval.evaluation.oriented_case import (
    OrientedCase,
    OrientedSpace,
    measure,
)
from smfeval.evaluation.result import ConstantRotation, SpaceScores, Turns
from smfeval.maths import so3
from smfeval.maths.arrays import Ints, median_of
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.options import Options
from smfeval.score.pose import ROTATION, check_axes
from smfeval.score.spaces import PoseSpace, RotationSpace
from smfeval.score.tangent import NOT_CLAIMED, ClaimedAxes, find_claimed
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.judgement import DOUBT, Bound, Evidence, judge
from smfeval.summarise.quantities import K_AT_95
from smfeval.summarise.relative_pose import relative_windows
from smfeval.summarise.verdict import Verdict, verdict, verdict_after_fit
from smfeval.summarise.windows import (
    WindowRow,
    given_horizons,
    horizons,
    path_length,
    window_row,
)
from smfeval.track import AnyTrack, GaussianTrack, Track

IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])
STEPS = 5  # of Newton's method for constant rotations: it settles in two or three
ROUNDING_RAD = 1e-9  # rotation errors this small are what rounding leaves of zero
TILT = ClaimedAxes((3, 4), "world")  # roll and pitch in a world whose vertical is z
NOTHING_LEFT = "no scan can be scored without the constant rotation that fits best"
NOTHING = "the estimate claims no uncertainty of rotation"


@dataclass(frozen=True)
class Orientation:
    """Rotation and pose of a track; None where they are not scored, and why in the notes."""

    rotation: SpaceScores | None = None
    pose: SpaceScores | None = None
    notes: tuple[str, ...] = ()

    def after_doubt(self, why: str | None) -> "Orientation":
        """The same with verdicts that a doubt about the files may forbid, as of the position."""
        rotation, pose = (
            None
            if each is None or each.verdict is None
            else replace(each, verdict=each.verdict.after_doubt(why))
            for each in (self.rotation, self.pose)
        )
        return Orientation(rotation, pose, self.notes)


def score_orientation(
    estimate: AnyTrack,
    reference: Track,
    claim: AlignedClaim | None,
    left: Ints,
    *,
    fit: FittedFreedoms,
    options: Options,
) -> Orientation:
    """Score rotation and pose of matched, aligned tracks on the scans left."""
    if claim is None:
        return Orientation()
    reason = _not_oriented(estimate, reference)
    if reason is not None:
        return Orientation(notes=(f"position only: {reason}",))
    axes = find_claimed(claim.claim.covariance, claim.claim.rotation)
    if not axes.of_rotation().rows:
        return Orientation(notes=(f"position only: {_why_no_rotation(axes.of_rotation())}",))
    case = OrientedCase(estimate, reference, claim, left, fit, options)
    rotation, notes = _score_space(case, RotationSpace(axes.of_rotation()))
    pose, more = _score_space(case, PoseSpace(_pose_axes(axes, options)))
    return Orientation(rotation, pose, tuple(dict.fromkeys((*notes, *more))))


def _not_oriented(estimate: AnyTrack, reference: Track) -> str | None:
    if not estimate.about.oriented:
        return "the estimate has no orientation"
    return None if reference.about.oriented else "the reference has no orientation"


def _why_no_rotation(axes: ClaimedAxes) -> str:
    """Why none of the three axes is scored."""
    wide = any(why != NOT_CLAIMED for _, why in axes.reasons)
    return f"rotation is not scored on {axes.left_out}" if wide else NOTHING


def _pose_axes(axes: ClaimedAxes, options: Options) -> ClaimedAxes:
    """Positions on some of x, y and z are those of the world."""
    if options.space.is_whole:
        return axes
    return axes.within({*options.space.columns, *ROTATION})


def _score_space(
    case: OrientedCase, space: OrientedSpace
) -> tuple[SpaceScores | None, tuple[str, ...]]:
    """Scores, numbers and verdict in one space, and what is to be said about them."""
    try:
        check_axes(space.claimed.rows)
    except TrackError as error:
        return None, (f"{space.name} is not scored: {error}",)
    found, notes = measure(case, space)
    if found is None:
        return None, notes
    if space.claimed.left_out:
        scored = words.join(space.claimed.names)
        notes = (f"{space.name} is scored on {scored}, not on {space.claimed.left_out}", *notes)
    return _judge(case, found, space), notes


# The verdict of a space


def _judge(case: OrientedCase, found: SpaceScores, space: OrientedSpace) -> SpaceScores:
    """With a verdict by the rules of the position; no constant rotation convicts.

    Who is convicted must be so without the constant rotation of the body that fits best, which
    looks like an extrinsic, and of the world, as far as the alignment fitted it to positions: its
    error is that of positions. Where the body's stands out, nobody is acquitted either.
    """
    first = _judge_claim(case, found, space)
    if first.evidence == "none":
        return replace(found, verdict=first)
    angle = constant_rotation(case.claim.claim, case.reference)
    if first.label != "overconfident":
        return replace(found, verdict=first if angle is None else _explained(angle, ""))
    constant = _grant_constant(case, found, space, first)
    judged = _judge_granted(found, constant, stands_out=angle is not None, fit=case.fit)
    return replace(found, verdict=judged, constant=constant)


def _grant_constant(
    case: OrientedCase, found: SpaceScores, space: OrientedSpace, before: Verdict
) -> ConstantRotation | None:
    """The verdict without the constant rotations that fit best; None where nothing is left."""
    turns = _constant_turns(case, found, space)
    without = case.turned(turns)
    again, _ = measure(without, space)
    if again is None:
        return None
    median = again.by_quantity["nees_median"].value
    after = _judge_claim(without, again, space)
    return ConstantRotation(turns, before, after, again.numbers[K_AT_95], median)


def _judge_granted(
    found: SpaceScores,
    constant: ConstantRotation | None,
    *,
    stands_out: bool,
    fit: FittedFreedoms,
) -> Verdict:
    """The verdict of errors beyond the claim, once constant rotations are granted."""
    lead = f"k = {found.numbers[K_AT_95]}, but "
    if constant is None:
        return Verdict("cannot tell", f"cannot tell: {lead}{NOTHING_LEFT}", "constant rotation")
    turns, after = constant.turns, constant.after
    angle, aligned = float(so3.angle(turns.body)), float(so3.angle(turns.world))
    if after.label != "overconfident":
        return _explained(angle, lead) if angle > aligned else _explained_by_fit(aligned, lead)
    if not stands_out and not fit.freedoms:
        return constant.before
    rest = "even without the constant rotations that fit best"
    if stands_out:
        rest = f"even without a constant rotation of {_angle(angle)}, which looks like an extrinsic"
    return replace(
        after, sentence=after.sentence.replace("overconfident: ", f"overconfident {rest}: ", 1)
    )


def _explained(angle_rad: float, lead: str) -> Verdict:
    constant = f"a constant rotation of {_angle(angle_rad)} between the bodies"
    text = f"{lead}{constant} explains it: it looks like an extrinsic"
    return Verdict("cannot tell", f"cannot tell: {text}", "constant rotation")


def _explained_by_fit(angle_rad: float, lead: str) -> Verdict:
    fitted = f"the alignment, fitted to positions, may be off by {_angle(angle_rad)}"
    return Verdict("cannot tell", f"cannot tell: {lead}{fitted}", "constant rotation")


def _angle(angle_rad: float) -> str:
    return words.angle(float(np.degrees(angle_rad)))


def _constant_turns(case: OrientedCase, found: SpaceScores, space: OrientedSpace) -> Turns:
    """The constant rotations W and C with W R C nearest to the reference, by Newton's steps.

    C is about the claimed axes of the body; W is what the alignment fitted: nothing, a yaw, or all.
    To first order Log((W R C)^T R_ref) = c + (R C)^T w.
    """
    estimate, reference = found.estimate.rotation, found.reference.rotation
    about = np.eye(3)[:, [row - ROTATION[0] for row in space.claimed.rows if row in ROTATION]]
    about = about if space.claimed.frame == "body" else about[:, :0]
    gauge = case.claim.fit.gauge if space.name == "rotation" else "none"
    axes = np.eye(3)[:, {"none": slice(0, 0), "yaw": slice(2, 3)}.get(gauge, slice(0, 3))]
    body, world = IDENTITY, IDENTITY
    if about.shape[1] == len(ROTATION):
        between = so3.compose(so3.inverse(estimate), reference)
        body = so3.mean(np.einsum("ni,nj->ij", between, between))
    for _ in range(STEPS):
        turned = so3.compose(so3.compose(world, estimate), body)
        left = so3.log(so3.compose(so3.inverse(turned), reference))
        outer = np.swapaxes(so3.matrix(turned), 1, 2) @ axes
        slope = np.concatenate([np.broadcast_to(about, (len(left), *about.shape)), outer], axis=2)
        step = np.linalg.lstsq(
            np.einsum("nij,nik->jk", slope, slope), np.einsum("nij,ni->j", slope, left)
        )[0]
        body = so3.compose(body, so3.exp(about @ step[: about.shape[1]]))
        world = so3.compose(so3.exp(axes @ step[about.shape[1] :]), world)
    return Turns(body, world)


def _judge_claim(case: OrientedCase, found: SpaceScores, space: OrientedSpace) -> Verdict:
    """Two-sided by k where nothing was fitted, else by what the claim allows.

    An error of the reference that all scans share is one draw in k; relative motion has none of it.
    """
    numbers, scans = found.by_quantity, len(found.residuals)
    turned = found.residuals.error[:, space.turning]
    same = float(median_of(np.abs(turned).max(axis=1))) <= ROUNDING_RAD
    rows, shared = space.claimed.rows, False
    if isinstance(case.reference, GaussianTrack) and case.reference.shared is not None:
        shared = bool(case.reference.shared[:, rows, rows].any())
    if not case.fit.freedoms and not shared:
        fitted, most = case.fit.absorbed_freedoms, most_rank_k(found.residuals)
        by_k = verdict(scans, space.dimension, numbers, same=same, fitted=fitted, most=most)
        if by_k.label in ("overconfident", "consistent") or by_k.evidence == "none":
            return by_k
        evidence = _evidence(case, space)
        by_motion = verdict_after_fit(scans, numbers, judge(evidence))
        # a heading that wanders has one error or two, and k with them is small by luck: windows
        # are many, and where there are any they decide whether a belief is too wide
        doubtful = by_k.label == "conservative" and evidence.rows
        return by_motion if doubtful or by_motion.label != "cannot tell" else by_k
    tilt = None if shared else _judge_tilt(case, space)
    if tilt is not None and tilt.label == "overconfident":
        return tilt
    by_claim = verdict_after_fit(scans, numbers, judge(_evidence(case, space)), same=same)
    return by_claim if tilt is None or by_claim.label != "cannot tell" else tilt


def _evidence(case: OrientedCase, space: OrientedSpace) -> Evidence:
    """Relative motion over windows, and after a fit the any-correlation bound of the residuals."""
    joint, fit = case.claim.joint, case.claim.fit
    rows = _window_rows(case, space)
    if fit.gauge == "none":
        return Evidence(joint, fit.gauge, rows, ())
    at = spaced_scans(len(case.reference))
    residuals = space.select(case.bounded, case.estimate.rotation[at])
    terms = residuals.likelihood_terms
    regular = ~terms.singular
    if not regular.any():
        return Evidence(joint, fit.gauge, rows, ())
    median = median_chi_squared(space.dimension)
    k = float(median_of(terms.nees[regular])) / median
    limit = chi_squared_tail_quantile(space.dimension, DOUBT / 2) / median
    return Evidence(joint, fit.gauge, rows, (Bound("fit bound", None, k, limit),))


def _window_rows(case: OrientedCase, space: OrientedSpace) -> tuple[WindowRow, ...]:
    """k of relative rotation or pose over horizons; none where J is unknown or some axes are."""
    joint, claim, reference = case.claim.joint, case.claim.claim, case.reference
    unclaimed = len(space.claimed.reasons) > 0
    if joint.kind == "unknown" or unclaimed or len(reference) < FEWEST_FOR_EVIDENCE:
        return ()
    noise = None
    if case.options.reference_covariance and isinstance(reference, GaussianTrack):
        noise = independent_noise(reference)
    chosen = given_horizons(joint) if joint.kind == "given" else horizons(len(claim))
    truth, path_m = (reference.position, reference.rotation), path_length(reference.position)
    found = (
        relative_windows(
            "rotation" if space.name == "rotation" else "pose",
            joint,
            each,
            claim,
            truth,
            gauge=case.claim.fit.gauge,
            reference_covariance=noise,
        )
        for each in chosen
    )
    rows = (
        window_row(each, reference.stamp, path_m, first_half=half)
        for each in found
        if each is not None
        for half in (False, True)
    )
    return tuple(row for row in rows if row is not None)


def _judge_tilt(case: OrientedCase, space: OrientedSpace) -> Verdict | None:
    """Roll and pitch, which a yaw fit leaves alone: k may convict; it acquits no yaw."""
    whole = space.name == "rotation" and space.claimed.rows == ROTATION
    if case.claim.fit.gauge != "yaw" or not whole:
        return None
    found, _ = measure(case.as_reported(), RotationSpace(TILT))
    if found is None:
        return None
    numbers = found.by_quantity
    judged = verdict(len(found.residuals), len(TILT.rows), numbers)
    about = "roll and pitch, which a yaw fit leaves alone"
    if judged.label == "overconfident":
        sentence = judged.sentence.removeprefix("overconfident: ")
        return replace(judged, sentence=f"overconfident: {about}: {sentence}", evidence="tilt")
    text = f"{about}, have k = {numbers[K_AT_95]}; yaw was fitted"
    return Verdict("cannot tell", f"cannot tell: {text}", "tilt")
