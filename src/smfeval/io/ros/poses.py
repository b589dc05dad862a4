"""One belief per message: poses (odometry, transforms, patched filters) and clouds of particles."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from smfeval.errors import FormatError, TrackError
from smfeval.io.convention import Choice, SettledConvention, choose, settle_convention
from smfeval.io.log_rows import LogRows
from smfeval.io.options import ReadOptions
from smfeval.io.presets import preset_named
from smfeval.io.ros.bag import Bag, Topic
from smfeval.io.ros.topics import (
    MessageShape,
    describe_covariance,
    health_notes,
    is_filled,
    lag_notes,
)
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.maths.symmetric import asymmetry
from smfeval.schema import GAUGES, ORDERS
from smfeval.track import About, DroppedRows, GaussianTrack, ParticleTrack, Provenance, Track
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
class PoseMessages(LogRows):
    """The messages of a topic as arrays; `covariance` is as the messages have it."""

    unit = "message"
    none_left = "{} in every message"

    position: Floats
    rotation: Floats
    covariance: Floats | None
    about: About


def read_poses(bag: Bag, topic: Topic, shape: MessageShape, options: ReadOptions) -> Track:
    """Read a topic with one pose per message."""
    rows = without_lost(_read_messages(bag, topic, shape), options)
    if rows.covariance is None:
        return _track(rows, options)
    if not is_filled(rows.covariance):
        empty = f"the covariance is {describe_covariance(rows.covariance)} in all "
        note = f"{empty}{len(rows.stamp)} messages; read as poses without uncertainty"
        return _track(replace(rows, covariance=None).noted(note), options)

    rows = remove_lag(rows, settle_lag(shape, options))
    rows = rows.noted(*_meaning_notes(shape, options))
    # ROS says what its own messages mean; the 6x6 of a patched filter is that of its state
    settled = settle_convention(
        options,
        implied=("ros" if shape.documented else None, ORDERS[0]),
        preset_order="message_order" if shape.documented else "state_order",
    )
    return _track(rows, options, settled)


def settle_lag(shape: MessageShape, options: ReadOptions) -> Choice:
    """By how many scans covariances are late. A preset knows that of the stock node's message."""
    preset = preset_named(options.preset)
    return choose(
        "lag",
        ("the option", options.lag),
        (f"the preset {options.preset}", preset.lag if preset and shape.documented else None),
        ("assumed", 0),
    )


def _read_messages(bag: Bag, topic: Topic, shape: MessageShape) -> PoseMessages:
    """All messages of a topic as arrays."""
    name, world = f"{bag.path}:{topic.name}", f"{shape.header}.frame_id"
    names = attrgetter(world, shape.body or world, shape.gauge or world)
    matrix = attrgetter(shape.covariance or shape.header)
    taken = [
        (when, shape.stamp(message), shape.pose(message), names(message), matrix(message))
        for _, when, message in bag.messages([topic.name])
    ]
    received, stamps, poses, frames, matrices = zip(*taken, strict=True)
    stamp, notes = settle_stamps(stamps, received)
    worlds, bodies, gauges = zip(*frames, strict=True)
    gauge = common_name(name, gauges) if shape.gauge else None
    if gauge is not None and gauge not in GAUGES:
        known = ", ".join(GAUGES)
        notes.append(f"the messages name the gauge {gauge!r}, which is none of {known}")
        gauge = None
    about = About(
        body=common_name(name, bodies) if shape.body else None,
        world=common_name(name, worlds),
        gauge=gauge,
    )
    seven = np.array(poses, dtype=np.float64)
    covariance = np.array(matrices, dtype=np.float64) if shape.covariance else None
    return PoseMessages(
        name=name,
        format=f"{bag.kind}, {topic.type_words}",
        stamp=stamp,
        row=np.arange(len(stamp)),
        position=seven[:, :3],
        rotation=seven[:, 3:],
        covariance=None if covariance is None else covariance.reshape(-1, 6, 6),
        about=about,
        notes=tuple(notes),
    )


def without_lost(rows: PoseMessages, options: ReadOptions) -> PoseMessages:
    """The messages in which an estimator has a pose: a preset knows what it sends while lost."""
    preset = preset_named(options.preset)
    if preset is None or preset.lost_variance is None or rows.covariance is None:
        return rows
    lost = (np.diagonal(rows.covariance, axis1=1, axis2=2) == preset.lost_variance).all(axis=1)
    return rows.without(lost, f"{preset.name} was lost (variance {preset.lost_variance:g})")


