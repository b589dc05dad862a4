"""Gauge: the worlds could have been aligned otherwise.

Admissible is every alignment with at least the freedoms of the one used, and one that is fitted on
the start of the path alone. More freedoms take error away, so they are generous to the estimate.
"""

from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.associate.pairing import check_reference, without_covariance
from smfeval.choices import AlignmentKind
from smfeval.compare.frames import GAUGES_BY_FREEDOM
from smfeval.compare.sensitivity import SWEPT_GAUGES
from smfeval.errors import SmfevalError
from smfeval.evaluation import Evaluation, align_tracks, score_left, summarise_position
from smfeval.evaluation.claim import align_claim, judge_motion
from smfeval.evaluation.metrics import gap_risk_of, judge_gaps, judge_track
from smfeval.explain.alibis.case import (
    UNFITTED_ALIGNMENTS,
    Alibi,
    AlibiCase,
    AlibiJudgement,
    AlibiName,
    as_judgement,
    needs_all_bounds,
    try_judge,
)
from smfeval.options import Options
from smfeval.summarise.quantities import K_AT_95
from smfeval.track import AnyTrack

PREFIX = 0.1  # of the path


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
        found = _judge_position(evaluation.estimate, reference, changed)
    except SmfevalError as error:
        return Alibi(NAME, GRANTED, None, reason=str(error))
    return Alibi(NAME, f"{GRANTED}, {words.count(found.scans)} scans", found)


def _judge_position(estimate: AnyTrack, reference: AnyTrack, options: Options) -> AlibiJudgement:
    """The verdict of an evaluation as read: without rotations, and without doubts about files."""
    tracks = align_tracks(estimate, check_reference(estimate, reference), options)
    options = tracks.options
    claim = align_claim(tracks.estimate, tracks.joint, tracks.alignment, tracks.kind)
    scored = score_left(tracks, claim)
    risk = gap_risk_of(scored, tracks.pairs, tracks.left, granted=options.reference_covariance)
    motion = judge_motion(claim, tracks.reference, options.space, all_bounds=needs_all_bounds(risk))
    position = summarise_position(scored, options, motion)
    verdict = judge_gaps(judge_track(position, tracks.fit, motion), risk)
    median, k = position.by_quantity["nees_median"].value, position.numbers[K_AT_95]
    return as_judgement(verdict, k, median, len(position.residuals))
