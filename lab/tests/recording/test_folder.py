"""Recordings in files come back bit for bit."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from smfeval.errors import FormatError, OptionError
from smfeval_lab.recording import ImuNoise, read_recording, write_recording
from smfeval_lab.sensors.lidar import LidarModel, Spinning
from smfeval_lab.simulate import simulate

SMALL = LidarModel(Spinning(rings=4, firings=30))
KINDS = ("walk", "walk.mcap")


def small(seed=1, **options):
    return simulate("courtyard", seed, duration_s=2.0, lidar=SMALL, **options)


def assert_same(first, second):
    imu, scans = (
        ("stamp", "gyro", "acceleration"),
        ("start", "end", "offset", "point", "time", "ring"),
    )
    for part, names in (("imu", imu), ("scans", scans)):
        for name in names:
            one, other = (getattr(getattr(each, part), name) for each in (first, second))
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize("name", KINDS)
def test_a_recording_comes_back_as_it_was_written(name, tmp_path):
    recording = small()
    files = write_recording(recording, tmp_path / name)
    again = read_recording(tmp_path / name)
    assert all(file.is_file() for file in files)
    assert_same(recording, again)
    assert again.name == recording.name
    assert again.notes[: len(recording.notes)] == recording.notes
    assert (again.imu_noise, again.range_sigma_m) == (recording.imu_noise, recording.range_sigma_m)
    for one, other in zip(again.imu_T_lidar, recording.imu_T_lidar, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(again.reference.stamp, recording.reference.stamp)
    np.testing.assert_array_equal(again.reference.position, recording.reference.position)
    np.testing.assert_allclose(again.reference.rotation, recording.reference.rotation, atol=1e-15)
    assert again.reference.about.body == "imu"


def hashes(folder: Path):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]


@pytest.mark.parametrize("name", KINDS)
def test_the_same_seed_gives_the_same_bytes_and_another_others(name, tmp_path):
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / folder).mkdir()
        write_recording(small(seed), tmp_path / folder / name)
    first, second, other = (hashes(tmp_path / folder) for folder in "abc")
    assert len(first) >= 3
    assert first == second
    assert all(a != b for a, b in zip(first, other, strict=True) if "scans" not in a[0])


@pytest.mark.parametrize("name", KINDS)
def test_what_is_there_is_replaced_only_by_force(name, tmp_path):
    target = tmp_path / name
    write_recording(small(1), target)
    with pytest.raises(OptionError, match="already there; --force replaces it"):
        write_recording(small(2), target)
    assert read_recording(target).name == "courtyard_1"
    write_recording(small(2), target, force=True)
    assert read_recording(target).name == "courtyard_2"
    assert not list(tmp_path.glob(".smfeval*"))


def test_a_folder_that_is_no_recording_is_never_replaced(tmp_path):
    (tmp_path / "thesis").mkdir()
    with pytest.raises(OptionError, match="no recording; name a new folder"):
        write_recording(small(), tmp_path / "thesis", force=True)


def test_a_target_that_cannot_be_is_refused(tmp_path):
    for name, words in (("a.bag", "to a folder or to an .mcap file"), ("no/a", "no folder")):
        with pytest.raises(OptionError, match=words):
            write_recording(small(), tmp_path / name)


@pytest.mark.parametrize("name", KINDS)
def test_a_failed_write_leaves_nothing(name, tmp_path):
    broken = small()
    broken = replace(broken, scans=replace(broken.scans, time=broken.scans.time[:-5]))
    with pytest.raises(Exception, match=r".+"):
        write_recording(broken, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_folder_is_named(tmp_path):
    write_recording(small(), tmp_path / "a")
    pl.read_parquet(tmp_path / "a/points.parquet")[:-3].write_parquet(tmp_path / "a/points.parquet")
    with pytest.raises(FormatError, match=r"the scans count \d+ points, there are \d+"):
        read_recording(tmp_path / "a")
    (tmp_path / "a/points.parquet").write_bytes(b"nothing")
    with pytest.raises(FormatError, match=r"points.parquet: damaged or no Parquet"):
        read_recording(tmp_path / "a")
    (tmp_path / "a/recording.json").write_text("{}")
    with pytest.raises(FormatError, match="not the words of a recording"):
        read_recording(tmp_path / "a")


def test_a_user_may_tell_better(tmp_path):
    write_recording(small(), tmp_path / "a")
    told = read_recording(tmp_path / "a", imu_noise=ImuNoise(1, 2, 3, 4))
    assert told.imu_noise == ImuNoise(1, 2, 3, 4)
    with pytest.raises(OptionError, match="lidar_topic is for bags"):
        read_recording(tmp_path / "a", lidar_topic="/points")
