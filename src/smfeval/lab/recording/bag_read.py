"""Bags as recordings: ours, which come back as they were, and those of users.

Stamps are those of the headers. What the bag does not say (mounting, noise) comes from the words
beside it, from the user, or is assumed with a note.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.io.ros.recording import Recording as Bag
from smfeval.io.ros.recording import damage_named, opened_bag
from smfeval.io.source import is_file
from smfeval.lab.recording import bag_imu, bag_write, words
from smfeval.lab.recording.bag_clouds import Cloud, from_cloud
from smfeval.lab.recording.bag_livox import from_ros1, from_ros2
from smfeval.lab.recording.bag_mounting import mounting
from smfeval.lab.recording.bag_scans import stacked
from smfeval.lab.recording.bag_topics import CLOUD, imu_topic, lidar_topic
from smfeval.lab.recording.data import Imu, ImuNoise, Recording, Scans
from smfeval.lab.recording.folder import reference_beside
from smfeval.lab.recording.intake import sifted
from smfeval.lab.recording.told import Told
from smfeval.maths import se3

USUAL_RANGE_SIGMA_M = 0.02
IDENTITY = (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))


@dataclass(frozen=True)
class Heard:
    """What the two topics of a bag hold, and the mounting that its transforms state."""

    imu: Imu
    scans: Scans
    mounting: se3.Pose | None
    notes: tuple[str, ...]


def read(path: Path, told: Told) -> Recording:
    """Read the LiDAR and the IMU of a bag."""
    with opened_bag(path) as bag:
        heard = _heard(bag, told)
    kept = sifted(heard.imu, heard.scans, str(path))
    said = _said(path, told, heard.mounting)
    notes = (*said.pop("notes"), *heard.notes, *kept.notes)
    reference = reference_beside(bag_write.reference_file(path))
    return Recording(**said, imu=kept.imu, scans=kept.scans, reference=reference, notes=notes)


def _heard(bag: Bag, told: Told) -> Heard:
    lidar, lidar_notes = lidar_topic(bag, told.lidar_topic)
    imu, imu_notes = imu_topic(bag, told.imu_topic)
    livox = bag.topics[lidar].type != CLOUD
    timed = not told.no_point_times
    clouded = partial(from_cloud, timed=timed)
    decode = (from_ros2 if bag.kind == "ROS 2 bag" else from_ros1) if livox else clouded
    samples: list[tuple[int, Any]] = []
    clouds: list[tuple[int, Cloud]] = []
    for topic, received, message in bag.messages([lidar, imu], raw=[lidar] if livox else []):
        if topic == imu:
            samples.append((received, message))
        else:
            with damage_named(bag.path):
                clouds.append((received, decode(message, f"{bag.path}:{lidar}")))

    place = f"{bag.path}:{lidar}"
    scans, notes = stacked(clouds, place, told.stamp_at, timed=timed)
    sampled, stamp_notes = bag_imu.from_messages(samples)
    frames = samples[0][1].header.frame_id, clouds[0][1].frame
    every = (*lidar_notes, *imu_notes, *notes, *stamp_notes)
    return Heard(sampled, scans, mounting(bag, *frames), every)


def _said(path: Path, told: Told, stated: se3.Pose | None) -> dict[str, Any]:
    """Name, mounting, noise and notes: what the user tells, then the words beside, then usual."""
    beside = bag_write.words_file(path)
    if is_file(beside):
        said = words.read(beside)
    else:
        said = {"name": path.stem, "notes": (), "imu_T_lidar": stated}
    notes = list(said["notes"])
    for name, usual, shown in _usual():
        given = getattr(told, name, None)
        said[name] = said.get(name) if given is None else given
        if said[name] is None:
            said[name] = usual
            notes.append(f"{shown} (assumed)")
    return said | {"notes": tuple(notes)}


def _usual() -> list[tuple[str, Any, str]]:
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
