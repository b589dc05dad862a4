"""Errors as functions of a clock offset, and what each scan says about it.

With s added to the estimate's stamps, an error y(s) changes by -g, where g is the velocity. Two
sets of errors enter:

position
    aligned estimate minus reference;
rotation
    the turn from the scan before, estimate minus reference, where both have orientations.

Errors that drift carry their past along: y_i - rho y_(i-1), with rho from the errors themselves,
leaves what is new in each scan (Cochrane and Orcutt 1949). Each set is weighed by its own variance.
What a shift has in common with other freedoms is taken out of y and g: the alignment of the worlds,
a lever arm between the bodies, a rotation between them and an even drift of the heading. So none
of these is taken for a clock offset.
"""

import numpy as np

from smfeval.align.fit import FITS, fit_se3
from smfeval.dataclass import dataclass
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.schema import AlignmentKind
from smfeval.track import AnyTrack, Track

LONG_GAP = 3  # median steps
WEIGHTS = (45 / 60, -9 / 60, 1 / 60)  # of the differences over one, two and three steps either way


@dataclass(frozen=True)
class Curve:
    """Poses over seconds from a common origin, and tangents for the cubic (m/s, rad/s)."""

    seconds: Floats  # (n,)
    position: Floats  # (n, 3)
    rotation: Floats  # (n, 4)
    unrolled: Floats  # (n, 3), rad
    velocity: Floats  # (n, 3)
    rate: Floats  # (n, 3)
    gaps: Ints  # (n,): long gaps before each pose
    step_s: float  # median

    def is_known(self, time: Floats, reach_s: float = 0.0) -> Bools:
        """Whether no gap or end of the curve lies so near to an instant. (q,) -> (q,)."""
        first, last = time - reach_s, time + reach_s
        gaps = self.gaps[self._pose_before(last) + 1] - self.gaps[self._pose_before(first)]
        return (gaps == 0) & (first >= self.seconds[0]) & (last <= self.seconds[-1])

    @property
    def tangent_s(self) -> float:
        """How far a tangent looks to either side."""
        return len(WEIGHTS) * self.step_s

    def position_at(self, time: Floats) -> Floats:
        """Position at each instant. (q,) -> (q, 3)."""
        left = self._pose_before(time)
        return self.position[left] + self._cubic_step(left, time, self.position, self.velocity)

    def rotation_at(self, time: Floats) -> Floats:
        """Rotation at each instant. (q,) -> (q, 4)."""
        left = self._pose_before(time)
        way = self._cubic_step(left, time, self.unrolled, self.rate)
        return so3.compose(self.rotation[left], so3.exp(way))

    def nearest_pose(self, time: Floats) -> Ints:
        """The pose nearest to each instant. (q,) -> (q,)."""
        left = self._pose_before(time)
        return left + (time - self.seconds[left] > self.seconds[left + 1] - time)

    def _pose_before(self, time: Floats) -> Ints:
        """The pose before each instant; the last but one for the last instant."""
        after = np.searchsorted(self.seconds, time, side="right")
        return (after - 1).clip(0, len(self.seconds) - 2)

    def _cubic_step(self, left: Ints, time: Floats, values: Floats, tangents: Floats) -> Floats:
        """The cubic from the pose before each instant. (q,) -> (q, 3)."""
        width = (self.seconds[left + 1] - self.seconds[left])[:, None]
        share = ((time - self.seconds[left])[:, None] / width).clip(0, 1)
        chord = values[left + 1] - values[left]
        leave, arrive = width * tangents[left] - chord, chord - width * tangents[left + 1]
        return share * chord + share * (1 - share) * ((1 - share) * leave + share * arrive)


def curve_of(track: AnyTrack, origin_ns: int) -> Curve:
    """The curve through the poses of a track (at least two), in seconds from an origin."""
    seconds = (track.stamp - np.int64(origin_ns)) / NANOSECONDS
    step_s = float(np.median(np.diff(seconds)))
    turns = so3.log(so3.compose(so3.inverse(track.rotation[:-1]), track.rotation[1:]))
    unrolled = np.concatenate([np.zeros((1, 3)), np.cumsum(turns, axis=0)])
    velocity, rate = (_tangents(seconds, curve, step_s) for curve in (track.position, unrolled))
    long = np.diff(seconds, prepend=seconds[0]) > LONG_GAP * step_s
    gaps = np.cumsum(long, dtype=np.int64)
    return Curve(seconds, track.position, track.rotation, unrolled, velocity, rate, gaps, step_s)


