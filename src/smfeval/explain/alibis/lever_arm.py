"""Lever arm: the extrinsic is wrong by a constant, so every position is off by R dt.

With T' = T E, another translation of E moves the position by R dt in the world; turning E moves
no position and, in world axes, no position covariance. It does move the position where the
lever arm t was measured in the other body's axes: then by at most 2 |t| sin(angle / 2), which is
granted beside the tolerance of the translation. (Aligned by the first pose, a turned E turns the
world: that is what the se3 row of the gauge grants.)

The errors after realignment are, to first order, linear in dt: e + J dt. J comes from three small
lever arms; the least median NEES over dt is searched (`ball`), and judged without approximation.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from smfeval import words
from smfeval.explain.alibis.case import (
    IDENTITY_ROTATION,
    Alibi,
    AlibiCase,
    ExtrinsicTolerance,
    Need,
    once_for_each_case,
    try_judge,
)
from smfeval.maths import normal, se3
from smfeval.maths.arrays import Floats

CORNERS = np.array(list(product((-1.0, 1.0), repeat=3))) / np.sqrt(3)
SEARCH_DIRECTIONS = np.concatenate(
    [np.eye(3), -np.eye(3), CORNERS]
)  # along the axes, and between them
REWEIGHTINGS = 10  # times
FINEST = 1e-2  # of the start's length: the last step
MOST_STEPS = 60
HALVINGS = 12  # of the radius


@dataclass(frozen=True)
class QuadraticForms:
    """b (n, d) and A (n, d, 3) of |b + A x|^2, kept as a quadratic form in x."""

    constant: Floats  # (n,)
    slope: Floats  # (n, 3): A^T b
    curvature: Floats  # (n, 3, 3): A^T A

    def medians(self, x: Floats) -> Floats:
        """The median over the scans, for many x at once. (m, 3) -> (m,)."""
        products = (x[:, :, None] * x[:, None, :]).reshape(-1, 9)
        # einsum, for the threads of a BLAS cost more than these products
        bent = np.einsum("mp,pn->mn", products, self.curvature_by_entry)
        values = bent + 2 * np.einsum("mi,ni->mn", x, self.slope) + self.constant
        return np.median(values, axis=1)

    @cached_property
    def curvature_by_entry(self) -> Floats:
        """The curvature, entry after entry. (9, n)."""
        return np.ascontiguousarray(self.curvature.reshape(-1, 9).T)

    def median_at(self, x: Floats) -> float:
        """The median at one x. (3,)."""
        return float(self.medians(x[None])[0])


def quadratic_forms(b: Floats, a: Floats) -> QuadraticForms:
    """From b (n, d) and A (n, d, 3)."""
    return QuadraticForms(
        np.einsum("nd,nd->n", b, b),
        np.einsum("nd,ndi->ni", b, a),
        np.einsum("ndi,ndj->nij", a, a),
    )


def least_median(terms: QuadraticForms, radius: float) -> Floats:
    """The x with the least median found within the ball. (3,)."""
    guess = project_to_ball(robust_solution(terms), radius)
    step = float(np.linalg.norm(guess)) or radius
    ends = [_descend(terms, start, radius, step) for start in (np.zeros(3), guess)]
    return min(ends, key=terms.median_at)


def shortest_solution(terms: QuadraticForms, found: Floats) -> Floats:
    """The shortest x with a median of 1 or less that is found from one of them. (3,) -> (3,)."""
    low, high = 0.0, float(np.linalg.norm(found))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        best = _descend(terms, project_to_ball(found, middle), middle, 0.5 * middle)
        if terms.median_at(best) <= 1:
            found, high = best, middle
        else:
            low = middle
    return found


def robust_solution(terms: QuadraticForms) -> Floats:
    """Least squares with weights 1 / (median + square), so that half the scans decide. (3,)."""
    x = np.zeros(3)
    for _ in range(REWEIGHTINGS):
        value = terms.constant + 2 * terms.slope @ x + terms.curvature @ x @ x
        typical = np.median(value)
        if typical <= 0:  # nothing is left to explain
            break
        weight = 1 / (typical + np.maximum(value, 0))
        normal = np.einsum("n,nij->ij", weight, terms.curvature)
        x = np.linalg.lstsq(normal, -weight @ terms.slope, rcond=1e-9)[0]
    return x


def project_to_ball(x: Floats, radius: float) -> Floats:
    """The nearest points of the ball. (..., 3)."""
    size = np.linalg.norm(x, axis=-1, keepdims=True)
    return x * np.minimum(1.0, radius / np.where(size > 0, size, 1.0))


def _descend(terms: QuadraticForms, x: Floats, radius: float, step: float) -> Floats:
    finest, value = FINEST * step, terms.median_at(x)
    for _ in range(MOST_STEPS):
        around = project_to_ball(x + step * SEARCH_DIRECTIONS, radius)
        values = terms.medians(around)
        best = int(np.argmin(values))
        if values[best] < value:
            x, value = around[best], values[best]
        else:
            step *= 0.5
        if step < finest:
            break
    return x


REACH_M = 1.0  # for k = 1: a lever arm that is wrong by more is seen with the bare eye
SMALL_M = 1e-2  # the alignment answers linearly to a lever arm of this size
UNORIENTED = "the estimate has positions only, so a lever arm has no direction"


def lever_arm(case: AlibiCase, search: AlibiCase, tolerance: ExtrinsicTolerance) -> Alibi:
    """The kindest lever arm within the tolerance, and the shortest that gives k = 1."""
    reach = reach_m(case, tolerance)
    if not case.estimate.about.oriented:
        return Alibi("lever arm", f"up to {words.length(reach)}", None, reason=UNORIENTED)
    terms = linearise_nees(search)
    arm = least_median(terms, reach) if reach else np.zeros(3)
    size = float(np.linalg.norm(arm))
    judgement, reason = try_judge(case.with_lever_arm(arm))
    return Alibi(
        "lever arm",
        f"{words.length(size)}, best within {words.length(reach)}",
        judgement,
        _need(terms),
        searched=True,
        reason=reason,
    )


def reach_m(case: AlibiCase, tolerance: ExtrinsicTolerance) -> float:
    """How far the tolerance lets the position be off in the body."""
    extrinsic = case.options.extrinsic
    arm = 0.0 if extrinsic is None else float(np.linalg.norm(extrinsic[0]))
    return tolerance.translation_m + 2 * arm * float(np.sin(np.radians(tolerance.rotation_deg) / 2))


def kindest_arm(case: AlibiCase, reach: float) -> Floats:
    """The lever arm within reach with the least k. (3,)."""
    return least_median(linearise_nees(case), reach) if reach else np.zeros(3)


@once_for_each_case
def linearise_nees(case: AlibiCase) -> QuadraticForms:
    """Relative NEES as squares in dt, alignment done again."""
    residuals = case.residuals
    scale = np.sqrt(case.honest_median[case.scored_scans])[:, None]
    moved = [case.at_positions(_moved(case, SMALL_M * axis)).error() for axis in np.eye(3)]
    columns = [(error - residuals.error) / SMALL_M for error in moved]
    b, *a = (
        normal.whiten(x, residuals.predicted_covariance) / scale
        for x in (residuals.error, *columns)
    )
    return quadratic_forms(b, np.stack(a, axis=2))


def _moved(case: AlibiCase, arm: Floats) -> Floats:
    """Positions of the point that is `arm` (body axes, metres) away. (3,) -> (n, 3)."""
    pose = case.estimate.position, case.estimate.rotation
    return se3.compose(pose, (arm, IDENTITY_ROTATION))[0]


def _need(terms: QuadraticForms) -> Need:
    best = least_median(terms, REACH_M)
    if terms.median_at(best) > 1:
        return Need("m", None, kindest=float(np.linalg.norm(best)), k_left=terms.median_at(best))
    return Need("m", float(np.linalg.norm(shortest_solution(terms, best))))
