import os
import signal
import subprocess
import sys
from io import FileIO
from pathlib import Path

import numpy as np
import pytest

from smfeval.errors import OptionError, TrackError
from smfeval.io import read, write
from smfeval.io.recorder import SquareWriter
from smfeval.track import About
from support.beliefs import ABOUT, gaussian, with_cross

POSE = (np.zeros(3), [0, 0, 0, 1.0])


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


FOREVER = """
import itertools, os, sys, numpy as np
from smfeval import SquareWriter
writer = SquareWriter(sys.argv[1])
for i in itertools.count():
    writer.append(i, (np.full(3, i / 7), [0, 0, 0, 1.0]), (i + 1) / 7 * np.eye(6))
    os.write(1, b"%d\\n" % i)
"""


@pytest.mark.parametrize("acknowledged", [1, 2, 29, 300])
def test_a_killed_process_loses_at_most_the_row_in_flight(acknowledged, tmp_path):
    path = tmp_path / "a.square"
    command = [sys.executable, "-c", FOREVER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in range(acknowledged):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        said = acknowledged + process.stdout.read().count(b"\n")
    assert process.returncode == -signal.SIGKILL
    track = read(path)
    assert said <= len(track) <= said + 1  # the last row may be there without having been told
    np.testing.assert_array_equal(track.stamp, np.arange(len(track)))
    np.testing.assert_array_equal(track.position[:, 0], np.arange(len(track)) / 7)
    np.testing.assert_array_equal(track.covariance[:, 5, 5], (np.arange(len(track)) + 1) / 7)


def test_a_row_that_a_full_disk_cut_is_left_out_by_the_reader(tmp_path):
    path = tmp_path / "a.square"
    with SquareWriter(path) as writer:
        for i in range(3):
            writer.append(i, POSE, np.eye(6))
    path.write_bytes(path.read_bytes()[:-30])
    assert len(read(path)) == 2


def test_bad_beliefs_are_refused_and_leave_no_row(tmp_path):
    with SquareWriter(tmp_path / "a.square", About(body="imu")) as writer:
        writer.append(10, POSE, np.eye(6))
        with pytest.raises(TrackError, match=r"stamp 0\.000000010 is not after 0\.000000010"):
            writer.append(10, POSE, np.eye(6))
        with pytest.raises(TrackError, match="semi-definite"):
            writer.append(20, POSE, -np.eye(6))
    assert len(read(tmp_path / "a.square")) == 1


@pytest.mark.parametrize(
    ("belief", "sentence"),
    [
        ((20, POSE, -np.eye(6)), r"a\.square: stamp 0\.000000020: the covariance is not positive"),
        (
            (20, ([0, 0], [0, 0, 0, 1]), np.eye(6)),
            r"square: stamp 0\.000000020: position has shape",
        ),
        ((20, "ab", np.eye(6)), r"a\.square: stamp 0\.000000020: a belief is a stamp"),
        ((20, POSE, [[1, 2], [3]]), r"a\.square: stamp 0\.000000020: a belief is a stamp"),
        ((2.5, POSE, np.eye(6)), r"a\.square: stamp 2\.5 is no whole number of nanoseconds"),
        ((None, POSE, np.eye(6)), r"a\.square: stamp None is no whole number"),
        ((2**63, POSE, np.eye(6)), r"a\.square: stamp 9223372036854775808 ns is beyond int64"),
    ],
)
def test_mistakes_name_the_file_and_the_stamp(belief, sentence, tmp_path):
    with SquareWriter(tmp_path / "a.square") as writer, pytest.raises(TrackError, match=sentence):
        writer.append(*belief)


def test_nothing_is_appended_after_the_end(tmp_path):
    with SquareWriter(tmp_path / "a.square") as writer:
        writer.append(10, POSE, np.eye(6))
    with pytest.raises(OptionError, match=r"a\.square: the recorder is closed"):
        writer.append(20, POSE, np.eye(6))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told(tmp_path, monkeypatch):
    full = FileIO("/dev/full", "wb")
    monkeypatch.setattr(SquareWriter, "_open", lambda *_: full)
    with pytest.raises(OptionError, match=r"/dev/full: cannot be written \(No space left"):
        SquareWriter(tmp_path / "a.square")
    assert full.closed


def test_devices_are_not_recorded_to():
    with pytest.raises(OptionError, match="/dev/full: this is no regular file"):
        SquareWriter("/dev/full", overwrite=True)


def test_two_recorders_on_one_file_are_refused(tmp_path):
    path = tmp_path / "a.square"
    with SquareWriter(path) as writer:
        writer.append(0, ((0, 0, 0), (0, 0, 0, 1)), np.eye(6))
        with pytest.raises(OptionError, match=r"a\.square: another recorder writes to it"):
            SquareWriter(path, overwrite=True)
        writer.append(1, ((0, 0, 0), (0, 0, 0, 1)), np.eye(6))
    assert len(read(path)) == 2
    with SquareWriter(path, overwrite=True) as writer:
        writer.append(5, ((0, 0, 0), (0, 0, 0, 1)), np.eye(6))
    assert len(read(path)) == 1


@pytest.mark.parametrize(("sync", "waits"), [(False, 1), (True, 4)])
def test_a_row_may_wait_for_the_disk(sync, waits, tmp_path, monkeypatch):
    """Header and two rows with `sync`, and always once at the end."""
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with SquareWriter(tmp_path / "a.square", sync=sync) as writer:
        for stamp in (0, 1):
            writer.append(stamp, ((0, 0, 0), (0, 0, 0, 1)), np.eye(6))
    assert len(synced) == waits


@pytest.mark.parametrize(
    ("about", "sentence"),
    [
        (About(gauge="bogus"), "GAUGE 'bogus' is unknown; it is fixed or se3"),
        (About(body="a\nb"), r"BODY_FRAME 'a\\nb' fits no header"),
        (About(world="  "), "POSE_FRAME '  ' fits no header"),
        (About(algorithm=""), "ALGORITHM '' fits no header"),
        (About(body="\udcff"), "BODY_FRAME .* fits no header"),
        (
            About(extra=(("FORMAT", "SQUARE/0.2"),)),
            "header key 'FORMAT' stands in the header already",
        ),
        (About(extra=(("gauge", "se3"),)), "header key 'gauge' stands in the header already"),
        (About(extra=(("A", "1"), ("a", "2"))), "header key 'a' stands in the header already"),
        (About(extra=(("A B", "1"),)), "header key 'A B' cannot be written: one word"),
        (About(extra=(("A", "1\n#%B 2"),)), r"A '1\\n#%B 2' fits no header"),
    ],
)
def test_a_header_that_nobody_could_read_makes_no_file(about, sentence, tmp_path, rng):
    with pytest.raises(OptionError, match=sentence):
        SquareWriter(tmp_path / "a.square", about)
    for name in ("b.square", "b.parquet"):
        with pytest.raises(OptionError, match=sentence):
            write(gaussian(3, rng).with_arrays({}, about=about), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_overwritten(tmp_path):
    (tmp_path / "a.square").write_text("precious")
    with pytest.raises(OptionError, match="not overwritten"):
        SquareWriter(tmp_path / "a.square")
    assert (tmp_path / "a.square").read_text() == "precious"
    SquareWriter(tmp_path / "a.square", overwrite=True).close()
    with pytest.raises(OptionError, match="cannot be written"):
        SquareWriter(tmp_path / "nowhere" / "a.square")


def test_cross_covariances_are_recorded_beside_the_beliefs(tmp_path, rng):
    track = with_cross(gaussian(10, rng), rng)[0]
    blocks = dict(zip(map(tuple, track.cross.pairs.tolist()), track.cross.block, strict=True))
    with SquareWriter(tmp_path / "a.square", ABOUT) as writer:
        for j in range(10):
            cross = {int(track.stamp[i]): blocks[i, j] for i in range(10) if (i, j) in blocks}
            pose = (track.position[j], track.rotation[j])
            writer.append(int(track.stamp[j]), pose, track.covariance[j], cross=cross)
    again = read(tmp_path / "a.square")
    np.testing.assert_array_equal(again.cross.pairs, track.cross.pairs)
    np.testing.assert_array_equal(again.cross.block, track.cross.block)


def test_without_cross_covariances_there_is_no_second_file(tmp_path):
    with SquareWriter(tmp_path / "a.square") as writer:
        writer.append(0, POSE, np.eye(6), cross={})
    assert [path.name for path in tmp_path.iterdir()] == ["a.square"]


@pytest.mark.parametrize(
    ("cross", "sentence"),
    [
        ({5: np.eye(6)}, r"0\.000000020: a cross-covariance is with stamp 5 ns, which is none"),
        ({20: np.eye(6)}, "with stamp 20 ns, which is none of the last 10,000 scans"),
        ({10: 2 * np.eye(6)}, r"stamp 0\.0*20: stamps 0\.0*10 and 0\.0*20: the joint cov"),
        ({10: np.eye(3)}, r"block has shape \(1, 3, 3\)"),
        ({10: [[1, 2], [3]]}, "a cross-covariance is a 6x6 matrix"),
        ({10: np.full((6, 6), np.inf)}, "has a NaN or an infinity"),
    ],
)
def test_a_bad_cross_covariance_leaves_no_row(cross, sentence, tmp_path):
    with SquareWriter(tmp_path / "a.square") as writer:
        writer.append(10, POSE, np.eye(6))
        with pytest.raises(TrackError, match=sentence):
            writer.append(20, POSE, np.eye(6), cross=cross)
        writer.append(20, POSE, np.eye(6), cross={10: 0.5 * np.eye(6)})
    track = read(tmp_path / "a.square")
    assert (len(track), track.cross.pairs.tolist()) == (2, [[0, 1]])


def test_a_sidecar_that_stands_there_is_not_overwritten(tmp_path, rng):
    write(with_cross(gaussian(3, rng), rng)[0], tmp_path / "a.square")
    (tmp_path / "a.square").unlink()
    with pytest.raises(OptionError, match=r"a\.cross: the file exists; it is not overwritten"):
        SquareWriter(tmp_path / "a.square")
    with SquareWriter(tmp_path / "a.square", overwrite=True) as writer:
        writer.append(10, POSE, np.eye(6))
    assert read(tmp_path / "a.square").cross is None


FOREVER_JOINT = """
import itertools, os, sys, numpy as np
from smfeval import SquareWriter
writer = SquareWriter(sys.argv[1])
for i in itertools.count():
    cross = {j: (j + 1) / 14 * np.eye(6) for j in range(max(0, i - 2), i)}
    writer.append(i, (np.full(3, i / 7), [0, 0, 0, 1.0]), (i + 1) / 7 * np.eye(6), cross=cross)
    os.write(1, b"%d\\n" % i)
"""


@pytest.mark.parametrize("acknowledged", [1, 3, 57])
def test_a_killed_process_leaves_both_files_readable(acknowledged, tmp_path):
    path = tmp_path / "a.square"
    command = [sys.executable, "-c", FOREVER_JOINT, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in range(acknowledged):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        said = acknowledged + process.stdout.read().count(b"\n")
    track = read(path)
    assert said <= len(track) <= said + 1
    expected = [(i, j) for i in range(len(track)) for j in (i + 1, i + 2) if j < len(track)]
    told = [] if track.cross is None else list(map(tuple, track.cross.pairs.tolist()))
    missing = set(expected) - set(told)
    assert set(told) <= set(expected)
    assert all(j == said for _, j in missing)  # none of a scan whose writing was told
