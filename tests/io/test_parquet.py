import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from smfeval.errors import FormatError
from smfeval.io import parquet_trial, read, write
from smfeval.track import GaussianTrack, ParticleTrack
from support.beliefs import gaussian, particles, poses
from support.commands import run
from support.study_folders import FAST, HERE, entered, planned


@pytest.mark.parametrize("make", [gaussian, poses, particles])
def test_parquet_reads_back_bit_for_bit(make, tmp_path, rng):
    track = make(20, rng).with_about(extra=(("SENSOR", "xt32"),))
    write(track, tmp_path / "a.parquet")
    again = read(tmp_path / "a.parquet")
    assert type(again) is type(track)
    assert again.about == track.about
    for field in ("stamp", "position", "rotation"):
        np.testing.assert_array_equal(getattr(again, field), getattr(track, field))
    if isinstance(track, GaussianTrack):
        np.testing.assert_array_equal(again.covariance, track.covariance)
    if isinstance(track, ParticleTrack):
        np.testing.assert_array_equal(again.weight, track.weight)


def test_other_parquet_files_are_refused(tmp_path):
    pl.DataFrame({"a": [1.0]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(FormatError, match="not a belief track"):
        read(tmp_path / "a.parquet")


def test_a_changed_table_is_refused(tmp_path, rng):
    write(gaussian(5, rng), tmp_path / "a.parquet")
    metadata = {"square": pl.read_parquet_metadata(tmp_path / "a.parquet")["square"]}
    frame = pl.read_parquet(tmp_path / "a.parquet")
    changes = {
        "columns must be": frame.drop("c55"),
        "int64": frame.with_columns(pl.col("stamp").cast(pl.Float64)),
        "missing": frame.with_columns(tx=pl.lit(None, dtype=pl.Float64)),
        "no row": frame.head(0),
    }
    for word, changed in changes.items():
        changed.write_parquet(tmp_path / "b.parquet", metadata=metadata)
        with pytest.raises(FormatError, match=word):
            read(tmp_path / "b.parquet")


def test_a_cut_file_is_refused(tmp_path, rng):
    write(gaussian(50, rng), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    for size in (0, 3, 50, len(whole) // 2, len(whole) - 1):
        (tmp_path / "b.parquet").write_bytes(whole[:size])
        with pytest.raises(FormatError):
            read(tmp_path / "b.parquet")


@pytest.mark.parametrize("name", ["run[1].parquet", "run*.parquet", "run?.parquet"])
def test_a_name_is_no_pattern(name, tmp_path, rng):
    other, meant = gaussian(5, rng), gaussian(7, rng)
    write(other, tmp_path / "run1.parquet")
    write(meant, tmp_path / name)
    np.testing.assert_array_equal(read(tmp_path / name).position, meant.position)


def test_a_folder_named_like_the_home_folder_is_no_home_folder(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    track = gaussian(5, rng)
    (tmp_path / "~").mkdir()
    write(track, "~/a.parquet")
    np.testing.assert_array_equal(read("~/a.parquet").position, track.position)


def deadly(path, rng):
    """A track whose pages have -106 numbers, by their headers, where there are 100."""
    write(gaussian(100, rng), path)
    count = b"\x2c\x15\xc8\x01\x15"  # Thrift: a structure whose first field is 2 * 100
    assert count in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(count, b"\x2c\x15\xd3\x01\x15"))
    return path


def test_a_file_that_ends_the_reader_is_refused(tmp_path, rng):
    with pytest.raises(FormatError, match="damaged or no Parquet file"):
        read(deadly(tmp_path / "a.parquet", rng))
    write(gaussian(7, rng), tmp_path / "b.parquet")
    assert len(read(tmp_path / "b.parquet")) == 7


def test_a_child_that_dies_speaks_for_its_file(tmp_path, rng, monkeypatch):
    write(gaussian(7, rng), tmp_path / "a.parquet")
    ending = f"import os; print({parquet_trial.ALIVE!r}, end='', flush=True); input(); os.abort()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", ending], **pipes) as child:
        assert child.stdout.readline() == parquet_trial.ALIVE
        monkeypatch.setattr(parquet_trial, "_child", child)
        with pytest.raises(FormatError, match="the reader ends on it"):
            read(tmp_path / "a.parquet")
    assert child.returncode == -signal.SIGABRT
    assert len(read(tmp_path / "a.parquet")) == 7  # by another child


def test_a_study_with_one_worker_goes_on(tmp_path, monkeypatch, capsys, rng):
    folder = entered(tmp_path, monkeypatch)
    deadly(folder / "bold" / "one.parquet", rng)
    (folder / "bold" / "one.square").unlink()
    planned(folder, FAST.replace("bold/{track}.square", "bold/{track}.*"))
    done = run(capsys, "study", "study.toml", *HERE)
    assert done.code == 0
    assert "3 runs scored, 1 failed" in done.err
