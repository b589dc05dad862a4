"""SENSORS: IMU and LiDAR of a motion, with noise, and with faults that a filter is not told.

::

    imu      rates and specific forces: white noise and biases that wander
    pattern  where a LiDAR looks, and when: spinning rings, or a rosette that never repeats
    lidar    rays cast from the pose at their own instant
    faults   what is wrong with a whole scan at once, each with a dial; fault_words as text
"""

from smfeval.lab.sensors.faults import NO_FAULTS, TYPICAL_FAULTS, Faults
from smfeval.lab.sensors.imu import ImuModel
from smfeval.lab.sensors.lidar import LIDARS, LidarModel, Rosette, Spinning

__all__ = [
    "LIDARS",
    "NO_FAULTS",
    "TYPICAL_FAULTS",
    "Faults",
    "ImuModel",
    "LidarModel",
    "Rosette",
    "Spinning",
]
