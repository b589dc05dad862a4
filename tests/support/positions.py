"""The verdict of `evaluate` on positions alone: neither other spaces nor doubts are looked at.

Faster, for tests of many runs; the body that windows are seen from is not refined by rotations.
"""

from smfeval.evaluation import AlignedTracks, Options, align_tracks, score_left, summarise_position
from smfeval.evaluation.claim import AlignedClaim, align_claim
from smfeval.evaluation.judging import JudgedTracks, judge_space
from smfeval.evaluation.metrics import gap_risk_of
from smfeval.evaluation.motion import RelativeMotion
from smfeval.evaluation.orientation import Orientation
from smfeval.judge.decide import Verdict


def judged(estimate, reference, options) -> tuple[AlignedTracks, JudgedTracks]:
    """The tracks in one world, and what a verdict looks at."""
    tracks = align_tracks(estimate, reference, options)
    claim = align_claim(tracks.estimate, tracks.joint, tracks.alignment, tracks.kind)
    scored = score_left(tracks, claim)
    granted = tracks.options.reference_covariance
    risk = gap_risk_of(scored, tracks.pairs, tracks.left, granted=granted)
    return tracks, tracks.judged(claim, Orientation(), risk)


def moved(estimate, reference, options) -> tuple[AlignedTracks, AlignedClaim, RelativeMotion]:
    """The tracks in one world, the claim that is left there, and relative motion under it."""
    tracks, found = judged(estimate, reference, options)
    return tracks, found.claim, found.relative_motion


def judge_position(estimate, reference, options: Options) -> Verdict:
    """The verdict, before doubts."""
    tracks, found = judged(estimate, reference, options)
    scored = score_left(tracks, found.claim)
    position = summarise_position(scored, tracks.options, found.relative_motion)
    return judge_space(position, found, ()).verdict
