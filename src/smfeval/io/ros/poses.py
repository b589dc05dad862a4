"""One belief per message: poses (odometry, transforms, patched filters), particles, GNSS fixes.

Fixes are sensor_msgs/NavSatFix, and GPSFix of gps_common or gps_msgs. Their `position_covariance`
is row-major in the east-north-up axes at the fix, m^2. Its type says what it is worth: 0 unknown
(the numbers mean nothing), 1 approximated (from dilutions of precision, not the receiver's own
belief), 2 diagonal, 3 known.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError, TrackError
from smfeval.io.convention import POSITION_ONLY, SettledConvention, choose, settle_convention
from smfeval.io.geodetic import Fixes
from smfeval.io.log_rows import LogRows
from smfeval.io.options import ReadOptions
from smfeval.io.presets import preset_named
from smfeval.io.ros import topics
from smfeval.io.ros.bag import Bag, Topic
from smfeval.io.ros.topics import MessageShape
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.maths.symmetric import asymmetry
from smfeval.schema import GAUGES, ORDERS
from smfeval.track import About, DroppedRows, GaussianTrack, ParticleTrack, Track
from smfeval.track.row_checks import SYMMETRY_TOLERANCE

RECEIVE_TIMES_NOTE = (
    "all header stamps are zero; the times at which the bag received the messages are used"
)


def settle_stamps(
    header: Sequence[tuple[int, int]], received: Sequence[int]
) -> tuple[Ints, list[str]]:
    """Stamps from (seconds, nanoseconds) pairs, or receive times with a note if all are zero."""
    pairs = np.array(header, dtype=np.int64).reshape(-1, 2)
    if len(pairs) and not pairs.any():
        return np.array(received, dtype=np.int64), [RECEIVE_TIMES_NOTE]
    return pairs[:, 0] * NANOSECONDS + pairs[:, 1], []


@dataclass(frozen=True, kw_only=True)
class Messages(LogRows):
    """The messages of a topic."""

    unit = "message"
    none_left = "{} in every message"


def _read_messages(
    bag: Bag, topic: Topic, shape: MessageShape, take: Callable[[Any], tuple[Any, ...]]
) -> tuple[Messages, list[tuple[Any, ...]]]:
    """All messages of a topic, and columns of what is taken out of each."""
    sent = bag.messages([topic.name])
    taken = [(when, shape.stamp(message), *take(message)) for _, when, message in sent]
    received, stamps, *columns = zip(*taken, strict=True)
    stamp, notes = settle_stamps(stamps, received)
    messages = Messages(
        name=f"{bag.path}:{topic.name}",
        format=f"{bag.kind}, {topic.type_words}",
        stamp=stamp,
        row=np.arange(len(stamp)),
        notes=tuple(notes),
    )
    return messages, columns


@dataclass(frozen=True, kw_only=True)
class PoseMessages(Messages):
    """The messages of a topic as arrays; `covariance` is as the messages have it."""

    position: Floats
    rotation: Floats
    covariance: Floats | None
    about: About


def read_poses(bag: Bag, topic: Topic, shape: MessageShape, options: ReadOptions) -> Track:
    """Read a topic with one pose per message."""
    rows = without_lost(_read_pose_messages(bag, topic, shape), options)
    if rows.covariance is None:
        return _track(rows, options)
    if not topics.is_filled(rows.covariance):
        empty = f"the covariance is {topics.describe_covariance(rows.covariance)} in all "
        note = f"{empty}{len(rows.stamp)} messages; read as poses without uncertainty"
        return _track(replace(rows, covariance=None).noted(note), options)

    rows = remove_lag(rows, shape, options).noted(*_meaning_notes(shape, options))
    # ROS says what its own messages mean; the 6x6 of a patched filter is that of its state
    settled = settle_convention(
        options,
        implied=("ros" if shape.documented else None, ORDERS[0]),
        preset_order="message_order" if shape.documented else "state_order",
    )
    return _track(rows, options, settled)


def _read_pose_messages(bag: Bag, topic: Topic, shape: MessageShape) -> PoseMessages:
    """All messages of a topic as arrays."""
    world = f"{shape.header}.frame_id"
    names = attrgetter(world, shape.body or world, shape.gauge or world)
    matrix = attrgetter(shape.covariance or shape.header)
    messages, (poses, matrices, worlds, bodies, gauges) = _read_messages(
        bag, topic, shape, lambda message: (shape.pose(message), matrix(message), *names(message))
    )
    gauge = common_name(messages, gauges) if shape.gauge else None
    if gauge is not None and gauge not in GAUGES:
        known = ", ".join(GAUGES)
        note = f"the messages name the alignment {gauge!r}, which is none of {known}"
        messages, gauge = messages.noted(note), None
    body = common_name(messages, bodies) if shape.body else None
    seven = np.array(poses, dtype=np.float64)
    covariance = np.array(matrices, dtype=np.float64) if shape.covariance else None
    return PoseMessages(
        **vars(messages),
        position=seven[:, :3],
        rotation=seven[:, 3:],
        covariance=None if covariance is None else covariance.reshape(-1, 6, 6),
        about=About(body, common_name(messages, worlds), gauge),
    )


def without_lost(rows: PoseMessages, options: ReadOptions) -> PoseMessages:
    """The messages in which an estimator has a pose: a preset knows what it sends while lost."""
    preset = preset_named(options.preset)
    if preset is None or preset.lost_variance is None or rows.covariance is None:
        return rows
    lost = (np.diagonal(rows.covariance, axis1=1, axis2=2) == preset.lost_variance).all(axis=1)
    return rows.without(lost, f"{preset.name} was lost (variance {preset.lost_variance:g})")


def remove_lag(rows: PoseMessages, shape: MessageShape, options: ReadOptions) -> PoseMessages:
    """Give each pose its own covariance where messages carry an older one.

    A preset knows by how many scans that of the stock node's message is late. A node that
    publishes before it fills sends zeros first; a recording that starts with other numbers began
    later, or comes from a node that was mended.
    """
    preset = preset_named(options.preset)
    lag = choose(
        "lag",
        ("the option", options.lag),
        (f"the preset {options.preset}", preset.lag if preset and shape.documented else None),
        ("assumed", 0),
    )
    rows = rows.noted(lag.note) if lag.note else rows
    if lag.value == 0 or rows.covariance is None:
        return rows
    count = len(rows.stamp)
    if count <= lag.value:
        raise FormatError(f"{rows.name}: {count} messages do not hold the covariance of any scan")
    late = np.arange(count) >= count - lag.value
    own = rows.without(late, "no later message has its covariance")
    own = replace(own, covariance=rows.covariance[lag.value :])
    scans = "the scan before" if lag.value == 1 else f"{lag.value} scans before"
    notes = [f"the covariance of a message belongs to {scans}; shifted back"]
    if rows.covariance[0].any():
        doubt = "the first covariance is not zero, as that of a stock node would be"
        notes.append(f"{doubt}; if the node was mended, the lag is wrong (option lag)")
    return own.noted(*(f"{lag.decided_by}: {note}" for note in notes))


def _meaning_notes(shape: MessageShape, options: ReadOptions) -> tuple[str, ...]:
    """What is to be said of a covariance whose meaning ROS does not define."""
    preset = preset_named(options.preset)
    if shape.documented:
        return ()
    if preset is not None and preset.lag and options.lag is None:
        return (
            f"the message is not that of the stock node: its covariance is taken to be that of its "
            f"own scan, without the lag of preset {preset.name}",
        )
    if preset is None and options.convention is None:
        return (
            "ROS does not define what this covariance means; it is read as that of the right "
            "perturbation; name the estimator or the convention if it is another",
        )
    return ()


def _track(
    rows: PoseMessages, options: ReadOptions, settled: SettledConvention | None = None
) -> Track:
    """The poses, or the beliefs where the covariance's convention is settled."""
    arrays: list[Any] = [rows.stamp, rows.position, rows.rotation]
    provenance = rows.provenance()
    if rows.covariance is not None and settled is not None:
        with np.errstate(invalid="ignore", over="ignore"):  # NaN and inf are refused by the track
            right = settled.to_right(rows.covariance, (rows.position, rows.rotation))
            skew = asymmetry(rows.covariance) > SYMMETRY_TOLERANCE
        arrays.append(np.where(skew[:, None, None], rows.covariance, right))  # refused as it is
        health = topics.health_notes(rows.covariance)
        provenance = settled.record(rows.noted(*health).provenance())
    make = Track if provenance.convention is None else GaussianTrack
    intake = options.intake(rows.where)
    return make(*arrays, about=rows.about, provenance=provenance, intake=intake)


