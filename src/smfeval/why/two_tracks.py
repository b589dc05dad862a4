"""Doubts about two tracks together: they parse, they pair, and yet they do not fit each other.

What both tracks say about the motion of the body between two scans, its displacement and its turn
in body axes, does not depend on the world that they speak of. Two rigidly connected bodies differ
by one rotation X: displacement and turn of the estimate's body are X times those of the
reference's. How well one rotation explains them all is their coherence, 1 at best; a track that
was written otherwise (quaternion order, an exchanged axis, an inverse) has much less of it as read
than as it was meant.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import radians

import numpy as np

from smfeval import words
from smfeval.align.fit import Alignment, fit_sim3
from smfeval.associate import Pairs
from smfeval.errors import PairingError
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints, gap_mask, median_of
from smfeval.maths.se3 import Pose
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track
from smfeval.why.one_track import Doubt

WINDOWS = 200  # of relative motion; more tell little more about one rotation
FEWEST_WINDOWS = 24
LONG_WINDOWS = 32  # tell a lever arm: in short ones a clock that is late looks like one
CLOSER = 0.5  # an inverse or a lever arm that leaves less than this part of a rotation or error
LEAST_LEVER_M = 0.03  # real filters that are honest about their body show 1 cm, seldom 2
ALTERNATIONS = 20
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


ROLES = ("the estimate", "the reference")


@dataclass(frozen=True)
class WindowMotion:
    """Displacement and turn of a body over windows, in its own axes. (m, 3) each."""

    displacement: Floats
    turn: Floats

    def __getitem__(self, windows: Ints) -> "WindowMotion":
        return WindowMotion(self.displacement[windows], self.turn[windows])

    @cached_property
    def directions(self) -> Floats:
        """Both in units of their own root mean square, one after the other. (2 m, 3)."""
        parts = [_without_giants(part) for part in (self.displacement, self.turn)]
        sizes = (float(np.sqrt(np.mean(np.sum(part**2, axis=1)))) for part in parts)
        return np.concatenate(
            [part / size if size else part for part, size in zip(parts, sizes, strict=True)]
        )

    def directedness(self) -> float:
        """Mean resultant length of the direction of motion: 1 if it never changes."""
        length = np.linalg.norm(self.displacement, axis=1, keepdims=True)
        unit = self.displacement / np.where(length > 0, length, 1.0)
        return float(np.linalg.norm(unit.mean(axis=0)))


def _without_giants(vectors: Floats) -> Floats:
    """None longer than some medians: a single window tells nothing about a track. (m, 3)."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    most = GIANT * float(median_of(length))
    return (
        vectors * np.minimum(1.0, most / np.where(length > 0, length, np.inf)) if most else vectors
    )


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
    names: tuple[str, str] = ROLES  # of the two, in sentences

    @cached_property
    def path_m(self) -> float:
        """Length of the reference's path."""
        return float(np.linalg.norm(np.diff(self.reference.position, axis=0), axis=1).sum())

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
    def motions(self) -> tuple[WindowMotion, WindowMotion]:
        """Of the estimate's and of the reference's body, as read."""
        ours, theirs = (window_motion(each)[self.across_no_gap(WINDOWS)] for each in self.poses)
        return ours, theirs

    @cached_property
    def error_m(self) -> Floats:
        """Distance of each position, aligned, from that of the reference. (n,)."""
        aligned = self.alignment.aligned_position(self.estimate.position)
        return np.linalg.norm(aligned - self.reference.position, axis=1)

    @cached_property
    def claims_much_more_than_it_errs(self) -> bool:
        """Whether sigma is several times the errors, as where deviations stand for variances."""
        belief = (
            self.estimate.moments if isinstance(self.estimate, ParticleTrack) else self.estimate
        )
        if not isinstance(belief, GaussianTrack):
            return True
        claimed = np.sqrt(np.einsum("nii->n", belief.covariance[:, :3, :3]))
        return bool(median_of(claimed) > SEVERAL * median_of(self.error_m))

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
        is_large = angle >= LEAST_ROTATION_RAD
        return between if is_large and angle >= SCATTERS * _scatter(ours, theirs, between) else None


def doubts_between(tracks: MatchedTracks) -> tuple[Doubt, ...]:
    """All doubts about two matched tracks, in the order of the table."""
    found = (suspicion(tracks) for suspicion in RELATIONS.values())
    return tuple(doubt for doubt in found if doubt is not None)


