"""Lever arm: the extrinsic is wrong by a constant, so every position is off by R dt.

With T' = T E, another translation of E moves the position by R dt in the world; turning E moves
no position and, in world axes, no position covariance. It does move the position where the
lever arm t was measured in the other body's axes: then by at most 2 |t| sin(angle / 2), which is
granted beside the tolerance of the translation. (Aligned by the first pose, a turned E turns the
world: that is what the se3 row of the gauge grants.)

The errors after realignment are, to first order, linear in dt: e + J dt. J comes from three small
lever arms; the least median NEES over dt is searched (`ball`), and judged without approximation.
"""

import numpy as np

from smfeval.explain.alibis.ball import Squares, least_median, shortest, squares
from smfeval.explain.alibis.case import Case
from smfeval.explain.alibis.judgement import tried
from smfeval.explain.alibis.result import Alibi, ExtrinsicTolerance, Need
from smfeval.explain.alibis.sizes import metres
from smfeval.maths import normal
from smfeval.maths.arrays import Floats

REACH_M = 1.0  # for k = 1: a lever arm that is wrong by more is seen with the bare eye
SMALL_M = 1e-2  # the alignment answers linearly to a lever arm of this size
UNORIENTED = "the estimate has positions only, so a lever arm has no direction"


def lever_arm(case: Case, search: Case, tolerance: ExtrinsicTolerance) -> Alibi:
    """The kindest lever arm within the tolerance, and the shortest that gives k = 1."""
    reach = reach_m(case, tolerance)
    if not case.estimate.about.oriented:
        return Alibi("lever arm", f"up to {metres(reach)}", None, reason=UNORIENTED)
    terms = linearised(search)
    arm = least_median(terms, reach) if reach else np.zeros(3)
    size = float(np.linalg.norm(arm))
    judgement, reason = tried(case.with_lever_arm(arm))
    return Alibi(
        "lever arm",
        f"{metres(size)}, best within {metres(reach)}",
        judgement,
        _need(terms),
        searched=True,
        reason=reason,
    )


def reach_m(case: Case, tolerance: ExtrinsicTolerance) -> float:
    """How far the tolerance lets the position be off in the body."""
    extrinsic = case.options.extrinsic
    arm = 0.0 if extrinsic is None else float(np.linalg.norm(extrinsic[0]))
    return tolerance.translation_m + 2 * arm * float(np.sin(np.radians(tolerance.rotation_deg) / 2))


def kindest_arm(case: Case, reach: float) -> Floats:
    """The lever arm within reach with the least k. (3,)."""
    return least_median(linearised(case), reach) if reach else np.zeros(3)


def linearised(case: Case) -> Squares:
    """Relative NEES as squares in dt, alignment done again."""
    residuals = case.residuals()
    scale = np.sqrt(case.honest[case.scored])[:, None]
    moved = [case.with_lever_arm(SMALL_M * axis).error() for axis in np.eye(3)]
    columns = [(error - residuals.error) / SMALL_M for error in moved]
    b, *a = (normal.whitened(x, residuals.predicted) / scale for x in (residuals.error, *columns))
    return squares(b, np.stack(a, axis=2))


def _need(terms: Squares) -> Need:
    best = least_median(terms, REACH_M)
    if terms.at(best) > 1:
        return Need("m", None, kindest=float(np.linalg.norm(best)), k_left=terms.at(best))
    return Need("m", float(np.linalg.norm(shortest(terms, best))))
