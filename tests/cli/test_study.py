"""`smfeval study` as a user runs it."""

import csv
import json
from pathlib import Path

import jsonschema
import polars as pl
import pytest

import smfeval
from support.commands import files_in, refused, run
from support.study_folders import (
    FAST,
    HERE,
    PLAN,
    SIGMA_M,
    entered,
    estimate,
    planned,
    put,
    simple,
    truth,
)

SCHEMA = json.loads((Path(smfeval.__file__).parent / "schemas" / "study.json").read_text())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    return entered(tmp_path, monkeypatch)


def strict_json(text: str) -> dict:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def medians(document: dict, metric: str) -> dict[str, float]:
    """Of the first section, by estimator."""
    columns = {column["metric"]: column for column in document["sections"][0]["columns"]}
    return {
        cell["estimator"]: cell["median"]["value"]
        for cell in columns[metric]["cells"]
        if cell["median"] is not None
    }


def test_a_study_prints_tables_and_leaves_them_in_every_format(capsys, folder):
    outcome = run(capsys, "study", "study.toml", *HERE)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("study: 2 estimators, 2 tracks")
    assert outcome.err == f"smfeval: 4 runs scored, 0 failed; results in {folder}/study_results\n"
    made = {name for name in files_in(folder / "study_results") if "/" not in name}
    tables = {f"tables.{ending}" for ending in ("txt", "md", "csv", "json", "tex")}
    assert made == tables | {"cache", "scans", "tasks.parquet", "pairs.parquet"}
    whole = run(capsys, "study", "study.toml", *HERE, "-v")
    assert (folder / "study_results" / "tables.txt").read_text() == whole.out
    assert len(outcome.out) < len(whole.out)


def test_the_numbers_are_those_that_were_put_in(capsys, folder):
    """MAE of a 3-D normal error is 2 sqrt(2 / pi) sigma; k is the ratio of variances."""
    document = strict_json(run(capsys, "study", "study.toml", *HERE, "--json").out)
    jsonschema.validate(document, SCHEMA)
    mae, k = medians(document, "mae"), medians(document, "k")
    assert mae["good"] == pytest.approx(1.596 * SIGMA_M, rel=0.15)
    assert mae["bold"] == pytest.approx(1.596 * 4 * SIGMA_M, rel=0.15)
    assert k["good"] == pytest.approx(1, rel=0.4)
    assert k["bold"] == pytest.approx(16, rel=0.4)
    tasks = pl.read_parquet(folder / "study_results" / "tasks.parquet")
    listed = [(task["estimator"], task["track"]) for task in document["tasks"]]
    assert tasks.select("estimator", "track").rows() == listed


def test_a_plan_may_take_the_references_as_uncertain(capsys, folder):
    before = strict_json(run(capsys, "study", "study.toml", *HERE, "--json").out)
    planned(folder, FAST.replace("[options]", f"[options]\nref_sigma = {SIGMA_M}"))
    outcome = run(capsys, "study", "study.toml", *HERE, "--json")
    assert "known" not in outcome.err
    document = strict_json(outcome.out)
    jsonschema.validate(document, SCHEMA)
    options = document["plan"]["options"]
    assert options["ref_sigma"] == {"position_m": SIGMA_M, "rotation_rad": 0}
    assert options["ref_shared"] is None
    for name, k in medians(document, "k").items():
        assert k == pytest.approx(medians(before, "k")[name] / 2, rel=1e-6)


def test_stdout_has_the_format_that_is_asked_for(capsys, folder):
    endings = {"terminal": "txt", "markdown": "md", "csv": "csv", "latex": "tex"}
    for name, ending in endings.items():
        outcome = run(capsys, "study", "study.toml", *HERE, "--format", name)
        assert outcome.code == 0
        assert outcome.out == (folder / "study_results" / f"tables.{ending}").read_text(), name


def test_a_second_run_knows_the_results_unless_they_are_to_be_fresh(capsys):
    first = run(capsys, "study", "study.toml", *HERE)
    again = run(capsys, "study", "study.toml", *HERE)
    assert "known" not in first.err
    assert "4 of them known from an earlier run" in again.err
    assert again.out == first.out
    fresh = run(capsys, "study", "study.toml", *HERE, "--fresh")
    assert "known" not in fresh.err
    assert fresh.out == first.out