def _tangents(seconds: Floats, values: Floats, step_s: float) -> Floats:
    """Sum of w_j (x(t + j h) - x(t - j h)) / h over j = 1, 2, 3. (n, 3) -> (n, 3)."""

    def at(time: Floats) -> Floats:
        return np.stack([np.interp(time, seconds, axis) for axis in values.T], axis=1)

    reach = [step_s * (j + 1) for j in range(len(WEIGHTS))]
    ways = [at(seconds + by) - at(seconds - by) for by in reach]
    return sum((w * way for w, way in zip(WEIGHTS, ways, strict=True)), np.zeros(())) / step_s


SHORTEST_S = 0.05  # to either side, for a velocity: less is mostly noise
REACH_STEPS, LONGEST_S = 3, 0.14  # steps of the curve, if that is not longer: see CurvePair.reach_s
EXACT_S = 1e-7  # errors below what this shift makes are rounding
STRIDE_S = 2.0  # over this time, displacements of a slow robot stand out of the noise
TINY = 1e-300  # keeps a division by zero away where nothing moves
OPEN_FREEDOM = 1e-10  # of the largest eigenvalue: freedoms that the motion leaves open


@dataclass(frozen=True)
class CurvePair:
    """Two tracks whose clocks differ: the slower keeps its poses, the faster is read as a curve."""

    poses: Curve
    curve: Curve
    curve_is_reference: bool  # read later by the offset; else it is the estimate, read before
    kind: AlignmentKind
    oriented: bool

    @property
    def reach_s(self) -> float:
        """Seconds to either side for a velocity: whole steps of the curve.

        Enough steps, that noise of its poses is not in the velocity g and the slope of y both; but
        not so many that a gait is over before.
        """
        step = self.curve.step_s
        return step * max(1, round(SHORTEST_S / step), min(REACH_STEPS, round(LONGEST_S / step)))

    def curve_times(self, offset_s: float) -> Floats:
        """Instants on the curve that the poses meet."""
        return self.poses.seconds + (offset_s if self.curve_is_reference else -offset_s)

    def is_usable(self, offset_s: float) -> Bools:
        """Poses about which the curve, its tangents and its velocity are known. (n,)."""
        return self.curve.is_known(self.curve_times(offset_s), self.reach_s + self.curve.tangent_s)

    def is_consecutive(self, chosen: Ints) -> Bools:
        """Whether each chosen pose is the next one after the chosen pose before it."""
        near = np.diff(self.poses.seconds[chosen]) <= LONG_GAP * self.poses.step_s
        return np.concatenate([[False], near & (np.diff(chosen) == 1)])

    def offset_evidence(self, chosen: Ints, offset_s: float) -> tuple[Floats, Floats]:
        """What each chosen pose says about the offset: g y, and how that falls with a shift."""
        follows = self.is_consecutive(chosen)
        gradient, slope = _weigh_errors(_position_errors(self, chosen, offset_s), follows)
        if self.oriented:
            twice = follows & np.concatenate([[False], follows[:-1]])
            turned = _weigh_errors(_rotation_errors(self, chosen, offset_s), twice)
            gradient, slope = gradient + turned[0], slope + turned[1]
        return gradient, slope

    def matched_positions(self, chosen: Ints, offset_s: float) -> tuple[Floats, Floats]:
        """Positions of estimate and reference that meet. (n, 3) each."""
        kept = self.poses.position[chosen]
        read = self.curve.position_at(self.curve_times(offset_s)[chosen])
        return (kept, read) if self.curve_is_reference else (read, kept)

    def remaining_error(self, chosen: Ints, offset_s: float) -> tuple[float, float]:
        """What the alignment leaves: RMSE, and squared displacement errors over displacements.

        Displacements are those of STRIDE_S: nothing for tracks of one motion, one or more for
        others.
        """
        source, target = self.matched_positions(chosen, offset_s)
        error = FITS[self.kind](source, target).aligned_position(source) - target
        stride = min(max(1, round(STRIDE_S / self.poses.step_s)), len(chosen) - 1)
        apart, way = (_sum_of_squares(all_[stride:] - all_[:-stride]) for all_ in (error, target))
        return float(np.sqrt(_sum_of_squares(error) / len(error))), apart / max(way, TINY)


def curve_pair(estimate: AnyTrack, reference: Track, kind: AlignmentKind) -> CurvePair:
    """The two tracks as curves; where first poses are to be made equal, all of se3 is open."""
    origin = int(reference.stamp[0])
    ours, theirs = curve_of(estimate, origin), curve_of(reference, origin)
    forward = theirs.step_s <= ours.step_s
    slow, fast = (ours, theirs) if forward else (theirs, ours)
    oriented = estimate.about.oriented and reference.about.oriented
    return CurvePair(slow, fast, forward, "se3" if kind == "first-pose" else kind, oriented)


