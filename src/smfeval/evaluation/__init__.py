"""The whole way: pair in time, bring to one frame, score, summarise, judge."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from smfeval.align.body import to_common_body
from smfeval.align.fit import Alignment
from smfeval.align.gauge import alignment_notes, choose_alignment, fit_alignment
from smfeval.align.joint import Joint
from smfeval.align.nuisance import BodyMotion, body_motion
from smfeval.associate import (
    GapRisk,
    Pairs,
    check_reference,
    nearest_pairs,
    pair_scans,
    with_shared_error,
)
from smfeval.evaluation.claim import AlignedClaim, align_claim, claimed_joint, with_memory
from smfeval.evaluation.judging import JudgedTracks, judge_space
from smfeval.evaluation.metrics import gap_risk_of, relative_errors, rotation_deg
from smfeval.evaluation.motion import RelativeMotion
from smfeval.evaluation.orientation import Orientation, score_orientation
from smfeval.evaluation.result import Evaluation, ScoredScans, SpaceScores
from smfeval.maths.arrays import Floats, Ints
from smfeval.options import Options
from smfeval.schema import ALIGNMENTS, AlignmentKind
from smfeval.score import scores
from smfeval.summarise.numbers import Numbers
from smfeval.summarise.quantities import Sample
from smfeval.track import AnyTrack, Track
from smfeval.why.two_tracks import MatchedTracks, doubts_beside

if TYPE_CHECKING:
    from smfeval.associate.clock import ClockOffset

__all__ = [
    "ALIGNMENTS",
    "Evaluation",
    "Options",
    "ScoredScans",
    "evaluate",
    "nearest_pairs",
    "score_scans",
]

Found = TypeVar("Found")

REQUIRED_RULES = ("ape", "nees", "pit")  # rules that the summary and the verdict are made of


def evaluate(
    estimate: AnyTrack,
    reference: AnyTrack,
    *,
    options: Options | None = None,
    pairs: Pairs | None = None,
    notes: tuple[str, ...] = (),
) -> Evaluation:
    """Pair in time, bring to one frame, score each scan, summarise the track, judge.

    `pairs` may be given to score on chosen scans, such as those common to several estimates, with
    `notes` to say so.
    """
    reference = check_reference(estimate, reference)
    tracks = align_tracks(estimate, reference, options or Options(), pairs)
    options, left = tracks.options, tracks.left

    claim = tracks.claim()
    oriented = partial(score_orientation, tracks.estimate, tracks.reference, claim, left, options)
    turned = beside(oriented, scans=len(left))
    scored, orientation = score_left(tracks, claim), turned()

    risk = gap_risk_of(scored, tracks.pairs, left, granted=options.reference_covariance)
    judged = None if claim is None else tracks.judged(claim, orientation, risk)
    motion = None if judged is None else judged.relative_motion
    doubts = doubts_beside(estimate, reference, tracks.matched)
    position = judge_space(summarise_position(scored, options, motion), judged, doubts)
    rotation, pose = (
        None if each is None else judge_space(each, judged, doubts)
        for each in (orientation.rotation, orientation.pose)
    )
    return Evaluation(
        estimate,
        reference,
        options=options,
        pairs=tracks.pairs,
        clock=tracks.clock,
        gap_risk=risk,
        alignment=tracks.alignment,
        position=position,
        rotation=rotation,
        pose=pose,
        relative=relative_errors(position, options),
        claim=claim,
        relative_motion=motion,
        judged=judged,
        doubts=doubts,
        notes=(*notes, *tracks.notes, *orientation.notes),
    )


MANY_SCANS = 300_000  # from here on a second thread saves more time than it costs


def beside(work: Callable[[], Found], *, scans: int) -> Callable[[], Found]:
    """What asks for the result of some work; of many scans, a thread begins with it at once."""
    if scans < MANY_SCANS:
        return work
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  rarely needed

    pool = ThreadPoolExecutor(1)
    result = pool.submit(work).result
    pool.shutdown(wait=False)
    return result


@dataclass(frozen=True)
class AlignedTracks:
    """The matched scans of both tracks in one frame, and how they came there."""

    estimate: AnyTrack
    reference: Track
    options: Options  # with a number for the clock offset
    clock: "ClockOffset | None"
    pairs: Pairs
    kind: AlignmentKind
    alignment: Alignment
    joint: tuple[Joint, str]  # that the estimate claims in its own world, and why
    matched: MatchedTracks  # before the alignment
    motion: BodyMotion  # of the estimate's body, from all its scans
    left: Ints  # scans that the fit leaves to score
    notes: tuple[str, ...]

    def claim(self) -> AlignedClaim | None:
        """What is claimed about the residuals, with the memory that they show."""
        found = align_claim(self.estimate, self.joint, self.alignment, self.kind)
        return with_memory(found, self.estimate.position - self.reference.position)

    def judged(
        self, claim: AlignedClaim, orientation: Orientation, risk: GapRisk | None
    ) -> JudgedTracks:
        """What a verdict looks at."""
        return JudgedTracks(
            claim,
            self.reference,
            self.motion.scaled(self.alignment.scale),
            self.left,
            "se3" if self.kind == "first-pose" else self.kind,
            self.options,
            risk,
            None if orientation.pose is None else orientation.pose.space,
        )


def align_tracks(
    estimate: AnyTrack, reference: Track, options: Options, pairs: Pairs | None = None
) -> AlignedTracks:
    """Bring both tracks to one body, one clock and one world."""
    estimate, body_notes = to_common_body(estimate, reference, options.extrinsic)
    kind, gauge_notes = choose_alignment(estimate, options.alignment)

    options, clock = resolve_clock(estimate, reference, kind, options, pairs)
    pairs, reference, pair_notes = pair_scans(estimate, reference, options, clock, pairs)
    joint = claimed_joint(estimate, options.joint, estimate[pairs.estimate])
    motion = body_motion(estimate.stamp, estimate.position, estimate.rotation)[pairs.estimate]
    estimate = estimate[pairs.estimate]

    alignment, left = fit_alignment(estimate, reference, kind, options.fit_on)
    reference, shared_notes = with_shared_error(reference, options.ref_shared, alignment)
    fit_notes = alignment_notes(len(left), len(estimate))
    return AlignedTracks(
        alignment(estimate),
        reference,
        options=options,
        clock=clock,
        pairs=pairs,
        kind=kind,
        alignment=alignment,
        joint=joint,
        matched=MatchedTracks(estimate, reference, alignment, pairs, options.extrinsic),
        motion=motion,
        left=left,
        notes=(*shared_notes, *pair_notes, *body_notes, *gauge_notes, *fit_notes),
    )


def score_left(tracks: AlignedTracks, claim: AlignedClaim | None) -> ScoredScans:
    """Score the scans that the fit leaves, under the claim that it leaves."""
    left = tracks.left
    covariance = None if claim is None or claim.covariance is None else claim.covariance[left]
    return score_scans(tracks.estimate[left], tracks.reference[left], tracks.options, covariance)


def resolve_clock(
    estimate: AnyTrack,
    reference: Track,
    kind: AlignmentKind,
    options: Options,
    pairs: Pairs | None,
) -> tuple[Options, "ClockOffset | None"]:
    """Options with a number for the clock offset, and how it was found where that was asked for."""
    if options.offset_s != "auto":
        return options, None
    from smfeval.associate.clock import resolve_offset  # noqa: PLC0415  only where asked for

    return resolve_offset(estimate, reference, kind, options, pairs)


def score_scans(
    estimate: AnyTrack, reference: Track, options: Options, claimed: Floats | None = None
) -> ScoredScans:
    """Score matched, aligned tracks; scans with a singular covariance are refused or left out.

    `claimed` is the covariance of the residuals where a fit changed it. (n, 3, 3).
    """
    residuals = options.space.residuals(estimate, reference, claimed)
    good = options.space.regular_scans(estimate, residuals, options.singular)
    kept = np.flatnonzero(good)
    if len(kept) < len(good):
        estimate, reference = estimate[kept], reference[kept]
        claimed = None if claimed is None else claimed[kept]
        residuals = options.space.residuals(estimate, reference, claimed)
    settings = replace(options.settings, seed=options.intervals.seed)
    series = scores(residuals, settings, {*options.chosen_rules, *REQUIRED_RULES})
    return ScoredScans(kept, estimate, reference, residuals, series, singular=len(good) - len(kept))


def summarise_position(
    scored: ScoredScans, options: Options, motion: RelativeMotion | None = None
) -> SpaceScores:
    """The position of a track in numbers, with those of its relative motion."""
    sample = Sample(
        scored.series,
        scored.residuals,
        options.settings,
        options.intervals,
        space=options.space,
        estimate=scored.estimate,
        rotation_deg=rotation_deg(scored),
        relative=None if motion is None else motion.sample,
    )
    return SpaceScores(**vars(scored), space=options.space, numbers=Numbers(sample))
