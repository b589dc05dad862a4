"""GNSS fixes in messages: sensor_msgs/NavSatFix, and GPSFix of gps_common or gps_msgs.

`position_covariance` is row-major in the east-north-up axes at the fix, m^2. Its type says what it
is worth: 0 unknown (the numbers mean nothing), 1 approximated (from dilutions of precision, not
the receiver's own belief), 2 diagonal, 3 known.
"""

from dataclasses import dataclass, replace

import numpy as np

from smfeval.errors import FormatError, OptionError
from smfeval.io.geodetic import Fixes
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
from smfeval.maths.arrays import Ints
from smfeval.track import Track

UNKNOWN, APPROXIMATED, DIAGONAL = range(3)
GPS_FIX_NOTES = (  # GPSFix does not bind its writers to the ellipsoid, as NavSatFix does
    "altitudes of GPSFix may be above sea level; they were read as above the ellipsoid",
    "err, err_horz and err_vert are 95 % values; they were not used",
)


@dataclass(frozen=True, kw_only=True)
class FixMessages(Fixes):
    """The messages of a topic as arrays."""

    unit = "message"
    none_left = "no fix is left: {} in every message"

    type: Ints
    status: Ints  # -1: no fix; a message without a status is taken for one


def read_fixes(bag: Bag, topic: Topic, shape: MessageShape, options: ReadOptions) -> Track:
    """Read fixes as a position-only belief, or as plain positions if no covariance is known."""
    for word in ("convention", "order", "lag"):
        if word in options.given_names:
            raise OptionError(
                f"{bag.path}:{topic.name}: option {word} means nothing for GNSS fixes"
            )
    fixes = _read_messages(bag, topic, shape)
    fixes = fixes.without(fixes.status < 0, "no fix (status -1)")
    fixes = fixes.without(np.isnan(fixes.llh[:, 2]), "no altitude")
    unknown = fixes.type == UNKNOWN
    if unknown.all() or not is_filled(fixes.covariance):
        filled = "but every covariance is zero or marked unknown"
        why = "its numbers are no covariance" if unknown.all() else filled
        note = f"position_covariance has {describe_types(fixes.type)}: {why}"
        plain = replace(fixes, covariance=np.zeros_like(fixes.covariance))
        return plain.track(options).with_notes(f"{note}; positions alone were read")

    fixes = fixes.without(unknown, "covariance of type 0 (unknown)")
    diagonal = np.eye(3) if (fixes.type == DIAGONAL).all() else 1.0
    belief = replace(
        fixes,
        covariance=fixes.covariance * diagonal,
        convention="position only, in world axes",
        remarks=(f"position_covariance has {describe_types(fixes.type)}",),
    )
    notes = health_notes(fixes.covariance) + _type_notes(fixes)
    return belief.track(options).with_notes(*notes)


def _read_messages(bag: Bag, topic: Topic, shape: MessageShape) -> FixMessages:
    taken = [
        (
            when,
            shape.stamp(message),
            (message.latitude, message.longitude, message.altitude),
            message.position_covariance,
            message.position_covariance_type,
            int(getattr(getattr(message, "status", None), "status", 0)),
            getattr(message, shape.header).frame_id,
        )
        for _, when, message in bag.messages([topic.name])
    ]
    received, stamps, llh, covariance, types, status, frames = zip(*taken, strict=True)
    stamp, notes = settle_stamps(stamps, received)
    name = f"{bag.path}:{topic.name}"
    fixes = FixMessages(
        name=name,
        format=f"{bag.kind}, {topic.type_words}",
        stamp=stamp,
        row=np.arange(len(taken)),
        llh=np.array(llh, dtype=np.float64),
        covariance=np.array(covariance, dtype=np.float64).reshape(-1, 3, 3),
        convention=None,
        body=common_name(name, frames),
        type=np.array(types, dtype=np.int64),
        status=np.array(status, dtype=np.int64),
        notes=(*notes, *(GPS_FIX_NOTES if topic.type_words.endswith("/GPSFix") else ())),
    )
    strange = (fixes.type < 0) | (fixes.type >= len(COVARIANCE_TYPES))
    if strange.any():
        row = int(np.argmax(strange))
        raise FormatError(
            f"{fixes.where(row)}: position_covariance_type {fixes.type[row]} is not defined; 0 to 3"
        )
    return fixes


def _type_notes(fixes: FixMessages) -> tuple[str, ...]:
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
