"""The case study as an experiment: what it writes, and what it refuses."""

import json
from dataclasses import replace
from functools import partial

import pytest
from markupsafe import escape

import casestudy
from case_study import case_study
from lab_support.pretended_filters import EASY, OWN, SMALL, pretend, simulated
from smfeval.errors import OptionError
from smfeval_lab import kept_runs
from support.commands import files_in, run

ONE_TRACK = replace(SMALL, worlds=(EASY,), turned=(OWN._replace(knobs=OWN.knobs[:1]),))
FIGURES = {"forest", f"error_{EASY.name}", f"degeneracy_{EASY.name}", "sweep"}


@pytest.fixture
def pretended(monkeypatch):
    """Filters that only pretend, on two short walks, in place of the quick plan."""
    monkeypatch.setattr(casestudy, "QUICK", SMALL)
    monkeypatch.setattr(casestudy, "case_study", partial(case_study, run=pretend))
    monkeypatch.setattr(kept_runs, "simulate", simulated)


@pytest.fixture
def undrawn(pretended, monkeypatch):
    monkeypatch.setattr(casestudy, "draw", lambda *given: None)


@pytest.mark.slow
def test_figures_and_page_are_drawn(pretended, tmp_path, monkeypatch):
    monkeypatch.setattr(casestudy, "QUICK", ONE_TRACK)
    html = tmp_path / "case.html"
    casestudy.main(["--quick", "-o", str(tmp_path / "a"), "--save", str(html)])
    page = html.read_text()
    assert page.count('src="data:image/png;base64,') == len(FIGURES)
    assert "plotly.js v" not in page  # there is nothing to plot
    told = json.loads((tmp_path / "a" / "casestudy.json").read_text())
    assert all(str(escape(each)) in page for each in told["sentences"])
    made = {name for name in files_in(tmp_path / "a") if name.startswith("figures/")}
    assert made == {f"figures/{name}.png" for name in FIGURES}


def test_it_prints_conclusions_writes_tables_and_explains_as_explain_does(
    undrawn, capsys, tmp_path
):
    folder = tmp_path / "case"
    casestudy.main(["--quick", "-o", str(folder)])
    shown = capsys.readouterr().out
    assert "What the numbers say\n" in shown
    assert "\nKnobs\n" not in shown  # tables are in the file, and with -v
    assert "not run: genz-lio on all tracks: " in shown
    made = files_in(folder)
    assert {"casestudy.json", "casestudy.md"} <= made
    assert {"runs/courtyard_1/ieskf.square", "runs/corridor_1/reference.square"} <= made
    assert (folder / "casestudy.md").read_text().startswith("# Case study\n")

    document = json.loads((folder / "casestudy.json").read_text(), parse_constant=pytest.fail)
    assert len(document["explained"]) == 2
    for row in document["explained"]:
        track = folder / "runs" / row["track"]
        outcome = run(
            capsys,
            *("explain", track / "ieskf.square", "--telemetry", track / "ieskf.parquet"),
            *("--ref", track / "reference.square", "--json"),
        )
        alone = json.loads(outcome.out)
        assert {"track": row["track"], **alone["explained"]} == row


def test_worlds_filters_and_duration_are_chosen(undrawn, tmp_path):
    words = ("--worlds", "corridor", "--filters", "ieskf", "--duration", "5")
    casestudy.main(["--quick", "-o", str(tmp_path / "a"), *words])
    plan = json.loads((tmp_path / "a" / "casestudy.json").read_text())["plan"]
    assert (plan["worlds"], plan["filters"], plan["walk_s"]) == (["corridor_1"], ["ieskf"], 5.0)


def test_a_folder_of_other_things_is_refused(undrawn, tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(OptionError, match="already there and not of a case study"):
        casestudy.main(["-o", str(tmp_path)])


@pytest.mark.slow
def test_the_quick_study_runs_for_real(tmp_path):
    pytest.importorskip("numba", reason="the filters of the lab need numba")
    casestudy.main(["--quick", "-o", str(tmp_path / "a")])
    document = json.loads((tmp_path / "a" / "casestudy.json").read_text())
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
