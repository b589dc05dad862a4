"""The filter is honest when all that it assumes is true, and not when it is told too small a noise.

Known walls, points with equal and independent noise, an IMU with the noise that is told.
"""

from dataclasses import replace

import numpy as np
import pytest

from lab_support import room
from smfeval_lab.filters.ieskf import Settings, run

MEDIAN = 2.366  # of chi^2 with 3 degrees of freedom
TOLD = Settings(
    map="known",
    voxel_m=0.0,
    undistort=False,  # the points are of the scan's end
    point_variance=0.02**2,
    start_acceleration_bias=0.02,
)


def inflation(seeds, settings, **world):
    nees = [
        room.nees(run(room.recording(seed, **world), settings, known=room.Walls()))
        for seed in seeds
    ]
    return np.median(np.concatenate(nees)) / MEDIAN


def test_a_few_runs_in_a_known_room_are_honest():
    assert 0.7 < inflation(range(100, 104), TOLD, duration_s=8.0) < 1.4


def test_a_variance_told_too_small_makes_the_belief_as_much_too_tight():
    k = inflation(range(100, 103), replace(TOLD, point_variance=0.002**2), duration_s=6.0)
    assert k > 10


@pytest.mark.slow
def test_twenty_runs_in_a_known_room_are_honest():
    assert 0.8 < inflation(range(20), TOLD) < 1.25


@pytest.mark.slow
def test_undistortion_by_the_filters_own_velocity_is_not_in_its_noise():
    """Swept scans are undistorted with the predicted motion, whose error all points share."""
    k = inflation(range(20), replace(TOLD, undistort=True), sweep=True)
    assert 1.1 < k < 2.0