def _scalar_first(poses: Pose) -> Pose:
    return poses[0], poses[1][:, [1, 2, 3, 0]]


def _inverse(poses: Pose) -> Pose:
    """The poses of the world in the body."""
    position, rotation = poses
    return -so3.rotate_back(rotation, position), so3.inverse(rotation)


def _with_axes(*signs: int, order: tuple[int, int, int] = (0, 1, 2)) -> Callable[[Pose], Pose]:
    """Positions with their axes in another order, or mirrored."""
    return lambda poses: (poses[0][:, order] * np.array(signs), poses[1])


MISTAKES: dict[str, tuple[Callable[[Pose], Pose], str]] = {
    "scalar-first": (_scalar_first, "are its quaternions written wxyz?"),
    "inverse": (_inverse, "does it give the pose of the world in the body?"),
    "mirrored-x": (_with_axes(-1, 1, 1), "is its x axis mirrored?"),
    "mirrored-y": (_with_axes(1, -1, 1), "is its y axis mirrored?"),
    "mirrored-z": (_with_axes(1, 1, -1), "is its z axis mirrored?"),
    "exchanged-axes": (_with_axes(1, 1, 1, order=(1, 0, 2)), "are its x and y axes exchanged?"),
}


def _written_otherwise(tracks: MatchedTracks) -> Doubt | None:
    """Bodies that do not move together as read, and would if one track were written otherwise."""
    if not tracks.shows_motion or tracks.coherence > COHERENT:
        return None
    value, _, who, name = max(_corrections(tracks))
    if value < max(COHERENT, 1 - MUCH_BETTER * (1 - tracks.coherence)):
        return None
    if _stays_lost(tracks, who, name):
        return None
    together = words.fixed(tracks.coherence, 2)
    what = (
        f"the two bodies do not move together as read (coherence {together} of 1), but would if "
        f"{tracks.names[who]} were written otherwise"
    )
    role = ("estimate", "reference")[who]
    return Doubt(f"{role}-{name}", f"{what}: {MISTAKES[name][1]}", explains=True)


def _stays_lost(tracks: MatchedTracks, who: int, mistake: str) -> bool:
    """Whether the estimate is lost even with one track as it may have been meant."""
    poses = list(tracks.poses)
    poses[who] = MISTAKES[mistake][0](poses[who])
    (ours, _), (theirs, _) = poses
    return bool(fit_sim3_error(ours, theirs) > LOST * _spread(theirs))


def fit_sim3_error(ours: Floats, theirs: Floats) -> float:
    """RMSE that a similarity leaves; inf where there is none. (n, 3) each."""
    try:
        return fit_sim3(ours, theirs).residual_m or 0.0
    except PairingError:
        return np.inf


def _spread(position: Floats) -> float:
    return float(np.sqrt(position.var(axis=0).sum()))


def _corrections(tracks: MatchedTracks) -> Iterable[tuple[float, float, int, str]]:
    """One of the tracks as it may have been meant: coherence, and how much better it moves ahead.

    In one world the same mistake in the other track would agree as well; a body that then moves in
    one direction of its own, as most do, tells which it was.
    """
    (ours, theirs), (our_motion, their_motion) = tracks.poses, tracks.motions
    inside = tracks.across_no_gap(WINDOWS)
    for name, (correct, _) in MISTAKES.items():
        meant = window_motion(correct(ours))[inside]
        better = meant.directedness() - our_motion.directedness()
        yield round(coherence(meant, their_motion), 2), better, 0, name
        meant = window_motion(correct(theirs))[inside]
        better = meant.directedness() - their_motion.directedness()
        yield round(coherence(our_motion, meant), 2), better, 1, name


def _scale(tracks: MatchedTracks) -> Doubt | None:
    """One track in another unit of length, or without a scale."""
    if tracks.alignment.kind == "sim3":
        return None
    inside = tracks.across_no_gap(WINDOWS)
    ours, theirs = (
        np.linalg.norm(np.diff(position, axis=0), axis=1)[inside] for position, _ in tracks.poses
    )
    if len(ours) < FEWEST_WINDOWS or not (median_of(ours) > 0 and median_of(theirs) > 0):
        return None
    by_steps = float(median_of(ours) / median_of(theirs))
    ratio = float(np.sqrt(np.divide(*(position.var(axis=0).sum() for position, _ in tracks.poses))))
    if 1 / NO_UNIT < ratio < NO_UNIT or abs(by_steps / ratio - 1) > SAME_SCALE:
        return None
    (position, _), (reference, _) = tracks.poses
    if fit_sim3_error(position, reference) > LOST * _spread(reference):
        return None
    ours, theirs = tracks.names
    who, factor = (theirs, ratio) if ratio < 1 else (ours, 1 / ratio)
    unit = next((u for size, u in UNITS.items() if abs(factor / size - 1) < SAME_SCALE), None)
    guess = f"is {who} in {unit}?" if unit else "is one of them in another unit?"
    what = f"the track of {ours} is {words.number(ratio)} times as large as that of {theirs}"
    return Doubt("scale", f"{what}: {guess}", explains=True)


