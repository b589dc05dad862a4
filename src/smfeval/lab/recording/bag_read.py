"""Bags as recordings: ours, which come back as they were, and those of users.

Stamps are those of the headers. What the bag does not say (mounting, noise) comes from the words
beside it, from the user, or is assumed with a note.
"""

from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.errors import FormatError
from smfeval.io.ros.bag import Bag, open_bag, translate_damage
from smfeval.io.ros.poses import settle_stamps
from smfeval.io.ros.topics import named_topic
from smfeval.io.source import is_file
from smfeval.lab.recording import bag_write, data
from smfeval.lab.recording.bag_clouds import (
    Cloud,
    assemble_scans,
    decode_livox_ros1,
    decode_livox_ros2,
    decode_pointcloud2,
)
from smfeval.lab.recording.data import (
    GRAVITY_M_S2,
    Imu,
    ImuNoise,
    Recording,
    RecordingOptions,
    Scans,
)
from smfeval.lab.recording.folder import read_reference
from smfeval.maths import se3
from smfeval.maths.arrays import Bools, Ints
from smfeval.maths.stamps import NANOSECONDS

CLOUD = "sensor_msgs/msg/PointCloud2"
LIVOX = ("livox_ros_driver2/msg/CustomMsg", "livox_ros_driver/msg/CustomMsg")
IMU = "sensor_msgs/msg/Imu"


def lidar_topic(bag: Bag, name: str | None) -> tuple[str, list[str]]:
    """The LiDAR topic, and a note if it was not named."""
    return _find_topic(bag, name, (CLOUD, *LIVOX), "LiDAR", "--lidar-topic")


def imu_topic(bag: Bag, name: str | None) -> tuple[str, list[str]]:
    """The IMU topic, and a note if it was not named."""
    return _find_topic(bag, name, (IMU,), "IMU", "--imu-topic")


def _find_topic(
    bag: Bag, name: str | None, types: tuple[str, ...], what: str, flag: str
) -> tuple[str, list[str]]:
    if name is not None:
        return _check_topic(bag, name, types), []
    found = sorted(t.name for t in bag.topics.values() if t.type in types and t.count)
    kinds = " or ".join(kind.replace("/msg/", "/") for kind in types)
    if not found:
        there = ", ".join(sorted(f"{t.name} ({t.type_words})" for t in bag.topics.values()))
        raise FormatError(f"{bag.path}: no {what} topic ({kinds}); there are: {there or 'none'}")
    if len(found) > 1:
        raise FormatError(
            f"{bag.path}: {len(found)} {what} topics, name one with {flag}: {', '.join(found)}"
        )
    return found[0], [f"{what} topic {found[0]} was chosen: there is no other"]


def _check_topic(bag: Bag, name: str, types: tuple[str, ...]) -> str:
    topic = named_topic(bag, name)
    if topic.type not in types:
        kinds = " or ".join(kind.replace("/msg/", "/") for kind in types)
        raise FormatError(f"{bag.path}:{topic.name}: {topic.type_words}; {kinds} is needed")
    if topic.count == 0:
        raise FormatError(f"{bag.path}:{topic.name}: the topic has no message")
    return topic.name


STATIC_TRANSFORMS = "/tf_static"


def mounting(bag: Bag, imu: str, lidar: str) -> se3.Pose | None:
    """imu_T_lidar by the names of the frames; None if the bag does not say."""
    if STATIC_TRANSFORMS not in bag.topics or not imu or not lidar:
        return None
    edges: dict[str, dict[str, se3.Pose]] = {}
    for _, _, message in bag.messages([STATIC_TRANSFORMS]):
        for sent in message.transforms:
            parent, child = (n.lstrip("/") for n in (sent.header.frame_id, sent.child_frame_id))
            pose = _pose(sent.transform)
            edges.setdefault(parent, {})[child] = pose
            edges.setdefault(child, {})[parent] = se3.inverse(pose)
    return _chain_transforms(edges, imu.lstrip("/"), lidar.lstrip("/"))


def _chain_transforms(
    edges: dict[str, dict[str, se3.Pose]], start: str, end: str
) -> se3.Pose | None:
    """The product of the transforms on the way from one frame to another."""
    reached = {start: (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))}
    waiting = [start]
    while waiting:
        frame = waiting.pop()
        for following, pose in edges.get(frame, {}).items():
            if following not in reached:
                reached[following] = se3.compose(reached[frame], pose)
                waiting.append(following)
    return reached.get(end)


