"""IMU messages as arrays."""

from operator import attrgetter
from typing import Any

import numpy as np

from smfeval.io.ros.stamps import settled_stamps
from smfeval.lab.recording.data import Imu

NUMBERS = attrgetter(
    *(f"angular_velocity.{axis}" for axis in "xyz"),
    *(f"linear_acceleration.{axis}" for axis in "xyz"),
)
STAMP = attrgetter("header.stamp.sec", "header.stamp.nanosec")


def from_messages(messages: list[tuple[int, Any]]) -> tuple[Imu, list[str]]:
    """Samples of sensor_msgs/Imu messages with the times at which they were received."""
    stamp, notes = settled_stamps(
        [STAMP(message) for _, message in messages], [received for received, _ in messages]
    )
    numbers = np.array([NUMBERS(message) for _, message in messages], dtype=np.float64)
    return Imu(stamp, numbers[:, :3], numbers[:, 3:]), [f"IMU: {note}" for note in notes]
