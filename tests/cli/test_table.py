"""`smfeval table` and `smfeval completion`."""

import json
import subprocess
from importlib.resources import files
from pathlib import Path

import jsonschema
import polars as pl
import pytest

import smfeval
from smfeval.cli.main import VERBS
from smfeval.compare.sweep import sweep_of
from support.commands import refused, run
from support.evaluations import evaluated
from support.study_folders import FAST, planned, simple
from support.sweep_folders import PLAN, turned
from support.sweep_points import line

SCHEMA = json.loads(files("smfeval").joinpath("schemas/table.json").read_text())


@pytest.fixture
def here(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    for name, tightness in (("good", 1.0), ("bold", 16.0)):
        evaluated(rng, name=name, tightness=tightness).save(f"{name}.json")
    return tmp_path


def test_results_are_rows_named_by_their_files(here, capsys):
    head, first, second = run(capsys, "table", "bold.json", "good.json").out.splitlines()
    assert head.split()[:3] == ["result", "estimate", "verdict"]
    assert first.split()[:2] == ["bold.json", "bold"]
    assert second.split()[:2] == ["good.json", "good"]


def test_rows_are_sorted_and_columns_chosen(here, capsys):
    words = ("table", "bold.json", "good.json", "--columns", "k,rmse", "--sort", "k")
    head, _, *rows = run(capsys, *words, "--format", "markdown").out.splitlines()
    assert head == "| result | estimate | verdict | scored | k | RMSE |"
    assert [row.split(" | ")[1] for row in rows] == ["good", "bold"]


def test_csv_and_json_have_every_number(here, capsys):
    frame = pl.read_csv(run(capsys, "table", "bold.json", "--format", "csv").out.encode())
    found = json.loads(run(capsys, "table", "bold.json", "--json").out)
    jsonschema.validate(found, SCHEMA)
    numbers = found["rows"][0]["numbers"]
    assert frame["k"][0] == numbers["k"]["value"]
    assert set(numbers) <= set(frame.columns)


@pytest.mark.parametrize("first", ["=", "+", "-", "@"])
def test_no_cell_of_a_csv_is_a_formula(first, here, capsys):
    document = json.loads(Path("bold.json").read_text())
    name = f"{first}HYPERLINK(1)"
    Path("evil.json").write_text(json.dumps(document).replace('"bold"', json.dumps(name)))
    printed = run(capsys, "table", "evil.json", "--format", "csv").out
    assert f"'{name}" in printed
    assert f",{name}" not in printed
    assert f"\n{name}" not in printed


def test_quiet_says_the_verdicts(here, capsys):
    said = run(capsys, "table", "bold.json", "good.json", "-q").out.splitlines()
    assert [line.partition(":")[0] for line in said] == ["bold.json, bold", "good.json, good"]


def test_results_of_several_kinds_are_a_table_each(here, capsys):
    sweep_of(line(0.3)).save("sweep.json")
    shown = run(capsys, "table", "bold.json", "sweep.json", "good.json").out
    scores, sweep = (part.splitlines() for part in shown.split("\n\n"))
    assert [row.split()[0] for row in scores] == ["result", "bold.json", "good.json"]
    assert sweep[0].split()[:3] == ["estimate", "track", "settings"]
    assert len(sweep) == 6


def test_output_folders_of_studies_and_sweeps_are_results(here, capsys, monkeypatch):
    monkeypatch.setattr("smfeval.studies.workers.usable_cores", lambda: 1)
    planned(simple(here), FAST)
    assert run(capsys, "study", "study.toml", "-q").code == 0
    folder, file = (run(capsys, "table", f"study_results{end}").out for end in ("", "/tables.json"))
    assert folder == file
    assert len(folder.splitlines()) == 5
    smfeval.sweep(planned(turned(here, ("one",)), PLAN.replace(', "two", "three"', ""), "s.toml"))
    shown = run(capsys, "table", "s_results").out.splitlines()
    assert len(shown) == 1 + 10


def test_what_cannot_be_a_table_is_refused(here, capsys):
    assert "there is no column 'kk'; 'k' may be meant" in refused(
        capsys, "table", "bold.json", "--columns", "kk"
    )
    assert "there is no column" in refused(capsys, "table", "bold.json", "--sort", "kk")
    assert "no such file" in refused(capsys, "table", "nothing.json")
    ignored = ("--columns", "k", "--format", "csv")
    assert "--columns chooses what text" in refused(capsys, "table", "bold.json", *ignored)
    assert "two formats" in refused(capsys, "table", "bold.json", "--json", "--format", "csv")
    (here / "pair.json").write_text('{"schema": "smfeval.pair/1", "axes": "xyz", "pairs": []}')
    both = ("table", "bold.json", "pair.json")
    for one in ("--json", "--format=csv", "--save=all.csv"):
        assert "a table has results of one kind" in refused(capsys, *both, one)
    (here / "empty").mkdir()
    assert "empty/tables.json" in refused(capsys, "table", "empty")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_verb_and_their_flags(shell, capsys):
    script = run(capsys, "completion", shell).out
    assert all(verb in script for verb in VERBS)
    assert all(flag in script for flag in ("fail-if", "sensitivity", "horizon"))


def test_bash_completes_flags(tmp_path, capsys):
    (tmp_path / "c.bash").write_text(run(capsys, "completion", "bash").out)
    ask = (
        "source c.bash; COMP_WORDS=(smfeval score --wh); COMP_CWORD=2; "
        "_shtab_smfeval; echo ${COMPREPLY[*]}"
    )
    done = subprocess.run(
        ["bash", "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["--why"]


def test_latex_is_a_tabular(here, capsys):
    shown = run(capsys, "table", "bold.json", "good.json", "--format", "latex").out
    assert "\\begin{tabular}" in shown
    assert "\\end{tabular}" in shown
