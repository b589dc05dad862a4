"""PX4 ULog (.ulg): what EKF2 believes, and the truth of a simulation.

Which numbers are which is decided by the lengths of the arrays `states` and `covariances` and by
`n_states` (unless it is 0), not by the version. `covariances` is a diagonal in every version:

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

Read by pyulog. `LOG.ulg` is the filter that flew; `LOG.ulg:1` is another instance, as
`LOG.ulg:/estimator_states/1` is; `LOG.ulg:truth` is the truth of a simulation.
Innovations: `io.px4_innovations`.
"""

import io
import re
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, reason_of
from smfeval.io import autopilot
from smfeval.io.options import ReadOptions
from smfeval.io.source import open_input
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.track import About, Track

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
    """Where a log keeps the position among its states, and its variances among its covariances."""

    state: int
    variances: tuple[int, ...]  # of the position, and of a rotation vector where there is one
    told: str


QUATERNION = "a quaternion's four variances are no covariance of a rotation: position only"
WITH_ROTATION = StateLayout(7, (6, 7, 8, 0, 1, 2), "rotation vector in fixed axes")
LAYOUTS = {
    (32, 28, 24): StateLayout(7, (7, 8, 9), QUATERNION),
    (32, 28, 10): StateLayout(0, (0, 1, 2), "the filter is LPE, not EKF2: position only"),
    (24, 24, 24): StateLayout(7, (7, 8, 9), QUATERNION),
    **dict.fromkeys(((24, 23, 23), (24, 23, 24), (25, 24, 24), (25, 24, 25)), WITH_ROTATION),
}


@dataclass(frozen=True)
class Log(autopilot.AutopilotLog):
    """The topics of a log that were asked for, by name and instance."""

    topics: dict[tuple[str, int], Columns]
    parameters: dict[str, Any]
    release: str | None
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
        most = ENOUGH_READS + 2 * min(2**16, self.getbuffer().nbytes)
        if self.reads_without_progress > most:
            raise FormatError("the definitions are damaged")
        return data


ENOUGH_READS = 1000  # without progress, beyond those that find the next message


def open_log(path: Path, wanted: tuple[str, ...] | None) -> Log:
    """Parse a log; None: all topics. pyulog prints on damage, which is kept off our output."""
    import pyulog  # noqa: PLC0415  slow to import

    with open_input(path) as stream:
        data = stream.read()
    content = _WatchedBytes(data)
    try:
        with redirect_stdout(io.StringIO()):
            parsed = pyulog.ULog(content, list(wanted) if wanted else None)
    except Exception as error:
        what = f"the log is cut off, damaged or no ULog ({reason_of(error)})"
        raise FormatError(f"{path}: {what}") from error
    damage = None
    if parsed.file_corruption:
        where = words.count(_damaged_byte(data))
        damage = f"the log is damaged at byte {where}: some messages cannot be read"
    elif content.cut_at is not None:
        damage = f"the log is cut off within a message at byte {words.count(content.cut_at)}"
    topics: dict[tuple[str, int], Columns] = {}
    for each in parsed.data_list:
        if len(each.data.get("timestamp", ())):
            columns = autopilot.Fields(f"{path}:/{each.name}", each.data)
            topics.setdefault((each.name, each.multi_id), columns)
    release, remarks = parsed.msg_info_dict.get("ver_sw_release"), tuple[str, ...]()
    if isinstance(release, int):  # 1.13.0, from its bytes
        release = ".".join(str(release >> shift & 255) for shift in (24, 16, 8))
    if parsed.dropouts:
        lost_s = sum(each.duration for each in parsed.dropouts) / 1000
        times = words.count(len(parsed.dropouts), "dropout")
        remarks = (f"the logger lost data: {times}, {words.duration(lost_s)} in all",)
    return Log(
        str(path),
        tuple(sorted(parsed.message_formats)),
        damage,
        topics,
        parsed.initial_parameters,
        release if isinstance(release, str) else None,
        remarks,
    )


MESSAGE_TYPES = b"BFIMPQARDLCSO"
HEADER_BYTES = 16  # of the file; a message then has its size (2 bytes), its type and its content


def _damaged_byte(data: bytes) -> int:
    """The first place at which no message begins, by sizes and types alone."""
    at = HEADER_BYTES
    while at + 3 <= len(data) and data[at + 2] in MESSAGE_TYPES:
        at += 3 + int.from_bytes(data[at : at + 2], "little")
    return min(at, len(data))


def read(path: Path, options: ReadOptions) -> Track:
    """Read what the filter that flew believed, another instance, or the truth of a simulation."""
    topic, instance = autopilot.parse_topic(options.topic or "", TRUTH)
    if topic not in ("", STATES, STATUS, TRUTH):
        raise FormatError(f"{path}: {options.topic} holds no belief that can be read; {ADDRESSES}")
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite the track refuses
        log = open_log(path, (TRUTH, ATTITUDE, LOCAL) if topic == TRUTH else BELIEF_TOPICS)
        log.refuse_damage(options)
        if topic != TRUTH:
            return read_flight(log, topic, instance).track(options)
        log.refuse_stretch(options)
        return _truth(log).track(options)


