"""Gauge: the worlds could have been aligned otherwise.

Admissible is every alignment with at least the freedoms of the one used, and one that is fitted on
the start of the path alone. More freedoms take error away, so they are generous to the estimate.
"""

from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.associate.pairing import without_covariance
from smfeval.choices import AlignmentKind
from smfeval.compare.frames import GAUGES_BY_FREEDOM
from smfeval.compare.sensitivity import SWEPT_GAUGES
from smfeval.errors import SmfevalError
from smfeval.evaluation import Evaluation, evaluate
from smfeval.explain.alibis.case import Alibi, AlibiCase, AlibiName, evaluated_judgement, try_judge

PREFIX = 0.1  # of the path
UNFITTED_ALIGNMENTS = ("none", "first-pose")


def gauges(case: AlibiCase) -> tuple[Alibi, ...]:
    """The verdict under every other admissible alignment."""
    rows = [_row(case, kind, kind) for kind in other_alignments(case)]
    start: AlignmentKind = "se3" if case.kind in UNFITTED_ALIGNMENTS else case.kind
    granted = f"{start} fitted on the first {words.level(PREFIX)} of the path"
    return (*rows, _row(case, granted, start, _count_start_scans(case)))


def other_alignments(case: AlibiCase) -> list[AlignmentKind]:
    """Alignments with at least the freedoms of the one used, on all scans; not the very one."""
    same = case.kind if case.in_sample or case.kind in UNFITTED_ALIGNMENTS else None
    kinds = [kind for kind in SWEPT_GAUGES if _freedom(kind) >= _freedom(case.kind)]
    return [kind for kind in kinds if kind != same]


def _row(case: AlibiCase, granted: str, kind: AlignmentKind, fitted: int | None = None) -> Alibi:
    judgement, reason = try_judge(case.under_alignment(kind, fitted))
    return Alibi("gauge", granted, judgement, reason=reason)


def _freedom(kind: AlignmentKind) -> int:
    return GAUGES_BY_FREEDOM.index("se3" if kind == "first-pose" else kind)


def _count_start_scans(case: AlibiCase) -> int:
    """Scans within the start of the path, one at least."""
    steps = np.linalg.norm(np.diff(case.reference.position, axis=0), axis=1)
    progress = np.concatenate([[0.0], np.cumsum(steps)])
    return max(1, int(np.searchsorted(progress, PREFIX * progress[-1])))


NAME: AlibiName = "continuous reference"
GRANTED = "interpolated motion with its covariance"


def continuous_reference(evaluation: Evaluation) -> Alibi:
    """The verdict with the Gaussian-process reference; the reason in words where there is none."""
    options = evaluation.options
    if options.association == "gp":
        return Alibi(NAME, GRANTED, None, reason="it was scored so already")
    reference = evaluation.reference
    if not options.reference_covariance:
        reference = without_covariance(reference)
    changed = replace(options, association="gp", reference_covariance=True, rules=(), horizons=())
    try:
        found = evaluated_judgement(evaluate(evaluation.estimate, reference, options=changed))
    except SmfevalError as error:
        return Alibi(NAME, GRANTED, None, reason=str(error))
    return Alibi(NAME, f"{GRANTED}, {words.count(found.scans)} scans", found)
