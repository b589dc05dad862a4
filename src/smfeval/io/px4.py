"""PX4 ULog (.ulg): what EKF2 believes, and the truth of a simulation.

Which numbers are which is decided by the lengths of the arrays `states` and `covariances` and by
`n_states`, not by the version. `covariances` is a diagonal in every version:

===========  ================  ==========  ============  =====================================
states       covariances       n_states    position      rotation
===========  ================  ==========  ============  =====================================
32           28                24          [7:10]        quaternion, four variances
32           28                10          [0:3]         none: LPE, not EKF2
24           24                24          [7:10]        quaternion, four variances
24           23                23, 24      [6:9]         [0:3], rotation vector in NED axes
25           24                24, 25      [6:9]         [0:3], rotation vector in NED axes
===========  ================  ==========  ============  =====================================

A rotation vector is applied on the left, q <- Exp(theta) q, as in messages of ROS. Four variances
of a quaternion without cross terms are no covariance of a rotation: the position alone is read.
A belief is about `timestamp_sample`, the delayed instant at which measurements are fused.

Read by pyulog (extra `px4`). `LOG.ulg` is the filter that flew; `LOG.ulg:/estimator_states/1` is
another instance; `LOG.ulg:/groundtruth` is the truth of a simulation.
"""

import io
import re
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import words
from smfeval.errors import FormatError, OptionError
from smfeval.io.autopilot import (
    AXES_REMARK,
    DIAGONAL_REMARK,
    MICROSECONDS,
    ROWS,
    Fields,
    Flight,
    count_rises,
    enu_positions,
    enu_rotations,
    interpolate,
    latest,
    pieces,
    without_unaided,
)
from smfeval.io.options import ReadOptions
from smfeval.io.source import import_extra, open_input
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.track import About, DroppedRows, Provenance, Track

MAGIC = b"ULog\x01\x12\x35"
STATES, STATUS = "estimator_states", "estimator_status"
TRUTH, ATTITUDE = "vehicle_local_position_groundtruth", "vehicle_attitude_groundtruth"
LOCAL, LOCAL_OF_INSTANCE = "vehicle_local_position", "estimator_local_position"
SELECTOR = "estimator_selector_status"
BELIEF_TOPICS = (STATES, STATUS, LOCAL, LOCAL_OF_INSTANCE, SELECTOR)

UNAIDED_SIGMA_M = 10.0  # EKF2_NOAID_NOISE where the log does not tell it: sigma without aiding
STILL_START = 0.9  # of the variance without aiding: from here on a row is a start value
LEAST_DELAY_US = 5_000  # a fusion horizon nearer to the message is the newest IMU sample instead

Columns = Mapping[str, Any]


@dataclass(frozen=True)
class StateLayout:
    """Where a log keeps the position (of states and of covariances) and the rotation."""

    state: int
    position: int
    rotation: int | None  # of covariances; None: not a covariance of a rotation
    told: str


QUATERNION = "a quaternion's four variances are no covariance of a rotation: position only"
LAYOUTS = {
    (32, 28, 24): StateLayout(7, 7, None, QUATERNION),
    (32, 28, 10): StateLayout(0, 0, None, "the filter is LPE, not EKF2: position only"),
    (24, 24, 24): StateLayout(7, 7, None, QUATERNION),
    **{(24, 23, n): StateLayout(7, 6, 0, "rotation vector in fixed axes") for n in (23, 24)},
    **{(25, 24, n): StateLayout(7, 6, 0, "rotation vector in fixed axes") for n in (24, 25)},
}


@dataclass(frozen=True)
class Log:
    """The topics of a log that were asked for, by name and instance."""

    path: str
    topics: dict[tuple[str, int], Columns]
    known: tuple[str, ...]  # names of all topics that the log defines
    parameters: dict[str, Any]
    release: str | None
    damage: str | None  # a sentence
    remarks: tuple[str, ...]

    def instances(self, name: str) -> list[int]:
        """Instances of a topic that have rows."""
        return sorted(instance for topic, instance in self.topics if topic == name)


