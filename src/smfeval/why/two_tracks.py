"""Doubts about two tracks together: they parse, they pair, and yet they do not fit each other.

What both tracks say about the motion of the body between two scans, its displacement and its turn
in body axes, does not depend on the world that they speak of. Two rigidly connected bodies differ
by one rotation X: displacement and turn of the estimate's body are X times those of the
reference's. How well one rotation explains them all is their coherence, 1 at best; a track that
was written otherwise (quaternion order, an exchanged axis, an inverse) has much less of it as read
than as it was meant.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from math import radians, sqrt
from typing import Any

import numpy as np

from smfeval import words
from smfeval.align.fit import Alignment, fit_sim3
from smfeval.associate import Pairs
from smfeval.associate.origin import origin_of
from smfeval.dataclass import dataclass
from smfeval.errors import PairingError
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints, gap_mask, median_of
from smfeval.maths.se3 import Pose
from smfeval.maths.symmetric import chunks
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track
from smfeval.why.causes import UNREAD, Why
from smfeval.why.one_track import doubts_about, sigmas, step_lengths

WINDOWS = 200  # of relative motion; more tell little more about one rotation
FEWEST_WINDOWS = 24
LONG_WINDOWS = 32  # tell a lever arm: in short ones a clock that is late looks like one
CLOSER = 0.5  # an inverse or a lever arm that leaves less than this part of a rotation or error
LEAST_LEVER_M = 0.03  # real filters that are honest about their body show 1 cm, seldom 2
ALTERNATIONS = 20
SETTLED_M = 1e-7  # between two of them
BLOCKS = 8  # stretches of the track whose rotations X are compared
MOVING_M = 0.5  # a path shorter than this says nothing about the motion
GIANT = 5.0  # medians: a longer motion of one window counts as one so long
COHERENT = 0.9  # two bodies that move together; real filters that are not lost have 0.96 and more
MUCH_BETTER = 0.25  # part of the incoherence that is left if a track was written otherwise
LEAST_ROTATION_RAD = radians(1.0)  # a smaller one does little to a covariance
SCATTERS = 5.0  # a constant rotation is this many times its scatter over the track; drift is not
NO_UNIT = 1.5  # odometry may well be wrong by some percent; units are wrong by factors
SAME_SCALE = 0.1  # the whole track and its steps tell the same factor
OVERTURNED_DEG = 150.0
SIDEWAYS = 3.0  # spread of a track to the side over its errors, below which its roll is open
UNSEEN_AXIS = 0.05  # singular values below this part of the largest: the body hardly turns so
LOST_M = 1.0  # smaller errors are no loss, however small the track
LOST = 0.5  # RMSE over the spread of the reference's positions: the fit explains 75 % of them
SEVERAL = 3.0  # sigma over error: k below 1/9, as if deviations stood where variances belong
UNMATCHED = 1 / 3
MOSTLY = 0.5  # of the unmatched scans: beyond the ends of the reference, where no option helps
UNITS = {1e-3: "millimetres", 1e-2: "centimetres", 0.3048: "feet"}
HEALTH_SCANS = 2000  # evenly spaced, that stand for a track where its covariances are described


@dataclass(frozen=True)
class WindowMotion:
    """Displacement and turn of a body over windows, in its own axes. (m, 3) each."""

    displacement: Floats
    turn: Floats

    def __getitem__(self, windows: Ints) -> "WindowMotion":
        return WindowMotion(self.displacement[windows], self.turn[windows])

    @cached_property
    def directions(self) -> Floats:
        """Both in units of their own root mean square, one after the other. (2 m, 3).

        None is longer than some medians: a single window tells nothing about a track.
        """
        parts = []
        for vectors in (self.displacement, self.turn):
            length = np.linalg.norm(vectors, axis=1, keepdims=True)
            most = GIANT * float(median_of(length))
            shrink = np.minimum(1.0, most / np.where(length > 0, length, np.inf)) if most else 1.0
            part = vectors * shrink
            size = float(np.sqrt(np.mean(np.sum(part**2, axis=1))))
            parts.append(part / size if size else part)
        return np.concatenate(parts)

    def directedness(self) -> float:
        """Mean resultant length of the direction of motion: 1 if it never changes."""
        length = np.linalg.norm(self.displacement, axis=1, keepdims=True)
        unit = self.displacement / np.where(length > 0, length, 1.0)
        return float(np.linalg.norm(unit.mean(axis=0)))


def window_motion(poses: Pose) -> WindowMotion:
    """Motion between each pose and the next. (m + 1, 3), (m + 1, 4)."""
    position, rotation = poses
    moved = so3.rotate_back(rotation[:-1], np.diff(position, axis=0))
    turned = so3.log(so3.compose(so3.inverse(rotation[:-1]), rotation[1:]))
    return WindowMotion(moved, turned)


def rotation_between(first: WindowMotion, second: WindowMotion) -> Floats:
    """The rotation X that brings the second motion closest to the first (Kabsch). (3, 3)."""
    left, _, right = np.linalg.svd(first.directions.T @ second.directions)
    sign = np.sign(np.linalg.det(left @ right)) or 1.0
    return (left * np.array([1.0, 1.0, sign])) @ right


def coherence(first: WindowMotion, second: WindowMotion) -> float:
    """How well one rotation explains displacement and turn: the cosine of what it leaves."""
    ours, theirs = first.directions, second.directions @ rotation_between(first, second).T
    norm = np.linalg.norm(ours) * np.linalg.norm(theirs)
    return float(np.sum(ours * theirs) / norm) if norm else 1.0


@dataclass(frozen=True)
class MatchedTracks:
    """The matched scans of both tracks about one body; what a suspicion may look at."""

    estimate: AnyTrack  # in its own world
    reference: Track
    alignment: Alignment
    pairs: Pairs
    extrinsic: Pose | None = None  # that was applied
    names: tuple[str, str] | None = None  # of two beliefs, where neither is the reference

    @property
    def subjects(self) -> tuple[str, str]:
        """The two in a sentence."""
        return self.names or ("the estimate", "the reference")

    @cached_property
    def path_m(self) -> float:
        """Length of the reference's path."""
        return float(step_lengths(self.reference.position).sum())

    @cached_property
    def poses(self) -> tuple[Pose, Pose]:
        """Of the estimate and of the reference, at the ends of the windows of relative motion."""
        return self.poses_at_ends(WINDOWS)

    def poses_at_ends(self, windows: int) -> tuple[Pose, Pose]:
        """Of both, at the ends of so many windows, or of some more."""
        at = slice(None, None, max(1, len(self.reference) // windows))
        return (
            (self.estimate.position[at], self.estimate.rotation[at]),
            (self.reference.position[at], self.reference.rotation[at]),
        )

    @cached_property
    def shows_motion(self) -> bool:
        """Whether both have an orientation and move enough to compare how the bodies move."""
        oriented = self.estimate.about.oriented and self.reference.about.oriented
        enough = len(self.across_no_gap(WINDOWS)) >= FEWEST_WINDOWS
        return oriented and enough and self.path_m > MOVING_M

    def across_no_gap(self, windows: int) -> Ints:
        """Which of so many windows bridge no gap between scans."""
        stamp = self.reference.stamp[:: max(1, len(self.reference) // windows)]
        return np.flatnonzero(~gap_mask(stamp))

    @cached_property
    def stretches(self) -> list[Ints]:
        """Windows between gaps, where there are enough of them to compare how bodies move."""
        inside = self.across_no_gap(WINDOWS)
        parts = np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1)
        return [part for part in parts if len(part) >= FEWEST_WINDOWS]

    @cached_property
    def motions(self) -> tuple[WindowMotion, WindowMotion]:
        """Of the estimate's and of the reference's body, as read."""
        ours, theirs = (window_motion(each)[self.across_no_gap(WINDOWS)] for each in self.poses)
        return ours, theirs

    @cached_property
    def long_motions(self) -> tuple[WindowMotion, WindowMotion]:
        """Over long windows; in the axes of the estimate's body where the other has none."""
        ours, theirs = self.poses_at_ends(LONG_WINDOWS)
        if not self.reference.about.oriented:
            aligned = so3.compose(so3.quaternion(self.alignment.rotation), ours[1])
            theirs = theirs[0] / self.alignment.scale, aligned
        inside = self.across_no_gap(LONG_WINDOWS)
        return window_motion(ours)[inside], window_motion(theirs)[inside]

    @cached_property
    def error_m(self) -> Floats:
        """Distance of each position, aligned, from that of the reference. (n,)."""
        error = np.empty(len(self.estimate))
        for part in chunks(len(error)):
            aligned = self.alignment.aligned_position(self.estimate.position[part])
            error[part] = np.linalg.norm(aligned - self.reference.position[part], axis=1)
        return error

    @cached_property
    def rmse_m(self) -> float:
        """Root mean square of the errors."""
        return float(np.sqrt(np.mean(self.error_m**2)))

    @cached_property
    def is_lost(self) -> bool:
        """Whether errors are as large as the track itself: no calibration to speak of."""
        return not self.rmse_m < max(LOST * _spread(self.reference.position), LOST_M)

    @cached_property
    def coherence(self) -> float:
        """Of the two motions as read."""
        return coherence(*self.motions)

    @cached_property
    def constant_rotation(self) -> Floats | None:
        """Between the bodies' axes, where it stands out from how it scatters. (3, 3)."""
        if not self.shows_motion or self.coherence < COHERENT:
            return None
        ours, theirs = self.motions
        between = rotation_between(ours, theirs)
        angle = float(so3.angle(so3.quaternion(between)))
        if angle < LEAST_ROTATION_RAD:
            return None
        stretches = np.array_split(np.arange(len(ours.turn)), BLOCKS)
        each = [rotation_between(ours[part], theirs[part]) for part in stretches]
        off = so3.angle(so3.quaternion(between.T @ np.array(each)))
        return between if angle >= SCATTERS * float(np.sqrt(np.mean(off**2))) else None


def doubts_beside(
    estimate: AnyTrack, reference: AnyTrack, matched: MatchedTracks
) -> tuple[Why, ...]:
    """Doubts about both tracks as they were read, and about the two together.

    What the two show together refutes a doubt about one: motion that agrees, that about the order
    of the quaternion; errors no smaller than claimed, that about standard deviations.
    """
    refuted = set()
    if matched.shows_motion and matched.coherence > COHERENT:
        refuted.add("scalar-first")
    belief = matched.estimate
    belief = belief.moments if isinstance(belief, ParticleTrack) else belief
    if isinstance(belief, GaussianTrack):
        claimed = sqrt(3) * sigmas(belief.triangle)
        if not median_of(claimed) > SEVERAL * median_of(matched.error_m):
            refuted.add("deviation-for-variance")

    found = []
    for at, track in enumerate((estimate, reference)):
        about = (matched.names or ("estimate", "reference"))[at]
        may_explain = at == 0 or matched.names is not None  # a reference is not what is judged
        found += [
            replace(doubt, about=about, explains=doubt.explains and may_explain)
            for doubt in doubts_about(track, scans=HEALTH_SCANS)
            if doubt.cause not in refuted and (at == 0 or doubt.cause != UNREAD[1])
        ]
    return (*found, *(doubt for each in RELATIONS if (doubt := each(matched)) is not None))


# What may have been meant: one of the tracks written otherwise


def _inverse(poses: Pose) -> Pose:
    """The poses of the world in the body."""
    position, rotation = poses
    return -so3.rotate_back(rotation, position), so3.inverse(rotation)


def _with_axes(*signs: int, order: tuple[int, int, int] = (0, 1, 2)) -> Callable[[Pose], Pose]:
    """Positions with their axes in another order, or mirrored."""
    return lambda poses: (poses[0][:, order] * np.array(signs), poses[1])


CORRECTIONS: dict[str, Callable[[Pose], Pose]] = {
    "scalar-first": lambda poses: (poses[0], poses[1][:, [1, 2, 3, 0]]),
    "inverse": _inverse,
    "mirrored-x": _with_axes(-1, 1, 1),
    "mirrored-y": _with_axes(1, -1, 1),
    "mirrored-z": _with_axes(1, 1, -1),
    "exchanged-axes": _with_axes(1, 1, 1, order=(1, 0, 2)),
}


def _written_otherwise(tracks: MatchedTracks) -> Why | None:
    """Bodies that do not move together as read, and would if one track were written otherwise.

    Where they move together as read between two gaps, the track is written right, and lost
    elsewhere.
    """
    if not tracks.shows_motion or tracks.coherence > COHERENT:
        return None
    # In one world the same mistake in the other track would agree as well; a body that then moves
    # in one direction of its own, as most do, tells which it was.
    inside, candidates = tracks.across_no_gap(WINDOWS), []
    for at, as_read in enumerate(tracks.motions):
        for name, correct in CORRECTIONS.items():
            motions = list(tracks.motions)
            motions[at] = window_motion(correct(tracks.poses[at]))[inside]
            better = motions[at].directedness() - as_read.directedness()
            candidates.append((round(coherence(*motions), 2), better, at, name))
    value, _, who, mistake = max(candidates)
    if value < max(COHERENT, 1 - MUCH_BETTER * (1 - tracks.coherence)):
        return None

    poses = list(tracks.poses)
    poses[who] = CORRECTIONS[mistake](poses[who])
    both = [[window_motion(each) for each in said] for said in (tracks.poses, poses)]
    for part in tracks.stretches:
        left, would_leave = (1 - coherence(one[part], other[part]) for one, other in both)
        if left < MUCH_BETTER * would_leave:
            return None
    if _stays_lost(poses[0][0], poses[1][0]):
        return None
    evidence = {"coherence": tracks.coherence, "who": tracks.subjects[who]}
    return Why(f"{('estimate', 'reference')[who]}-{mistake}", evidence, explains=True)


def _stays_lost(ours: Floats, theirs: Floats) -> bool:
    """Whether positions are lost, whatever similarity is between them. (n, 3) each."""
    try:
        return bool((fit_sim3(ours, theirs).residual_m or 0.0) > LOST * _spread(theirs))
    except PairingError:
        return True


def _spread(position: Floats) -> float:
    return float(np.sqrt(position.var(axis=0).sum()))


def _scale(tracks: MatchedTracks) -> Why | None:
    """One track in another unit of length, or without a scale."""
    if tracks.alignment.kind == "sim3":
        return None
    inside = tracks.across_no_gap(WINDOWS)
    (position, _), (reference, _) = tracks.poses
    ours, theirs = (
        np.linalg.norm(np.diff(each, axis=0), axis=1)[inside] for each in (position, reference)
    )
    if len(ours) < FEWEST_WINDOWS or not (median_of(ours) > 0 and median_of(theirs) > 0):
        return None
    by_steps = float(median_of(ours) / median_of(theirs))
    ratio = _spread(position) / _spread(reference)
    if 1 / NO_UNIT < ratio < NO_UNIT or abs(by_steps / ratio - 1) > SAME_SCALE:
        return None
    spreads = [(_spread(position[part]), _spread(reference[part])) for part in tracks.stretches]
    if any(m > MOVING_M and abs(n / (m * ratio) - 1) > SAME_SCALE for n, m in spreads):
        return None  # a unit is the same between all gaps
    if _stays_lost(position, reference):
        return None

    one, other = tracks.subjects
    who, factor = (other, ratio) if ratio < 1 else (one, 1 / ratio)
    unit = next((u for size, u in UNITS.items() if abs(factor / size - 1) < SAME_SCALE), None)
    evidence: dict[str, Any] = {"ratio": ratio, "ours": one, "theirs": other}
    known = {} if unit is None else {"who": who, "unit": unit}
    return Why("scale", evidence | known, explains=True)


def _upside_down(tracks: MatchedTracks) -> Why | None:
    """A fit that turns the world over: one axis of a track that lies in a plane is mirrored."""
    tilt_deg = float(np.degrees(np.arccos(np.clip(tracks.alignment.rotation[2, 2], -1.0, 1.0))))
    fitted = tracks.alignment.kind in ("se3", "sim3") and not tracks.alignment.free
    if not fitted or tilt_deg < OVERTURNED_DEG:
        return None
    across = float(np.linalg.eigvalsh(np.cov(tracks.reference.position.T))[1])
    is_straight = across < SIDEWAYS**2 * float(np.mean(tracks.error_m**2))  # its roll is open
    if is_straight or tracks.is_lost:
        return None
    evidence = {"ours": tracks.subjects[0], "tilt_deg": tilt_deg}
    return Why("upside-down", evidence, explains=True)


# Another body: its axes are turned, or it is another point


def _other_body(tracks: MatchedTracks) -> Why | None:
    """An extrinsic that is missing or wrong: bodies turned to each other, or a lever arm."""
    if tracks.constant_rotation is not None:
        rotation = so3.quaternion(tracks.constant_rotation)
        missing = body_between(*tracks.long_motions)[0], rotation
    elif (pose := lever_that_explains(tracks)) is not None:
        turned = so3.angle(pose[1]) >= LEAST_ROTATION_RAD
        missing = pose[0], pose[1] if turned else np.array([0.0, 0.0, 0.0, 1.0])
    else:
        return None
    lever_m, angle = float(np.linalg.norm(missing[0])), float(so3.angle(missing[1]))
    given = tracks.extrinsic
    if given is not None:
        missing = se3.compose(given, missing)
    position, rotation = missing
    numbers = (*position, *(rotation if rotation[3] >= 0 else -rotation))
    remedy = (("extrinsic", ",".join(words.fixed(float(x), 4) for x in numbers)),)
    if tracks.constant_rotation is None:
        return Why("lever-arm", {"lever_m": lever_m}, remedy)

    evidence: dict[str, Any] = {"angle_deg": float(np.degrees(angle)), "applied": given is not None}
    if given is not None:
        off, off_inverse = (
            float(so3.angle(so3.compose(so3.inverse(each), rotation)))
            for each in (given[1], so3.inverse(given[1]))
        )
        evidence["inverse_is_nearer"] = off_inverse < CLOSER * off
    return Why("extrinsic", evidence, remedy)


def lever_that_explains(tracks: MatchedTracks) -> Pose | None:
    """A pose whose lever arm leaves less than half of the difference in displacement; or None."""
    moves = len(tracks.reference) > FEWEST_WINDOWS and tracks.path_m > MOVING_M
    if not (tracks.estimate.about.oriented and moves):
        return None
    if tracks.coherence < COHERENT if tracks.shows_motion else tracks.is_lost:
        return None
    ours, theirs = tracks.long_motions
    lever, rotation = body_between(ours, theirs, turns=tracks.reference.about.oriented)
    turned = so3.matrix(so3.exp(ours.turn)) - np.eye(3)
    before = so3.rotate(rotation, theirs.displacement) - ours.displacement
    before_m, after_m = (
        float(np.sqrt(np.mean(np.sum(left**2, axis=1))))
        for left in (before, before - turned @ lever)
    )
    explains = np.linalg.norm(lever) > LEAST_LEVER_M and after_m < CLOSER * before_m
    return (lever, rotation) if explains else None


def body_between(ours: WindowMotion, theirs: WindowMotion, *, turns: bool = True) -> Pose:
    """Pose (l, X) of the reference's body in the estimate's: X v_ref = v + (dR - I) l.

    Alternating least squares; l is 0 along an axis about which the body hardly turns otherwise,
    where nothing shows it. X is known to be 1 where it is not one that `turns`.
    """
    turned = so3.matrix(so3.exp(ours.turn)) - np.eye(3)
    solution = np.linalg.pinv(turned.reshape(-1, 3), rcond=UNSEEN_AXIS)
    lever: Floats = np.zeros(3)
    between: Floats = np.eye(3)
    for _ in range(ALTERNATIONS if turns else 1):
        if turns:
            moved = replace(ours, displacement=ours.displacement + turned @ lever)
            between = rotation_between(moved, theirs)
        left = theirs.displacement @ between.T - ours.displacement
        last, lever = lever, solution @ left.reshape(-1)
        if np.abs(lever - last).max() < SETTLED_M:
            break
    return lever, so3.quaternion(between)


def _lost(tracks: MatchedTracks) -> Why | None:
    """Errors as large as the track itself."""
    if not tracks.is_lost:
        return None
    evidence = {
        "rmse_m": tracks.rmse_m,
        "path_m": tracks.path_m,
        "aligned": tracks.alignment.kind != "none",
        "against_reference": tracks.names is None,
    }
    return Why("lost", evidence)


def _unmatched(tracks: MatchedTracks) -> Why | None:
    """Many scans without a reference pose; none comes nearer to a continuous reference."""
    pairs = tracks.pairs
    unmatched = pairs.scans - len(pairs)
    share = 1 - len(pairs) / pairs.scans
    if share < UNMATCHED:
        return None
    if pairs.outside > MOSTLY * unmatched:
        return Why("unmatched", {"outside": pairs.outside / pairs.scans})
    wider = ("tolerance", words.number(10 * pairs.tolerance_s))
    options = (wider, ("offset", "auto"), ("association", "gp")) if pairs.tolerance_s else ()
    return Why("unmatched", {"unmatched": share}, options)


def _one_origin(matched: MatchedTracks) -> Why | None:
    """One names the place on Earth of its zero, the other none, and no alignment is fitted."""
    named = [origin_of(track) is not None for track in (matched.estimate, matched.reference)]
    if matched.alignment.kind != "none" or named[0] == named[1]:
        return None
    who, other = matched.subjects if named[0] else matched.subjects[::-1]
    return Why("origin", {"who": who, "other": other})


RELATIONS: tuple[Callable[[MatchedTracks], Why | None], ...] = (
    _scale,
    _written_otherwise,
    _upside_down,
    _other_body,
    _one_origin,
    _lost,
    _unmatched,
)
