"""`smfeval demo --save`: files to try the verbs on."""

import pytest

from smfeval import read
from smfeval.cli.main import main
from support.commands import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("demo") / "new" / "folder"
    assert main(["demo", "--save", str(made), "-q"]) == 0
    return made


def test_every_saved_file_reads_back(capsys, tmp_path):
    folder = tmp_path / "new" / "folder"
    outcome = run(capsys, "demo", "--save", str(folder), "-q")
    assert outcome.code == 0
    names = outcome.out.splitlines()[-1].removeprefix(f"in {folder}: ").split(", ")
    assert sorted(names) == sorted(path.name for path in folder.iterdir())
    kinds = {name: read(folder / name).representation for name in names}
    assert kinds["particles.square"] == "ensemble_se3"
    assert kinds["honest.square"] == "gaussian_se3"


def test_nothing_is_overwritten_unasked(capsys, folder):
    outcome = run(capsys, "demo", "--save", str(folder))
    assert outcome.code == 2
    assert "--force overwrites it" in outcome.err
    assert run(capsys, "demo", "--save", str(folder), "-q", "--force").code == 0


def test_the_second_estimator_is_the_one_to_blame(capsys, folder):
    files = [str(folder / name) for name in ("honest.square", "second.square", "third.square")]
    outcome = run(capsys, "pair", *files, "-q")
    blamed = f"overconfident, unless the others share their errors: {files[1]} (at least"
    assert blamed in outcome.out.splitlines()[-1]


def test_a_file_where_the_folder_should_be_is_said(capsys, tmp_path):
    (tmp_path / "taken").write_text("")
    outcome = run(capsys, "demo", "--save", str(tmp_path / "taken"))
    assert outcome.code == 2
    assert "cannot be a folder" in outcome.err


@pytest.mark.parametrize("axes", ["xyz", "xy"])
def test_the_planar_robot_is_scored_on_its_plane_only(capsys, folder, axes):
    files = [str(folder / "planar.square"), "--ref", str(folder / "truth.tum")]
    outcome = run(capsys, "score", *files, "--axes", axes, "-q")
    assert outcome.code == (0 if axes == "xy" else 2)