def test_quiet_is_one_line(capsys, folder):
    outcome = run(capsys, "study", "study.toml", *HERE, "-q")
    assert outcome.out == f"4 runs scored, 0 failed; results in {folder}/study_results\n"
    assert outcome.err == ""


def test_a_missing_estimate_is_told_first_and_stands_in_the_table(capsys, folder):
    (folder / "bold" / "two.square").unlink()
    outcome = run(capsys, "study", "study.toml", *HERE, "--json")
    assert outcome.code == 0
    assert outcome.err.startswith("smfeval: bold has no file on 1 of 2 tracks: two\n")
    assert "3 runs scored, 0 failed, 1 without a file" in outcome.err
    brief = run(capsys, "study", "study.toml", *HERE).out
    assert brief.startswith("study: 2 estimators, 2 tracks, 3 runs, 1 without a file, after")
    assert "\nno file  bold, on 1 of 2 tracks: two\n" in brief
    assert "failed" not in brief
    gap = strict_json(outcome.out)["tasks"][-1]
    assert (gap["estimator"], gap["track"], gap["failure"]) == ("bold", "two", "no file")
    assert gap["source"] == "bold/{track}.square"
    rows = pl.read_parquet(folder / "study_results" / "tasks.parquet")
    assert rows["failure"].to_list() == [None, None, None, "no file"]


def test_a_run_that_fails_stops_nothing_else(capsys, folder):
    (folder / "bold" / "two.square").write_text("#% nonsense\n1 2 3\n")
    outcome = run(capsys, "study", "study.toml", *HERE, "--json")
    assert outcome.code == 0
    assert "3 runs scored, 1 failed" in outcome.err
    document = strict_json(outcome.out)
    failures = [task["failure"] for task in document["tasks"]]
    assert failures[:3] == [None, None, None]
    assert "two.square" in failures[3]
    assert set(medians(document, "mae")) == {"good", "bold"}


def test_a_reference_that_is_missing_stops_the_study_before_it_starts(capsys, folder):
    (folder / "truth" / "one.tum").unlink()
    told = refused(capsys, "study", "study.toml")
    assert "1 of 2 tracks have no reference: one (" in told
    assert not (folder / "study_results").exists()


def test_pairs_are_compared_where_the_plan_wants_them(capsys, folder):
    planned(folder, f"pairs = true\n{FAST}")
    outcome = run(capsys, "study", "study.toml", *HERE, "--json")
    assert "2 pairs compared, 0 failed" in outcome.err
    document = strict_json(outcome.out)
    jsonschema.validate(document, SCHEMA)
    ks = [task["k_pair"]["value"] for task in document["pair_tasks"]]
    assert ks == pytest.approx([(1 + 16) / 2] * 2, rel=0.4)


def test_the_list_shows_every_file_and_makes_none(capsys, folder):
    (folder / "bold" / "two.square").unlink()
    before = files_in(folder)
    outcome = run(capsys, "study", "study.toml", "--list")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["group", "track", "estimator", "run", "file"]
    assert lines[1].split() == ["all", "one", "good", "1", str(folder / "good" / "one.square")]
    assert lines[4].split() == ["all", "two", "bold", "-", "no", "file:", "bold/{track}.square"]
    assert lines[-1] == "2 estimators, 2 tracks, 3 runs, 1 file missing"
    assert run(capsys, "study", "study.toml", "--list", "-q").out == f"{lines[-1]}\n"
    assert files_in(folder) == before


def test_a_study_in_which_every_run_fails_is_refused_and_says_of_the_first_why(capsys, folder):
    (folder / "good" / "one.square").unlink()
    for name in ("good/two", "bold/one", "bold/two"):
        (folder / f"{name}.square").write_text("#% nonsense\n1 2 3\n")
    outcome = run(capsys, "study", "study.toml", *HERE)
    assert (outcome.code, outcome.out) == (2, "")
    last = outcome.err.splitlines()[-1]
    assert last.startswith("smfeval: no run could be scored: 3 failed; the first, bold on one: one")
    rows = pl.read_parquet(folder / "study_results" / "tasks.parquet")
    assert rows["failure"].null_count() == 0
    assert "3 failed" in (folder / "study_results" / "tables.txt").read_text()


def test_every_number_in_the_csv_can_be_traced(capsys):
    outcome = run(capsys, "study", "study.toml", *HERE, "--format", "csv")
    rows = list(csv.DictReader(outcome.out.splitlines()))
    assert {row["estimator"] for row in rows} == {"good", "bold"}
    assert {row["metric"] for row in rows} >= {"mae", "k", "energy", "coverage_90"}


