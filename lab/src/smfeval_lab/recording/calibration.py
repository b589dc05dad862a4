"""Folders of Oxford Spires: the bag of a sequence, and the mounting by the calibration beside it.

`calibration/*.yaml` at the root of the data set, or `sensor.yaml` beside the bag, have the LiDAR
and the IMU in the frame of one camera: T_imu_lidar = T_cam_imu^-1 T_cam_lidar.
"""

from pathlib import Path
from typing import Any

from smfeval import words
from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.source import read_json_or_yaml
from smfeval.maths import se3
from smfeval_lab.recording import IDENTITY, Recording

FOLDER, FLAT_FILE = "calibration", "sensor.yaml"
IMU_KEY, LIDAR_KEY = "T_cam_imu_t_xyz_q_xyzw", "T_cam_lidar_t_xyz_q_xyzw"
LEVELS = 6  # folders above a bag: calibration/ lies beside sequences/<name>/raw/ros2bag/<bag>
BAGS = ("raw/ros2bag/metadata.yaml", "raw/ros2bag/*/metadata.yaml", "raw/rosbag/*.bag")


def bag_of_sequence(path: Path) -> Path:
    """The bag of a sequence's folder; a path that is none stays as it is."""
    for pattern in BAGS:
        found = sorted(
            each.parent if each.suffix == ".yaml" else each for each in path.glob(pattern)
        )
        if len(found) > 1:
            names = ", ".join(str(each.relative_to(path)) for each in found)
            raise OptionError(f"{path}: the sequence has several bags, name one: {names}")
        if found:
            return found[0]
    return path


def calibration_files(bag: Path) -> list[Path]:
    """Calibrations in the folders above a bag, and in its own; the nearest first."""
    whole = bag.absolute()
    return [
        file
        for folder in (whole, *whole.parents)[:LEVELS]
        for file in (*folder.glob(FLAT_FILE), *sorted(folder.glob(f"{FOLDER}/*.yaml")))
    ]


def mounting_beside(bag: Path) -> tuple[se3.Pose | None, str]:
    """imu_T_lidar by the first calibration that states it, and a note on what was taken."""
    files = calibration_files(bag)
    for file in files:
        try:
            found = _mounting(read_json_or_yaml(file), file)
        except SmfevalError as error:
            raise FormatError(f"{error}; --extrinsic gives the LiDAR in the IMU instead") from error
        if found is not None:
            numbers = ", ".join(words.fixed(float(each), 4) for part in found for each in part)
            where = f"{IMU_KEY} and {LIDAR_KEY} of {file.parent.name}/{file.name}"
            return found, f"imu_T_lidar {numbers} (x y z qx qy qz qw) by {where}"
    if not files:
        return None, ""
    names = ", ".join(f"{file.parent.name}/{file.name}" for file in files)
    return None, f"no camera with {IMU_KEY} and {LIDAR_KEY} in {names}"


def _mounting(document: Any, file: Path) -> se3.Pose | None:
    """imu_T_lidar by the first camera of `sensor: cameras:` that has both."""
    sensor = document.get("sensor") if isinstance(document, dict) else None
    cameras = sensor.get("cameras") if isinstance(sensor, dict) else None
    for camera in cameras if isinstance(cameras, list) else ():
        if isinstance(camera, dict) and IMU_KEY in camera and LIDAR_KEY in camera:
            try:
                imu, lidar = (read_extrinsic(_numbers(camera[key])) for key in (IMU_KEY, LIDAR_KEY))
            except FormatError as error:
                raise FormatError(f"{file}: {error}") from error
            return se3.compose(se3.inverse(imu), lidar)
    return None


def _numbers(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def spires_calibration(recording: Recording) -> str:
    """The text of `sensor.yaml`; the camera sits at the LiDAR with the same axes."""
    base_T_imu = se3.inverse(recording.imu_T_measured or IDENTITY)
    imu, lidar, base = (
        [round(float(each), 9) for part in pose for each in part]
        for pose in (
            se3.inverse(recording.imu_T_lidar),
            IDENTITY,
            se3.compose(base_T_imu, recording.imu_T_lidar),
        )
    )
    return (
        f"sensor:\n  cameras:\n    - label: cam_front\n      {LIDAR_KEY}: {lidar}\n"
        f"      {IMU_KEY}: {imu}\n  T_base_lidar_t_xyz_q_xyzw: {base}\n"
    )
