"""SENSORS: IMU and LiDAR of a motion, with noise, and with faults that a filter is not told."""

from smfeval_lab.sensors.faults import HANDHELD_FAULTS, NO_FAULTS, TYPICAL_FAULTS, Faults
from smfeval_lab.sensors.imu import ImuModel
from smfeval_lab.sensors.lidar import LIDARS, LidarModel, Rosette, Spinning
from smfeval_lab.sensors.survey import SURVEYS, Survey

__all__ = [
    "HANDHELD_FAULTS",
    "LIDARS",
    "NO_FAULTS",
    "SURVEYS",
    "TYPICAL_FAULTS",
    "Faults",
    "ImuModel",
    "LidarModel",
    "Rosette",
    "Spinning",
    "Survey",
]