class _WatchedBytes(io.BytesIO):
    """Bytes that notice where more was asked for than is left, and a parser that does not move on.

    Where definitions are damaged, pyulog may seek back and forth for ever; to find the next message
    it needs two reads for each byte of a message, 64 kB at most.
    """

    cut_at: int | None = None
    farthest = 0
    reads_without_progress = 0

    def read(self, size: int | None = -1) -> bytes:
        start = self.tell()
        data = super().read(size)
        ended = size == 3 and not data  # pyulog asks for the three bytes of a header at the end
        if size is not None and len(data) < size and not ended:
            self.cut_at = start
        self.reads_without_progress += 1
        if self.tell() > self.farthest:
            self.farthest, self.reads_without_progress = self.tell(), 0
        if self.reads_without_progress > ENOUGH_READS and self._is_stuck():
            raise FormatError("the definitions are damaged")
        return data

    def _is_stuck(self) -> bool:
        return self.reads_without_progress > ENOUGH_READS + 2 * min(2**16, len(self.getbuffer()))


ENOUGH_READS = 1000  # without progress, before it is looked at


def open_log(path: Path, wanted: tuple[str, ...] | None) -> Log:
    """Parse a log; None: all topics. pyulog prints on damage, which is kept off our output."""
    pyulog = import_extra("pyulog", "px4", "ULog files")
    with open_input(path) as stream:
        data = stream.read()
    content = _WatchedBytes(data)
    try:
        with redirect_stdout(io.StringIO()):
            parsed = pyulog.ULog(content, list(wanted) if wanted else None)
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise FormatError(f"{path}: the log is cut off, damaged or no ULog ({reason})") from error
    damage = None
    if parsed.file_corruption:
        where = words.count(_first_strange_byte(data))
        damage = f"the log is damaged at byte {where}: some messages cannot be read"
    elif content.cut_at is not None:
        damage = f"the log is cut off within a message at byte {words.count(content.cut_at)}"
    topics: dict[tuple[str, int], Columns] = {}
    for each in parsed.data_list:
        if len(each.data.get("timestamp", ())):
            columns = Fields(f"{path}:/{each.name}", each.data)
            topics.setdefault((each.name, each.multi_id), columns)
    return Log(
        str(path),
        topics,
        tuple(sorted(parsed.message_formats)),
        parsed.initial_parameters,
        _release(parsed.msg_info_dict.get("ver_sw_release")),
        damage,
        _dropout_remarks(parsed.dropouts),
    )


MESSAGE_TYPES = b"BFIMPQARDLCSO"
HEADER_BYTES = 16  # of the file; a message then has its size (2 bytes), its type and its content


def _first_strange_byte(content: bytes) -> int:
    """The first place at which no message begins, by sizes and types alone."""
    at = HEADER_BYTES
    while at + 3 <= len(content) and content[at + 2] in MESSAGE_TYPES:
        at += 3 + int.from_bytes(content[at : at + 2], "little")
    return min(at, len(content))


def _release(packed: Any) -> str | None:
    """A version such as 1.13.0, from its bytes."""
    if not isinstance(packed, int):
        return None
    return ".".join(str(packed >> shift & 255) for shift in (24, 16, 8))


def _dropout_remarks(dropouts: Any) -> tuple[str, ...]:
    if not dropouts:
        return ()
    lost_s = sum(each.duration for each in dropouts) / 1000
    times = words.count(len(dropouts), "dropout")
    return (f"the logger lost data: {times}, {words.duration(lost_s)} in all",)


def read(path: Path, options: ReadOptions) -> Track:
    """Read what the filter that flew believed, another instance, or the truth of a simulation."""
    topic, instance = _parse_topic(path, options.topic)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite the track refuses
        if topic == TRUTH:
            return _read_truth(_checked(open_log(path, (TRUTH, ATTITUDE, LOCAL)), options), options)
        log = _checked(open_log(path, BELIEF_TOPICS), options)
        return read_flight(log, topic, instance).track(options)


def _parse_topic(path: Path, said: str | None) -> tuple[str | None, int | None]:
    """Topic and instance of `/estimator_states/1`; None: by what the log has."""
    match = re.fullmatch(r"/?(\w+?)(?:/(\d+))?/?", said or "")
    if said is None or match is None:
        if said is None:
            return None, None
        raise FormatError(f"{path}: there is no topic {said}; {ADDRESSES}")
    name = {"groundtruth": TRUTH}.get(match[1], match[1])
    if name not in (STATES, STATUS, TRUTH):
        raise FormatError(f"{path}: {said} holds no belief that can be read; {ADDRESSES}")
    return name, None if match[2] is None else int(match[2])