def _pose(transform: Any) -> se3.Pose:
    shift, turn = transform.translation, transform.rotation
    quaternion = np.array([turn.x, turn.y, turn.z, turn.w])
    return np.array([shift.x, shift.y, shift.z]), quaternion / np.linalg.norm(quaternion)


IMU_VALUES = attrgetter(
    *(f"angular_velocity.{axis}" for axis in "xyz"),
    *(f"linear_acceleration.{axis}" for axis in "xyz"),
)
HEADER_STAMP = attrgetter("header.stamp.sec", "header.stamp.nanosec")


def imu_from_messages(messages: list[tuple[int, Any]]) -> tuple[Imu, list[str]]:
    """Samples of sensor_msgs/Imu messages with the times at which they were received."""
    stamp, notes = settle_stamps(
        [HEADER_STAMP(message) for _, message in messages], [received for received, _ in messages]
    )
    numbers = np.array([IMU_VALUES(message) for _, message in messages], dtype=np.float64)
    return Imu(stamp, numbers[:, :3], numbers[:, 3:]), [f"IMU: {note}" for note in notes]


FEWEST_SAMPLES = 2  # of the IMU: fewer span no scan
GAP_PERIODS = 5  # an IMU gap is this many times the usual step; filters then extrapolate


@dataclass(frozen=True)
class SensorStreams:
    """What is left, and the notes about what is not."""

    imu: Imu
    scans: Scans
    notes: tuple[str, ...]


def drop_unusable(imu: Imu, scans: Scans, place: str) -> SensorStreams:
    """Sort the IMU, drop scans that are empty or that the IMU does not span, note the gaps."""
    imu, notes = _sort_imu(imu)
    if len(imu.stamp) < FEWEST_SAMPLES:
        told = f"{len(imu.stamp)} usable IMU samples ({'; '.join(notes) or 'no more are there'})"
        raise FormatError(f"{place}: {told}; at least {FEWEST_SAMPLES} are needed")
    imu, units = _in_si_units(imu)
    notes += units + _gap_notes(imu)
    count = np.diff(scans.offset)
    spanned = (scans.start >= imu.stamp[0]) & (scans.end <= imu.stamp[-1])
    notes += _count_notes(int((count == 0).sum()), "empty scan", "left out")
    outside = int((~spanned & (count > 0)).sum())
    notes += _count_notes(outside, "scan", "before the first or after the last IMU sample left out")
    kept = select_scans(scans, spanned & (count > 0))
    if len(kept) == 0:
        raise FormatError(f"{place}: no scan is left ({'; '.join(notes) or 'there is none'})")
    return SensorStreams(imu, kept, tuple(notes))


def select_scans(scans: Scans, mask: Bools) -> Scans:
    """The scans that a mask (s,) names."""
    if mask.all():
        return scans
    count = np.diff(scans.offset)
    points = np.repeat(mask, count)
    offset: Ints = np.concatenate([[0], np.cumsum(count[mask])])
    ring = None if scans.ring is None else scans.ring[points]
    return Scans(
        scans.start[mask], scans.end[mask], offset, scans.point[points], scans.time[points], ring
    )


def _sort_imu(imu: Imu) -> tuple[Imu, list[str]]:
    """Samples in the order of time, each stamp once, without NaN."""
    finite = np.isfinite(np.concatenate([imu.gyro, imu.acceleration], axis=1)).all(axis=1)
    notes = _count_notes(int((~finite).sum()), "IMU sample", "with NaN left out")
    rows = np.flatnonzero(finite)
    stamp, first = np.unique(imu.stamp[rows], return_index=True)
    notes += _count_notes(
        len(rows) - len(stamp), "IMU sample", "with a stamp already seen left out"
    )
    if (np.diff(imu.stamp) < 0).any():
        notes.append("IMU stamps step back; the samples were sorted by time")
    order = rows[first]
    return Imu(stamp, imu.gyro[order], imu.acceleration[order]), notes


