"""The whole way: pair in time, bring to one frame, score each scan, summarise the track."""

import numpy as np

from smfeval.align.body import to_common_body
from smfeval.align.gauge import ALIGNMENTS, alignment_notes, choose_alignment, fit_alignment
from smfeval.associate import Pairs
from smfeval.associate.pairing import check_reference, nearest_pairs, pair_scans
from smfeval.evaluation.metrics import (
    FittedFreedoms,
    crps_by_axis,
    gap_risk_of,
    judge_track,
    relative_errors,
    rotation_deg,
)
from smfeval.evaluation.result import Evaluation, ScoredScans
from smfeval.options import Options
from smfeval.score import scores
from smfeval.summarise.summary import Calibration, Scores, summarise_calibration, summarise_scores
from smfeval.track import AnyTrack, Track

__all__ = [
    "ALIGNMENTS",
    "Evaluation",
    "Options",
    "ScoredScans",
    "evaluate",
    "nearest_pairs",
    "score_scans",
]

REQUIRED_RULES = ("ape", "nees", "pit")  # rules that the summary and the verdict are made of


def evaluate(
    estimate: AnyTrack,
    reference: AnyTrack,
    *,
    options: Options | None = None,
    pairs: Pairs | None = None,
    notes: tuple[str, ...] = (),
) -> Evaluation:
    """Score an estimate against a reference.

    `pairs` may be given to score on chosen scans, such as those common to several estimates, with
    `notes` to say so.
    """
    options = options or Options()
    poses = check_reference(estimate, reference)
    placed, body_notes = to_common_body(estimate, reference, options.extrinsic)
    kind, gauge_notes = choose_alignment(placed, options.alignment)

    met, clock = poses, None
    if options.offset_s == "auto":
        from smfeval.associate.clock import resolve_offset  # noqa: PLC0415  only where asked for

        options, clock = resolve_offset(placed, poses, kind, options, pairs)
        notes += (clock.sentence,)
    if pairs is None:
        pairs, met, pair_notes = pair_scans(estimate, poses, options, clock)
        notes += pair_notes
    matched, truth = placed[pairs.estimate], met[pairs.reference]
    alignment, left = fit_alignment(matched, truth, kind, options.fit_on)
    scored = score_scans(alignment(matched)[left], truth[left], options)

    calibration = _summarise_calibration(scored, options)
    fit = FittedFreedoms(
        alignment.freedoms, from_start=len(left) < len(matched), clock=clock is not None
    )
    return Evaluation(
        estimate=estimate,
        reference=poses,
        options=options,
        pairs=pairs,
        clock=clock,
        gap_risk=gap_risk_of(scored, pairs, left),
        alignment=alignment,
        scored=scored,
        scores=_summarise_scores(scored, options),
        relative=relative_errors(scored, options),
        calibration=calibration,
        verdict=judge_track(scored.residuals, calibration, fit),
        notes=notes + body_notes + gauge_notes + alignment_notes(len(left), len(matched)),
    )


def _summarise_scores(scored: ScoredScans, options: Options) -> Scores:
    """Mean scores of the track."""
    return summarise_scores(
        scored.series,
        crps_by_axis(scored, options),
        rotation_deg(scored),
        settings=options.settings,
        intervals=options.intervals,
        dimension=scored.residuals.dimension,
    )


def _summarise_calibration(scored: ScoredScans, options: Options) -> Calibration | None:
    """Whether errors and covariances of the track match."""
    return summarise_calibration(
        scored.series,
        scored.residuals,
        options.space.body_residuals(scored.estimate, scored.residuals),
        intervals=options.intervals,
        position=scored.reference.position,
    )


def score_scans(estimate: AnyTrack, reference: Track, options: Options) -> ScoredScans:
    """Score matched, aligned tracks; scans with a singular covariance are refused or left out."""
    residuals = options.space.residuals(estimate, reference)
    good = options.space.regular_scans(estimate, residuals, options.singular)
    kept = np.flatnonzero(good)
    if len(kept) < len(good):
        estimate, reference = estimate[kept], reference[kept]
        residuals = options.space.residuals(estimate, reference)
    series = scores(residuals, options.settings, {*options.rules, *REQUIRED_RULES})
    return ScoredScans(kept, estimate, reference, residuals, series, singular=len(good) - len(kept))