ADDRESSES = (
    "what can be read is /estimator_states or /estimator_status, with an instance as in "
    "/estimator_states/1, and /groundtruth; innovations are for `smfeval nis`"
)


def _checked(log: Log, options: ReadOptions) -> Log:
    """The log, if it is whole or may be read as far as it goes."""
    if log.damage is None or options.bad_rows == "drop":
        return log
    raise FormatError(f"{log.path}: {log.damage}", remedy="bad_rows")


def read_flight(log: Log, topic: str | None, instance: int | None) -> Flight:
    """The rows of one filter, or of the primary one at each time, without start values."""
    topic = _belief_topic(log, topic)
    there = log.instances(topic)
    if instance is not None and instance not in there:
        known = ", ".join(map(str, there))
        raise FormatError(f"{log.path}: {topic} has no instance {instance}; there are {known}")
    chosen, notes = ([instance], ()) if instance is not None else primary_instances(log, there)
    parts = [_instance_flight(log, topic, each, named=instance is not None) for each in chosen]
    flight = _joined(parts).noted(*notes)
    return without_unaided(_without_start(flight, log.parameters), "xy_valid is 0")


def _belief_topic(log: Log, topic: str | None) -> str:
    """The topic that has the states: since 2021 one of their own, before that the status."""
    wanted = (topic,) if topic else (STATES, STATUS)
    for name in wanted:
        first = next(iter(log.instances(name)), None)
        if first is not None and "states[0]" in log.topics[name, first]:
            return name
    near = [name for name in log.known if name.startswith("estimator")]
    raise FormatError(
        f"{log.path}: no topic {' or '.join(wanted)} of this log has states and covariances "
        f"(of estimators it has {', '.join(near) or 'nothing'})"
    )


def primary_instances(log: Log, there: list[int]) -> tuple[list[int], tuple[str, ...]]:
    """Instances that were primary at some time, and a note where that is not told."""
    if (SELECTOR, 0) in log.topics:
        primary = log.topics[SELECTOR, 0]["primary_instance"]
        used = [each for each in there if (primary == each).any()]
        if used:
            return used, ()
    if len(there) == 1:
        return there, ()
    others = ", ".join(map(str, there[1:]))
    note = f"the log does not say which filter was primary: read was {there[0]}, not {others}"
    return there[:1], (note,)


def _instance_flight(log: Log, topic: str, instance: int, *, named: bool) -> Flight:
    """The rows of one instance; of several primary ones those while it was primary."""
    columns = log.topics[topic, instance]
    place = f"{log.path}:/{topic}{f'/{instance}' if named else ''}"
    states, variance = array_of(columns, "states"), array_of(columns, "covariances")
    layout = _layout(place, states, variance, columns)
    published = columns["timestamp"].astype(np.int64)
    stamp, time_notes, time_remarks = _times(columns)
    spans = [slice(layout.position, layout.position + 3)]
    if layout.rotation is not None:
        spans.append(slice(layout.rotation, layout.rotation + 3))
    resets, reset_remarks = _reset_counters(log, instance, published)
    keys = np.concatenate([resets, np.full((len(stamp), 1), instance)], axis=1)
    own = np.ones(len(stamp), dtype=bool)
    if not named and (SELECTOR, 0) in log.topics:
        selector = log.topics[SELECTOR, 0]
        primary = latest(selector["timestamp"], selector["primary_instance"], published)
        own = primary == instance
    body, body_notes = _body(log.parameters)
    return Flight(
        name=place,
        format=f"PX4 ULog, {topic}, states {states.shape[1]}, covariances {variance.shape[1]}",
        about=About(body, "enu", "fixed", "PX4 EKF2", log.release),
        stamp=stamp[own],
        ned=states[own, layout.state : layout.state + 3],
        variance=np.concatenate([variance[own, span] for span in spans], axis=1),
        quaternion=states[own, :4],
        piece=keys[own],
        valid=_validity(log, instance if named else None, published)[own],
        row=np.flatnonzero(own),
        notes=(*damage_notes(log), *time_notes, *body_notes),
        remarks=(
            DIAGONAL_REMARK,
            layout.told,
            AXES_REMARK,
            *time_remarks,
            "heights are about the filter's own origin",
            *reset_remarks,
            *log.remarks,
        ),
    )


def damage_notes(log: Log) -> tuple[str, ...]:
    """A note on damage that was let pass."""
    return () if log.damage is None else (f"{log.damage}; read was what is left",)


