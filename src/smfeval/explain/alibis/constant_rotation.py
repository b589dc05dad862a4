"""Constant rotation: the axes of the bodies differ by a rotation that the extrinsic leaves out.

It explains errors of the rotation alone: turning the body moves no position, and no covariance of
it in world axes. The verdict of the rotation has granted the rotations that fit best (of the body,
and of the world as far as the alignment fitted it to positions); here is what that changed.
"""

import numpy as np

from smfeval import words
from smfeval.evaluation import Evaluation
from smfeval.evaluation.result import ConstantRotation, SpaceScores
from smfeval.explain.alibis.case import (
    Alibi,
    FallingCurve,
    Need,
    as_judgement,
    crossing,
)
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats
from smfeval.score.pit import honest_median
from smfeval.score.pose import ROTATION
from smfeval.score.spaces import RotationSpace
from smfeval.summarise.quantities import K_AT_95

SEARCH_SCANS = 2_000  # evenly spaced: a search asks for the median some dozen times
HALVINGS = 20  # of the logarithm of the share of the rotation: to 2e-5 of it


def constant_rotations(evaluation: Evaluation) -> tuple[Alibi, ...]:
    """The verdict of the rotation without the constant one; nothing where it is not convicted."""
    found = evaluation.rotation
    if found is None or found.constant is None:
        return ()
    constant = found.constant
    median = found.by_quantity["nees_median"].value
    scans = len(found.residuals)
    scored = as_judgement(constant.before, found.numbers[K_AT_95], median, scans)
    judged = as_judgement(constant.after, constant.k, constant.nees_median, scans)
    need = _need(found, constant)
    granted = _granted_text(constant)
    return (Alibi("constant rotation", granted, judged, need, searched=True, scored=scored),)


def _granted_text(constant: ConstantRotation) -> str:
    body, world = (
        float(np.degrees(so3.angle(each))) for each in (constant.turns.body, constant.turns.world)
    )
    aligned = f", {words.angle(world)} of the alignment" if world else ""
    return f"{words.angle(body)} between the bodies{aligned}, best of all"


def _need(found: SpaceScores, constant: ConstantRotation) -> Need:
    """How much of the rotation that fits best gives k = 1; the angle of the body's part."""
    k_of_share = _k_curve(found, constant)
    angle = float(np.degrees(so3.angle(constant.turns.body)))
    share = crossing(k_of_share, 1.0, steps=HALVINGS)
    if share is None:
        return Need("deg", None, kindest=angle, k_left=k_of_share(1.0))
    return Need("deg", share * angle)


def _k_curve(found: SpaceScores, constant: ConstantRotation) -> FallingCurve:
    """k of the rotation with a share of the constant rotations granted.

    With R' = W R C the error is C Log(R'^T R_ref) in the axes of the covariance as it was.
    """
    at = slice(None, None, max(1, len(found.residuals) // SEARCH_SCANS))
    covariance, honest = found.residuals.predicted_covariance[at], honest_median(found.residuals)
    rotation, reference = found.estimate.rotation[at], found.reference.rotation[at]
    body, world = so3.log(constant.turns.body), so3.log(constant.turns.world)

    def k(share: float) -> float:
        turn = so3.exp(share * body)
        turned = so3.compose(so3.compose(so3.exp(share * world), rotation), turn)
        left = so3.log(so3.compose(so3.inverse(turned), reference))
        error = _claimed_errors(found, so3.rotate(turn, left), rotation)
        return float(np.median(normal.nees(error, covariance) / honest[at]))

    return k


def _claimed_errors(found: SpaceScores, error: Floats, rotation: Floats) -> Floats:
    """Rotation errors (body axes) about the axes that are claimed. (n, 3), (n, 4) -> (n, d)."""
    assert isinstance(found.space, RotationSpace)
    claimed = found.space.claimed
    seen = so3.rotate(rotation, error) if claimed.frame == "world" else error
    return seen[:, [row - ROTATION[0] for row in claimed.rows]]
