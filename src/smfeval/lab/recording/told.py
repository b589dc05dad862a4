"""What a user tells of a recording that its files do not say, or say wrongly."""

from dataclasses import dataclass, fields
from math import inf
from typing import Literal

from smfeval.errors import OptionError
from smfeval.lab.recording.data import ImuNoise
from smfeval.maths import se3

BAG_ONLY = ("lidar_topic", "imu_topic", "stamp_at", "no_point_times")


@dataclass(frozen=True)
class Told:
    """Options of reading. None: as the files say, or as is usual, with a note."""

    lidar_topic: str | None = None
    imu_topic: str | None = None
    imu_T_lidar: se3.Pose | None = None
    imu_noise: ImuNoise | None = None
    stamp_at: Literal["start", "end"] | None = None  # what the stamp of a cloud is the time of
    no_point_times: bool | None = None  # all points of a cloud are taken at its stamp

    def refuse_bag_options(self, what: str) -> None:
        """Raise on options that only a bag has use for."""
        for each in fields(self):
            if each.name in BAG_ONLY and getattr(self, each.name) is not None:
                raise OptionError(f"{what}: {each.name} is for bags and would be ignored")


def imu_noise(text: str) -> ImuNoise:
    """Densities from words: gyro, acceleration and the walks of their biases, `2e-3,2e-2,...`."""
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = []
    if len(values) != len(fields(ImuNoise)) or not all(0 < value < inf for value in values):
        raise OptionError(
            f"IMU noise {text!r}: four positive densities are needed, of gyro, acceleration and "
            "the walks of their biases: 2e-3,2e-2,2e-5,2e-4"
        )
    return ImuNoise(*values)