def test_an_output_folder_with_other_things_is_left_alone(capsys, folder):
    (folder / "study_results").mkdir()
    (folder / "study_results" / "thesis.tex").write_text("years of work")
    told = refused(capsys, "study", "study.toml", *HERE)
    assert "holds other things, such as thesis.tex" in told
    assert files_in(folder / "study_results") == {"thesis.tex"}


def test_a_draft_can_be_run_as_it_is(capsys, folder, monkeypatch):
    (folder / "study.toml").unlink()
    (folder / "good" / "notes.txt").write_text("see the lab book\n")
    drafted = run(capsys, "study", "--init", ".")
    assert drafted.code == 0, drafted.err
    assert drafted.out == (
        "study.toml: 2 estimators, 2 tracks, 4 runs, 2 pairs; read it before you run it\n"
    )
    assert drafted.err == "smfeval: left aside: good/notes.txt: no reference of this name\n"
    text = (folder / "study.toml").read_text()
    assert 'reference = "truth/{track}.tum"' in text
    monkeypatch.chdir(folder.parent)
    outcome = run(capsys, "study", folder / "study.toml", *HERE, "-q")
    assert outcome.code == 0, outcome.err
    assert "4 runs scored, 0 failed, 2 pairs compared" in outcome.out


def test_a_draft_overwrites_nothing_unless_it_is_told_to(capsys, folder):
    told = refused(capsys, "study", "--init", ".")
    assert told == "smfeval: study.toml: the file exists; --force overwrites it\n"
    assert (folder / "study.toml").read_text() == FAST
    (folder / "plans").mkdir()
    assert run(capsys, "study", "--init", ".", "-o", "plans/new.toml").code == 0
    assert 'reference = "../truth/{track}.tum"' in (folder / "plans" / "new.toml").read_text()
    assert run(capsys, "study", "--init", folder, "--force").code == 0
    assert f'reference = "{folder}/truth/{{track}}.tum"' in (folder / "study.toml").read_text()


def test_what_is_left_aside_is_counted_by_its_reason(capsys, folder):
    for i in range(3):
        put(estimate(1), folder / "good" / f"other{i}.square")
    short = run(capsys, "study", "--init", ".", "--force").err
    assert short == (
        "smfeval: left aside: good/other0.square: no reference of this name (2 more like it: -v)\n"
    )
    full = run(capsys, "study", "--init", ".", "--force", "-v").err
    assert full.count("no reference of this name") == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "a plan is needed: smfeval study STUDY.toml"),
        (["nowhere.toml"], "nowhere.toml: there is no such file"),
        (
            ["study.toml", "--force"],
            "--force means nothing without --init or --save",
        ),
        (["study.toml", "-o", "x"], "-o means nothing without --init"),
        (["study.toml", "--init", "."], "study.toml means nothing with --init"),
        (["--init", ".", "--fail-if", "k>2"], "--fail-if means nothing with --init"),
        (["--init", ".", "--json"], "--json means nothing with --init"),
        (["--init", ".", "-o", "no/such/x.toml"], "there is no folder no/such"),
        (["--init", "nowhere", "--force"], "nowhere: there is no such folder"),
        (["study.toml", "--list", "--json"], "--list is plain text"),
        (["study.toml", "--json", "--format", "csv"], "name two formats for stdout"),
        (["study.toml", "--format", "docx"], "invalid choice"),
        (["study.toml", "--workers", "0"], "0 workers do nothing"),
        (["study.toml", "--scheduler", "junk"], "'junk' is no address of a scheduler"),
        (["study.toml", "--fail-if", "speed>2"], "'speed' is unknown; it is one of mae"),
        (["study.toml", "--fail-if", "fast"], "'fast' is no condition"),
    ],
)
def test_bad_input_is_one_sentence(capsys, words, sentence):
    assert sentence in refused(capsys, "study", *words)


def test_two_processes_print_what_one_prints(capsys):
    one = run(capsys, "study", "study.toml", *HERE)
    two = run(capsys, "study", "study.toml", "--workers", "2", "--fresh")
    assert two.out == one.out


MAE_M = {  # of the campaign's own description, SE(3) aligned: college_1, college_2, college_3
    "fastlio2": (0.0291, 0.0182, 0.0090),
    "fasterlio": (0.0143, 0.0103, 0.0060),
    "pointlio": (0.0851, 0.0436, 0.0638),
    "i2ekf": (0.0322, 0.0615, 0.0203),
}


