"""`smfeval lab simulate` from the command line."""

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import smfeval_lab
from smfeval.cli.main import main
from smfeval_lab.recording import read_recording
from smfeval_lab.worlds import WORLDS
from support.commands import files_in, refused, run

SCHEMAS = Path(smfeval_lab.__file__).parent / "schemas"
SHORT = ("--duration", "1.5")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def schema(name):
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def test_a_world_becomes_a_folder(capsys, folder):
    outcome = run(capsys, "lab", "simulate", "courtyard", "-o", "a", "--duration", "6")
    assert outcome.code == 0
    assert outcome.err == ""
    lines = outcome.out.splitlines()
    assert lines[0] == "courtyard_1"
    assert re.fullmatch(r"  walk   \S+ m in 6 s, median speed \S+ m/s", lines[1])
    assert re.fullmatch(r"  scans  59, 10 Hz, 5,\d+ points in each", lines[2])
    assert lines[3] == "  imu    1,201 samples, 200 Hz"
    assert lines[4] == "  note   simulated: world courtyard, seed 1"
    assert lines[5].endswith("know: extrinsic=3mm,0.15deg,clock=2ms,rings=7mm")
    assert re.fullmatch(r"wrote a \(\S+ MB\): 59 scans", lines[6])
    assert files_in(folder / "a") == {
        "imu.parquet",
        "points.parquet",
        "recording.json",
        "reference.square",
        "scans.parquet",
    }


def test_a_world_becomes_a_bag_that_check_can_list(capsys, folder):
    assert run(capsys, "lab", "simulate", "field", "-o", "b.mcap", *SHORT).code == 0
    assert files_in(folder) == {"b.mcap", "b.recording.json", "b.reference.square"}
    checked = run(capsys, "check", "b.reference.square")
    assert checked.code == 0
    assert "body imu, world world, gauge fixed" in checked.out


def test_the_json_fits_its_schema(capsys):
    outcome = run(capsys, "lab", "simulate", "corridor", "-o", "c", *SHORT, "--json", "--seed", "7")
    document = json.loads(outcome.out)
    jsonschema.validate(document, schema("simulate"))
    assert document["name"] == "corridor_7"
    assert document["scans"] == 14
    assert document["points"] == len(read_recording("c").scans.point)


def test_quiet_is_one_line_and_verbose_tells_what_filters_are_told(capsys):
    quiet = run(capsys, "lab", "simulate", "courtyard", "-o", "q", *SHORT, "-q")
    assert quiet.out.count("\n") == 1
    assert quiet.out.startswith("wrote q (")
    loud = run(capsys, "lab", "simulate", "courtyard", "-o", "v", *SHORT, "-v")
    assert "mounting  imu_T_lidar 0.05, -0.02, 0.1" in loud.out
    assert "range 2 cm" in loud.out
    assert "walk      standing still for 1.5 s" in loud.out


def test_the_list_names_every_world(capsys):
    outcome = run(capsys, "lab", "simulate", "--list")
    assert all(f"  {name} " in outcome.out for name in WORLDS)
    assert "easy         college_short_1, college_short_2, college_loop_3" in outcome.out
    document = json.loads(run(capsys, "lab", "simulate", "--list", "--json").out)
    jsonschema.validate(document, schema("worlds"))
    assert [world["name"] for world in document["worlds"]] == list(WORLDS)


def test_faults_and_lidar_are_chosen(capsys):
    for name, faults in (("none", "none"), ("biased", "range=10cm")):
        run(capsys, "lab", "simulate", "courtyard", "-o", name, *SHORT, "--faults", faults)
    plain, biased = read_recording("none"), read_recording("biased")
    size = [np.linalg.norm(each.scans.point, axis=1) for each in (plain, biased)]
    np.testing.assert_allclose(size[1] - size[0], 0.1, atol=1e-5)
    assert plain.notes[1] == "faults that filters do not know: none"
    run(capsys, "lab", "simulate", "courtyard", "-o", "r", *SHORT, "--lidar", "rosette")
    point = read_recording("r").scans.point
    assert np.degrees(np.abs(np.arctan2(point[:, 1], point[:, 0]))).max() < 60


def test_a_measured_reference_and_the_layout_of_a_data_set_are_chosen(capsys, folder):
    courtyard = ("lab", "simulate", "courtyard", "--duration", "3")
    outcome = run(capsys, *courtyard, "-o", "m", "--reference", "prism")
    assert "measured reference: prism followed by a total station; imu_T_prism" in outcome.out
    assert "measured.square" in files_in(folder / "m")
    assert run(capsys, *courtyard, "-o", "s", "--layout", "spires", "-q").out.startswith(
        "wrote s ("
    )
    assert {"calibration", "exact", "sequences"} == {each.name for each in (folder / "s").iterdir()}
    assert "measured reference: registration" in (
        next((folder / "s" / "exact").rglob("recording.json")).read_text()
    )
    refusal = refused(capsys, *courtyard, "-o", "e", "--layout", "geode", "--reference", "exact")
    assert "the layout geode has a measured reference, not an exact one" in refusal
    assert "not there yet" in refused(capsys, *courtyard, "-o", "s", "--layout", "spires")


def test_what_is_there_stays_unless_forced(capsys):
    command = ("lab", "simulate", "courtyard", "-o", "a", *SHORT)
    run(capsys, *command)
    assert "a: already there; --force replaces it" in refused(capsys, *command, "--seed", "2")
    assert run(capsys, *command, "--seed", "2", "--force").code == 0
    assert read_recording("a").name == "courtyard_2"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["moon", "-o", "x"], "'moon' is no world; it is one of college,"),
        (["field"], "name a world and where to write it"),
        (["-o", "x"], "name a world and where to write it"),
        (["field", "-o", "x", "--faults", "clock=fast"], "the size of clock is a number"),
        (["field", "-o", "x", "--duration", "9999"], "9999 s cannot be simulated"),
        (["field", "-o", "x", "--duration", "nan"], "nan s cannot be simulated"),
        (["field", "-o", "x", "--seed", "-3"], "a seed is zero or more"),
        (["field", "-o", "no/x"], "there is no folder"),
        (["field", "-o", "x.bag"], "to a folder or to an .mcap file"),
        (["field", "-o", "x", "--lidar", "sonar"], "invalid choice"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, capsys, folder):
    assert sentence in refused(capsys, "lab", "simulate", *words)
    assert files_in(folder) == set()


def test_the_lab_explains_its_verbs(capsys):
    with pytest.raises(SystemExit) as done:
        main(["lab", "--help"])
    assert done.value.code == 0
    assert "simulate" in capsys.readouterr().out
    assert "the verbs of the lab are simulate" in refused(capsys, "lab")
    assert "'dream' is no verb" in refused(capsys, "lab", "dream")
    assert "unrecognized arguments" in refused(capsys, "lab", "--dream")
