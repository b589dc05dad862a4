"""`smfeval check` of several files."""

import json
from importlib.resources import files

import jsonschema
import pytest

from smfeval.io import write
from support.beliefs import gaussian
from support.commands import refused, run

SCHEMA = json.loads(files("smfeval").joinpath("schemas/check.json").read_text())


@pytest.fixture
def here(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    write(gaussian(5, rng), "a.square")
    write(gaussian(7, rng), "b.tum", lossy=True)
    (tmp_path / "junk.txt").write_text("no numbers\n")
    return tmp_path


def test_a_file_that_cannot_be_read_is_told_of_on_stderr_too(here, capsys):
    outcome = run(capsys, "check", "a.square", "none.tum", "b.tum")
    assert outcome.code == 2
    assert "none.tum: there is no such file" in outcome.out
    assert outcome.err == "smfeval: 1 of 3 files cannot be read\n"


def test_each_file_has_a_block(here, capsys):
    outcome = run(capsys, "check", "a.square", "b.tum")
    assert outcome.code == 0
    heads = [line for line in outcome.out.splitlines() if not line.startswith(" ")]
    assert [head.partition(":")[0] for head in heads] == ["a.square", "b.tum"]
    assert "can be scored on axes xyz" in heads[0]
    quiet = run(capsys, "check", "a.square", "b.tum", "-q").out
    assert quiet.splitlines() == heads


def test_a_file_that_is_refused_decides_the_exit_code_and_hides_no_other(here, capsys):
    outcome = run(capsys, "check", "junk.txt", "a.square", "gone.tum")
    assert outcome.code == 2
    first, *_, last = outcome.out.splitlines()
    assert first.startswith("junk.txt: the format is not recognised")
    assert last == "gone.tum: there is no such file"
    assert "a.square: can be scored" in outcome.out


def test_json_has_a_result_for_each(here, capsys):
    outcome = run(capsys, "check", "a.square", "junk.txt", "b.tum", "--json")
    found = json.loads(outcome.out)
    jsonschema.validate(found, SCHEMA)
    assert outcome.code == 2
    assert [each["name"] for each in found["results"]] == ["a.square", "junk.txt", "b.tum"]
    assert [each.get("motion", {}).get("scans") for each in found["results"]] == [5, None, 7]
    alone = json.loads(run(capsys, "check", "a.square", "--json").out)
    jsonschema.validate(alone, SCHEMA)
    assert found["results"][0] == alone


def test_strict_names_the_file(here, capsys):
    text = (here / "b.tum").read_text()
    (here / "b.tum").write_text(text.removesuffix("\n"))
    outcome = run(capsys, "check", "a.square", "b.tum", "--strict", "-q")
    assert outcome.code == 2
    assert all("strict: b.tum: " in line for line in outcome.err.splitlines() if "b.tum" in line)
    assert "strict: b.tum: b.tum:7: the last line has no line end" in outcome.err


def test_figures_are_drawn_of_one_file(here, capsys):
    assert "of one file at a time" in refused(
        capsys, "check", "a.square", "b.tum", "--save-plot", "out.pdf"
    )
