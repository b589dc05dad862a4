"""Stretches of two long tracks: enough to tell their clock offset, at a bounded cost."""

from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import AnyTrack, Track

STRETCHES = 20  # evenly spaced
MOST_SCANS = 10_000  # of the estimate; more would not narrow the offset by anything that matters
MOST_POSES = 100_000  # of the reference
BESIDE_S = 1.0  # of the reference, for velocities at the ends of a stretch


def excerpts(estimate: AnyTrack, reference: Track, *, reach_s: float) -> tuple[AnyTrack, Track]:
    """Both tracks on the same stretches, those of the reference longer by what a shift may need.

    Tracks that are short enough, or too short for such stretches, stay as they are.
    """
    share = min(1.0, MOST_SCANS / len(estimate), MOST_POSES / len(reference))
    period = estimate.duration_s / STRETCHES
    beside = reach_s + BESIDE_S
    if share * period + 2 * beside >= period:
        return estimate, reference
    origin = estimate.stamp[0]
    ours = ((estimate.stamp - origin) / NANOSECONDS) % period <= share * period
    place = ((reference.stamp - origin) / NANOSECONDS + beside) % period
    theirs = place <= share * period + 2 * beside
    if not theirs.any():
        return estimate, reference
    return estimate[ours], reference[theirs]
