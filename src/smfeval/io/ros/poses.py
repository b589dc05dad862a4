"""One pose per message: odometry, stamped poses and transforms, and patched filters' beliefs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from smfeval.errors import FormatError
from smfeval.io.convention import Choice, SettledConvention, choose, settle_convention
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
from smfeval.maths import se3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.maths.symmetric import asymmetry
from smfeval.schema import GAUGES, ORDERS
from smfeval.track import About, DroppedRows, GaussianTrack, Provenance, Track
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


@dataclass(frozen=True)
class PoseMessages:
    """The messages of a topic as arrays; `covariance` is as the messages have it."""

    name: str
    format: str
    stamp: Ints
    position: Floats
    rotation: Floats
    covariance: Floats | None
    about: About
    notes: tuple[str, ...] = ()
    dropped: tuple[DroppedRows, ...] = ()
    message: Ints | None = None  # place of each row in the topic; None: the rows are the messages

    def where(self, row: int) -> str:
        """The place of a row, for people."""
        place = row if self.message is None else int(self.message[row])
        return f"{self.name} message {place + 1}"


def read_poses(bag: Bag, topic: Topic, shape: MessageShape, options: ReadOptions) -> Track:
    """Read a topic with one pose per message."""
    rows = without_lost(read_messages(bag, topic, shape), options)
    if rows.covariance is None or not is_filled(rows.covariance):
        return _pose_track(rows, options)
    own = remove_lag(rows, settle_lag(shape, options))
    told = replace(own, notes=own.notes + _meaning_notes(shape, options))
    return _gaussian_track(told, _message_convention(shape, options), options)


def _message_convention(shape: MessageShape, options: ReadOptions) -> SettledConvention:
    """ROS says what its own messages mean; the 6x6 of a patched filter is that of its state."""
    if shape.documented:
        implied = ("ros", ORDERS[0])
        return settle_convention(options, implied=implied, preset_order="message_order")
    return settle_convention(options, implied=(None, ORDERS[0]), preset_order="state_order")


def settle_lag(shape: MessageShape, options: ReadOptions) -> Choice:
    """By how many scans covariances are late. A preset knows that of the stock node's message."""
    preset = preset_named(options.preset)
    by_preset = preset.lag if preset and shape.documented else None
    lag = choose(
        "lag",
        ("the option", options.lag),
        (f"the preset {options.preset}", by_preset),
        ("assumed", 0),
    )
    assert lag is not None  # the last candidate decides
    return lag


def read_messages(bag: Bag, topic: Topic, shape: MessageShape) -> PoseMessages:
    """All messages of a topic as arrays."""
    name = f"{bag.path}:{topic.name}"
    parts = _part_getter(shape)
    taken = [(when, *parts(message)) for _, when, message in bag.messages([topic.name])]
    received, stamps, poses, words, matrices = zip(*taken, strict=True)
    stamp, notes = settle_stamps(stamps, received)
    about, doubts = _message_about(name, shape, words)
    seven = np.array(poses, dtype=np.float64)
    covariance = np.array(matrices, dtype=np.float64) if shape.covariance else None
    return PoseMessages(
        name=name,
        format=f"{bag.kind}, {topic.type_words}",
        stamp=stamp,
        position=seven[:, :3],
        rotation=seven[:, 3:],
        covariance=None if covariance is None else covariance.reshape(-1, 6, 6),
        about=about,
        notes=(*notes, *doubts),
    )


def without_lost(rows: PoseMessages, options: ReadOptions) -> PoseMessages:
    """The messages in which an estimator has a pose: a preset knows what it sends while lost."""
    preset = preset_named(options.preset)
    if preset is None or preset.lost_variance is None or rows.covariance is None:
        return rows
    lost = (np.diagonal(rows.covariance, axis1=1, axis2=2) == preset.lost_variance).all(axis=1)
    if not lost.any():
        return rows
    reason = f"{preset.name} was lost (variance {preset.lost_variance:g})"
    if lost.all():
        raise FormatError(f"{rows.name}: {reason} in every message")
    left = DroppedRows(reason, int(lost.sum()), rows.where(int(np.argmax(lost))))
    kept = np.flatnonzero(~lost)
    return replace(
        rows,
        stamp=rows.stamp[kept],
        position=rows.position[kept],
        rotation=rows.rotation[kept],
        covariance=rows.covariance[kept],
        dropped=(*rows.dropped, left),
        message=kept,
    )


