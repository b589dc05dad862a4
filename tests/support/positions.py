"""The verdict of `evaluate` on positions alone: neither other spaces nor doubts are looked at.

Three times as fast, for tests of many runs; `tests/evaluation/test_relative_motion.py` holds the
two against each other.
"""

from smfeval.evaluation import (
    AlignedTracks,
    Options,
    align_tracks,
    score_left,
    summarise_position,
)
from smfeval.evaluation.claim import AlignedClaim, align_claim, judge_motion
from smfeval.evaluation.metrics import gap_risk_of, judge_gaps, judge_track
from smfeval.summarise.relative import RelativeMotion
from smfeval.summarise.verdict import Verdict


def moved(estimate, reference, options) -> tuple[AlignedTracks, AlignedClaim, RelativeMotion]:
    """The tracks in one world, the claim that is left there, and relative motion under it."""
    tracks = align_tracks(estimate, reference, options)
    claim = align_claim(tracks.estimate, tracks.joint, tracks.alignment, tracks.kind)
    motion = judge_motion(claim, tracks.reference, options.space, horizon=options.scored_horizon)
    return tracks, claim, motion


def judge_position(estimate, reference, options: Options) -> Verdict:
    """The verdict, before doubts."""
    tracks, claim, motion = moved(estimate, reference, options)
    position = summarise_position(score_left(tracks, claim), tracks.options, motion)
    granted = tracks.options.reference_covariance
    risk = gap_risk_of(position, tracks.pairs, tracks.left, granted=granted)
    return judge_gaps(judge_track(position, tracks.fit, motion), risk)
