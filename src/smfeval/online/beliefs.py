"""Two streams of beliefs, or one and a reference: how far they differ, scan by scan.

A scan of the first stream at time t is compared with the second at the same time, interpolated
between the neighbours t1 <= t <= t2 with the weight a of the later one:

- its error is (1 - a) e1 + a e2, whose covariance is (1 - a) S1 + a S2 at most, whatever the
  correlation;
- what a straight line misses of the way is a (1 - a) dt^2 / 2 times the acceleration. It is
  granted: the distance of the two is shortened by twice that before it is squared.

Worlds that differ are brought together at the first common scan ("first-pose"). Its errors stay in
all later ones: with d the way since, D = [I, -[d]x] and C the covariances of position and rotation
of both at the start, D C D^T is added. So an alignment alone raises no alarm. The sum of
covariances is right, or too large, if errors are not opposed; `terms` times it holds whatever they
are.

Is an estimate that calls itself safe beyond an alert limit? It calls itself safe where its
protection levels are within their limits (`score.integrity`). Against a reference it is hazardous
where its error is beyond a limit then. Of two estimates that both call themselves safe, one is
where they are more than two limits apart. What the alignment at the first pose, the reference and a
straight line between its scans may make of the distance is granted: its protection level, and what
the line may miss.
"""

from dataclasses import field, replace
from typing import Any, Literal

import numpy as np

from smfeval.align.joint import rotate_blocks
from smfeval.align.quantities import RISK, AlertLimits
from smfeval.dataclass import dataclass
from smfeval.errors import ConventionError, OptionError
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.online.eprocess import EProcess
from smfeval.score.integrity import protection_level
from smfeval.track import GaussianTrack, Track

LARGEST_GAP_S = 0.5  # between neighbours of the second stream that are interpolated
SAFETY = 2.0  # times what a straight line is estimated to miss
AXES = "xyz"
ALERT_COLUMNS = {"horizontal": [0, 1], "vertical": [2]}  # of a limit

Gauge = Literal["none", "first-pose"]


@dataclass(frozen=True)
class HazardLimits:
    """Alert limits of positions, the risk of their protection levels, and of whom they are held."""

    limits: AlertLimits
    risk: float = RISK
    of_pair: bool = False  # else of an estimate and a reference

    def __post_init__(self) -> None:
        other = [name for name in self.limits.given if name not in ALERT_COLUMNS]
        if other:
            raise OptionError(f"watch has horizontal and vertical alert limits, not {other[0]}")

    def available(self, *covariances: Floats) -> Bools:
        """Scans in which all beliefs call themselves safe. (n, 3, 3) each -> (n,)."""
        within = [
            protection_level(_block(each, name), risk=self.risk) <= limit
            for name, limit in self.limits.given.items()
            for each in covariances
        ]
        return np.logical_and.reduce(within)

    def beyond(self, error: Floats, granted: Floats, missed_m: Floats) -> Bools:
        """Scans whose distance is beyond a limit, of a pair two, and what is granted. (n, 3)."""
        reach = 2.0 if self.of_pair else 1.0
        far = [
            np.linalg.norm(error[:, ALERT_COLUMNS[name]], axis=1)
            > reach * limit + missed_m + protection_level(_block(granted, name), risk=self.risk)
            for name, limit in self.limits.given.items()
        ]
        return np.logical_or.reduce(far)


def _block(covariance: Floats, name: str) -> Floats:
    columns = ALERT_COLUMNS[name]
    return covariance[:, columns][:, :, columns]


