"""DOUBT: is a file what it claims to be? Things that parse and yet look wrong.

::

    health      the covariances and the motion of a track, described
    one_track   suspicions about a track alone
    two_tracks  suspicions about an estimate and its reference together
"""

from dataclasses import replace

from smfeval.maths.arrays import spaced_indices
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack
from smfeval.why.health import health, motion
from smfeval.why.one_track import Doubt, ExaminedTrack, doubts
from smfeval.why.two_tracks import COHERENT, ROLES, MatchedTracks, doubts_between

__all__ = ["Doubt", "MatchedTracks", "doubts_beside", "explanation", "loss"]

HEALTH_SCANS = 2000  # evenly spaced, that stand for a track where its covariances are described


def doubts_beside(
    estimate: AnyTrack, reference: AnyTrack, matched: MatchedTracks
) -> tuple[Doubt, ...]:
    """Doubts about both tracks as they were read, and about the two together.

    What the two show together refutes a doubt about one: motion that agrees, that about the order
    of the quaternion; errors no smaller than claimed, that about standard deviations.
    """
    refuted = set()
    if matched.shows_motion and matched.coherence > COHERENT:
        refuted.add("scalar-first")
    if not matched.claims_much_more_than_it_errs:
        refuted.add("deviation-for-variance")
    found = doubts_between(matched)
    names = [name.removeprefix("the ") for name in matched.names]
    mutual = matched.names != ROLES  # two beliefs: a doubt about either may explain a verdict
    for who, track, may_explain in ((names[1], reference, mutual), (names[0], estimate, True)):
        own = (each for each in _own(track) if each.name not in refuted)
        named = (
            replace(
                each, sentence=f"{who}: {each.sentence}", explains=each.explains and may_explain
            )
            for each in own
        )
        found = (*named, *found)
    return found


def explanation(doubts: tuple[Doubt, ...]) -> str | None:
    """The first doubt that may explain a verdict by itself, in words."""
    return next((doubt.sentence for doubt in doubts if doubt.explains), None)


def loss(doubts: tuple[Doubt, ...]) -> str | None:
    """That the estimate is lost, in words; None where it is not."""
    return next((doubt.sentence for doubt in doubts if doubt.name == "lost"), None)


def _own(track: AnyTrack) -> tuple[Doubt, ...]:
    """Doubts about one track; its covariances are described by some of its scans."""
    belief = track.moments if isinstance(track, ParticleTrack) else track
    condition = None
    if isinstance(belief, GaussianTrack):
        condition = health(belief[spaced_indices(len(belief), HEALTH_SCANS)])
    return doubts(ExaminedTrack(belief, motion(belief), condition))
