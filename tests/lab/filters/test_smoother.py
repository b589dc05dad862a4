"""The fixed-lag smoother: it tracks, its covariance has the right axes, and its parts are right."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("gtsam", reason="gtsam is not installed")
pytest.importorskip("small_gicp", reason="small-gicp is not installed")

from lab.filters import long_room, room
from smfeval.errors import OptionError
from smfeval.io.convention import CONVENTIONS, to_right
from smfeval.lab.filters import ieskf
from smfeval.lab.filters.gtsam_smoother import Settings, run
from smfeval.lab.filters.gtsam_smoother.keyframes import Keyframes
from smfeval.lab.filters.gtsam_smoother.settings import POSITIVE
from smfeval.lab.recording import Scans
from smfeval.maths import so3


@pytest.fixture(scope="module")
def recording():
    return long_room.recording(7)


@pytest.fixture(scope="module")
def finished(recording):
    return run(recording)


def without_points(recording):
    scans = recording.scans
    offset = np.zeros_like(scans.offset)
    empty = Scans(scans.start, scans.end, offset, scans.point[:0], scans.time[:0])
    return replace(recording, scans=empty)


def test_it_tracks_the_imu_at_the_ends_of_the_scans(recording, finished):
    belief = finished.belief
    assert (belief.about.body, belief.about.gauge) == ("imu", "se3")
    assert np.array_equal(belief.stamp, recording.scans.end[-len(belief) :])
    assert np.linalg.norm(long_room.errors(belief), axis=1).max() < 0.05


def test_it_is_least_certain_along_the_room_whatever_the_heading(finished):
    long_room.assert_axes(finished.belief[20:])


def test_without_points_it_predicts_as_the_filter_does():
    blind = without_points(room.recording(4, duration_s=3.0, count=30))
    sure = {"start_acceleration_bias": 1e-6, "start_m": 2e-3, "start_rad": 3e-3}
    smoothed = run(blind, Settings(**sure))
    filtered = ieskf.run(blind, ieskf.Settings(**sure)).belief
    assert any("20 scans" in note for note in smoothed.notes) or len(smoothed.belief) == 20
    np.testing.assert_allclose(smoothed.belief.position, filtered.position, atol=2e-3)
    np.testing.assert_allclose(
        np.linalg.inv(smoothed.belief.covariance[-1]) @ filtered.covariance[-1],
        np.eye(6),
        atol=0.05,
    )