@dataclass(frozen=True)
class _Errors:
    """Errors y; g, by which a shift lowers them; h, the same over a shorter time; freedoms."""

    y: Floats  # (n, 3)
    g: Floats  # (n, 3)
    h: Floats  # (n, 3)
    freedoms: Floats  # (n, 3, f)


def _sum_of_squares(vectors: Floats) -> float:
    return float(np.einsum("ni,ni->", vectors, vectors))


def _weigh_errors(errors: _Errors, follows: Bools) -> tuple[Floats, Floats]:
    """g y and g h over the variance of y, beside the freedoms; zero for scans without a past."""
    scan = np.flatnonzero(follows)
    now, before = errors.y[scan], errors.y[scan - 1]
    rho = float(np.sum(now * before) / max(np.sum(before * before), TINY))
    rho = min(max(rho, -1.0), 1.0)
    new = _Errors(*(part[scan] - rho * part[scan - 1] for part in vars(errors).values()))
    y, g = _unexplained_part(new.freedoms, new.y), _unexplained_part(new.freedoms, new.g)
    variance = float(np.mean(y * y) + EXACT_S**2 * np.mean(g * g)) + TINY
    pull, slope = np.zeros(len(follows)), np.zeros(len(follows))
    pull[follows] = np.einsum("ni,ni->n", g, y) / variance
    slope[follows] = np.einsum("ni,ni->n", g, new.h) / variance
    return pull, slope


def _unexplained_part(freedoms: Floats, values: Floats) -> Floats:
    """The part of the values that no freedom explains. (n, 3, f), (n, 3) -> (n, 3)."""
    if freedoms.shape[2] == 0:
        return values
    columns = freedoms.reshape(-1, freedoms.shape[2])
    normal = columns.T @ columns
    size = np.sqrt(np.maximum(np.diag(normal), TINY))
    inverse = np.linalg.pinv(normal / np.outer(size, size), rcond=OPEN_FREEDOM, hermitian=True)
    weight = inverse @ (columns.T @ values.ravel() / size) / size
    return values - (columns @ weight).reshape(values.shape)


def _position_errors(met: CurvePair, chosen: Ints, offset_s: float) -> _Errors:
    source, target = met.matched_positions(chosen, offset_s)
    time = met.curve_times(offset_s)[chosen]
    alignment = FITS[met.kind](source, target)
    turn = np.eye(3) if met.curve_is_reference else alignment.scale * alignment.rotation

    def velocity(reach: float) -> Floats:
        way = met.curve.position_at(time + reach) - met.curve.position_at(time - reach)
        return so3.rotate_all(turn, way) / (2 * reach)

    freedoms = [_world_freedoms(met.kind, target - target.mean(axis=0))]
    if met.oriented:  # a lever arm keeps its direction in the axes of the body
        body = so3.matrix(met.poses.rotation[chosen])
        freedoms.append(alignment.rotation @ body if met.curve_is_reference else body)
    return _Errors(
        alignment.aligned_position(source) - target,
        velocity(met.reach_s),
        velocity(met.curve.step_s),
        np.concatenate(freedoms, axis=2),
    )


def _rotation_errors(met: CurvePair, chosen: Ints, offset_s: float) -> _Errors:
    """Turns since the pose before, in body axes; the first pose of a run is left to the caller."""
    kept, time = _rotation_steps(met.poses.rotation[chosen]), met.curve_times(offset_s)[chosen]
    early, before, read, after, late = (
        _rotation_steps(met.curve.rotation_at(time + by))
        for by in (-met.reach_s, -met.curve.step_s, 0.0, met.curve.step_s, met.reach_s)
    )
    follows = met.is_consecutive(chosen)
    error = fit_se3(kept[follows], read[follows]).aligned_position(kept) - read
    return _Errors(
        error if met.curve_is_reference else -error,
        (late - early) / (2 * met.reach_s),
        (after - before) / (2 * met.curve.step_s),
        _world_freedoms("se3", read),
    )


def _rotation_steps(rotation: Floats) -> Floats:
    """Log(R_(k-1)^T R_k); nothing for the first. (n, 4) -> (n, 3)."""
    turns = so3.log(so3.compose(so3.inverse(rotation[:-1]), rotation[1:]))
    return np.concatenate([np.zeros((1, 3)), turns])


def _world_freedoms(kind: AlignmentKind, position: Floats) -> Floats:
    """How each freedom of an alignment moves positions. (n, 3) -> (n, 3, f)."""
    shift = np.broadcast_to(np.eye(3), (len(position), 3, 3))
    turn, stretch = -so3.hat(position), position[:, :, None]
    columns = {
        "none": [shift[:, :, :0]],
        "yaw": [shift, turn[:, :, 2:]],
        "se3": [shift, turn],
        "sim3": [shift, turn, stretch],
    }
    return np.concatenate(columns[kind], axis=2)
