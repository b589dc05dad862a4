"""The whole way: pair in time, bring to one frame, score, summarise, judge."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from smfeval.align.body import to_common_body
from smfeval.align.fit import Alignment, alignment_notes, choose_alignment, fit_alignment
from smfeval.align.joint import Joint
from smfeval.align.nuisance import MOST_SCANS, BodyMotion, body_motion
from smfeval.associate import (
    GapRisk,
    Pairs,
    check_reference,
    nearest_pairs,
    pair_scans,
    with_shared_error,
)
from smfeval.associate.origin import share_origin
from smfeval.dataclass import dataclass
from smfeval.evaluation.claim import AlignedClaim, align_claim, claimed_joint, with_memory
from smfeval.evaluation.judging import NO_RISK, JudgedTracks, gap_risk_of, judge_space
from smfeval.evaluation.result import Evaluation, ScoredScans, SpaceScores
from smfeval.evaluation.scoring import (
    REQUIRED_RULES,
    choose_axes,
    score_orientation,
    score_position,
    summarise,
)
from smfeval.judge.decide import Verdict
from smfeval.maths.arrays import Choice, Ints, count_gaps, spaced_indices
from smfeval.options import Options
from smfeval.schema import ALIGNMENTS, AlignmentKind
from smfeval.summarise.relative import relative_errors
from smfeval.summarise.windows import scans_of_windows
from smfeval.track import AnyTrack, GaussianTrack, Track
from smfeval.why.two_tracks import MatchedTracks, doubts_beside

if TYPE_CHECKING:
    from smfeval.associate.clock import TimeOffset

__all__ = [
    "ALIGNMENTS",
    "REQUIRED_RULES",
    "Evaluation",
    "Options",
    "ScoredScans",
    "choose_axes",
    "evaluate",
    "nearest_pairs",
]

NO_LEVEL = "no protection level: the estimate reports no uncertainty of what has an alert limit"

First = TypeVar("First")
Second = TypeVar("Second")


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
    reference, estimate = share_origin(reference, estimate)
    reference = check_reference(estimate, reference)
    tracks = align_tracks(estimate, reference, options or Options(), pairs)
    options, left = tracks.options, tracks.left
    some = spaced_indices(len(left), options.oriented_scans or len(left))
    claim = tracks.claim(left[some])

    scored = (tracks.estimate, tracks.reference, claim, left, options)
    position, (rotation, pose, unscored) = side_by_side(
        partial(score_position, *scored),
        partial(score_orientation, *scored, some=some),
        scans=len(left),
    )
    risk = gap_risk_of(position, tracks.pairs, left, granted=options.reference_covariance)
    judged = None if claim is None else tracks.judged(claim, pose, risk)
    motion = None if judged is None else judged.relative_motion

    doubts = doubts_beside(estimate, reference, tracks.matched)

    def conclude(scored: SpaceScores) -> SpaceScores:
        return judge_space(summarise(scored, options, motion, rotation), judged, doubts)

    position = conclude(position)
    if options.alert_limit is not None and position.integrity is None:
        unscored = (*unscored, NO_LEVEL)
    return Evaluation(
        estimate,
        reference,
        options=options,
        pairs=tracks.pairs,
        clock=tracks.clock,
        gap_risk=risk,
        alignment=tracks.alignment,
        position=position,
        rotation=None if rotation is None else conclude(rotation),
        pose=None if pose is None else conclude(pose),
        relative=relative_errors(
            position.estimate,
            position.reference,
            options.horizons,
            options.intervals,
            kitti=options.kitti,
        ),
        claim=claim,
        relative_motion=motion,
        judged=judged,
        doubts=doubts,
        notes=(*notes, *tracks.notes, *unscored),
    )


def judge_again(
    found: Evaluation, reference: Track, options: Options, pairs: Pairs | None
) -> tuple[JudgedTracks, Verdict]:
    """The verdict on the position under other options, and what it looked at.

    Without rotation, pose and doubts about the files, which change nothing of it; and on the scans
    that verdicts look at alone, unless those that are left to score, or regular, must be chosen
    among all.
    """
    estimate, by_motion = found.estimate, found.verdict.by == "relative motion"
    chosen = options.fit_on is not None or options.alignment == "first-pose"
    whole = chosen or not isinstance(estimate, GaussianTrack) or estimate.cross is not None
    whole |= found.position.singular > 0 or (by_motion and bool(count_gaps(estimate.stamp)[-1]))
    some = scans_of_windows if by_motion else partial(spaced_indices, most=MOST_SCANS)
    tracks = align_tracks(estimate, reference, options, pairs, choose=None if whole else some)
    options, left, claim = tracks.options, tracks.left, tracks.claim()
    assert claim is not None
    position = score_position(tracks.estimate, tracks.reference, claim, left, options)
    judged = tracks.judged(claim, found.pose, NO_RISK if pairs is None else found.gap_risk)
    position = judge_space(summarise(position, options, judged.relative_motion), judged, ())
    assert position.verdict is not None
    return judged, position.verdict


MANY_SCANS = 300_000  # from here on a second thread saves more time than it costs


def side_by_side(
    one: Callable[[], First], other: Callable[[], Second], *, scans: int
) -> tuple[First, Second]:
    """Results of two steps that need nothing of each other; of many scans, on two threads."""
    if scans < MANY_SCANS:
        return one(), other()
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  rarely needed

    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(other)
        return one(), second.result()


@dataclass(frozen=True)
class AlignedTracks:
    """The matched scans of both tracks in one frame, and how they came there."""

    estimate: AnyTrack
    reference: Track
    options: Options  # with a number for the clock offset
    clock: "TimeOffset | None"
    pairs: Pairs
    kind: AlignmentKind
    alignment: Alignment
    joint: tuple[Joint, str]  # that the estimate claims in its own world, and why
    matched: MatchedTracks  # before the alignment
    motion: BodyMotion  # of the estimate's body, from all its scans
    left: Ints  # scans that the fit leaves to score
    notes: tuple[str, ...]

    def claim(self, oriented: Ints | None = None) -> AlignedClaim | None:
        """What is claimed about the residuals, with the memory that they show.

        `oriented` are the scans whose rotations are scored, if there are any.
        """
        turns = self.estimate.about.oriented and self.reference.about.oriented
        scans = oriented if turns else None
        found = align_claim(self.estimate, self.joint, self.alignment, self.kind, scans=scans)
        return with_memory(found, self.estimate.position - self.reference.position)

    def judged(
        self, claim: AlignedClaim, pose: SpaceScores | None, risk: GapRisk | None
    ) -> JudgedTracks:
        """What a verdict looks at."""
        return JudgedTracks(
            claim,
            self.reference,
            replace(self.motion, scale=self.alignment.scale),
            self.left,
            "se3" if self.kind == "first-pose" else self.kind,
            self.options,
            risk,
            None if pose is None else pose.space,
        )


def align_tracks(
    estimate: AnyTrack,
    reference: Track,
    options: Options,
    pairs: Pairs | None = None,
    *,
    choose: Choice | None = None,
) -> AlignedTracks:
    """Bring both tracks to one body, clock and world; of the matched scans, those chosen."""
    estimate = to_common_body(estimate, reference, options.extrinsic)
    kind = choose_alignment(estimate, options.alignment)

    options, clock = resolve_clock(estimate, reference, kind, options, pairs)
    pairs, reference, pair_notes = pair_scans(
        estimate, reference, options, clock, pairs, choose=choose
    )
    options = replace(options, tolerance_s=pairs.tolerance_s)
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
        notes=(*shared_notes, *pair_notes, *fit_notes),
    )


def resolve_clock(
    estimate: AnyTrack,
    reference: Track,
    kind: AlignmentKind,
    options: Options,
    pairs: Pairs | None,
) -> tuple[Options, "TimeOffset | None"]:
    """Options with a number for the clock offset, and how it was found where that was asked for."""
    if options.offset_s != "auto":
        return options, None
    from smfeval.associate.clock import resolve_offset  # noqa: PLC0415  only where asked for

    return resolve_offset(estimate, reference, kind, options, pairs)
