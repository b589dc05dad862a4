"""What moved between two stores: against scipy's test, and on stores made by hand."""

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from scipy import stats

from smfeval.errors import FormatError
from smfeval.studies.diff import diff_studies
from smfeval.studies.result import NO_FILE, TaskResult
from smfeval.studies.store import TASKS, write_tasks
from smfeval.summarise.number import Number
from support.commands import refused, run
from support.study_folders import HERE, entered

SCHEMA = json.loads(files("smfeval").joinpath("schemas/diff.json").read_text())
TRACKS = 8


def result(
    estimator, track, *, repeat=0, verdict="consistent", key="a", scored_under=None, **numbers
):
    """A run with these numbers; a pair of ends makes an interval."""
    found = tuple(
        (name, Number(*(each if isinstance(each, tuple) else (each, "1"))))
        for name, each in numbers.items()
    )
    return TaskResult(
        estimator,
        "all",
        f"t{track}",
        repeat,
        key,
        "file",
        None,
        verdict=verdict,
        numbers=found,
        scored_under=scored_under,
    )


def stores(folder, old, new):
    for name, results in (("old", old), ("new", new)):
        (folder / name).mkdir()
        write_tasks(results, folder / name)
    return diff_studies(folder / "old", folder / "new")


def test_p_values_are_those_of_scipy_corrected_over_estimators(tmp_path, rng):
    """Exact signed-rank tests of the losses: RMSE as it is, k by |log10 k|."""
    rmse = rng.uniform(1, 2, size=(2, 3, TRACKS))
    rmse[1, 1] += 2.0
    k = np.exp(rng.normal(size=(2, 3, TRACKS)))
    k[0, 2], k[1, 2] = np.exp(0.1 * rng.normal(size=TRACKS)), 0.2
    found = stores(
        tmp_path,
        *(
            [
                result(f"e{e}", t, rmse=rmse[s, e, t], k=k[s, e, t])
                for t in range(TRACKS)
                for e in range(3)
            ]
            for s in (0, 1)
        ),
    )
    for metric, loss in (("rmse", rmse), ("k", np.abs(np.log10(k)))):
        moves = [each for each in found.moves if each.metric == metric]
        expected = [stats.wilcoxon(loss[0, e], loss[1, e], method="exact").pvalue for e in range(3)]
        assert [each.p for each in moves] == pytest.approx(expected)
        order = np.argsort(expected)
        holm = np.maximum.accumulate(np.sort(expected) * [3, 2, 1]).clip(max=1)
        assert [moves[i].p_holm for i in order] == pytest.approx(holm.tolist())
    by = {(each.metric, each.estimator): each for each in found.moves}
    assert by["rmse", "e1"].outcome == "worse"
    assert by["rmse", "e0"].outcome == "not significant"
    assert by["k", "e2"].outcome == "worse"  # too wide is as bad as too tight
    difference = float(np.median(rmse[1, 1] - rmse[0, 1]))
    assert by["rmse", "e1"].difference == pytest.approx(difference)
    assert found.worse == (by["rmse", "e1"], by["k", "e2"])


def test_repeats_count_once_and_tracks_of_one_study_do_not_count(tmp_path):
    old = [result("e", t, repeat=r, rmse=t + r) for t in range(TRACKS) for r in range(3)]
    new = [result("e", t, repeat=r, rmse=t + r + 1) for t in range(TRACKS + 2) for r in range(3)]
    found = stores(tmp_path, old, new)
    (move,) = found.moves
    assert (move.tracks, move.old, move.new) == (TRACKS, 4.5, 5.5)
    assert move.p == pytest.approx(2.0 ** (1 - TRACKS))  # all of 8 tracks, not of 24 runs
    assert (found.shared_runs, len(found.added), found.tracks) == (24, 6, 8)


def test_few_tracks_are_not_tested_but_intervals_apart_are_counted(tmp_path):
    old = [result("e", t, k=(1.0, "1", 0.8, 1.2), rmse=1.0) for t in range(5)]
    new = [result("e", t, k=(3.0, "1", 2.0 if t else 1.1, 4.0), rmse=1.0) for t in range(5)]
    rmse, k = stores(tmp_path, old, new).moves
    assert (k.outcome, k.p, k.apart, k.changed) == ("not tested", None, 4, 5)
    assert k.reason == "tracks that differ: 5; 6 are needed"
    assert (rmse.outcome, rmse.changed) == ("same", 0)


def test_scores_that_are_not_proper_move_and_are_neither_better_nor_worse(tmp_path):
    """As between the estimators of a study: errors rank, scores of the belief do not."""
    old = [result("e", t, rmse=1.0, k=0.5, scored_under="after a fit") for t in range(TRACKS)]
    new = [result("e", t, rmse=2.0, k=0.1, scored_under="after a fit") for t in range(TRACKS)]
    rmse, k = stores(tmp_path, old, new).moves
    assert rmse.outcome == "worse"
    assert k.outcome == "moved"


@pytest.mark.parametrize(
    ("k", "coverage", "outcome"),
    [((2.0, 9.0), (0.6, 0.2), "worse"), ((9.0, 2.0), (0.2, 0.6), "better")],
)
def test_what_an_alignment_leaves_too_tight_is_better_or_worse(k, coverage, outcome, tmp_path):
    old, new = (
        [
            result("e", t, k=k[i], coverage_90=coverage[i], log=1.0 + i, scored_under="after a fit")
            for t in range(TRACKS)
        ]
        for i in (0, 1)
    )
    found = {move.metric: move.outcome for move in stores(tmp_path, old, new).moves}
    assert found == {"k": outcome, "coverage_90": outcome, "log": "moved"}