def _upside_down(tracks: MatchedTracks) -> Doubt | None:
    """A fit that turns the world over: one axis of a track that lies in a plane is mirrored."""
    tilt = np.degrees(np.arccos(np.clip(tracks.alignment.rotation[2, 2], -1.0, 1.0)))
    fitted = tracks.alignment.kind in ("se3", "sim3") and not tracks.alignment.free
    if not fitted or tilt < OVERTURNED_DEG or _is_straight(tracks) or _lost(tracks) is not None:
        return None
    turned = words.angle(float(tilt))
    what = f"the fit turns the world of {tracks.names[0]} over (its z axis by {turned})"
    guess = "is an axis of one track mirrored, or the sensor mounted upside down?"
    return Doubt("upside-down", f"{what}: {guess}", explains=True)


def _is_straight(tracks: MatchedTracks) -> bool:
    """Whether the errors leave the roll about a nearly straight track to chance."""
    across = np.linalg.eigvalsh(np.cov(tracks.reference.position.T))[1]
    return float(across) < SIDEWAYS**2 * float(np.mean(tracks.error_m**2))


def _extrinsic(tracks: MatchedTracks) -> Doubt | None:
    """Bodies whose axes differ by a constant rotation: an extrinsic that is missing or wrong."""
    if tracks.constant_rotation is None:
        return None
    rotation = so3.quaternion(tracks.constant_rotation)
    angle = float(so3.angle(rotation))
    missing = body_between(*long_motions(tracks))[0], rotation
    degrees = words.angle(float(np.degrees(angle)))
    if tracks.extrinsic is None:
        what = f"the bodies' axes differ by a constant rotation of {degrees} (an extrinsic?)"
    else:
        missing = se3.compose(tracks.extrinsic, missing)
        what = (
            f"the extrinsic leaves a constant rotation of {degrees} between the bodies' axes"
            f"{_inverse_hint(tracks.extrinsic, missing)}"
        )
    return Doubt("extrinsic", what, remedy=(_extrinsic_option(missing),))


def _extrinsic_option(pose: Pose) -> tuple[str, str]:
    """The option that gives a pose of the reference's body in the estimate's."""
    position, rotation = pose
    numbers = (*position, *(rotation if rotation[3] >= 0 else -rotation))
    return "extrinsic", ",".join(words.fixed(float(x), 4) for x in numbers)


def _lever_arm(tracks: MatchedTracks) -> Doubt | None:
    """Errors that turn with the body: the reference is that of another point of it."""
    missing = None if tracks.constant_rotation is not None else lever_that_explains(tracks)
    if missing is None:
        return None
    length = words.length(float(np.linalg.norm(missing[0])))
    if so3.angle(missing[1]) < LEAST_ROTATION_RAD:
        missing = missing[0], np.array([0.0, 0.0, 0.0, 1.0])
    if tracks.extrinsic is not None:
        missing = se3.compose(tracks.extrinsic, missing)
    what = f"the errors turn with the body, and a lever arm of {length} explains them"
    option = _extrinsic_option(missing)
    return Doubt("lever-arm", f"{what} (an extrinsic?)", remedy=(option,))


def lever_that_explains(tracks: MatchedTracks) -> Pose | None:
    """A pose whose lever arm leaves less than half of the difference in displacement; or None."""
    moves = len(tracks.reference) > FEWEST_WINDOWS and tracks.path_m > MOVING_M
    if not (tracks.estimate.about.oriented and moves):
        return None
    if tracks.coherence < COHERENT if tracks.shows_motion else _lost(tracks) is not None:
        return None
    ours, theirs = long_motions(tracks)
    lever, rotation = body_between(ours, theirs, turns=tracks.reference.about.oriented)
    before, after = (_left(ours, theirs, each, rotation) for each in (np.zeros(3), lever))
    explains = np.linalg.norm(lever) > LEAST_LEVER_M and after < CLOSER * before
    return (lever, rotation) if explains else None


