"""Disagreement of two beliefs in rotation and pose: k_pair in each space, with its lower bound.

Log(T_A^-1 T_B) is N(0, S_A + S_B) to first order if both are honest and their errors independent,
whatever the space; the bound is that of the position: surely above 1 convicts one of the two, and
nothing acquits. A fit between the two tracks took rotations from positions, and a constant
rotation between the bodies looks like an extrinsic: neither convicts anybody.
"""

from dataclasses import dataclass, replace

import numpy as np

from smfeval import words
from smfeval.compare.difference import Difference
from smfeval.errors import TrackError
from smfeval.evaluation.claim import constant_rotation
from smfeval.score.pose import check_axes
from smfeval.score.spaces import PoseSpace, RotationSpace
from smfeval.score.tangent import ClaimedAxes, find_claimed, pose_residuals
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Intervals, Number, finite_or_none
from smfeval.summarise.verdict import ENOUGH_SCANS

TWO_SIDED = 0.9  # level of the interval whose low end is a one-sided 95 % bound


@dataclass(frozen=True)
class PairSpace:
    """k_pair of rotation or pose; `reason` says why it convicts nobody, where it cannot."""

    name: str
    axes: tuple[str, ...]
    k: Number
    lower_bound: float | None
    reason: str | None

    @property
    def convicts(self) -> bool:
        """Whether at least one of the two is surely overconfident."""
        few = self.k.n_effective is not None and self.k.n_effective < ENOUGH_SCANS
        return self.lower_bound is not None and self.lower_bound > 1 and not few

    @property
    def sentence(self) -> str:
        """What it says: one line."""
        if self.convicts:
            assert self.lower_bound is not None
            return f"above {words.number(self.lower_bound)} with 95 % confidence: overconfident"
        return f"cannot tell: {self.reason or 'not surely above 1'}"


def compare_orientation(found: Difference, intervals: Intervals) -> tuple[PairSpace, ...]:
    """Rotation and pose, where both tracks are oriented and claim them."""
    a, b = found.a[found.left], found.b[found.left]
    if not (a.about.oriented and b.about.oriented):
        return ()
    axes = _shared(find_claimed(a.covariance, a.rotation), find_claimed(b.covariance, b.rotation))
    if axes is None:
        return ()
    reason = _why_not(found)
    whole = pose_residuals(a, b)
    rows = []
    for space in (RotationSpace(axes.of_rotation()), PoseSpace(axes)):
        try:
            check_axes(space.claimed.rows)
        except TrackError:
            continue
        residuals = space.select(whole, a.rotation)
        terms = residuals.likelihood_terms
        regular = ~terms.singular
        if not regular.any():
            continue
        relative = terms.nees[regular] / median_chi_squared(space.dimension)
        k = intervals.of(relative, "median", "1")
        low = replace(intervals, level=TWO_SIDED).of(relative, "median", "1").low
        bound = None if reason is not None else finite_or_none(low)
        rows.append(PairSpace(space.name, space.axis_names, k, bound, reason or k.reason))
    return tuple(rows)


def _shared(first: ClaimedAxes, second: ClaimedAxes) -> ClaimedAxes | None:
    """The axes that both claim; None where they share no rotation, or no axes to see it in."""
    rows = tuple(row for row in first.rows if row in second.rows)
    found = ClaimedAxes(rows, first.frame)
    return found if first.frame == second.frame and found.of_rotation().rows else None


def _why_not(found: Difference) -> str | None:
    """Why a large k_pair would convict nobody; None where it would."""
    constant = constant_rotation(found.claims[0], found.b)
    if constant is not None:
        angle = words.angle(float(np.degrees(constant)))
        return f"a constant rotation of {angle} between the bodies looks like an extrinsic"
    if found.alignment.kind != "none":
        return "the alignment was fitted to positions"
    return None
