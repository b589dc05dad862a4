import numpy as np
import pytest

from smfeval.explain.doubts import examine
from smfeval.track import GaussianTrack
from support.beliefs import gaussian, particles, poses, stamps


def test_motion_in_numbers():
    stamp = np.array([0, 1, 2, 5, 6]) * 10**9
    position = np.array([[0, 0, 0], [3, 4, 0], [3, 4, 0], [3, 4, 1], [3, 4, 2.0]])
    track = GaussianTrack(
        stamp, position, np.tile([0, 0, 0, 1.0], (5, 1)), np.tile(np.eye(6), (5, 1, 1))
    )
    motion = examine(track).motion
    assert (motion.scans, motion.duration_s, motion.rate_hz) == (5, 6.0, 1.0)
    assert (motion.gaps, motion.longest_gap_s) == (1, 3.0)
    assert motion.path_m == pytest.approx(7)
    assert (motion.fastest_speed, motion.fastest_scan) == (5.0, 1)


def test_health_in_numbers(rng):
    covariance = np.tile(np.diag([4.0, 4, 4, 1, 1, 1]), (40, 1, 1))
    covariance[-4:] *= 9
    plain = poses(40, rng)
    health = examine(GaussianTrack(plain.stamp, plain.position, plain.rotation, covariance)).health
    assert health.rank == (6, 6)
    assert (health.position_sigma_m.smallest, health.position_sigma_m.largest) == (2, 6)
    assert health.growth == pytest.approx(3)
    assert not health.constant


def planar(rng, n=20):
    covariance = np.zeros((n, 6, 6))
    covariance[:, 0, 0] = covariance[:, 1, 1] = 0.01
    covariance[:, 5, 5] = 0.001
    heading = rng.uniform(-3, 3, size=n)
    rotation = np.stack(
        [0 * heading, 0 * heading, np.sin(heading / 2), np.cos(heading / 2)], axis=1
    )
    return GaussianTrack(stamps(n), np.zeros((n, 3)), rotation, covariance)


def test_what_can_be_scored_on_which_axes(rng):
    assert examine(gaussian(5, rng)).scorable.axes == "xyz"
    assert examine(particles(9, rng)).scorable.axes in ("xyz", None)
    assert examine(poses(5, rng)).scorable.axes is None
    flat = examine(planar(rng))
    assert flat.scorable.axes == "xy"
    assert flat.health.rank == (3, 3)
    assert (
        "20 of 20 scans have a singular or placeholder position covariance" in flat.scorable.reason
    )


def test_zero_covariance_cannot_be_scored(rng):
    plain = poses(3, rng)
    track = GaussianTrack(plain.stamp, plain.position, plain.rotation, np.zeros((3, 6, 6)))
    assert examine(track).scorable.axes is None
    assert examine(track).health.zero_scans == 3


def test_a_single_scan_can_be_examined(rng):
    examination = examine(gaussian(1, rng))
    assert examination.motion.rate_hz is None
    assert examination.scorable.axes == "xyz"
