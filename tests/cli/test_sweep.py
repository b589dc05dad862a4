"""`smfeval sweep` as a user runs it."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

import smfeval
from smfeval.studies.sweep import points_of_files, read_sweep
from support.commands import files_in, refused, run
from support.study_folders import planned
from support.sweep_folders import PLAN, turned

WORDS = (
    "A smaller R makes bold more confident, not more accurate. A smaller R makes honest more "
    "confident and as much more accurate. Best tried (k nearest 1): R 1 for bold (k = 1.03).\n"
)
SCHEMA = json.loads((Path(smfeval.__file__).parent / "schemas" / "sweep.json").read_text())


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A bold and an honest estimator, three tracks, five values of R; each run is known."""
    folder = tmp_path_factory.mktemp("made")
    turned(folder)
    points_of_files(read_sweep(planned(folder, PLAN, "sweep.toml")), workers=1)
    return folder


@pytest.fixture(autouse=True)
def folder(made, tmp_path, monkeypatch) -> Path:
    """A copy of it, of the test's own; the work is done in this process."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("smfeval.studies.workers.usable_cores", lambda: 1)
    return tmp_path


def strict_json(text: str) -> dict:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_a_sweep_says_which_sharpening_is_earned(capsys, folder):
    shutil.rmtree("sweep_results")
    before = files_in(folder)
    outcome = run(capsys, "sweep", "sweep.toml")
    assert (outcome.code, outcome.err) == (0, "")
    left = {name.partition("/")[0] for name in files_in(folder) - before}
    assert left == {"sweep_results"}
    lines = outcome.out.splitlines()
    assert lines[0] == "sweep: 2 estimators, 3 tracks, 30 runs"
    said = " ".join(line.strip() for line in lines[1 : lines.index("")])
    assert said == WORDS.replace("\n", " ").strip()
    assert (
        "with the covariance: NEES 0, error -0.072; if they stay: NEES +0.145, error 0"
        in outcome.out
    )


def test_ctrl_c_says_what_is_kept_and_the_same_command_goes_on(capsys, monkeypatch):
    shutil.rmtree("sweep_results")
    linked = []

    def stop_at_the_twelfth(*_, **__):
        linked.append(1)
        if len(linked) == 12:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("smfeval.studies.run.link_scans", stop_at_the_twelfth)
        stopped = run(capsys, "sweep", "sweep.toml")
    said = "smfeval: stopped; 11 of 30 runs kept; the same command goes on from there\n"
    assert (stopped.code, stopped.err) == (130, said)
    assert run(capsys, "sweep", "sweep.toml", "-q").code == 0
    monkeypatch.setattr("smfeval.studies.task.evaluate_task", pytest.fail)
    assert run(capsys, "sweep", "sweep.toml", "-q").code == 0


def test_an_output_folder_that_holds_other_things_is_refused(capsys, folder):
    (folder / "own.toml").write_text(f"output = 'bold'\n{PLAN}")
    assert "is in the output folder" in refused(capsys, "sweep", "own.toml")
    (folder / "mine").mkdir()
    (folder / "mine" / "diary.txt").touch()
    (folder / "own.toml").write_text(f"output = 'mine'\n{PLAN}")
    assert "the output folder holds other things" in refused(capsys, "sweep", "own.toml")


def test_quiet_is_one_line(capsys):
    outcome = run(capsys, "sweep", "sweep.toml", "-q", "--html", "sweep.html")
    page = Path("sweep.html").read_text()
    assert "smfeval sweep sweep.toml -q --html sweep.html" in page
    assert outcome.out == WORDS


def test_verbose_shows_every_setting_and_what_was_assumed(capsys):
    brief, whole = (run(capsys, "sweep", "sweep.toml", *flag).out for flag in ((), ("-v",)))
    assert "median NEES" not in brief
    assert whole.count("R 0.01 ") == 2
    assert "(30 runs)" in whole


def test_json_is_strict_and_matches_its_schema(capsys):
    document = strict_json(run(capsys, "sweep", "sweep.toml", "--json").out)
    jsonschema.validate(document, SCHEMA)
    bold, honest = document["effects"]
    assert (bold["label"], honest["label"]) == ("not more accurate", "more accurate")
    assert bold["nees_slope"]["value"] == pytest.approx(0.1448, abs=0.02)
    assert len(bold["tracks"]) == 3
    assert len(document["points"]) == 30
    assert document["points"][0]["source"] == "bold/one_R0.01.square"
    assert document["predictions"]["nees_slope"]["not_more_accurate"] == pytest.approx(
        0.1448, abs=1e-4
    )


def test_json_of_a_knob_that_moves_nothing_and_of_failures_matches_the_schema(capsys, folder):
    (folder / "bold" / "one_R1.square").unlink()
    (folder / "narrow.toml").write_text(
        PLAN.replace('["0.01", "0.1", "1", "10", "100"]', '["1", "10"]')
    )
    for name in ("one", "two", "three"):
        for who in ("bold", "honest"):
            path = folder / who / f"{name}_R10.square"
            path.write_text((folder / who / f"{name}_R100.square").read_text())
            (folder / who / f"{name}_R1.square").write_text(path.read_text())
    (folder / "bold" / "one_R1.square").unlink()
    document = strict_json(run(capsys, "sweep", "narrow.toml", "--json").out)
    jsonschema.validate(document, SCHEMA)
    assert {effect["label"] for effect in document["effects"]} == {"unmoved"}
    assert [each["track"] for each in document["failures"]] == ["one"]


def test_what_failed_is_shown(capsys, folder):
    (folder / "bold" / "two_R1.square").unlink()
    outcome = run(capsys, "sweep", "sweep.toml")
    assert outcome.out.startswith("sweep: 2 estimators, 3 tracks, 29 runs, 1 failed\n")
    assert "failed  bold R 1 on two: no file: bold/{track}_R1.square" in outcome.out


def test_a_gate_fails_on_a_verdict(capsys):
    outcome = run(
        capsys, "sweep", "sweep.toml", "--fail-if", "not-more-accurate", "--fail-if", "worse"
    )
    assert outcome.code == 1
    assert outcome.err.startswith("smfeval: --fail-if: bold, R: not more accurate: ")
    assert run(capsys, "sweep", "sweep.toml", "--fail-if", "worse").code == 0


def test_figures_are_saved_for_each_knob(capsys, folder):
    outcome = run(capsys, "sweep", "sweep.toml", "-q", "--save-plot", "out.png")
    assert outcome.code == 0
    assert "figures in out.png" in outcome.err  # of one knob
    assert {name for name in files_in(folder) if name.startswith("out")} == {"out.png"}
    (folder / "out.pdf").touch()
    assert "the file exists" in refused(capsys, "sweep", "sweep.toml", "--save-plot", "out.pdf")


def test_mistakes_are_one_sentence(capsys, folder):
    assert "is no verdict; it is one of" in refused(
        capsys, "sweep", "sweep.toml", "--fail-if", "bad"
    )
    assert "nothing.toml" in refused(capsys, "sweep", "nothing.toml")
    (folder / "broken.toml").write_text("[[knobs\n")
    assert "broken.toml:1: this is not TOML" in refused(capsys, "sweep", "broken.toml")
