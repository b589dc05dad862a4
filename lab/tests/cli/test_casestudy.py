"""`smfeval lab casestudy` from the command line."""

import json
from dataclasses import replace
from functools import partial
from importlib.resources import files

import jsonschema
import pytest
from markupsafe import escape

from lab_support.pretended_filters import EASY, OWN, SMALL, pretend, simulated
from smfeval_lab import kept_runs
from smfeval_lab.casestudy import case_study
from smfeval_lab.cli import casestudy
from support.commands import files_in, refused, run

ONE_TRACK = replace(SMALL, worlds=(EASY,), turned=(OWN._replace(knobs=OWN.knobs[:1]),))
FIGURES = {"forest", f"error_{EASY.name}", f"degeneracy_{EASY.name}", "sweep"}


def schema(name, package="smfeval"):
    return json.loads((files(package) / "schemas" / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cases") / "case"


@pytest.fixture
def pretended(monkeypatch):
    """Filters that only pretend, on two short walks, in place of the quick plan."""
    monkeypatch.setattr(casestudy, "QUICK", SMALL)
    monkeypatch.setattr(casestudy, "case_study", partial(case_study, run=pretend))
    monkeypatch.setattr(kept_runs, "simulate", simulated)


@pytest.fixture
def undrawn(pretended, monkeypatch):
    monkeypatch.setattr(casestudy, "_draw", lambda study, chosen: None)


@pytest.mark.slow
def test_figures_and_page_are_drawn(pretended, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(casestudy, "QUICK", ONE_TRACK)
    html = tmp_path / "case.html"
    words = ("lab", "casestudy", "--quick", "-o", tmp_path / "a", "-q", "--save", html)
    outcome = run(capsys, *words)
    assert (outcome.code, outcome.err) == (0, f"smfeval: page in {html}\n")
    page = html.read_text()
    assert page.count('src="data:image/png;base64,') == len(FIGURES)
    assert "plotly.js v" not in page  # there is nothing to plot
    told = json.loads((tmp_path / "a" / "casestudy.json").read_text())
    assert all(str(escape(each)) in page for each in told["sentences"])
    assert f"smfeval lab casestudy --quick -o {tmp_path / 'a'}" in page
    assert "the file exists" in refused(capsys, *words)
    made = {name for name in files_in(tmp_path / "a") if name.startswith("figures/")}
    assert made == {f"figures/{name}.png" for name in FIGURES}
    assert (tmp_path / "a" / "casestudy.pdf").read_bytes().count(b"/Type /Page ") == len(FIGURES)


def test_it_prints_the_tables_and_writes_everything_to_a_folder(undrawn, capsys, folder):
    outcome = run(capsys, "lab", "casestudy", "--quick", "-o", folder)
    assert outcome.code == 0
    assert "What the numbers say\n" in outcome.out
    assert "\nKnobs\n" not in outcome.out  # tables are in the file, and with -v
    assert "not run: genz-lio on all tracks: " in outcome.out
    assert outcome.out.splitlines()[-1].startswith(f"wrote {folder}: case study: 2 tracks of 6 s")

    made = files_in(folder)
    assert {"casestudy.json", "casestudy.md"} <= made
    assert {"runs/courtyard_1/ieskf.square", "runs/corridor_1/reference.square"} <= made
    assert not any("genz" in name for name in made)
    assert (folder / "casestudy.md").read_text().startswith("# Case study\n")


@pytest.mark.slow
def test_the_document_is_strict_and_the_same_as_the_file(undrawn, capsys, folder):
    outcome = run(capsys, "lab", "casestudy", "--quick", "-o", folder, "--json")
    document = json.loads(outcome.out, parse_constant=pytest.fail)
    jsonschema.validate(document, schema("casestudy", "smfeval_lab"))
    assert outcome.out == (folder / "casestudy.json").read_text()
    assert {row["filter"] for row in document["scores"]} == {
        *("ieskf", "gtsam-smoother", "kiss-icp", "listens", "deaf")
    }
    assert document["sweep"]["effects"][0]["label"] == "not more accurate"
    assert document["not_run"][0]["filter"] == "genz-lio"


def test_a_sweep_in_the_document_is_that_of_the_sweep_verb():
    whole, part = schema("sweep"), schema("casestudy", "smfeval_lab")["$defs"]
    assert part["sweep"]["properties"] == whole["properties"]
    assert {name: part[name] for name in whole["$defs"]} == whole["$defs"]


def test_explain_says_of_a_run_what_the_case_study_says(undrawn, capsys, folder):
    if not (folder / "casestudy.json").exists():
        run(capsys, "lab", "casestudy", "--quick", "-o", folder, "-q")
    document = json.loads((folder / "casestudy.json").read_text())
    assert len(document["explained"]) == 2
    for row in document["explained"]:
        track = folder / "runs" / row["track"]
        outcome = run(
            capsys,
            *("explain", track / "ieskf.square", "--telemetry", track / "ieskf.parquet"),
            *("--ref", track / "reference.square", "--json"),
        )
        alone = json.loads(outcome.out, parse_constant=pytest.fail)
        jsonschema.validate(alone, schema("explain"))
        assert {"track": row["track"], **alone["explained"]} == row
        (score,) = [
            each
            for each in document["scores"]
            if (each["track"], each["filter"]) == (row["track"], "ieskf")
        ]
        assert (alone["k"], alone["verdict"]) == (score["k"], score["verdict"])


@pytest.mark.slow
def test_quiet_prints_where_it_is(undrawn, capsys, folder):
    outcome = run(capsys, "lab", "casestudy", "--quick", "-o", folder, "-q")
    assert outcome.out.count("\n") == 1
    assert outcome.out.startswith(f"wrote {folder}")


def test_chosen_worlds_alone_are_walked(undrawn, capsys, tmp_path):
    words = ("--worlds", "corridor", "--filters", "ieskf", "--duration", "5", "--json")
    outcome = run(capsys, "lab", "casestudy", "--quick", "-o", tmp_path / "a", *words)
    plan = json.loads(outcome.out)["plan"]
    assert (plan["worlds"], plan["filters"], plan["walk_s"]) == (["corridor_1"], ["ieskf"], 5.0)


def test_chosen_filters_alone_are_run(pretended, capsys, tmp_path):
    outcome = run(
        capsys,
        "lab",
        "casestudy",
        "--quick",
        "-o",
        tmp_path / "a",
        "--filters",
        "kiss-icp",
        "--json",
    )
    document = json.loads(outcome.out)
    jsonschema.validate(document, schema("casestudy", "smfeval_lab"))
    assert {row["filter"] for row in document["scores"]} == {"kiss-icp"}
    assert (document["sweep"], document["explained"], document["not_run"]) == (None, [], [])
    assert "no figure forest" in outcome.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--filters", "magic"], "filter 'magic' is unknown"),
        (["--filters", ","], "--filters has an empty name"),
        (["--worlds", "park,"], "--worlds has an empty name"),
        (["--worlds", "moon"], "'moon' is no world"),
        (["--seed", "0"], "a seed of the case study is 1 or more"),
        (["-o", "taken"], "taken: already there and not of a case study"),
        (["-o", "file"], "file: this is a file"),
        (["-o", "file/below"], "cannot be made"),
        (["--speed", "9"], "unrecognized arguments"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").touch()
    (tmp_path / "file").touch()
    before = files_in(tmp_path)
    assert sentence in refused(capsys, "lab", "casestudy", *words)
    assert files_in(tmp_path) == before


@pytest.mark.slow
def test_the_quick_study_runs_for_real(capsys, tmp_path):
    pytest.importorskip("numba", reason="the filters of the lab need numba")
    outcome = run(capsys, "lab", "casestudy", "--quick", "-o", tmp_path / "a", "--json")
    document = json.loads(outcome.out)
    jsonschema.validate(document, schema("casestudy", "smfeval_lab"))
    for row in document["explained"]:
        track = tmp_path / "a" / "runs" / row["track"]
        alone = run(
            capsys,
            *("explain", track / "ieskf.square", "--telemetry", track / "ieskf.parquet"),
            *("--ref", track / "reference.square", "--json"),
        )
        assert {"track": row["track"], **json.loads(alone.out)["explained"]} == row
    own = [row for row in document["scores"] if row["filter"] == "ieskf"]
    assert len(own) == 2
    assert all(row["mae"]["value"] < 0.05 and row["k"]["value"] > 1 for row in own)
    reach = document["credit_reach"]
    assert reach["point_variance"] == pytest.approx(13.8, abs=0.3)  # 6 ln 10: R over two decades
    assert reach["voxel_m"] > 1
    assert reach["process_scale"] < 0.1
    assert reach["iterations"] < 0.1
    (noise, *_) = document["sweep"]["effects"]
    assert noise["nees_slope"]["low"] < 0.1448 < noise["nees_slope"]["high"]
    assert all(abs(row["credit"]["unexplained"]) < 0.1 for row in document["explained"])
    variants = {row["filter"]: row for row in document["scores"] if row["track"] == own[0]["track"]}
    for name in ("noise from residuals", "map error carried"):
        assert variants[name]["k"]["value"] < 0.7 * own[0]["k"]["value"]