def _in_si_units(imu: Imu) -> tuple[Imu, list[str]]:
    """Accelerations in m/s^2; some LiDARs' own IMUs report units of g."""
    size = float(np.median(np.linalg.norm(imu.acceleration, axis=1)))
    if 0.8 < size < 1.2:
        note = f"accelerations have a median of {size:.2f}: taken as g, times {GRAVITY_M_S2}"
        return replace(imu, acceleration=GRAVITY_M_S2 * imu.acceleration), [note]
    if not 8 < size < 12:
        return imu, [f"accelerations have a median of {size:.3g} m/s^2; 9.8 is expected"]
    return imu, []


def _gap_notes(imu: Imu) -> list[str]:
    step = np.diff(imu.stamp)
    gap = step > GAP_PERIODS * np.median(step)
    if not gap.any():
        return []
    longest = step.max() / NANOSECONDS
    return [*_count_notes(int(gap.sum()), "gap", f"in the IMU, the longest {longest:.3g} s")]


def _count_notes(number: int, noun: str, words: str) -> list[str]:
    return [f"{number:,} {noun}{'' if number == 1 else 's'} {words}"] if number else []


USUAL_RANGE_SIGMA_M = 0.02
IDENTITY = (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))


@dataclass(frozen=True)
class BagContents:
    """What the two topics of a bag hold, and the mounting that its transforms state."""

    imu: Imu
    scans: Scans
    mounting: se3.Pose | None
    notes: tuple[str, ...]


def read(path: Path, told: RecordingOptions) -> Recording:
    """Read the LiDAR and the IMU of a bag."""
    with open_bag(path) as bag:
        heard = _read_topics(bag, told)
    kept = drop_unusable(heard.imu, heard.scans, str(path))
    said = _resolve_metadata(path, told, heard.mounting)
    notes = (*said.pop("notes"), *heard.notes, *kept.notes)
    reference = read_reference(bag_write.reference_file(path))
    return Recording(**said, imu=kept.imu, scans=kept.scans, reference=reference, notes=notes)


def _read_topics(bag: Bag, told: RecordingOptions) -> BagContents:
    lidar, lidar_notes = lidar_topic(bag, told.lidar_topic)
    imu, imu_notes = imu_topic(bag, told.imu_topic)
    livox = bag.topics[lidar].type != CLOUD
    timed = not told.no_point_times
    clouded = partial(decode_pointcloud2, timed=timed)
    decode = (
        (decode_livox_ros2 if bag.kind == "ROS 2 bag" else decode_livox_ros1) if livox else clouded
    )
    samples: list[tuple[int, Any]] = []
    clouds: list[tuple[int, Cloud]] = []
    for topic, received, message in bag.messages([lidar, imu], raw=[lidar] if livox else []):
        if topic == imu:
            samples.append((received, message))
        else:
            with translate_damage(bag.path):
                clouds.append((received, decode(message, f"{bag.path}:{lidar}")))

    place = f"{bag.path}:{lidar}"
    scans, notes = assemble_scans(clouds, place, told.stamp_at, timed=timed)
    sampled, stamp_notes = imu_from_messages(samples)
    frames = samples[0][1].header.frame_id, clouds[0][1].frame
    every = (*lidar_notes, *imu_notes, *notes, *stamp_notes)
    return BagContents(sampled, scans, mounting(bag, *frames), every)


def _resolve_metadata(
    path: Path, told: RecordingOptions, stated: se3.Pose | None
) -> dict[str, Any]:
    """Name, mounting, noise and notes: what the user tells, then the words beside, then usual."""
    beside = bag_write.metadata_file(path)
    if is_file(beside):
        said = data.read(beside)
    else:
        said = {"name": path.stem, "notes": (), "imu_T_lidar": stated}
    notes = list(said["notes"])
    for name, usual, shown in _assumed_values():
        given = getattr(told, name, None)
        said[name] = said.get(name) if given is None else given
        if said[name] is None:
            said[name] = usual
            notes.append(f"{shown} (assumed)")
    return said | {"notes": tuple(notes)}


def _assumed_values() -> list[tuple[str, Any, str]]:
    noise = ImuNoise()
    return [
        ("imu_T_lidar", IDENTITY, "the LiDAR sits at the IMU with the same axes"),
        (
            "imu_noise",
            noise,
            f"IMU noise {noise.gyro:g} rad/s, {noise.acceleration:g} m/s^2/sqrt(Hz)",
        ),
        ("range_sigma_m", USUAL_RANGE_SIGMA_M, f"range noise {USUAL_RANGE_SIGMA_M:g} m"),
    ]
