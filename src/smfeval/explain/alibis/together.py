"""All at once: the kindest gauge, clock offset and lever arm, and the noise of a total station.

Clock offset and lever arm are searched in turns, each beside the other's best, beginning with
either, under the gauge used and under the kindest; the least k of these four counts, so that it is
no less kind than any of the searches alone.
"""

from itertools import product

import numpy as np

from smfeval.errors import SmfevalError
from smfeval.evaluation.options import AlignmentKind
from smfeval.explain.alibis.case import Case
from smfeval.explain.alibis.clock_offset import kindest_offset
from smfeval.explain.alibis.gauge import others
from smfeval.explain.alibis.judgement import relative_nees, tried
from smfeval.explain.alibis.lever_arm import kindest_arm, reach_m
from smfeval.explain.alibis.reference_noise import TOTAL_STATION_M, isotropic
from smfeval.explain.alibis.result import Alibi, ExtrinsicTolerance
from smfeval.explain.alibis.sizes import metres, milliseconds
from smfeval.maths.arrays import Floats

SEARCHES = ("clock", "arm")
Found = tuple[AlignmentKind | None, float, Floats]  # gauge (None: as used), offset, lever arm


def all_at_once(case: Case, search: Case, tolerance: ExtrinsicTolerance) -> Alibi:
    """The verdict with the kindest of every search granted together."""
    kind, offset, arm = kindest_together(search, reach_m(case, tolerance))
    moved = _moved(case, (kind, offset, arm))
    arm_words = f", lever arm {metres(float(np.linalg.norm(arm)))}" if arm.any() else ""
    clock = f"clock {milliseconds(offset, signed=True)}"
    words = f"{moved.kind}, {clock}{arm_words}, noise {metres(TOTAL_STATION_M)}"
    judgement, reason = tried(moved, noise=isotropic(moved, TOTAL_STATION_M))
    return Alibi("all at once", words, judgement, searched=True, reason=reason)


def kindest_together(case: Case, reach: float) -> Found:
    """Gauge, clock offset and lever arm with the least k that was found."""
    kinds = dict.fromkeys((None, kindest_gauge(case)))
    ways = [_searched(case, kind, reach, first) for kind, first in product(kinds, SEARCHES)]
    return min(ways, key=lambda found: _k(_moved(case, found)))


def kindest_gauge(case: Case) -> AlignmentKind | None:
    """The alignment of all scans with the least k; None where the one used has it."""
    k = {None: _k(case)} | {kind: _k(case.under(kind)) for kind in others(case)}
    return min(k, key=lambda kind: k[kind])


def _k(case: Case) -> float:
    """The k of the case; infinite where there is no alignment or no inverse of a covariance."""
    try:
        return float(np.median(relative_nees(case)))
    except SmfevalError:
        return np.inf


def _searched(case: Case, kind: AlignmentKind | None, reach: float, first: str) -> Found:
    """Clock offset and lever arm in turns, the first of them twice."""
    offset, arm = 0.0, np.zeros(3)
    for what in (first, *(other for other in SEARCHES if other != first), first):
        if what == "clock" and case.velocity is not None:
            offset = kindest_offset(_moved(case, (kind, 0.0, arm)))
        if what == "arm" and case.estimate.about.oriented:
            found = kindest_arm(_moved(case, (kind, offset, np.zeros(3))), reach)
            regular = np.isfinite(_k(_moved(case, (kind, offset, found))))
            arm = found if regular else arm
    return kind, offset, arm


def _moved(case: Case, found: Found) -> Case:
    kind, offset, arm = found
    moved = case if kind is None else case.under(kind)
    moved = moved.at_offset(offset) if offset else moved
    return moved.with_lever_arm(arm) if arm.any() else moved