def array_of(columns: Columns, name: str) -> Floats:
    """The columns `name[0]`, `name[1]` ... side by side. (n, d)."""
    size = sum(1 for key in columns if re.fullmatch(rf"{name}\[\d+\]", key))
    if size == 0:
        return np.empty((len(columns["timestamp"]), 0))
    return np.stack([columns[f"{name}[{i}]"] for i in range(size)], axis=1).astype(np.float64)


def _layout(place: str, states: Floats, variance: Floats, columns: Columns) -> StateLayout:
    counts = np.unique(columns["n_states"]) if "n_states" in columns else np.array([-1])
    lengths = states.shape[1], variance.shape[1]
    found = {LAYOUTS.get((*lengths, int(each))) for each in counts}
    layout = next(iter(found))
    if len(found) > 1 or layout is None:
        raise FormatError(
            f"{place}: the layout is not known: {lengths[0]} states, {lengths[1]} covariances, "
            f"n_states {', '.join(str(int(each)) for each in counts)}"
        )
    return layout


def _times(columns: Columns) -> tuple[Ints, tuple[str, ...], tuple[str, ...]]:
    """Times of the beliefs in ns, notes and remarks on them."""
    published = columns["timestamp"].astype(np.int64)
    sample = columns.get("timestamp_sample")
    if sample is None or not sample.any():
        note = (
            "the log has no timestamp_sample: stamps are of publishing, and a belief is older by "
            "the fusion delay, often 80 ms or more"
        )
        return published * MICROSECONDS, (note,), ()
    sample = sample.astype(np.int64)
    delay_us = float(np.median(published - sample))
    shown = words.duration(delay_us / 1e6)
    stamp = sample * MICROSECONDS
    if delay_us < LEAST_DELAY_US:
        note = (
            f"timestamp_sample is {shown} before timestamp: perhaps the newest IMU sample, not "
            "the delayed instant of the belief"
        )
        return stamp, (note,), ()
    told = f"stamps are timestamp_sample, the delayed fusion horizon, {shown} before publishing"
    return stamp, (), (told,)


POSE_COUNTERS = ("reset_count_pos_ne", "reset_count_pod_d", "reset_count_quat")
VELOCITY_COUNTERS = ("reset_count_vel_ne", "reset_count_vel_d")
LOCAL_COUNTERS = ("xy_reset_counter", "z_reset_counter", "heading_reset_counter")
LOCAL_VELOCITY = ("vxy_reset_counter", "vz_reset_counter")


def _reset_counters(log: Log, instance: int, at: Ints) -> tuple[Ints, tuple[str, ...]]:
    """Counters of resets of the pose at each row, and a remark on those of the velocity."""
    tables = (
        ((STATUS, instance), POSE_COUNTERS, VELOCITY_COUNTERS),
        ((LOCAL_OF_INSTANCE, instance), LOCAL_COUNTERS, LOCAL_VELOCITY),
        ((LOCAL, 0), LOCAL_COUNTERS, LOCAL_VELOCITY),
    )
    for key, pose, velocity in tables:
        columns = log.topics.get(key, {})
        if all(name in columns for name in pose):
            found = [latest(columns["timestamp"], columns[name], at) for name in pose]
            jumps = sum(count_rises(columns[name]) for name in velocity if name in columns)
            told = f"{words.count(jumps, 'reset')} of the velocity, which the pose runs through"
            return np.stack(found, axis=1).astype(np.int64), (told,) if jumps else ()
    return np.zeros((len(at), 0), dtype=np.int64), ("the log does not count resets",)


