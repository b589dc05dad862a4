"""Poses moved by their own motion over the gap between two stamps, and what that leaves open.

A pose dt seconds away from the stamp that it should have is moved along its own track: position
and rotation follow two parabolas, through the pose before and the two around the stamp and through
these two and the pose after, blended in the time between (the cubic of Catmull and Rom for any
steps). Where stamps meet, nothing moves.

What it leaves open. The parabolas disagree by d = (c_after - c_before) t (t - h), the part of the
motion that is beyond an acceleration, and noise of the velocity. Their blend is off by at most d/3
under a constant jerk; d on every axis is granted as a standard deviation. At the ends of a track
there is one parabola, and d is its distance from the chord. The covariance that the poses report is
interpolated between the two around the stamp: errors that neighbours share are not averaged away.
It explains a part of d already: only what is beyond its 95 % quantile is granted then.

A step of more than GAP usual ones ends a track: the pose behind it tells nothing of the motion
before. A pose cannot be moved on a track of fewer than three poses, nor farther beyond an end of
the track than its last step.
"""

from dataclasses import replace

import numpy as np

from smfeval.associate.nearest import Pairs
from smfeval.dataclass import dataclass
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import GaussianTrack, Track

FEWEST_POSES = 3  # a velocity, and how it changes
GAP = 10.0  # median steps
EXPLAINED = 2.6  # 95 % quantile of chi2_3 over its mean: what noise alone makes of d^2


@dataclass(frozen=True)
class MovedPoses:
    """Poses of a track, each moved in time.

    Attributes
    ----------
    track
        The moved poses, with covariance where something was left open or reported.
    distance_m
        How far each was moved. (n,).
    open_m
        Standard deviation on each axis of what the move leaves open: what was granted, and what
        of the reported covariance is averaged away if errors of neighbours are independent. NaN
        where a pose could not be moved and stands where it was. (n,).
    """

    track: Track
    distance_m: Floats
    open_m: Floats


@dataclass(frozen=True)
class Stencil:
    """Poses around stamps: `left` and the next one, at `time_s` since `left` of `step_s`."""

    left: Ints
    time_s: Floats
    step_s: Floats
    before_s: Floats  # from the pose before `left`; NaN where there is none
    after_s: Floats  # from the pose after the next to the one behind it; NaN where there is none

    @property
    def share(self) -> Floats:
        """Part of the step that has passed, between 0 and 1. (n,)."""
        return np.clip(self.time_s / self.step_s, 0.0, 1.0)

    @property
    def beyond(self) -> Floats:
        """Steps beyond the end of the track; 0 between poses. (n,)."""
        part = self.time_s / self.step_s
        return np.maximum(np.maximum(-part, part - 1), 0.0)

    def __getitem__(self, chosen: Bools) -> "Stencil":
        return Stencil(*(array[chosen] for array in vars(self).values()))


def move(track: Track, index: Ints, by_s: Floats) -> MovedPoses:
    """Pose `index[i]` of a track where its own motion takes it `by_s[i]` seconds later."""
    matched, still = track[index], np.zeros(len(index))
    away = by_s != 0
    if not away.any():
        return MovedPoses(matched, still, still)
    open_m = np.where(away, np.nan, 0.0)
    if len(track) < FEWEST_POSES:
        return MovedPoses(matched, still, open_m)
    stencil = _stencil(track.stamp, index[away], by_s[away])
    can = stencil.beyond <= 1
    at, stencil = np.flatnonzero(away)[can], stencil[can]

    position, rotation, apart = _interpolate(track, stencil)
    granted = apart**2
    averaged = np.zeros(len(at))  # of an axis, if errors of neighbours are independent
    covariance, between = np.zeros((len(index), 6, 6)), np.zeros((len(at), 6, 6))
    if isinstance(track, GaussianTrack):
        covariance = track.covariance[index]
        early, late = track.covariance[stencil.left], track.covariance[stencil.left + 1]
        granted = np.maximum(granted - EXPLAINED * _explained(stencil, early, late), 0.0)
        share, both = stencil.share, stencil.share[:, None, None]
        averaged = 2 * share * (1 - share) * (np.einsum("nii->n", early[:, :3, :3]) / 3)
        stretch = (1 + 2 * stencil.beyond[:, None, None]) ** 2  # both ends opposed at worst
        between = stretch * ((1 - both) * early + both * late)

    covariance[at] = between + np.repeat(granted, 3, axis=1)[:, :, None] * np.eye(6)
    open_m[at] = np.sqrt(granted[:, 0] + averaged)
    still[at] = np.linalg.norm(position - matched.position[at], axis=1)
    rows = {
        "stamp": matched.stamp + np.round(by_s * NANOSECONDS).astype(np.int64),
        "position": matched.position.copy(),
        "rotation": matched.rotation.copy(),
    }
    rows["position"][at], rows["rotation"][at] = position, rotation
    return MovedPoses(with_covariance(matched.with_arrays(rows), covariance), still, open_m)


