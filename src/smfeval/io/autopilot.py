"""What the logs of autopilots share: north-east-down axes, and resets that cut a flight in pieces.

Worlds are north-east-down and bodies forward-right-down there; ours are east-north-up and
forward-left-up. Both changes are half turns, A about the axis between north and east and B about
the forward axis, so that enu_T_flu = A ned_T_frd B, and an error in world axes is turned by A.

At a reset an estimator jumps to another state: a belief before it says nothing of one after it. A
track is therefore one stretch between two resets, the longest unless another is asked for.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError
from smfeval.io.convention import CONVENTIONS, POSITION_ONLY, to_right
from smfeval.io.log_rows import LogRows
from smfeval.io.options import ReadOptions
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.track import About, GaussianTrack, Track
from smfeval.track.beliefs import normalise_quaternions

MICROSECONDS = 1_000  # ns
ENU_Q_NED = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])  # xyzw
FRD_Q_FLU = np.array([1.0, 0.0, 0.0, 0.0])
ENU = [1, 0, 2]  # where east, north and up stand among north, east, down
FLIP = np.array([1.0, 1.0, -1.0])

AXES_REMARK = "axes north-east-down and forward-right-down, turned to east-north-up and flu"
DIAGONAL_REMARK = "variances, the diagonal of the filter's covariance: the log has no cross terms"


def enu_positions(ned: Floats) -> Floats:
    """Positions in east-north-up axes. (n, 3)."""
    return ned[:, ENU] * FLIP


def enu_rotations(ned_q_frd: Floats) -> Floats:
    """Rotations east-north-up from forward-left-up of quaternions wxyz in the log. (n, 4) xyzw."""
    xyzw = normalise_quaternions(np.roll(np.asarray(ned_q_frd, dtype=np.float64), -1, axis=1))
    return so3.compose(so3.compose(ENU_Q_NED, xyzw), FRD_Q_FLU)


class Fields(dict[str, Any]):
    """Columns of a topic by their names; one that is missing is named with its place."""

    def __init__(self, place: str, columns: Mapping[str, Any]):
        super().__init__(columns)
        self.place = place

    def __missing__(self, key: str) -> Any:
        raise FormatError(f"{self.place}: there is no field {key!r}: the layout is not known")


@dataclass(frozen=True)
class AutopilotLog:
    """What is known of a log before its messages are looked at."""

    path: str
    known: tuple[str, ...]  # names of all messages that the log has
    damage: str | None  # a sentence

    def refuse_damage(self, options: ReadOptions) -> None:
        """Raise unless the log is whole or may be read as far as it goes."""
        if self.damage is not None and options.bad_rows == "refuse":
            raise FormatError(f"{self.path}: {self.damage}", remedy="bad_rows")

    def refuse_stretch(self, options: ReadOptions) -> None:
        """Raise where a stretch of the truth is asked for."""
        if options.stretch is not None:
            raise OptionError(
                f"{self.path}: option stretch means nothing for the truth: it never jumps"
            )

    @property
    def damage_notes(self) -> tuple[str, ...]:
        """A note on damage that was let pass."""
        return () if self.damage is None else (f"{self.damage}; read was what is left",)


def parse_topic(text: str, truth: str) -> tuple[str, int | None]:
    """Message and number of `/estimator_states/1`; of a number alone, "" and this.

    `truth`, or `groundtruth`, is what a log calls its truth.
    """
    match = re.fullmatch(r"(|[A-Za-z]\w*)(?:(?:^|/)(\d+))?", text.strip("/"))
    if match is None:
        return text, None
    name = truth if match[1] in ("truth", "groundtruth") else match[1]
    return name, None if match[2] is None else int(match[2])


@dataclass(frozen=True, kw_only=True)
class Truth(LogRows):
    """Poses of a simulation; a rotation of None is not told."""

    ned: Floats
    rotation: Floats | None = None  # xyzw, east-north-up from forward-left-up

    def track(self, options: ReadOptions) -> Track:
        """The poses in our axes."""
        unknown = np.tile([0.0, 0.0, 0.0, 1.0], (len(self.ned), 1))
        return Track(
            self.stamp,
            enu_positions(self.ned),
            unknown if self.rotation is None else self.rotation,
            about=About("base_link", "enu", "fixed", oriented=self.rotation is not None),
            provenance=replace(self, remarks=(AXES_REMARK, *self.remarks)).provenance(),
            intake=options.intake(self.where),
        )


@dataclass(frozen=True, kw_only=True)
class Flight(LogRows):
    """Rows of an estimator in a log, in the order of their times.

    `variance` has those of the position (n, 3), or of position and rotation (n, 6), in fixed
    north-east-down axes; `piece` changes where the estimator was reset.
    """

    about: About
    ned: Floats
    variance: Floats
    quaternion: Floats  # wxyz, ned from frd
    piece: Ints
    valid: Bools  # whether the estimator itself calls the horizontal position valid

    def track(self, options: ReadOptions) -> Track:
        """The belief in our axes; of the position alone where the rotation has no variance."""
        flight = one_stretch(self, options)
        oriented = flight.variance.shape[1] == 6
        convention = CONVENTIONS["ros"].words if oriented else POSITION_ONLY
        variance = np.zeros((len(flight.stamp), 6))
        variance[:, :3] = flight.variance[:, ENU]
        rotation = np.tile([0.0, 0.0, 0.0, 1.0], (len(variance), 1))
        if oriented:
            variance[:, 3:] = flight.variance[:, 3:][:, ENU]
            rotation = enu_rotations(flight.quaternion)
        pose, world = (enu_positions(flight.ned), rotation), np.eye(6) * variance[:, None]
        return GaussianTrack(
            flight.stamp,
            *pose,
            to_right(world, pose, CONVENTIONS["ros"], "translation-first"),
            about=replace(flight.about, oriented=oriented),
            provenance=flight.provenance(f"{convention}; diagonal"),
            intake=options.intake(flight.where),
        )


def one_stretch(flight: Flight, options: ReadOptions) -> Flight:
    """The rows of one stretch between resets: that of the option, else the longest."""
    starts = np.flatnonzero(np.diff(flight.piece, prepend=flight.piece[:1] - 1))
    count, wanted = len(starts), options.stretch
    if wanted not in (None, "all") and int(wanted) > count:
        raise OptionError(f"{flight.name}: there is no stretch {wanted}; there are {count}")
    if count == 1:
        return flight
    lengths = np.diff(starts, append=len(flight.piece))
    times = [float(flight.stamp[at] - flight.stamp[0]) / 1e9 for at in starts[1:]]
    shown = ", ".join(words.duration(time) for time in times[:MOST_TIMES])
    shown += " ..." if len(times) > MOST_TIMES else ""
    resets = f"{words.count(count - 1, 'reset')} of the pose, {shown} after the first row"
    if wanted == "all":
        return flight.noted(f"{resets}: all stretches were read, and scans before and after differ")
    chosen = int(np.argmax(lengths)) if wanted is None else int(wanted) - 1
    told = "the longest" if wanted is None else "as asked for"
    note = (
        f"{resets}: read was stretch {chosen + 1} of {count}, {told}, "
        f"{words.count(int(lengths[chosen]), 'row')}"
    )
    inside = np.arange(len(flight.piece)) - starts[chosen]
    other = (inside < 0) | (inside >= lengths[chosen])
    return flight.without(other, "in another stretch between resets").noted(note)


MOST_TIMES = 4  # that a sentence names


def without_unaided(flight: Flight, flag: str) -> Flight:
    """The rows from the first valid horizontal position on; a note on those that are not valid."""
    if not flight.valid.any():
        why = f"{flag} in every row"
        noted = flight.noted(f"{why}: the horizontal position is a placeholder near the origin")
        return replace(noted, axes=("z", why))
    early = np.logical_and.accumulate(~flight.valid)
    flight = flight.without(early, f"before the first valid horizontal position ({flag})")
    lost = int((~flight.valid).sum())
    if lost:
        return flight.noted(f"{flag} in {lost} of {len(flight.stamp)} rows, which stay")
    return flight


def latest(stamp: Ints, value: Any, at: Ints) -> Any:
    """The last value at or before each of some times; the first one before all of them."""
    order = np.argsort(stamp, kind="stable")
    place = np.searchsorted(stamp[order], at, side="right") - 1
    return np.asarray(value)[order][np.maximum(place, 0)]


def interpolate(stamp: Ints, value: Floats, at: Ints) -> tuple[Floats, Bools]:
    """Values by straight lines between stamps, and which times lie within them. (n, d)."""
    inside = (at >= stamp[0]) & (at <= stamp[-1])
    since = (stamp - stamp[0]).astype(np.float64), (at - stamp[0]).astype(np.float64)
    return np.stack([np.interp(since[1], since[0], each) for each in value.T], axis=1), inside


def pieces(keys: Any) -> Ints:
    """Numbers of the stretches in which a row of keys stays the same. (n, d) -> (n,)."""
    jumped = (np.diff(keys, axis=0) != 0).any(axis=1)
    return np.concatenate([[0], np.cumsum(jumped)])