def remove_lag(rows: PoseMessages, lag: Choice) -> PoseMessages:
    """Give each pose its own covariance where messages carry an older one."""
    notes = rows.notes + ((lag.note,) if lag.note else ())
    if lag.value == 0 or rows.covariance is None:
        return replace(rows, notes=notes)
    kept = len(rows.stamp) - lag.value
    if kept < 1:
        count = len(rows.stamp)
        raise FormatError(f"{rows.name}: {count} messages do not hold the covariance of any scan")
    return replace(
        rows,
        stamp=rows.stamp[:kept],
        position=rows.position[:kept],
        rotation=rows.rotation[:kept],
        covariance=rows.covariance[lag.value :],
        dropped=(
            *rows.dropped,
            DroppedRows("no later message has its covariance", lag.value, rows.where(kept)),
        ),
        notes=notes + lag_notes(lag.value, lag.decided_by, rows.covariance),
    )


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


def _pose_track(rows: PoseMessages, options: ReadOptions) -> Track:
    notes = rows.notes
    if rows.covariance is not None:
        notes += (
            f"the covariance is {describe_covariance(rows.covariance)} in all "
            f"{len(rows.stamp)} messages; "
            "read as poses without uncertainty",
        )
    return Track(
        rows.stamp,
        rows.position,
        rows.rotation,
        about=rows.about,
        provenance=Provenance(rows.name, rows.format, dropped=rows.dropped, notes=notes),
        intake=options.intake(rows.where),
    )


def _gaussian_track(
    rows: PoseMessages, settled: SettledConvention, options: ReadOptions
) -> GaussianTrack:
    assert rows.covariance is not None  # the caller checked
    return GaussianTrack(
        rows.stamp,
        rows.position,
        rows.rotation,
        _convert_covariance(rows.covariance, (rows.position, rows.rotation), settled),
        about=rows.about,
        provenance=Provenance(
            rows.name,
            rows.format,
            settled.words,
            rows.dropped,
            rows.notes + health_notes(rows.covariance) + settled.notes,
        ),
        intake=options.intake(rows.where),
    )


def _convert_covariance(covariance: Floats, pose: se3.Pose, settled: SettledConvention) -> Floats:
    """Right perturbation. Asymmetric ones stay as they are, so that the track can refuse them."""
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and inf are refused by the track
        right = settled.to_right(covariance, pose)
        skew = asymmetry(covariance) > SYMMETRY_TOLERANCE
    return np.where(skew[:, None, None], covariance, right)


def _part_getter(shape: MessageShape) -> Callable[[Any], tuple[Any, ...]]:
    """Stamp, pose, words (world, body, gauge) and covariance of a message of this shape."""
    world = f"{shape.header}.frame_id"
    words = attrgetter(world, shape.body or world, shape.gauge or world)
    matrix = attrgetter(shape.covariance or shape.header)
    stamp, pose = shape.stamp, shape.pose
    return lambda message: (stamp(message), pose(message), words(message), matrix(message))


def _message_about(name: str, shape: MessageShape, words: Sequence[Any]) -> tuple[About, list[str]]:
    """World, body and gauge as the messages name them, and a note on a gauge we do not know."""
    said = list(zip(*words, strict=True))
    world = common_name(name, said[0])
    body = common_name(name, said[1]) if shape.body else None
    gauge = common_name(name, said[2]) if shape.gauge else None
    if gauge is None or gauge in GAUGES:
        return About(body=body, world=world, gauge=gauge), []
    note = f"the messages name the gauge {gauge!r}, which is none of {', '.join(GAUGES)}"
    return About(body=body, world=world), [note]


def common_name(name: str, said: Sequence[str]) -> str | None:
    """The one name that all messages give, or None if they give none."""
    distinct = list(dict.fromkeys(word.lstrip("/") for word in said if word.lstrip("/")))
    if len(distinct) > 1:
        raise FormatError(
            f"{name}: the messages speak of {' and '.join(map(repr, distinct[:3]))}; "
            "a track has one world and one body"
        )
    return distinct[0] if distinct else None