def move_reference(reference: Track, pairs: Pairs) -> tuple[Track, Pairs]:
    """The reference at the stamps of the scans that it meets, and how far it was moved for that."""
    found = move(reference, pairs.reference, -pairs.gap_s)
    return found.track, replace(pairs, moved_m=found.distance_m, open_m=found.open_m)


def _stencil(stamp: Ints, index: Ints, by_s: Floats) -> Stencil:
    """Between neighbours on the same side of every gap; NaN where there are too few."""
    step = np.diff(stamp) / NANOSECONDS
    ends = np.flatnonzero(step > GAP * np.median(step))
    part = np.searchsorted(ends, index)
    first = np.concatenate([[0], ends + 1])[part]
    last = np.append(ends, len(stamp) - 1)[part]
    left = np.clip(index - (by_s < 0), first, np.maximum(last - 1, first))
    left = np.minimum(left, len(step) - 1)
    time = (stamp[index] - stamp[left]) / NANOSECONDS + by_s
    time[last - first + 1 < FEWEST_POSES] = np.nan
    before = np.where(left > first, step[left - 1], np.nan)
    after = np.where(left + 1 < last, step[np.minimum(left + 1, len(step) - 1)], np.nan)
    return Stencil(left, time, step[left], before, after)


def _interpolate(track: Track, stencil: Stencil) -> tuple[Floats, Floats, Floats]:
    """Position, rotation, and how far the parabolas disagree about each. (n, 3), (n, 4), (n, 2)."""
    left, position, rotation = stencil.left, track.position, track.rotation
    # the poses before `left`, after it, and behind that one; any where there is none
    around = np.maximum(left - 1, 0), left + 1, np.minimum(left + 2, len(track) - 1)
    way, apart_m = _blend(stencil, *(position[scan] - position[left] for scan in around))
    if not track.about.oriented:
        apart = np.stack([apart_m, np.zeros(len(left))], axis=1)
        return position[left] + way, rotation[left], apart
    back = so3.inverse(rotation[left])  # rotations in the body axes of the pose before
    turns = (so3.log(so3.compose(back, rotation[scan])) for scan in around)
    turn, apart_rad = _blend(stencil, *turns)
    turned = so3.compose(rotation[left], so3.exp(turn))
    return position[left] + way, turned, np.stack([apart_m, apart_rad], axis=1)


def _blend(stencil: Stencil, before: Floats, right: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Way since `left`, and how far the parabolas disagree. (n, d) each -> (n, d), (n,).

    With s the slope of the chord, p(t) = s t + c t (t - h), c by the pose before or after.
    """
    h, t, share = (x[:, None] for x in (stencil.step_s, stencil.time_s, stencil.share))
    past, coming = stencil.before_s[:, None], stencil.after_s[:, None]
    slope = right / h
    by_before = (slope + before / past) / (h + past)
    by_after = ((after - right) / coming - slope) / (h + coming)
    bend = (1 - share) * by_before + share * by_after
    bend = np.where(np.isnan(past), by_after, np.where(np.isnan(coming), by_before, bend))
    apart = by_after - by_before
    apart = np.where(np.isnan(apart), bend, apart)
    arc = t * (t - h)
    return slope * t + bend * arc, np.linalg.norm(apart * arc, axis=1)


def _explained(stencil: Stencil, early: Floats, late: Floats) -> Floats:
    """Mean d^2 of position and rotation by the reported covariance, independent errors. (n, 2)."""
    h, b, a = stencil.step_s, stencil.before_s, stencil.after_s
    by_before = np.stack([1 / (b * (h + b)), -1 / (h * b), 1 / (h * (h + b)), 0 * h])
    by_after = np.stack([0 * h, 1 / (h * (h + a)), -1 / (h * a), 1 / (a * (h + a))])
    weight = by_after - by_before
    weight = np.where(np.isnan(b), by_after, np.where(np.isnan(a), by_before, weight))
    square = (weight**2).sum(axis=0) * (stencil.time_s * (stencil.time_s - h)) ** 2
    variance = np.einsum("nii->ni", early) + np.einsum("nii->ni", late)
    both = np.stack([variance[:, :3].sum(axis=1), variance[:, 3:].sum(axis=1)], axis=1)
    return 0.5 * square[:, None] * both


def with_covariance(track: Track, covariance: Floats) -> GaussianTrack:
    """The poses of a track with this covariance. (n, 6, 6)."""
    if isinstance(track, GaussianTrack):
        return track.with_arrays({"covariance": covariance}, cross=track.cross)
    poses = track.stamp, track.position, track.rotation
    return GaussianTrack(*poses, covariance, about=track.about, provenance=track.provenance)
