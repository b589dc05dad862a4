"""`smfeval nis`: text, JSON, exit codes."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from jsonschema import validate

from smfeval import Innovations, write_innovations
from smfeval.cli.main import main
from support.kalman import random_walk_filter

SCHEMA = json.loads(files("smfeval").joinpath("schemas/nis.json").read_text())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("innovations"), np.random.default_rng(1)
    sensors = (
        random_walk_filter(rng, axes=1, sensor="baro"),
        random_walk_filter(rng, claimed_r=0.25, gate=11.34, sensor="gps"),
        random_walk_filter(rng, scans=20, sensor="rare"),
    )
    write_innovations(Innovations(sensors), folder / "a.csv")
    write_innovations(Innovations(sensors[:1]), folder / "honest.parquet")
    return folder


@pytest.fixture
def here(made, monkeypatch):
    monkeypatch.chdir(made)


def test_the_text_names_the_sensor_the_fault_and_what_is_not_seen(here, capsys):
    assert main(["nis", "a.csv", "-v"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("a.csv: gps too tight")
    assert "hint      gps: gain too high: R too small" in shown
    assert "drifts with the estimate is not seen" in shown
    assert "correlation by lag 1: -" in shown
    assert "fewer than 50" in shown


def test_the_page_says_what_the_text_says(here, capsys):
    assert main(["nis", "a.csv", "-q", "--save", "page.html"]) == 0
    assert capsys.readouterr().out.strip()[1:] in Path("page.html").read_text()


def test_the_document_matches_its_schema(here, capsys):
    assert main(["nis", "a.csv", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, SCHEMA)
    assert document["verdict"]["label"] == "refuted"
    assert document["sensors"][2]["k"] is None


def test_an_honest_filter_is_not_refuted(here, capsys):
    assert main(["nis", "honest.parquet", "-q", "--fail-if", "refuted>0"]) == 0
    assert "refute" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["a.csv", "--fail-if", "rejected>0.1"], 1, "gps: rejected > 0.1"),
        (["a.csv", "--fail-if", "k>1.2"], 2, "rare has too few rows"),
        (["a.csv", "--gate", "gps=x"], 2, "a NIS is a number"),
        (["a.csv", "--gate", "radar=9"], 2, "sensors are"),
        (["a.csv", "--false-alarms", "2"], 2, "is not between 0 and 1"),
        (["nothing.csv"], 2, "there is no such file"),
        (["tiny.csv"], 2, "tiny.csv: a, row 1: a variance is not from 1e-100 to 1e+30"),
        (["far.csv"], 2, "far.csv: a, row 1: an innovation is beyond 1e+15"),
    ],
)
def test_exit_codes(here, capsys, words, code, sentence):
    for name, numbers in (("tiny", "1,1e-320"), ("far", "1e300,1")):
        row = f"stamp,sensor,innovation_1,covariance_11\n0,a,{numbers}\n"
        Path(f"{name}.csv").write_text(row)
    assert main(["nis", *words]) == code
    assert sentence in capsys.readouterr().err
