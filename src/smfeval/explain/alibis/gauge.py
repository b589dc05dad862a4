"""Gauge: the worlds could have been aligned otherwise.

Admissible is every alignment with at least the freedoms of the one used, and one that is fitted on
the start of the path alone. More freedoms take error away, so they are generous to the estimate.
"""

from dataclasses import replace

import numpy as np

from smfeval.compare.frames import FREEDOMS
from smfeval.compare.sensitivity import SWEPT
from smfeval.errors import SmfevalError
from smfeval.evaluation import Evaluation, evaluate
from smfeval.evaluation.options import AlignmentKind
from smfeval.explain.alibis.case import Alibi, Case, Name, as_evaluated, tried
from smfeval.track import GaussianTrack, Track

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


NAME: Name = "continuous reference"
GRANTED = "interpolated motion with its covariance"


def continuous_reference(evaluation: Evaluation) -> Alibi:
    """The verdict with the Gaussian-process reference; the reason in words where there is none."""
    options = evaluation.options
    if options.association == "gp":
        return Alibi(NAME, GRANTED, None, reason="it was scored so already")
    reference = evaluation.reference
    if not options.reference_covariance:
        reference = _exact(reference)
    changed = replace(options, association="gp", reference_covariance=True, rules=(), horizons=())
    try:
        found = as_evaluated(evaluate(evaluation.estimate, reference, options=changed))
    except SmfevalError as error:
        return Alibi(NAME, GRANTED, None, reason=str(error))
    return Alibi(NAME, f"{GRANTED}, {found.scans:,} scans", found)


def _exact(reference: Track) -> Track:
    """The reference without a covariance of its own, which was not to be used."""
    if not isinstance(reference, GaussianTrack):
        return reference
    return Track(
        reference.stamp,
        reference.position,
        reference.rotation,
        about=reference.about,
        provenance=reference.provenance,
    )