ADDRESSES = (
    "what can be read is the filter that flew, another instance of it, as in LOG:1 or "
    "LOG:estimator_states/1, and LOG:truth; innovations are for `smfeval nis`"
)


def read_flight(log: Log, topic: str, instance: int | None) -> autopilot.Flight:
    """The rows of one filter, or of the primary one at each time, without start values."""
    wanted = (topic,) if topic else (STATES, STATUS)  # states: since 2021 a topic of their own
    firsts = {name: log.instances(name)[:1] for name in wanted}
    holding = [n for n, first in firsts.items() if first and "states[0]" in log.topics[n, first[0]]]
    if not holding:
        near = [name for name in log.known if name.startswith("estimator")]
        raise FormatError(
            f"{log.path}: no topic {' or '.join(wanted)} of this log has states and covariances "
            f"(of estimators it has {', '.join(near) or 'nothing'})"
        )
    topic = holding[0]
    there = log.instances(topic)
    if instance is not None and instance not in there:
        known = ", ".join(map(str, there))
        raise FormatError(f"{log.path}: {topic} has no instance {instance}; there are {known}")
    chosen, notes = ([instance], ()) if instance is not None else primary_instances(log, there)
    parts = [_instance_flight(log, topic, each, named=instance is not None) for each in chosen]
    flight = _joined(parts).noted(*notes)
    # rows before the first whose horizontal variance is not that of no aiding at all
    sigma = float(log.parameters.get("EKF2_NOAID_NOISE", UNAIDED_SIGMA_M))
    large = flight.variance[:, :2].max(axis=1) >= STILL_START * sigma**2
    start = np.logical_and.accumulate(large)
    flight = flight.without(start, "start values, before anything fixed the horizontal position")
    return autopilot.without_unaided(flight, "xy_valid is 0")


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


def _instance_flight(log: Log, topic: str, instance: int, *, named: bool) -> autopilot.Flight:
    """The rows of one instance; of several primary ones those while it was primary."""
    columns = log.topics[topic, instance]
    place = f"{log.path}:{instance}" if named else log.path
    states, variance = array_of(columns, "states"), array_of(columns, "covariances")
    layout = _layout(place, states, variance, columns)
    published = columns["timestamp"].astype(np.int64)
    stamp, time_notes, time_remarks = _times(columns)
    resets, reset_remarks = _reset_counters(log, instance, published)
    keys = np.concatenate([resets, np.full((len(stamp), 1), instance)], axis=1)
    own = _rows_as_primary(log, instance, published, named=named)
    body, body_notes = _body_of_states(log)
    flight = autopilot.Flight(
        name=place,
        format=f"PX4 ULog, {topic}, states {states.shape[1]}, covariances {variance.shape[1]}",
        about=About(body, "enu", "fixed", "PX4 EKF2", log.release),
        stamp=stamp[own],
        ned=states[own, layout.state : layout.state + 3],
        variance=variance[own][:, layout.variances],
        quaternion=states[own, :4],
        piece=keys[own],
        valid=_validity(log, instance if named else None, published)[own],
        row=np.flatnonzero(own),
        notes=(*log.damage_notes, *time_notes, *body_notes),
        remarks=(
            autopilot.DIAGONAL_REMARK,
            layout.told,
            autopilot.AXES_REMARK,
            *time_remarks,
            "heights are about the filter's own origin",
            *reset_remarks,
            *log.remarks,
        ),
    )
    empty = np.asarray(~(states.any(axis=1) & variance.any(axis=1)))[own]  # the filter starts later
    return flight.without(empty, "states and covariances are zero")


def _rows_as_primary(log: Log, instance: int, published: Ints, *, named: bool) -> Bools:
    """Which rows an instance published while it was primary; all of one that is asked for."""
    if named or (SELECTOR, 0) not in log.topics:
        return np.ones(len(published), dtype=bool)
    selector = log.topics[SELECTOR, 0]
    primary = autopilot.latest(selector["timestamp"], selector["primary_instance"], published)
    return np.asarray(primary == instance)


def _body_of_states(log: Log) -> tuple[str, tuple[str, ...]]:
    """The vehicle, or its IMU where that stands elsewhere, which is noted."""
    x, y, z = (float(log.parameters.get(f"EKF2_IMU_POS_{axis}", 0.0)) for axis in "XYZ")
    if not (x or y or z):
        return "base_link", ()
    shown = " ".join(f"{value:g}" for value in (x, 0 - y, 0 - z))
    return "imu", (f"the states are of the IMU, at {shown} m in the vehicle (flu, EKF2_IMU_POS)",)


def array_of(columns: Columns, name: str) -> Floats:
    """The columns `name[0]`, `name[1]` ... side by side. (n, d)."""
    size = sum(1 for key in columns if re.fullmatch(rf"{name}\[\d+\]", key))
    if size == 0:
        return np.empty((len(columns["timestamp"]), 0))
    return np.stack([columns[f"{name}[{i}]"] for i in range(size)], axis=1).astype(np.float64)


