import subprocess
import sys

import numpy as np
import pytest

from smfeval.errors import OptionError, TrackError
from smfeval.io import read
from smfeval.io.recorder import SquareWriter
from smfeval.track import About
from support.beliefs import ABOUT, gaussian


def test_what_is_recorded_is_read_back_to_the_last_bit(tmp_path, rng):
    track = gaussian(10, rng)
    with SquareWriter(tmp_path / "a.square", ABOUT) as writer:
        for i in range(10):
            pose = (track.position[i], track.rotation[i])
            writer.append(int(track.stamp[i]), pose, track.covariance[i])
    again = read(tmp_path / "a.square")
    np.testing.assert_array_equal(again.covariance, track.covariance)
    np.testing.assert_array_equal(again.stamp, track.stamp)
    assert again.about == ABOUT


def test_a_killed_process_loses_at_most_the_row_in_flight(tmp_path):
    script = """
import os, sys, numpy as np
from smfeval import SquareWriter
writer = SquareWriter(sys.argv[1])
for i in range(7):
    writer.append(i, (np.zeros(3), [0, 0, 0, 1.0]), np.eye(6))
os._exit(9)
"""
    path = tmp_path / "a.square"
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == 9
    assert len(read(path)) == 7


def test_bad_beliefs_are_refused_and_leave_no_row(tmp_path):
    with SquareWriter(tmp_path / "a.square", About(body="imu")) as writer:
        pose = (np.zeros(3), [0, 0, 0, 1.0])
        writer.append(10, pose, np.eye(6))
        with pytest.raises(TrackError, match=r"stamp 0\.000000010 is not after 0\.000000010"):
            writer.append(10, pose, np.eye(6))
        with pytest.raises(TrackError, match="semi-definite"):
            writer.append(20, pose, -np.eye(6))
    assert len(read(tmp_path / "a.square")) == 1


def test_an_existing_file_is_not_overwritten(tmp_path):
    (tmp_path / "a.square").write_text("precious")
    with pytest.raises(OptionError, match="not overwritten"):
        SquareWriter(tmp_path / "a.square")
    assert (tmp_path / "a.square").read_text() == "precious"
    SquareWriter(tmp_path / "a.square", overwrite=True).close()
    with pytest.raises(OptionError, match="cannot be written"):
        SquareWriter(tmp_path / "nowhere" / "a.square")
