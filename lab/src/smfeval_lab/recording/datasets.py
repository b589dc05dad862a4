"""Write a recording as the data sets of the field are laid out on disk.

::

    Oxford Spires  sequences/<date-site-nn>/raw/ros2bag/  /hesai/pandar, /alphasense_driver_ros/imu
                   sequences/<date-site-nn>/processed/trajectory/gt-tum.txt
                   calibration/sensor.yaml                T_base_lidar, T_imu_lidar
    GEODE          sensor_data/<environment>/<sequence>_beta/<sequence>_beta.bag
                   groundtruth/traj/<sequence>.txt           position only: quaternion 0 0 0 0
                   calibration_files/beta.yaml               T_IMU_LiDAR

The ground truth is the measured reference; `exact/` beside it has the exact poses and the
measured ones with their covariances, which no data set has.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin

from smfeval.errors import OptionError
from smfeval.io import write as write_track
from smfeval.maths import se3, so3
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.track import Track
from smfeval_lab.recording.bag_write import XYZ, Dialect, write_messages
from smfeval_lab.recording.data import Recording, metadata_json
from smfeval_lab.recording.folder import replacing_folder

SPIRES = Dialect(
    points="/hesai/pandar",
    imu="/alphasense_driver_ros/imu",
    lidar_frame="lidar",
    imu_frame="imu",
    layout=XYZ | {"timestamp": "<f8", "ring": "<u2"},
    storage=StoragePlugin.SQLITE3,
    says_mounting=False,
)
GEODE = Dialect(
    points="/ouster/points",
    imu="/imu/data",
    lidar_frame="os_lidar",
    imu_frame="imu_link",
    layout=XYZ | {"t": "<u4", "ring": "<u2"},
    ros=1,
    says_mounting=False,
)
Folder = Callable[[Recording, Path], None]


def write_dataset(recording: Recording, path: Path, layout: str) -> list[Path]:
    """Write the folder of a data set: it appears whole or not at all; returns the files."""
    if recording.measured is None:
        raise OptionError(f"{path}: the layout {layout} has a measured reference; choose one")
    with replacing_folder(path) as new:
        DATASETS[layout](recording, new)
        exact = new / "exact" / recording.name
        exact.mkdir(parents=True)
        write_track(recording.measured, exact / "measured.square")
        if recording.reference is not None:
            write_track(recording.reference, exact / "reference.square")
        (exact / "recording.json").write_text(metadata_json(recording))
    return sorted(file for file in path.rglob("*") if file.is_file())


def _write_spires(recording: Recording, root: Path) -> None:
    world, _, seed = recording.name.rpartition("_")
    day = datetime.fromtimestamp(int(recording.imu.stamp[0]) // NANOSECONDS, tz=UTC)
    sequence = f"{day:%Y-%m-%d}-{world.replace('_', '-')}-{int(seed):02d}"
    folder = root / "sequences" / sequence
    (folder / "raw").mkdir(parents=True)
    (folder / "processed" / "trajectory").mkdir(parents=True)
    write_messages(recording, folder / "raw" / "ros2bag", SPIRES)
    _write_tum(recording.measured, folder / "processed" / "trajectory" / "gt-tum.txt")
    (root / "calibration").mkdir()
    (root / "calibration" / "sensor.yaml").write_text(
        _transform_yaml("T_imu_lidar", recording.imu_T_lidar)
        + _transform_yaml("T_base_lidar", _measured_body_to_lidar(recording))
    )


def _write_geode(recording: Recording, root: Path) -> None:
    world, _, seed = recording.name.rpartition("_")
    sequence = f"{world.capitalize()}{seed}"
    folder = root / "sensor_data" / world / f"{sequence}_beta"
    folder.mkdir(parents=True)
    (root / "groundtruth" / "traj").mkdir(parents=True)
    write_messages(recording, folder / f"{sequence}_beta.bag", GEODE)
    _write_tum(recording.measured, root / "groundtruth" / "traj" / f"{sequence}.txt")
    (root / "calibration_files").mkdir()
    (root / "calibration_files" / "beta.yaml").write_text(
        _transform_yaml("T_IMU_LiDAR", recording.imu_T_lidar)
        + _transform_yaml("T_body_LiDAR", _measured_body_to_lidar(recording))
    )


DATASETS: dict[str, Folder] = {"spires": _write_spires, "geode": _write_geode}


def _measured_body_to_lidar(recording: Recording) -> se3.Pose:
    """The LiDAR in the frame of the body that the reference is measured of."""
    base = recording.imu_T_measured or (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    return se3.compose(se3.inverse(base), recording.imu_T_lidar)


def _write_tum(track: Track | None, path: Path) -> None:
    """Eight columns; a quaternion of zeros where the orientation is not measured."""
    if track is None:
        return
    turn = track.rotation if track.about.oriented else np.zeros_like(track.rotation)
    numbers = np.concatenate([track.position, turn], axis=1)
    stamps = (seconds_text(int(stamp)) for stamp in track.stamp)
    rows = zip(stamps, numbers.tolist(), strict=True)
    lines = (" ".join([stamp, *(repr(round(x, 9)) for x in row)]) for stamp, row in rows)
    path.write_text("\n".join(lines) + "\n")


def _transform_yaml(name: str, pose: se3.Pose) -> str:
    """A transform as four rows."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = so3.matrix(pose[1]), pose[0]
    rows = "".join(f"  - {[round(x, 9) for x in row]}\n" for row in matrix.tolist())
    return f"{name}:\n{rows}"