def test_the_easy_tracks_of_the_campaign_score_as_their_authors_say(capsys, shared_data, folder):
    drafted = run(capsys, "study", "--init", shared_data / "campaign" / "easy", "--force")
    assert drafted.out.startswith("study.toml: 5 estimators, 3 tracks, 13 runs, 2 files missing")
    plan = folder / "study.toml"
    options = 'gauge = "se3"\ninterval = "none"'
    plan.write_text(
        plan.read_text()
        .replace("[options]", f"[options]\n{options}\n#")
        .replace("pairs = true", "pairs = false")
    )
    document = strict_json(run(capsys, "study", "study.toml", *HERE, "--json").out)
    columns = {column["metric"]: column for column in document["sections"][0]["columns"]}
    found = {
        cell["estimator"]: [row["value"] for row in cell["values"]]
        for cell in columns["mae"]["cells"]
    }
    for name, values in MAE_M.items():
        assert found[name] == pytest.approx(values, rel=0.02), name


def test_references_of_another_world_are_failures_not_crashes(capsys, folder):
    still = truth()
    put(still.with_arrays({"stamp": still.stamp + 10**15}), folder / "truth" / "two.tum")
    outcome = run(capsys, "study", "study.toml", *HERE, "-q")
    assert outcome.code == 0
    assert "2 runs scored, 2 failed" in outcome.out


def test_a_pair_without_a_covariance_on_both_sides_is_left_out_and_has_not_failed(capsys, folder):
    for name in ("one", "two"):
        put(truth(), folder / "plain" / f"{name}.tum")
    plain = '\n[[estimators]]\nname = "plain"\npath = "plain/{track}.tum"\n'
    planned(folder, f"pairs = true\n{FAST}{plain}")
    outcome = run(capsys, "study", "study.toml", *HERE, "--json")
    assert "2 pairs compared, 0 failed, 4 left out (no covariance)" in outcome.err
    document = strict_json(outcome.out)
    jsonschema.validate(document, SCHEMA)
    said = "pairs: plain reports no covariance on 2 of 2 tracks: in no pair there"
    assert said in document["notes"]
    cells = document["pair_sections"][0]["columns"][0]["cells"]
    assert [cell["estimator"] for cell in cells] == ["good | bold"]
    failures = {task["failure"] for task in document["pair_tasks"]}
    assert failures == {None, "no covariance: plain"}
    assert "failed" not in run(capsys, "study", "study.toml", *HERE).out


@pytest.mark.slow
def test_a_study_of_two_thousand_tracks_has_its_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = tuple(f"t{i}" for i in range(2000))
    simple(tmp_path, names)
    listed = PLAN.replace('["one", "two"]', str(list(names)).replace("'", '"'))
    planned(tmp_path, f"[options]\ngauge = 'fixed'\n{listed}")
    printed = run(capsys, "study", "study.toml").out
    assert "good: consistent over the study" in printed
    assert "bold: overconfident over the study" in printed
    assert "inf" not in printed


def test_every_run_has_a_file_for_evo_with_its_own_name(capsys, folder):
    from evo.tools import file_interface  # noqa: PLC0415

    put(estimate(31), folder / "good" / "one_2.square")
    text = FAST.replace("good/{track}.square", "good/{track}*.square")
    planned(folder, text)
    assert run(capsys, "study", "study.toml", *HERE, "--save-evo", "out.zip").code == 0
    names = ["good_one_1", "good_one_2", "good_two_1", "bold_one_1", "bold_two_1"]
    found = {name: file_interface.load_res_file(f"out_{name}.zip") for name in names}
    assert {name: result.info["est_name"] for name, result in found.items()} == {
        name: name for name in names
    }
    rows = pl.read_parquet("study_results/tasks.parquet").select("estimator", "track", "rmse")
    (rmse,) = rows.filter(estimator="bold", track="two")["rmse"]
    assert found["bold_two_1"].stats["rmse"] == pytest.approx(rmse)
    assert len(found["bold_two_1"].np_arrays["error_array"]) == 60
    assert Path("out_bold_two_1.nees.zip").exists()
    assert not Path("out.zip").exists()
    words = ("study", "study.toml", *HERE, "--save-evo", "out.zip")
    assert "--force overwrites it" in refused(capsys, *words)