def common_name(messages: Messages, said: Sequence[str]) -> str | None:
    """The one name that all messages give, or None if they give none."""
    distinct = list(dict.fromkeys(word.lstrip("/") for word in said if word.lstrip("/")))
    if len(distinct) > 1:
        raise FormatError(
            f"{messages.name}: the messages speak of {' and '.join(map(repr, distinct[:3]))}; "
            "a track has one world and one body"
        )
    return distinct[0] if distinct else None


def read_particles(
    bag: Bag, topic: Topic, shape: MessageShape, options: ReadOptions
) -> ParticleTrack:
    """Read a topic with one cloud per message: PoseArray (equal weights), nav2 ParticleCloud."""
    frame, members = attrgetter(f"{shape.header}.frame_id"), attrgetter(shape.particles)
    weight = attrgetter(shape.weight) if shape.weight else lambda particle: 1.0

    def take(message: Any) -> tuple[str, Floats]:
        particles = [(*shape.pose(each), weight(each)) for each in members(message)]
        return frame(message), np.array(particles, np.float64)

    messages, (frames, clouds) = _read_messages(bag, topic, shape, take)
    count = np.array([len(cloud) for cloud in clouds], dtype=np.int64)
    full, dropped = np.flatnonzero(count), _empty_clouds(messages, count, options)
    offset = np.concatenate([[0], np.cumsum(count[full])])
    particle = np.concatenate([clouds[at] for at in full])

    def where(row: int) -> str:
        return messages.where(int(full[np.searchsorted(offset, row, side="right") - 1]))

    return ParticleTrack(
        messages.stamp[full],
        offset,
        particle[:, :3],
        particle[:, 3:7],
        particle[:, 7],
        weighted=shape.weight is not None,
        about=About(world=common_name(messages, frames)),
        provenance=replace(messages.provenance(), dropped=dropped),
        intake=options.intake(where),
    )


