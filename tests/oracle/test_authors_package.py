"""Interchange with the authors' own package, installed into an environment of its own.

Its import name is the same as ours, so it is only ever run as another process.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from smfeval.io import read, write
from smfeval.io.recorder import SquareWriter
from smfeval.maths.symmetric import pack_lower
from support.beliefs import ABOUT, gaussian, particles, poses

VERSION = "0.4.0"
CACHE = Path(__file__).parents[2] / ".venv" / "peers" / f"smfeval-{VERSION}"

READ_THERE = """
import json, sys
from pathlib import Path
from smfeval.io import load_square
header, steps = load_square(Path(sys.argv[1]))
print(json.dumps({
    "body": header.body_frame,
    "gauge": header.gauge.value,
    "rows": [[s.timestamp, *s.translation.tolist(), *s.quat_xyzw.tolist(),
              *(s.covariance.ravel().tolist() if hasattr(s, "covariance") else [])]
             for s in steps],
}))
"""

WRITE_THERE = """
import sys
from pathlib import Path
from smfeval.io import load_square, write_header, write_steps
header, steps = load_square(Path(sys.argv[1]))
with open(sys.argv[2], "w") as f:
    write_header(f, header)
    write_steps(f, steps, header)
"""


@pytest.fixture(scope="module")
def peer():
    """The peer's interpreter; installed once, skipped if it cannot be."""
    python = CACHE / "bin" / "python"
    if not (CACHE / "installed").exists():
        commands = [
            [sys.executable, "-m", "venv", CACHE],
            [python, "-m", "pip", "install", "--quiet", f"smfeval=={VERSION}"],
        ]
        for command in commands:
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"the authors' package cannot be installed: {done.stderr[-200:]}")
        (CACHE / "installed").touch()
    return python


def run(python, *words):
    command = [str(python), *map(str, words)]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=CACHE)


def validate(python, path):
    return run(CACHE / "bin" / "smfeval", "validate", "--strict", path)


def test_our_gaussian_files_pass_their_strict_validation(peer, tmp_path, rng):
    track = gaussian(20, rng).described(extra=(("SENSOR", "xt32"),))
    write(track, tmp_path / "a.square")
    done = validate(peer, tmp_path / "a.square")
    assert done.returncode == 0, done.stderr


def test_our_live_recorder_passes_their_strict_validation(peer, tmp_path, rng):
    track = gaussian(5, rng)
    with SquareWriter(tmp_path / "a.square", ABOUT) as writer:
        for i in range(5):
            pose = (track.position[i], track.rotation[i])
            writer.append(int(track.stamp[i]), pose, track.covariance[i])
    done = validate(peer, tmp_path / "a.square")
    assert done.returncode == 0, done.stderr


def test_our_numbers_are_read_there_to_the_last_digit(peer, tmp_path, rng):
    track = gaussian(20, rng)
    write(track, tmp_path / "a.square")
    done = run(peer, "-c", READ_THERE, tmp_path / "a.square")
    assert done.returncode == 0, done.stderr
    there = json.loads(done.stdout)
    rows = np.array(there["rows"])
    assert (there["body"], there["gauge"]) == ("imu", "se3")
    np.testing.assert_array_equal(rows[:, 0], track.stamp / 1e9)
    np.testing.assert_array_equal(rows[:, 1:4], track.position)
    np.testing.assert_array_equal(rows[:, 4:8], track.rotation)
    np.testing.assert_array_equal(rows[:, 8:].reshape(-1, 6, 6), track.covariance)


@pytest.mark.parametrize(
    "make", [gaussian, poses, particles, lambda n, rng: particles(n, rng, log_weight=True)]
)
def test_their_files_are_read_here(make, peer, tmp_path, rng):
    """Ours is read there, written again by their writer, and read here: the same belief.

    Their stamps are doubles printed with few decimals and their numbers have about nine digits.
    """
    track = make(8, rng)
    write(track, tmp_path / "a.square")
    done = run(peer, "-c", WRITE_THERE, tmp_path / "a.square", tmp_path / "b.square")
    assert done.returncode == 0, done.stderr
    again = read(tmp_path / "b.square")
    assert type(again) is type(track)
    assert again.about == track.about
    np.testing.assert_allclose(again.position, track.position, rtol=1e-6, atol=1e-7)
    assert np.abs(again.stamp - track.stamp).max() < 2_000
    if hasattr(track, "covariance"):
        np.testing.assert_allclose(
            pack_lower(again.covariance), pack_lower(track.covariance), rtol=1e-6, atol=1e-12
        )


def test_real_files_convert_to_files_that_pass_there(peer, tmp_path, shared_data):
    track = read(shared_data / "spires" / "fast_lio2.square", preset="fast-lio2")
    write(track, tmp_path / "a.square")
    done = validate(peer, tmp_path / "a.square")
    assert done.returncode == 0, done.stderr
