"""RECORDING: what the sensors of a walk saw, in memory and in files.

::

    data         the arrays of a recording
    files        read_recording and write_recording: which kind of file it is
    words        what a recording says of itself, as JSON beside the numbers
    folder       Parquet tables in a folder, bit for bit
    bag_write    an MCAP bag that other odometry can read
    bag_read     an MCAP, ROS 1 or ROS 2 bag, ours or of a user
    bag_topics   which topics hold the LiDAR and the IMU
    bag_clouds   points and their times out of PointCloud2, whatever the vendor
    bag_livox    the same out of Livox messages
    bag_scans    clouds as scans in the order of time
    point_times  what unit and origin per-point times have
    bag_imu      IMU messages as arrays
    bag_mounting the pose of the LiDAR in the IMU, from static transforms
    intake       what is left out on the way in, counted
"""

from pathlib import Path
from typing import Any

from smfeval.lab.recording.data import (
    GRAVITY_M_S2,
    Imu,
    ImuNoise,
    Recording,
    RecordingOptions,
    Scan,
    Scans,
)

__all__ = [
    "GRAVITY_M_S2",
    "Imu",
    "ImuNoise",
    "Recording",
    "Scan",
    "Scans",
    "read_recording",
    "write_recording",
]


def read_recording(path: str | Path, **options: Any) -> Recording:
    """Read a recording; keyword arguments are those of `told.Told`."""
    from smfeval.lab.recording import files  # noqa: PLC0415  polars and rosbags only when used

    return files.read(Path(path), RecordingOptions(**options))


def write_recording(recording: Recording, path: str | Path, *, force: bool = False) -> list[Path]:
    """Write a recording to an .mcap bag or to a folder; returns the files made."""
    from smfeval.lab.recording import files  # noqa: PLC0415

    return files.write(recording, Path(path), force=force)