def _empty_clouds(messages: Messages, count: Ints, options: ReadOptions) -> tuple[DroppedRows, ...]:
    """Messages without a particle, which are left out, or refused."""
    empty = np.flatnonzero(count == 0)
    if not len(empty):
        return ()
    if len(empty) == len(count):
        raise FormatError(f"{messages.name}: none of the {len(empty)} messages holds a particle")
    first = int(empty[0])
    place = messages.where(first)
    if options.bad_rows == "refuse":
        reason = "the message holds no particle"
        raise TrackError(reason, place=place, row=first, remedy="bad_rows")
    return (DroppedRows("no particle in the message", len(empty), place),)


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
    fixes = _read_fix_messages(bag, topic, shape)
    fixes = fixes.without(fixes.status < 0, "no fix (status -1)")
    fixes = fixes.without(np.isnan(fixes.llh[:, 2]), "no altitude")
    unknown = fixes.type == UNKNOWN
    if unknown.all() or not topics.is_filled(fixes.covariance):
        filled = "but every covariance is zero or marked unknown"
        why = "its numbers are no covariance" if unknown.all() else filled
        note = f"position_covariance has {topics.describe_types(fixes.type)}: {why}"
        plain = replace(fixes, covariance=np.zeros_like(fixes.covariance))
        return plain.track(options).with_notes(f"{note}; positions alone were read")

    fixes = fixes.without(unknown, "covariance of type 0 (unknown)")
    diagonal = np.eye(3) if (fixes.type == DIAGONAL).all() else 1.0
    belief = replace(
        fixes,
        covariance=fixes.covariance * diagonal,
        convention=POSITION_ONLY,
        remarks=(f"position_covariance has {topics.describe_types(fixes.type)}",),
    )
    notes = topics.health_notes(fixes.covariance) + _type_notes(fixes)
    return belief.track(options).with_notes(*notes)


def _read_fix_messages(bag: Bag, topic: Topic, shape: MessageShape) -> FixMessages:
    def take(message: Any) -> tuple[Any, ...]:
        return (
            (message.latitude, message.longitude, message.altitude),
            message.position_covariance,
            message.position_covariance_type,
            int(getattr(getattr(message, "status", None), "status", 0)),
            getattr(message, shape.header).frame_id,
        )

    messages, (llh, covariance, types, status, frames) = _read_messages(bag, topic, shape, take)
    if topic.type_words.endswith("/GPSFix"):
        messages = messages.noted(*GPS_FIX_NOTES)
    fixes = FixMessages(
        **vars(messages),
        llh=np.array(llh, dtype=np.float64),
        covariance=np.array(covariance, dtype=np.float64).reshape(-1, 3, 3),
        convention=None,
        body=common_name(messages, frames),
        type=np.array(types, dtype=np.int64),
        status=np.array(status, dtype=np.int64),
    )
    strange = (fixes.type < 0) | (fixes.type >= len(topics.COVARIANCE_TYPES))
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
