"""SENSORS: IMU and LiDAR of a motion, with noise, and with faults that a filter is not told."""
