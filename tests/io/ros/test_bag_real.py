"""Bags from real robots, if they lie beside the checkout."""

from pathlib import Path

import numpy as np
import pytest

from smfeval.errors import FormatError
from smfeval.io import read
from smfeval.io.ros import candidates
from smfeval.io.ros.topics import Candidate
from smfeval.track import GaussianTrack

BAGS = Path(__file__).parents[3].parent / "shared" / "data" / "bags"

pytestmark = pytest.mark.skipif(not BAGS.is_dir(), reason="no shared/data beside the checkout")


def test_jackal_wheel_odometry_has_a_constant_covariance_with_placeholders():
    path = BAGS / "robot_localization_test2_jackal.bag"
    topic = "/jackal_velocity_controller/odom"
    assert candidates(path) == [Candidate(topic, "nav_msgs/Odometry", 3060, "constant")]
    track = read(path)
    assert isinstance(track, GaussianTrack)
    assert len(track) == 3060
    assert track.stamp[0] == 47_584_000_000
    assert (track.about.world, track.about.body) == ("odom", "base_link")
    expected = np.diag([1e-3, 1e-3, 1e6])
    np.testing.assert_allclose(track.position_covariance, [expected] * 3060, atol=1e-9)
    assert "a variance of 1e+06 stands for an axis that is not known" in track.provenance.notes


def test_turtlebot_odometry_keeps_its_placeholders():
    track = read(BAGS / "fuse_turtlebot3.bag", topic="/odom")
    assert len(track) == 2741
    assert (track.about.world, track.about.body) == ("odom", "base_footprint")
    np.testing.assert_allclose(track.position_covariance[:, 2, 2], 1e12, rtol=1e-12)
    assert "the covariance is constant" in track.provenance.notes


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_cut_real_bag_is_refused(tmp_path, share):
    data = (BAGS / "robot_localization_test2_jackal.bag").read_bytes()
    path = tmp_path / "cut.bag"
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(FormatError, match="cut off"):
        read(path)