def remove_lag(rows: PoseMessages, lag: Choice) -> PoseMessages:
    """Give each pose its own covariance where messages carry an older one."""
    rows = rows.noted(lag.note) if lag.note else rows
    if lag.value == 0 or rows.covariance is None:
        return rows
    count = len(rows.stamp)
    if count <= lag.value:
        raise FormatError(f"{rows.name}: {count} messages do not hold the covariance of any scan")
    late = np.arange(count) >= count - lag.value
    own = rows.without(late, "no later message has its covariance")
    own = replace(own, covariance=rows.covariance[lag.value :])
    return own.noted(*lag_notes(lag.value, lag.decided_by, rows.covariance))


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
    notes, convention = rows.notes, None
    if rows.covariance is not None and settled is not None:
        with np.errstate(invalid="ignore", over="ignore"):  # NaN and inf are refused by the track
            right = settled.to_right(rows.covariance, (rows.position, rows.rotation))
            skew = asymmetry(rows.covariance) > SYMMETRY_TOLERANCE
        arrays.append(np.where(skew[:, None, None], rows.covariance, right))  # refused as it is
        notes += health_notes(rows.covariance) + settled.notes
        convention = settled.words
    return (Track if convention is None else GaussianTrack)(
        *arrays,
        about=rows.about,
        provenance=Provenance(rows.name, rows.format, convention, rows.dropped, notes),
        intake=options.intake(rows.where),
    )


def common_name(name: str, said: Sequence[str]) -> str | None:
    """The one name that all messages give, or None if they give none."""
    distinct = list(dict.fromkeys(word.lstrip("/") for word in said if word.lstrip("/")))
    if len(distinct) > 1:
        raise FormatError(
            f"{name}: the messages speak of {' and '.join(map(repr, distinct[:3]))}; "
            "a track has one world and one body"
        )
    return distinct[0] if distinct else None


def read_particles(
    bag: Bag, topic: Topic, shape: MessageShape, options: ReadOptions
) -> ParticleTrack:
    """Read a topic with one cloud per message: PoseArray (equal weights), nav2 ParticleCloud."""
    name = f"{bag.path}:{topic.name}"
    frame, members = attrgetter(f"{shape.header}.frame_id"), attrgetter(shape.particles)
    taken = [
        (when, shape.stamp(message), frame(message), _particle_array(members(message), shape))
        for _, when, message in bag.messages([topic.name])
    ]
    received, stamps, frames, clouds = zip(*taken, strict=True)
    stamp, notes = settle_stamps(stamps, received)
    count = np.array([len(cloud) for cloud in clouds], dtype=np.int64)
    full, empty = np.flatnonzero(count), np.flatnonzero(count == 0)
    dropped: tuple[DroppedRows, ...] = ()
    if not len(full):
        raise FormatError(f"{name}: none of the {len(empty)} messages holds a particle")
    if len(empty):
        first, reason = int(empty[0]), "the message holds no particle"
        place = f"{name} message {first + 1}"
        if options.bad_rows == "refuse":
            raise TrackError(reason, place=place, row=first, remedy="bad_rows")
        dropped = (DroppedRows("no particle in the message", len(empty), place),)

    offset = np.concatenate([[0], np.cumsum(count[full])])
    particle = np.concatenate(clouds)

    def where(row: int) -> str:
        scan = int(np.searchsorted(offset, row, side="right")) - 1
        return f"{name} message {int(full[scan]) + 1}"

    return ParticleTrack(
        stamp[full],
        offset,
        particle[:, :3],
        particle[:, 3:7],
        particle[:, 7],
        weighted=shape.weight is not None,
        about=About(world=common_name(name, frames)),
        provenance=Provenance(
            name, f"{bag.kind}, {topic.type_words}", dropped=dropped, notes=tuple(notes)
        ),
        intake=options.intake(where),
    )


def _particle_array(members: list[Any], shape: MessageShape) -> Floats:
    """The particles of one message: x y z, quaternion xyzw, weight. (n, 8)."""
    rows = np.ones((len(members), 8))
    if members:
        rows[:, :7] = list(map(shape.pose, members))
    if members and shape.weight:
        rows[:, 7] = list(map(attrgetter(shape.weight), members))
    return rows