@dataclass(frozen=True)
class Start:
    """The first common scan: poses of both, and the covariance of the two together there."""

    first_position: Floats  # (3,)
    second_position: Floats  # (3,) in its own world
    turn: Floats  # quaternion xyzw from the second world to the first
    covariance: Floats  # (6, 6) of position and rotation, in axes of the first world
    terms: int  # beliefs that it has the errors of

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for a state that survives the process."""
        arrays = ("first_position", "second_position", "turn", "covariance")
        return {name: getattr(self, name).tolist() for name in arrays} | {"terms": self.terms}


def start_from_dict(said: dict[str, Any]) -> Start:
    """The inverse of `Start.to_dict`."""
    arrays = {name: np.array(said[name]) for name in said if name != "terms"}
    return Start(terms=int(said["terms"]), **arrays)


@dataclass(frozen=True)
class StreamMatches:
    """Scans of the first stream with the second at their times. Rows of those that meet it."""

    row: Ints  # in the first stream
    position: Floats  # (n, 3) of the second
    rotation: Floats  # (n, 4) of the second
    covariance: Floats  # (n, 6, 6) of position and rotation in world axes; zero: exact
    missed_m: Floats  # (n,) what a straight line may miss
    consumed: int  # rows of the first stream that are decided
    needed: int  # the first row of the second stream that later scans need


@dataclass(frozen=True)
class Differences:
    """NEES of matched scans under the summed covariances."""

    stamp: Ints
    nees: Floats
    error_m: Floats
    sigma_m: Floats  # reported, per axis: of both together, and of the start
    available: Bools  # calls itself safe under the alert limits; never without any
    hazardous: Bools  # and is beyond one of them
    singular: int  # scans without a regular covariance, left out

    def until_hazard(self) -> "Differences":
        """The scans up to the first that is hazardous; all, where none is."""
        if not self.hazardous.any():
            return self
        end = int(np.argmax(self.hazardous)) + 1
        series = {name: rows[:end] for name, rows in vars(self).items() if np.ndim(rows)}
        return replace(self, **series)


@dataclass(frozen=True)
class BeliefWatch:
    """What is known so far; `advance` returns the next one.

    Attributes
    ----------
    process
        Evidence if errors are not opposed.
    whatever
        Evidence whatever the correlations of the errors are.
    gaussian
        Evidence if errors are not opposed and Gaussian: found earlier, and by outliers, too.
    axes
        Axes of the first world, such as "xyz" or "xy".
    gauge
        "none": one world; "first-pose": brought together at the first common scan.
    start
        That scan; None before it, or with gauge "none".
    matched, unmatched, singular
        Scans compared; without a partner in time; without a regular covariance.
    last_stamp, last_nees, last_error_m, last_sigma_m
        Of the last scan that was compared.
    alert
        Alert limits that it is held to; None: none.
    available, hazard
        Scans in which it calls itself safe; whether it is hazardous in the last.
    """

    process: EProcess = field(default_factory=EProcess)
    whatever: EProcess = field(default_factory=EProcess)
    gaussian: EProcess = field(default_factory=lambda: EProcess(tails="gaussian"))
    axes: str = AXES
    gauge: Gauge = "first-pose"
    start: Start | None = None
    matched: int = 0
    unmatched: int = 0
    singular: int = 0
    last_stamp: int | None = None
    last_nees: float | None = None
    last_error_m: float | None = None
    last_sigma_m: float | None = None
    alert: HazardLimits | None = None
    available: int = 0
    hazard: bool = False

    def __post_init__(self) -> None:
        if not self.axes or set(self.axes) - set(AXES) or len(set(self.axes)) != len(self.axes):
            raise OptionError(f"axes {self.axes!r} are none; they are some of x, y and z")
        for name in () if self.alert is None else self.alert.limits.given:
            if not {AXES[column] for column in ALERT_COLUMNS[name]} <= {*self.axes}:
                raise OptionError(f"a {name} alert limit means nothing on axes {self.axes}")

    def advance(
        self, first: Track, second: Track, *, ended: bool = False
    ) -> tuple["BeliefWatch", int, int]:
        """Compare the scans of the first stream that the second has reached.

        Returns what is known then, how many rows of the first are done, and how many of the second
        are no longer needed. With `ended` the second will not grow: what it lacks is unmatched.
        """
        matches = match(first, second, ended=ended)
        lost = matches.consumed - len(matches.row)
        watch = replace(self, unmatched=self.unmatched + lost)
        if not len(matches.row):
            return watch, matches.consumed, matches.needed
        start = watch.start
        if start is None and watch.gauge == "first-pose":
            start = first_common(first, second, matches)
            watch = replace(watch, start=start)
        terms = isinstance(first, GaussianTrack) + isinstance(second, GaussianTrack)
        terms += 0 if start is None else start.terms
        axes = [AXES.index(axis) for axis in watch.axes]
        found = differences(first, matches, start, axes, watch.alert).until_hazard()
        d = len(watch.axes)
        process = watch.process.advance(found.nees, d)
        counted = process.scans - watch.process.scans
        watch = replace(
            watch,
            process=process,
            whatever=watch.whatever.advance(found.nees[:counted] / max(terms, 1), d),
            gaussian=watch.gaussian.advance(found.nees[:counted], d),
            matched=watch.matched + counted,
            singular=watch.singular + found.singular,
            available=watch.available + int(found.available[:counted].sum()),
            hazard=bool(found.hazardous[:counted].any()),
        )
        if counted:
            kept = ("stamp", "nees", "error_m", "sigma_m")
            last = {f"last_{name}": getattr(found, name)[counted - 1].item() for name in kept}
            watch = replace(watch, **last)
        return watch, matches.consumed, matches.needed


def match(first: Track, second: Track, *, ended: bool = False) -> StreamMatches:
    """Find the neighbours in the second stream of the scans of the first that it has reached."""
    reach = len(first) if ended else int(np.searchsorted(first.stamp, second.stamp[-1], "right"))
    stamp = first.stamp[:reach]
    later = np.searchsorted(second.stamp, stamp, "left")
    last = len(second) - 1
    upper = np.minimum(later, last)
    exact = second.stamp[upper] == stamp
    lower = np.where(exact, upper, np.maximum(upper - 1, 0))
    gap = (second.stamp[upper] - second.stamp[lower]) / NANOSECONDS
    inside = (second.stamp[lower] <= stamp) & (stamp <= second.stamp[upper])
    between = inside & (gap <= LARGEST_GAP_S) & (lower >= 1)
    row = np.flatnonzero(exact | between)
    lower, upper, gap = lower[row], upper[row], gap[row]
    part = (stamp[row] - second.stamp[lower]) / NANOSECONDS
    a = np.divide(part, gap, out=np.zeros_like(part), where=gap > 0)
    start = second.rotation[lower]
    turn = so3.log(so3.compose(so3.inverse(start), second.rotation[upper]))

    coming = first.stamp[reach] if reach < len(first) else first.stamp[-1] + 1
    needed = int(np.searchsorted(second.stamp, coming, "left")) - 2  # its lower neighbour's own
    return StreamMatches(
        row=row,
        position=_between(second.position, lower, upper, a),
        rotation=so3.compose(start, so3.exp(a[:, None] * turn)),
        covariance=_between(world_covariance(second), lower, upper, a),
        missed_m=_missed(second, lower, upper, a),
        consumed=reach,
        needed=max(needed, 0),
    )


def _between(values: Floats, lower: Ints, upper: Ints, a: Floats) -> Floats:
    part = a.reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray((1 - part) * values[lower] + part * values[upper])


def _missed(second: Track, lower: Ints, upper: Ints, a: Floats) -> Floats:
    """SAFETY a (1 - a) dt^2 / 2 |acceleration|, from the speeds before and between neighbours."""
    before = np.maximum(lower - 1, 0)
    stamp = [second.stamp[rows] for rows in (before, lower, upper)]
    place = [second.position[rows] for rows in (before, lower, upper)]
    past, now = (np.maximum(step, 1) / NANOSECONDS for step in np.diff(stamp, axis=0))
    change = (place[2] - place[1]) / now[:, None] - (place[1] - place[0]) / past[:, None]
    acceleration = 2 * np.linalg.norm(change, axis=1) / (past + now)
    return np.asarray(SAFETY * a * (1 - a) * now**2 / 2 * acceleration)


def world_covariance(track: Track) -> Floats:
    """Covariance of position and rotation in world axes, zero where none is reported. (n, 6, 6)."""
    if not isinstance(track, GaussianTrack):
        return np.zeros((len(track), 6, 6))
    return rotate_blocks(so3.matrix(track.rotation), track.covariance)


def first_common(first: Track, second: Track, matches: StreamMatches) -> Start:
    """The first scan that both have, and the covariance that both report there."""
    for track in (first, second):
        if not track.about.oriented:
            raise ConventionError(
                f"{track.provenance.name} has no orientations, so the worlds cannot be brought "
                "together at the first pose"
            )
    row = int(matches.row[0])
    turn = so3.compose(first.rotation[row], so3.inverse(matches.rotation[0]))
    carried = rotate_blocks(so3.matrix(turn)[None], matches.covariance[:1])
    covariance = (world_covariance(first[row : row + 1]) + carried)[0]
    terms = isinstance(first, GaussianTrack) + isinstance(second, GaussianTrack)
    return Start(first.position[row], matches.position[0], turn, covariance, terms)


def _apart(
    first: Track, matches: StreamMatches, start: Start | None
) -> tuple[Floats, Floats, Floats, Floats]:
    """First less second in the first world, (n, 3), and three covariances of it, (n, 3, 3).

    They are those of the first, of the second, and of the start.
    """
    row = matches.row
    position, other = matches.position, matches.covariance[:, :3, :3]
    compared = first[row] if len(row) != len(first) else first
    own, started = np.zeros_like(other), np.zeros_like(other)
    if isinstance(compared, GaussianTrack):
        own = compared.position_covariance
    if start is not None:
        turn = so3.matrix(start.turn)
        way = (position - start.second_position) @ turn.T
        position = start.first_position + way
        other = turn @ other @ turn.T
        lever = np.concatenate(
            [np.broadcast_to(np.eye(3), (len(row), 3, 3)), -so3.hat(way)], axis=2
        )
        started = lever @ start.covariance @ lever.swapaxes(1, 2)
    return first.position[row] - position, own, other, started


def differences(
    first: Track,
    matches: StreamMatches,
    start: Start | None,
    axes: list[int],
    alert: HazardLimits | None = None,
) -> Differences:
    """Position of the first less that of the second, under the covariance that is granted."""
    apart, own, other, started = _apart(first, matches, start)
    error = apart[:, axes]
    total = (own + other + started)[:, axes][:, :, axes]
    regular = ~normal.is_singular(total) & (np.einsum("nii->n", total) > 0)
    available = hazardous = np.zeros(len(apart), dtype=np.bool_)
    if alert is not None:
        available = alert.available(own, other) if alert.of_pair else alert.available(own)
        granted = started if alert.of_pair else started + other
        hazardous = available & alert.beyond(apart, granted, matches.missed_m)
    error, total, missed = error[regular], total[regular], matches.missed_m[regular]
    distance = np.sqrt(normal.nees(error, total))
    if missed.any():
        inverse = np.einsum("nii->n", np.linalg.inv(total))
        distance = np.maximum(distance - missed * np.sqrt(inverse), 0)
    return Differences(
        stamp=first.stamp[matches.row][regular],
        nees=distance**2,
        error_m=np.linalg.norm(error, axis=1),
        sigma_m=np.sqrt(np.einsum("nii->n", total) / len(axes)),
        available=available[regular],
        hazardous=hazardous[regular],
        singular=int(np.sum(~regular)),
    )
