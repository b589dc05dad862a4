"""The verdict of `evaluate` on positions alone: neither other spaces nor doubts are looked at.

Faster, for tests of many runs; the body that windows are seen from is not refined by rotations.
"""

from smfeval.evaluation import AlignedTracks, Options, align_tracks
from smfeval.evaluation.claim import AlignedClaim, align_claim
from smfeval.evaluation.judging import JudgedTracks, gap_risk_of, judge_space
from smfeval.evaluation.motion import RelativeMotion
from smfeval.evaluation.result import SpaceScores
from smfeval.evaluation.scoring import score_position, summarise
from smfeval.judge.decide import Verdict


def judged(estimate, reference, options) -> tuple[AlignedTracks, JudgedTracks]:
    """The tracks in one world, and what a verdict looks at."""
    tracks = align_tracks(estimate, reference, options)
    claim = align_claim(tracks.estimate, tracks.joint, tracks.alignment, tracks.kind)
    scored = position_scores(tracks, claim)
    granted = tracks.options.reference_covariance
    risk = gap_risk_of(scored, tracks.pairs, tracks.left, granted=granted)
    return tracks, tracks.judged(claim, None, risk)


def position_scores(tracks: AlignedTracks, claim: AlignedClaim | None) -> SpaceScores:
    """Scores of the position on the scans that the fit leaves."""
    return score_position(tracks.estimate, tracks.reference, claim, tracks.left, tracks.options)


def moved(estimate, reference, options) -> tuple[AlignedTracks, AlignedClaim, RelativeMotion]:
    """The tracks in one world, the claim that is left there, and relative motion under it."""
    tracks, found = judged(estimate, reference, options)
    return tracks, found.claim, found.relative_motion


def judge_position(estimate, reference, options: Options) -> Verdict:
    """The verdict, before doubts."""
    tracks, found = judged(estimate, reference, options)
    scored = position_scores(tracks, found.claim)
    position = summarise(scored, tracks.options, found.relative_motion)
    return judge_space(position, found, ()).verdict
