"""GNSS fixes in messages: sensor_msgs/NavSatFix, and GPSFix of gps_common or gps_msgs.

`position_covariance` is row-major in the east-north-up axes at the fix, m^2. Its type says what it
is worth: 0 unknown (the numbers mean nothing), 1 approximated (from dilutions of precision, not
the receiver's own belief), 2 diagonal, 3 known.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from smfeval.errors import FormatError, OptionError
from smfeval.io.geodetic import local_from_llh, refuse_off_earth
from smfeval.io.options import ReadOptions
from smfeval.io.ros.bag import Bag, Topic
from smfeval.io.ros.poses import common_name, settle_stamps
from smfeval.io.ros.topics import (
    COVARIANCE_TYPES,
    MessageShape,
    describe_types,
    health_notes,
    is_filled,
)
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.track import DroppedRows, GaussianTrack, Provenance, Track

UNKNOWN, APPROXIMATED, DIAGONAL = range(3)


@dataclass(frozen=True)
class Fixes:
    """The messages of a topic as arrays."""

    name: str
    format: str
    antenna: str | None
    stamp: Ints
    llh: Floats  # degrees, m
    covariance: Floats  # (n, 3, 3), east north up
    type: Ints
    status: Ints
    row: Ints  # place of each message in the topic, from zero
    notes: tuple[str, ...] = ()
    dropped: tuple[DroppedRows, ...] = ()

    def where(self, row: int) -> str:
        """The place of a row, for people."""
        return f"{self.name} message {self.row[row] + 1}"

    def without(self, bad: Bools, reason: str) -> "Fixes":
        """The fixes that are not bad; the others are counted under a reason."""
        if not bad.any():
            return self
        if bad.all():
            raise FormatError(f"{self.name}: no fix is left: {reason} in every message")
        left = DroppedRows(reason, int(bad.sum()), self.where(int(np.argmax(bad))))
        names = ("stamp", "llh", "covariance", "type", "status", "row")
        kept = {name: getattr(self, name)[~bad] for name in names}
        return replace(self, **kept, dropped=(*self.dropped, left))


def read_fixes(bag: Bag, topic: Topic, shape: MessageShape, options: ReadOptions) -> Track:
    """Read fixes as a position-only belief, or as plain positions if no covariance is known."""
    _refuse_conventions(f"{bag.path}:{topic.name}", options)
    fixes = _read_messages(bag, topic, shape)
    fixes = fixes.without(fixes.status < 0, "no fix (status -1)")
    fixes = fixes.without(np.isnan(fixes.llh[:, 2]), "no altitude")
    if (fixes.type == UNKNOWN).all() or not is_filled(fixes.covariance):
        return _positions(fixes, options)
    fixes = fixes.without(fixes.type == UNKNOWN, "covariance of type 0 (unknown)")
    return _belief(fixes, options)


def _refuse_conventions(name: str, options: ReadOptions) -> None:
    for word in ("convention", "order", "lag"):
        if word in options.given_names:
            raise OptionError(f"{name}: option {word} means nothing for GNSS fixes")


def _read_messages(bag: Bag, topic: Topic, shape: MessageShape) -> Fixes:
    name = f"{bag.path}:{topic.name}"
    taken = [
        (
            when,
            shape.stamp(message),
            (message.latitude, message.longitude, message.altitude),
            message.position_covariance,
            message.position_covariance_type,
            _status(message),
            getattr(message, shape.header).frame_id,
        )
        for _, when, message in bag.messages([topic.name])
    ]
    received, stamps, llh, covariance, types, status, frames = zip(*taken, strict=True)
    stamp, notes = settle_stamps(stamps, received)
    fixes = Fixes(
        name,
        f"{bag.kind}, {topic.type_words}",
        common_name(name, frames),
        stamp,
        np.array(llh, dtype=np.float64),
        np.array(covariance, dtype=np.float64).reshape(-1, 3, 3),
        np.array(types, dtype=np.int64),
        np.array(status, dtype=np.int64),
        np.arange(len(taken)),
        (*notes, *_altitude_notes(topic)),
    )
    _refuse_types(fixes)
    return fixes


def _status(message: object) -> int:
    """Status of a fix, -1 for none; a message without one is taken for a fix."""
    return int(getattr(getattr(message, "status", None), "status", 0))


def _refuse_types(fixes: Fixes) -> None:
    strange = (fixes.type < 0) | (fixes.type >= len(COVARIANCE_TYPES))
    if strange.any():
        row = int(np.argmax(strange))
        raise FormatError(
            f"{fixes.where(row)}: position_covariance_type {fixes.type[row]} is not defined; 0 to 3"
        )


def _altitude_notes(topic: Topic) -> tuple[str, ...]:
    """GPSFix does not bind its writers to the ellipsoid, as NavSatFix does."""
    if not topic.type_words.endswith("/GPSFix"):
        return ()
    return (
        "altitudes of GPSFix may be above sea level; they were read as above the ellipsoid",
        "err, err_horz and err_vert are 95 % values; they were not used",
    )


def _positions(fixes: Fixes, options: ReadOptions) -> Track:
    why = (
        "its numbers are no covariance"
        if (fixes.type == UNKNOWN).all()
        else "but every covariance is zero or marked unknown"
    )
    note = f"position_covariance has {describe_types(fixes.type)}: {why}; positions alone were read"
    return _track(Track, fixes, np.zeros_like(fixes.covariance), options).with_notes(note)


def _belief(fixes: Fixes, options: ReadOptions) -> Track:
    covariance = fixes.covariance
    if (fixes.type == DIAGONAL).all():
        covariance = covariance * np.eye(3)
    notes = health_notes(fixes.covariance) + _type_notes(fixes)
    return _track(GaussianTrack, fixes, covariance, options).with_notes(*notes)


def _type_notes(fixes: Fixes) -> tuple[str, ...]:
    """What is to be said of covariances that are not the receiver's own, or are radial."""
    notes = []
    guessed = int((fixes.type == APPROXIMATED).sum())
    if guessed:
        notes.append(
            f"{guessed} of {len(fixes.type)} covariances are approximated (type 1): made from "
            "dilutions of precision, not reported by the receiver"
        )
    east, north = fixes.covariance[:, 0, 0], fixes.covariance[:, 1, 1]
    if (east == north).all() and not fixes.covariance[:, 0, 1].any():
        notes.append(
            "east and north have the same variance in every message: if the driver squares one "
            "horizontal accuracy, which is radial, each is twice what the receiver means"
        )
    return tuple(notes)


def _track(
    kind: Callable[..., Track], fixes: Fixes, covariance: Floats, options: ReadOptions
) -> Track:
    refuse_off_earth(fixes.llh, fixes.where)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite the track refuses
        local = local_from_llh(fixes.llh, covariance, options)
    gaussian = kind is GaussianTrack
    remarks = (local.note, f"position_covariance has {describe_types(fixes.type)}")
    return kind(
        fixes.stamp,
        *local.pose,
        *((local.belief,) if gaussian else ()),
        about=local.about(fixes.antenna),
        provenance=Provenance(
            fixes.name,
            fixes.format,
            "position only, in world axes" if gaussian else None,
            fixes.dropped,
            fixes.notes,
            remarks if gaussian else remarks[:1],
        ),
        intake=options.intake(fixes.where),
    )
