"""Gauge: the worlds could have been aligned otherwise.

Admissible is every alignment with at least the freedoms of the one used, and one that is fitted on
the start of the path alone. More freedoms take error away, so they are generous to the estimate.
"""

import numpy as np

from smfeval.compare.frames import FREEDOMS
from smfeval.compare.gauge_sweep import SWEPT
from smfeval.evaluation.options import AlignmentKind
from smfeval.explain.alibis.case import Case
from smfeval.explain.alibis.judgement import tried
from smfeval.explain.alibis.result import Alibi

PREFIX = 0.1  # of the path
UNFITTED = ("none", "first-pose")


def gauges(case: Case) -> tuple[Alibi, ...]:
    """The verdict under every other admissible alignment."""
    rows = [_row(case, kind, kind) for kind in others(case)]
    start: AlignmentKind = "se3" if case.kind in UNFITTED else case.kind
    words = f"{start} fitted on the first {100 * PREFIX:g} % of the path"
    return (*rows, _row(case, words, start, _prefix(case)))


def others(case: Case) -> list[AlignmentKind]:
    """Alignments with at least the freedoms of the one used, on all scans; not the very one."""
    same = case.kind if case.in_sample or case.kind in UNFITTED else None
    kinds = [kind for kind in SWEPT if _freedom(kind) >= _freedom(case.kind)]
    return [kind for kind in kinds if kind != same]


def _row(case: Case, words: str, kind: AlignmentKind, fitted: int | None = None) -> Alibi:
    judgement, reason = tried(case.under(kind, fitted))
    return Alibi("gauge", words, judgement, reason=reason)


def _freedom(kind: AlignmentKind) -> int:
    return FREEDOMS.index("se3" if kind == "first-pose" else kind)


def _prefix(case: Case) -> int:
    """Scans within the start of the path, one at least."""
    steps = np.linalg.norm(np.diff(case.reference.position, axis=0), axis=1)
    progress = np.concatenate([[0.0], np.cumsum(steps)])
    return max(1, int(np.searchsorted(progress, PREFIX * progress[-1])))
