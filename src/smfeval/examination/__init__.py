"""EXAMINE a track: what is in it, does it look right, and can it be scored?"""

from dataclasses import dataclass

from smfeval.examination.doubts import Doubt, doubts
from smfeval.examination.health import Health, health
from smfeval.examination.motion import Motion, motion
from smfeval.examination.scorable import Scorable, scorable
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack

__all__ = ["Doubt", "Examination", "Health", "Motion", "Scorable", "examine"]


@dataclass(frozen=True)
class Examination:
    """Everything `check` tells of a track."""

    track: AnyTrack
    motion: Motion
    health: Health | None
    doubts: tuple[Doubt, ...]
    scorable: Scorable


def examine(track: AnyTrack) -> Examination:
    """Look at motion, covariance and plausibility of a track."""
    belief = track.moments if isinstance(track, ParticleTrack) else track
    moved = motion(belief)
    condition = health(belief) if isinstance(belief, GaussianTrack) else None
    found = doubts(belief, moved, condition)
    return Examination(track, moved, condition, found, scorable(belief))
