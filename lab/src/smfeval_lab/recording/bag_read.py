"""Read the LiDAR and the IMU of a bag: one of ours, which comes back as it was, or of a user.

Stamps are those of the headers. What the bag does not say (mounting, noise) comes from the metadata
beside it, from the user, or is assumed with a note.
"""

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import words
from smfeval.io.ros.bag import Bag, open_bag, translate_damage
from smfeval.io.ros.clouds import CLOUD, Cloud, cloud_decoder, find_topic, lidar_topic
from smfeval.io.ros.poses import settle_stamps
from smfeval.io.source import is_file
from smfeval.maths import se3
from smfeval_lab.recording.bag_clouds import assemble_scans
from smfeval_lab.recording.data import (
    Imu,
    ImuNoise,
    Recording,
    RecordingOptions,
    Scans,
    bag_files,
    read_metadata,
)
from smfeval_lab.recording.folder import read_reference
from smfeval_lab.recording.usable import NO_IMU, drop_unusable

IMU = "sensor_msgs/msg/Imu"
USUAL_RANGE_SIGMA_M = 0.02
IDENTITY = (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))


@dataclass(frozen=True)
class BagContents:
    """What the two topics of a bag hold, and the mounting that its transforms state."""

    imu: Imu
    scans: Scans
    mounting: se3.Pose | None
    notes: tuple[str, ...]


def read_bag(path: Path, options: RecordingOptions) -> Recording:
    """Read the LiDAR and the IMU of a bag; drop what no filter could use."""
    _, metadata_file, reference_file, measured_file = bag_files(path)
    with open_bag(path) as bag:
        contents = _read_topics(bag, options)
    kept = drop_unusable(contents.imu, contents.scans, str(path))
    metadata = _resolve_metadata(path, metadata_file, options, contents.mounting)
    return Recording(
        **metadata | {"notes": (*metadata["notes"], *contents.notes, *kept.notes)},
        imu=kept.imu,
        scans=kept.scans,
        reference=read_reference(reference_file),
        measured=read_reference(measured_file),
    )


def _read_topics(bag: Bag, options: RecordingOptions) -> BagContents:
    lidar, lidar_notes = lidar_topic(bag, options.lidar_topic, "--lidar-topic")
    imu, imu_notes = imu_topic(bag, options.imu_topic)
    topics = [lidar] if imu is None else [lidar, imu]
    livox, timed = bag.topics[lidar].type != CLOUD, not options.no_point_times
    decode = cloud_decoder(bag, livox=livox, timed=timed)
    samples: list[tuple[int, Any]] = []
    clouds: list[tuple[int, Cloud]] = []
    for topic, received, message in bag.messages(topics, raw=[lidar] if livox else []):
        if topic == imu:
            samples.append((received, message))
        else:
            with translate_damage(bag.path):
                clouds.append((received, decode(message, f"{bag.path}:{lidar}")))

    place = f"{bag.path}:{lidar}"
    scans, notes = assemble_scans(clouds, place, options.stamp_at, timed=timed)
    if imu is None:
        return BagContents(NO_IMU, scans, IDENTITY, (*lidar_notes, *imu_notes, *notes))
    sampled, stamp_notes = imu_from_messages(samples)
    frames = samples[0][1].header.frame_id, clouds[0][1].frame
    all_notes = (*lidar_notes, *imu_notes, *notes, *stamp_notes)
    return BagContents(sampled, scans, mounting(bag, *frames), all_notes)


def _resolve_metadata(
    path: Path, metadata_file: Path, options: RecordingOptions, mounting: se3.Pose | None
) -> dict[str, Any]:
    """Name, mounting, noise and notes, as arguments of `Recording`.

    What the user tells comes first, then the file beside the bag (or the bag's own transforms),
    then what is usual, with a note.
    """
    if is_file(metadata_file):
        metadata = read_metadata(metadata_file)
    else:
        metadata = {"name": path.stem, "notes": (), "imu_T_lidar": mounting}
    notes = list(metadata["notes"])
    for name, usual, note in _assumed_values():
        given = getattr(options, name, None)
        metadata[name] = metadata.get(name) if given is None else given
        if metadata[name] is None:
            metadata[name] = usual
            notes.append(f"{note} (assumed)")
    return metadata | {"notes": tuple(notes)}


def _assumed_values() -> list[tuple[str, Any, str]]:
    """Field of a recording, its usual value, and what is assumed with it."""
    noise = ImuNoise()
    return [
        ("imu_T_lidar", IDENTITY, "the LiDAR sits at the IMU with the same axes"),
        (
            "imu_noise",
            noise,
            f"IMU noise {words.exact(noise.gyro)} rad/s, {words.exact(noise.acceleration)} "
            "m/s^2/sqrt(Hz)",
        ),
        ("range_sigma_m", USUAL_RANGE_SIGMA_M, f"range noise {words.exact(USUAL_RANGE_SIGMA_M)} m"),
    ]


def imu_topic(bag: Bag, name: str | None) -> tuple[str | None, list[str]]:
    """The IMU topic, and a note if it was not named; None if the bag has none."""
    if name is None and not any(topic.type == IMU and topic.count for topic in bag.topics.values()):
        return None, ["no IMU in the bag: only filters that need none run on it"]
    return find_topic(bag, name, (IMU,), "IMU", "--imu-topic")


STATIC_TRANSFORMS = "/tf_static"


def mounting(bag: Bag, imu: str, lidar: str) -> se3.Pose | None:
    """imu_T_lidar by the names of the frames; None if the bag does not say."""
    if STATIC_TRANSFORMS not in bag.topics or not imu or not lidar:
        return None
    edges: dict[str, dict[str, se3.Pose]] = {}
    for _, _, message in bag.messages([STATIC_TRANSFORMS]):
        for sent in message.transforms:
            parent, child = (n.lstrip("/") for n in (sent.header.frame_id, sent.child_frame_id))
            pose = _pose_from_transform(sent.transform)
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


def _pose_from_transform(transform: Any) -> se3.Pose:
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