def _layout(place: str, states: Floats, variance: Floats, columns: Columns) -> StateLayout:
    """By the lengths and n_states; where that is 0 throughout, by the lengths if these suffice."""
    counts = np.unique(columns["n_states"]) if "n_states" in columns else np.array([-1])
    lengths = states.shape[1], variance.shape[1]
    filled = counts[counts != 0]
    found = {LAYOUTS.get((*lengths, int(each))) for each in filled}
    if not len(filled) and states.any() and variance.any():
        found = {layout for key, layout in LAYOUTS.items() if key[:2] == lengths}
    layout = next(iter(found), None)
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
        return published * autopilot.MICROSECONDS, (note,), ()
    sample = sample.astype(np.int64)
    delay_us = float(np.median(published - sample))
    shown = words.duration(delay_us / 1e6)
    stamp = sample * autopilot.MICROSECONDS
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
            found = [autopilot.latest(columns["timestamp"], columns[name], at) for name in pose]
            steps = [
                np.diff(columns[name].astype(np.int64)) for name in velocity if name in columns
            ]
            jumps = sum(int(np.mod(step, 256).sum()) for step in steps)  # counters of eight bits
            told = f"{words.count(jumps, 'reset')} of the velocity, which the pose runs through"
            return np.stack(found, axis=1).astype(np.int64), (told,) if jumps else ()
    return np.zeros((len(at), 0), dtype=np.int64), ("the log does not count resets",)


def _joined(parts: list[autopilot.Flight]) -> autopilot.Flight:
    """The rows of the instances in the order of their times; where any counter moves is a reset."""
    order = np.argsort(np.concatenate([part.stamp for part in parts]), kind="stable")
    arrays: dict[str, Any] = {
        name: np.concatenate([part.arrays[name] for part in parts])[order]
        for name in parts[0].arrays
    }
    arrays["piece"] = autopilot.pieces(arrays["piece"])
    first = parts[0]
    switched = ("the primary filter changed: each change is a reset",) * (len(parts) > 1)
    return replace(first, **arrays, notes=(*first.notes, *switched))


def _validity(log: Log, instance: int | None, at: Ints) -> Bools:
    """Whether the horizontal position was valid when a row was published; valid if not told."""
    key = (LOCAL, 0) if instance is None else (LOCAL_OF_INSTANCE, instance)
    columns = log.topics.get(key) or log.topics.get((LOCAL, 0), {})
    if "xy_valid" not in columns:
        return np.ones(len(at), dtype=np.bool_)
    return np.asarray(autopilot.latest(columns["timestamp"], columns["xy_valid"], at) != 0)


def _truth(log: Log) -> autopilot.Truth:
    """The truth of a simulation; its attitude is interpolated to the times of its positions."""
    if (TRUTH, 0) not in log.topics:
        raise FormatError(f"{log.path}: there is no {TRUTH}; only simulations have one")
    remarks = ["heights of the truth are about its own origin: they may be off by a constant"]
    for name, title in ((TRUTH, "truth"), (LOCAL, "filter")):
        columns = log.topics.get((name, 0), {})
        if "ref_lat" in columns:
            place = [float(columns[f"ref_{word}"][-1]) for word in ("lat", "lon", "alt")]
            if np.isfinite(place).all() and any(place[:2]):
                shown = f"{place[0]:.7f} {place[1]:.7f} {place[2]:.2f}"
                remarks.append(f"origin of the {title}: {shown}")

    columns = log.topics[TRUTH, 0]
    stamp = columns["timestamp"].astype(np.int64) * autopilot.MICROSECONDS
    truth = autopilot.Truth(
        name=f"{log.path}:truth",
        format=f"PX4 ULog, {TRUTH}",
        stamp=stamp,
        row=np.arange(len(stamp)),
        ned=np.stack([columns[axis] for axis in "xyz"], axis=1).astype(np.float64),
        notes=log.damage_notes,
        remarks=tuple(remarks),
    )
    if (ATTITUDE, 0) not in log.topics:
        return truth
    attitude = log.topics[ATTITUDE, 0]
    quaternion = np.stack([attitude[f"q[{i}]"] for i in range(4)], axis=1).astype(np.float64)
    turned = np.einsum("ni,ni->n", quaternion[1:], quaternion[:-1]) < 0
    sign = np.cumprod(np.concatenate([[1.0], np.where(turned, -1.0, 1.0)]))
    times = attitude["timestamp"].astype(np.int64) * autopilot.MICROSECONDS
    between, inside = autopilot.interpolate(times, quaternion * sign[:, None], stamp)
    if not inside.any():
        raise FormatError(f"{truth.name}: no position is within the times of {ATTITUDE}")
    oriented = replace(truth, rotation=autopilot.enu_rotations(between))
    return oriented.without(~inside, "no attitude of the truth around it")