def _body(parameters: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The body of the states: the IMU, which is that of the vehicle unless parameters move it."""
    offset = [float(parameters.get(f"EKF2_IMU_POS_{axis}", 0.0)) for axis in "XYZ"]
    if not any(offset):
        return "base_link", ()
    shown = " ".join(f"{value:g}" for value in (offset[0], 0 - offset[1], 0 - offset[2]))
    return "imu", (f"the states are of the IMU, at {shown} m in the vehicle (flu, EKF2_IMU_POS)",)


def _joined(parts: list[Flight]) -> Flight:
    """The rows of the instances in the order of their times; where any counter moves is a reset."""
    order = np.argsort(np.concatenate([part.stamp for part in parts]), kind="stable")
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])[order] for name in ROWS
    }
    arrays["piece"] = pieces(arrays["piece"])
    first = parts[0]
    switched = ("the primary filter changed: each change is a reset",) * (len(parts) > 1)
    return replace(first, **arrays, notes=(*first.notes, *switched))


def _without_start(flight: Flight, parameters: Mapping[str, Any]) -> Flight:
    """The rows from the first on whose horizontal variance is not that of no aiding at all."""
    sigma = float(parameters.get("EKF2_NOAID_NOISE", UNAIDED_SIGMA_M))
    large = flight.variance[:, :2].max(axis=1) >= STILL_START * sigma**2
    start = np.logical_and.accumulate(large)
    return flight.without(start, "start values, before anything fixed the horizontal position")


def _validity(log: Log, instance: int | None, at: Ints) -> Bools:
    """Whether the horizontal position was valid when a row was published; valid if not told."""
    key = (LOCAL, 0) if instance is None else (LOCAL_OF_INSTANCE, instance)
    columns = log.topics.get(key) or log.topics.get((LOCAL, 0), {})
    if "xy_valid" not in columns:
        return np.ones(len(at), dtype=np.bool_)
    return np.asarray(latest(columns["timestamp"], columns["xy_valid"], at) != 0)


def _read_truth(log: Log, options: ReadOptions) -> Track:
    """The truth of a simulation; its attitude is interpolated to the times of its positions."""
    if options.stretch is not None:
        raise OptionError(f"{log.path}: option stretch means nothing for the truth: it never jumps")
    if (TRUTH, 0) not in log.topics:
        raise FormatError(f"{log.path}: there is no {TRUTH}; only simulations have one")
    columns, place = log.topics[TRUTH, 0], f"{log.path}:/groundtruth"
    stamp = columns["timestamp"].astype(np.int64) * MICROSECONDS
    ned = np.stack([columns[axis] for axis in "xyz"], axis=1).astype(np.float64)
    rotation, inside = np.tile([0.0, 0.0, 0.0, 1.0], (len(stamp), 1)), np.ones(len(stamp), bool)
    oriented = (ATTITUDE, 0) in log.topics
    if oriented:
        rotation, inside = _attitudes(log.topics[ATTITUDE, 0], stamp)
    rows = np.flatnonzero(inside)
    if len(rows) == 0:
        raise FormatError(f"{place}: no position lies within the times of {ATTITUDE}")
    return Track(
        stamp[rows],
        enu_positions(ned[rows]),
        rotation[rows],
        about=About("base_link", "enu", "fixed", oriented=oriented),
        provenance=Provenance(
            place,
            f"PX4 ULog, {TRUTH}",
            dropped=_outside(inside, place),
            notes=damage_notes(log),
            remarks=(AXES_REMARK, *_origin_remarks(log)),
        ),
        intake=options.intake(lambda row: f"{place} row {rows[row] + 1}"),
    )


def _attitudes(columns: Columns, at: Ints) -> tuple[Floats, Bools]:
    stamp = columns["timestamp"].astype(np.int64) * MICROSECONDS
    quaternion = np.stack([columns[f"q[{i}]"] for i in range(4)], axis=1).astype(np.float64)
    turned = np.einsum("ni,ni->n", quaternion[1:], quaternion[:-1]) < 0
    sign = np.cumprod(np.concatenate([[1.0], np.where(turned, -1.0, 1.0)]))
    between, inside = interpolate(stamp, quaternion * sign[:, None], at)
    return enu_rotations(between), inside


def _outside(inside: Bools, place: str) -> tuple[DroppedRows, ...]:
    if inside.all():
        return ()
    first = f"{place} row {int(np.argmin(inside)) + 1}"
    return (DroppedRows("no attitude of the truth around it", int((~inside).sum()), first),)


def _origin_remarks(log: Log) -> tuple[str, ...]:
    """Where the origins of truth and filter are, for heights may differ by a constant."""
    told = ["heights of the truth are about its own origin: they may be off by a constant"]
    for name, title in ((TRUTH, "truth"), (LOCAL, "filter")):
        columns = log.topics.get((name, 0), {})
        if "ref_lat" in columns:
            place = [float(columns[f"ref_{word}"][-1]) for word in ("lat", "lon", "alt")]
            if np.isfinite(place).all() and any(place[:2]):
                told.append(f"origin of the {title}: {place[0]:.7f} {place[1]:.7f} {place[2]:.2f}")
    return tuple(told)