def long_motions(tracks: MatchedTracks) -> tuple[WindowMotion, WindowMotion]:
    """Of both bodies over long windows; in the axes of the estimate's where the other has none."""
    ours, theirs = tracks.poses_at_ends(LONG_WINDOWS)
    if not tracks.reference.about.oriented:
        aligned = so3.compose(so3.quaternion(tracks.alignment.rotation), ours[1])
        theirs = theirs[0] / tracks.alignment.scale, aligned
    inside = tracks.across_no_gap(LONG_WINDOWS)
    return window_motion(ours)[inside], window_motion(theirs)[inside]


def _left(ours: WindowMotion, theirs: WindowMotion, lever: Floats, rotation: Floats) -> float:
    """Root mean square of the displacement that a lever arm leaves unexplained. m."""
    turned = so3.matrix(so3.exp(ours.turn)) - np.eye(3)
    left = so3.rotate(rotation, theirs.displacement) - ours.displacement - turned @ lever
    return float(np.sqrt(np.mean(np.sum(left**2, axis=1))))


def _inverse_hint(extrinsic: Pose, shown: Pose) -> str:
    """Asks whether the extrinsic is the inverse, where its inverse is nearer to what is shown."""
    inverse = so3.inverse(extrinsic[1])
    off, off_inverse = (
        float(so3.angle(so3.compose(so3.inverse(each), shown[1])))
        for each in (extrinsic[1], inverse)
    )
    return " (is it the inverse of the right one?)" if off_inverse < CLOSER * off else ""


def _scatter(ours: WindowMotion, theirs: WindowMotion, between: Floats) -> float:
    """Root mean square change of the rotation between stretches of the track. rad."""
    stretches = np.array_split(np.arange(len(ours.turn)), BLOCKS)
    each = [rotation_between(ours[part], theirs[part]) for part in stretches]
    off = so3.angle(so3.quaternion(between.T @ np.array(each)))
    return float(np.sqrt(np.mean(off**2)))


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
        lever = solution @ left.reshape(-1)
    return lever, so3.quaternion(between)


def _lost(tracks: MatchedTracks) -> Doubt | None:
    """Errors as large as the track itself: there is no calibration to speak of."""
    rmse = float(np.sqrt(np.mean(tracks.error_m**2)))
    if rmse < max(LOST * _spread(tracks.reference.position), LOST_M):
        return None
    other = " or speaks of another world" if tracks.alignment.kind == "none" else ""
    errs = f"{words.length(rmse)} (RMSE) on a path of {words.length(tracks.path_m)}"
    if tracks.names == ROLES:
        return Doubt("lost", f"the estimate is lost{other}: it errs by {errs}")
    return Doubt("lost", f"one of the two is lost{other}: they differ by {errs}")


def _unmatched(tracks: MatchedTracks) -> Doubt | None:
    """Many scans without a reference pose."""
    share = 1 - len(tracks.pairs) / tracks.pairs.scans
    if share < UNMATCHED:
        return None
    unmatched = tracks.pairs.scans - len(tracks.pairs)
    if tracks.pairs.outside > MOSTLY * unmatched:
        beyond = words.share(tracks.pairs.outside / tracks.pairs.scans)
        what = f"{beyond} of the scans are before the first or after the last reference pose"
        return Doubt("unmatched", f"{what}, and were not scored")
    what = f"{words.share(share)} of the scans meet no reference pose in time"
    return Doubt("unmatched", what, remedy=_nearer_in_time(tracks.pairs.tolerance_s))


def _nearer_in_time(tolerance_s: float) -> tuple[tuple[str, str], ...]:
    """Options by which more scans may meet the reference; none where it is continuous already."""
    if tolerance_s == 0:
        return ()
    wider = words.number(10 * tolerance_s)
    return ("tolerance", wider), ("offset", "auto"), ("association", "gp")


RELATIONS: dict[str, Callable[[MatchedTracks], Doubt | None]] = {
    "scale": _scale,
    "written-otherwise": _written_otherwise,
    "upside-down": _upside_down,
    "extrinsic": _extrinsic,
    "lever-arm": _lever_arm,
    "lost": _lost,
    "unmatched": _unmatched,
}