def test_a_number_that_nobody_wins_by_is_moved_and_neither_better_nor_worse(tmp_path):
    old = [result("e", t, precision=1.0) for t in range(TRACKS)]
    new = [result("e", t, precision=2.0) for t in range(TRACKS)]
    (move,) = stores(tmp_path, old, new).moves
    assert move.outcome == "moved"


@pytest.fixture
def nightly(tmp_path):
    """Eight tracks; the new study is worse on all, lost one, failed on one and has one more."""
    old = [result("e", t, rmse=1.0, key="a") for t in range(TRACKS + 2)]
    new = [
        result("e", t, rmse=2.0 + 0.02 * t, key="a" if t == 0 else "b", verdict="overconfident")
        for t in range(TRACKS)
    ]
    new.append(replace(old[-2], failure="cut off", verdict=None, numbers=()))
    new.append(replace(old[-1], failure=NO_FILE, verdict=None, numbers=()))
    new.append(result("e", 99, rmse=1.0))
    stores(tmp_path, old, new)
    return tmp_path


def test_the_command_tells_what_moved_and_its_exit_code(nightly, capsys, monkeypatch):
    monkeypatch.chdir(nightly)
    told = run(capsys, "study", "--diff", "old", "new")
    assert told.code == 0
    lines = told.out.splitlines()
    assert lines[0] == (
        "old -> new: 1 worse, 0 better, 8 verdicts changed, 1 run failed, 1 run missing; "
        "1 estimator on 8 tracks, 1 of 8 runs on the same files, options and code"
    )
    assert " ".join(lines[2].split()) == "e RMSE 1 m 2.07 m +1.07 m 8 0.00781 worse"
    assert "  verdict: e, all/t0: consistent -> overconfident" in lines
    assert "  failed: e, all/t8: cut off" in lines
    assert "  missing: e, all/t9" in lines
    assert "  new: e, all/t99" in lines
    for condition, code in (
        ("worse>0", 1),
        ("better>0", 0),
        ("worse.rmse>0", 1),
        ("worse.k>0", 0),
        ("failed>0", 1),
        ("missing>1", 0),
        ("overconfident>7", 1),
        ("verdicts>8", 0),
    ):
        done = run(capsys, "study", "--diff", "old", "new", "-q", "--fail-if", condition)
        assert done.code == code, condition
    assert run(capsys, "study", "--diff", "old", "old", "-q", "--fail-if", "worse>0").code == 0


def test_json_follows_its_schema_and_markdown_is_a_table(nightly, capsys, monkeypatch):
    monkeypatch.chdir(nightly)
    document = json.loads(run(capsys, "study", "--diff", "old", "new", "--json").out)
    jsonschema.validate(document, SCHEMA)
    assert document["moves"][0]["outcome"] == "worse"
    assert document["failed"][0]["failure"] == "cut off"
    shown = run(capsys, "study", "--diff", "old", "new", "--format", "markdown").out
    assert "| e | RMSE | 1 m | 2.07 m | +1.07 m | 8 | 0.00781 | worse |" in shown


def test_several_studies_are_each_held_against_the_first(nightly, capsys, monkeypatch):
    monkeypatch.chdir(nightly)
    words = ("study", "--diff", "old", "old", "new")
    said = run(capsys, *words, "-q", "--fail-if", "worse>0")
    assert [line.partition(":")[0] for line in said.out.splitlines()] == [
        "old -> old",
        "old -> new",
    ]
    assert said.code == 1
    assert said.err == "smfeval: --fail-if: old -> new: worse > 0 (1)\n"
    document = json.loads(run(capsys, *words, "--json").out)
    jsonschema.validate(document, SCHEMA)
    assert [each["new"]["folder"] for each in document["results"]] == ["old", "new"]
    assert run(capsys, *words).out.count(" -> new: 1 worse") == 1
    assert "from old to which?" in refused(capsys, "study", "--diff", "old")


def test_what_is_no_store_is_refused(nightly, capsys, monkeypatch):
    monkeypatch.chdir(nightly)
    said = refused(capsys, "study", "--diff", "old", ".")
    assert f"this is no output folder of a study; there is no {TASKS}" in said
    (nightly / "broken").mkdir()
    (nightly / "broken" / TASKS).write_bytes(b"PAR1 and no more")
    said = refused(capsys, "study", "--diff", "old", "broken")
    assert "tasks.parquet: damaged or no Parquet file" in said
    other = nightly / "other"
    other.mkdir()
    write_tasks([result("f", 0, rmse=1.0)], other)
    assert "no run of an estimator on a track is scored in both" in refused(
        capsys, "study", "--diff", "old", "other"
    )
    for flags in (["--part", "1/2"], ["--html", "a.html"], ["--force"], ["plan.toml"]):
        said = refused(capsys, "study", *flags, "--diff", "old", "new")
        assert "means nothing with --diff" in said
    said = refused(capsys, "study", "--diff", "old", "new", "--format", "latex")
    assert "terminal, markdown or --json" in said
    said = refused(capsys, "study", "--diff", "old", "new", "--fail-if", "k>2")
    assert "worse" in said


def test_a_study_and_itself_do_not_differ(tmp_path, capsys, monkeypatch):
    entered(tmp_path, monkeypatch)
    run(capsys, "study", "study.toml", *HERE)
    with pytest.raises(FormatError, match="no output folder"):
        diff_studies(tmp_path, tmp_path)
    found = diff_studies(tmp_path / "study_results", tmp_path / "study_results")
    assert {each.outcome for each in found.moves} == {"same"}
    assert (found.same_runs, found.verdicts) == (4, ())
