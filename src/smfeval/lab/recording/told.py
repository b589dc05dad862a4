"""What a user tells of a recording that its files do not say, or say wrongly."""

from dataclasses import dataclass, fields
from typing import Literal

from smfeval.errors import OptionError
from smfeval.lab.recording.data import ImuNoise
from smfeval.maths import se3

BAG_ONLY = ("lidar_topic", "imu_topic", "stamp_at")


@dataclass(frozen=True)
class Told:
    """Options of reading. None: as the files say, or as is usual, with a note."""

    lidar_topic: str | None = None
    imu_topic: str | None = None
    imu_T_lidar: se3.Pose | None = None
    imu_noise: ImuNoise | None = None
    range_sigma_m: float | None = None
    stamp_at: Literal["start", "end"] | None = None  # what the stamp of a cloud is the time of

    def refuse_bag_options(self, what: str) -> None:
        """Raise on options that only a bag has use for."""
        for each in fields(self):
            if each.name in BAG_ONLY and getattr(self, each.name) is not None:
                raise OptionError(f"{what}: {each.name} is for bags and would be ignored")
