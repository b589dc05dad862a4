"""A full disk, as a limit on the size of files: exit 2, and nothing under the final name."""

import resource
from contextlib import contextmanager

import pytest
from matplotlib.figure import Figure

from smfeval.errors import OptionError
from smfeval.io import write
from smfeval.show.figures import save
from support.beliefs import gaussian, poses
from support.commands import files_in, run
from support.study_folders import FAST, HERE, entered, planned

ROOM = 300  # bytes


@contextmanager
def little_room(most=ROOM):
    """No file may grow beyond so many bytes (Python ignores the signal, and raises)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    write(gaussian(60, rng), tmp_path / "a.square")
    write(poses(60, rng), tmp_path / "r.tum")
    monkeypatch.chdir(tmp_path)
    return tmp_path


SAVED = ["a.json", "a.csv", "a.parquet", "a.mcap", "a.zip"]
CONVERTED = ["b.square", "b.square.gz", "b.tum", "b.csv", "b.kitti", "b.npz", "b.parquet"]
BAGS = ["b.mcap", "b.db3", "b.bag"]
SCORE = ("score", "a.square", "--ref", "r.tum", "-q", "--save")
COMMANDS = [
    *((*SCORE, name) for name in SAVED),
    *(("convert", "a.square", name, "--lossy", "-q") for name in [*CONVERTED, *BAGS]),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[-1 if "--save" in words else 2])
def test_no_output_is_cut_in_silence(words, folder, capsys):
    before = files_in(folder)
    with little_room():
        done = run(capsys, *words)
    assert done.code == 2, done
    assert "cannot be written (" in done.err
    assert files_in(folder) == before


@pytest.mark.parametrize("ending", [".pdf", ".png", ".svg"])
def test_no_figure_is_cut_in_silence(ending, tmp_path):
    with pytest.raises(OptionError, match="cannot be written"), little_room():
        save({"error": Figure()}, tmp_path / f"a{ending}")
    assert files_in(tmp_path) == set()


def test_a_viewer_that_writes_from_another_thread(folder, capsys):
    pytest.importorskip("rerun")
    before = files_in(folder)
    with little_room():
        done = run(capsys, *SCORE, "a.rrd")
    assert (done.code, files_in(folder)) == (2, before)


def test_a_study_without_room_is_no_bug(tmp_path, monkeypatch, capsys):
    folder = entered(tmp_path, monkeypatch)
    planned(folder, FAST)
    with little_room():
        done = run(capsys, "study", "study.toml", *HERE)
    assert done.code == 2, done
    assert not [name for name in files_in(folder) if ".smfeval." in name]
