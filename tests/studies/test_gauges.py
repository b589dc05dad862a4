"""What a fit does to a study: who is marked, who is left out, and one gauge for all."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import polars as pl
import pytest

import smfeval
from smfeval import read, write
from smfeval.align.quantities import Extent
from smfeval.evaluation import Options
from smfeval.maths import so3
from smfeval.show.study import document, terminal
from smfeval.show.study.formats import csv_text
from smfeval.show.study.layout import grids
from smfeval.studies.find import find_tasks
from smfeval.studies.plan import Plan, PlannedEstimator, PlannedTrack
from smfeval.studies.plan_file import read_plan
from smfeval.studies.run import run_study
from smfeval.studies.tables import IMPROPER, MIXED
from smfeval.studies.task import evaluate_task
from smfeval.summarise.number import Intervals
from smfeval.track import About, GaussianTrack
from support.drifting import dead_reckoning
from support.studies import drifting_tracks

TRACKS = tuple(f"{i:02d}" for i in range(8))
TIGHTER = {"honest": 1.0, "liar": 7.0}
BELIEFS = ("energy", "log", "crps", "k", "coverage_90")
PLAIN = Intervals(None)
SCHEMA = json.loads((Path(smfeval.__file__).parent / "schemas" / "study.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Dead reckoning of 300 scans on 8 tracks, and the same 7 times too tight."""
    made, rng = tmp_path_factory.mktemp("drifting"), np.random.default_rng(15)
    for name in ("truth", *TIGHTER, "yaw"):
        (made / name).mkdir()
    for track in TRACKS:
        world = dead_reckoning(rng, 300)
        for name, factor in TIGHTER.items():
            estimate, truth = drifting_tracks(world, factor)
            write(estimate, made / name / f"{track}.square")
        write(estimate.with_about(gauge="gravity_yaw"), made / "yaw" / f"{track}.square")
        write(truth, made / "truth" / f"{track}.tum")
    return made


def plan_of(folder, output):
    return Plan(
        name="drifting",
        folder=folder,
        tracks=tuple(
            PlannedTrack(name, f"truth/{name}.tum", body="imu", reading=(("body", "imu"),))
            for name in TRACKS
        ),
        estimators=tuple(PlannedEstimator(name, f"{name}/{{track}}.square") for name in TIGHTER),
        output=output,
        options=Options(intervals=PLAIN, singular="drop"),
    )


def studied(folder, output, **changes):
    plan = replace(plan_of(folder, output), **changes)
    return run_study(plan, find_tasks(plan), workers=1).study


def marked(study, metric):
    column = next(each for each in study.sections[0].columns if each.metric == metric)
    return {cell.estimator for cell in column.cells if cell.best}


def test_the_honest_of_two_that_drift_is_marked(folder):
    study = studied(folder, folder / "kept")  # so is what the tests below ask for again
    assert {each.scored_under for each in study.results} == {"projected"}
    assert {each.joint for each in study.results} == {"implied"}
    assert {metric: marked(study, metric) for metric in ("energy", "log", "k")} == {
        "energy": {"honest"},
        "log": {"honest"},
        "k": {"honest"},
    }
    assert IMPROPER not in " ".join(terminal.text(study).split())


@pytest.mark.parametrize(
    ("horizons", "joint"),
    [
        ((), "auto"),
        ((Extent(2.0, "s"),), "auto"),
        pytest.param((Extent(6.0, "m"),), "auto", marks=pytest.mark.slow),
        ((), "none"),
    ],
)
def test_relative_scores_mark_the_honest_one(folder, horizons, joint):
    """Over one horizon for all; without cross-covariances there are none."""
    options = Options(intervals=PLAIN, singular="drop", horizons=horizons, joint=joint)
    study = studied(folder, folder / "kept", options=options)
    metrics = ("relative_energy", "relative_log", "relative_k")
    named = {column.metric for column in study.sections[0].columns}
    if joint == "none":
        assert not named & set(metrics)
        return
    assert {metric: marked(study, metric) for metric in metrics} == {
        metric: {"honest"} for metric in metrics
    }
    size = str(horizons[0]) if horizons else "a 30th of the reference's duration"
    assert f"relative scores are over windows of {size}" in " ".join(terminal.text(study).split())
    jsonschema.validate(document.document(study), SCHEMA)
    found = [dict(each.numbers).get("relative_k") for each in study.results[1::2]]
    scored = [k.value for k in found if k is not None]  # not where windows look dependent
    assert len(scored) >= 6
    assert min(scored) > 3


def test_who_has_no_relative_scores_is_told_in_a_footnote(folder, tmp_path):
    """A tenth of the scans: the common horizon has too few of them."""
    (folder / "sparse").mkdir(exist_ok=True)
    for track in TRACKS:
        whole = read(folder / "honest" / f"{track}.square")
        write(whole[np.arange(0, len(whole), 10)], folder / "sparse" / f"{track}.square")
    names = ("honest", "sparse")
    study = studied(
        folder,
        tmp_path / "out",
        estimators=tuple(PlannedEstimator(name, f"{name}/{{track}}.square") for name in names),
    )
    told = " ".join(terminal.text(study).split())
    assert "sparse on 8 of 8 tracks (cross-covariances are unknown, or" in told
    values = {each.estimator: dict(each.numbers) for each in study.results}
    assert "relative_log" in values["honest"]
    assert "relative_log" not in values["sparse"]


def test_nobody_is_marked_on_beliefs_where_scores_are_not_proper(folder):
    options = Options(intervals=PLAIN, singular="drop", joint="none")
    study = studied(folder, folder / "kept", options=options)
    assert {each.scored_under for each in study.results} == {"after a fit"}
    assert {metric: marked(study, metric) for metric in BELIEFS} == {
        metric: set() for metric in BELIEFS
    }
    columns = {each.metric: each for each in study.sections[0].columns}
    assert {columns[metric].detail for metric in BELIEFS} == {IMPROPER}
    assert columns["mae"].detail != IMPROPER
    as_the_paper = studied(folder, folder / "kept", options=options, ranks_improper=True)
    assert marked(as_the_paper, "energy") == {"liar"}  # the best score is not the consistent one's


def test_nobody_is_marked_where_windows_refute_what_covariances_imply(folder, tmp_path, rng):
    """A velocity that is wrong for a whole track: covariances grow, increments are correlated."""
    count = np.arange(1.0, 301)
    for name, tighter in TIGHTER.items():
        (folder / f"fast {name}").mkdir(exist_ok=True)
        for track in TRACKS:
            truth = read(folder / "truth" / f"{track}.tum")
            covariance = np.zeros((300, 6, 6))
            covariance[:, range(3), range(3)] = ((0.002 * count) ** 2 / tighter)[:, None]
            covariance[:, range(3, 6), range(3, 6)] = 1e-5 / tighter
            position = truth.position + 0.002 * rng.normal(size=3) * count[:, None]
            turned = so3.compose(truth.rotation, so3.exp(1e-5**0.5 * rng.normal(size=(300, 3))))
            about = About(body="imu", world="odom", gauge="se3")
            belief = GaussianTrack(truth.stamp, position, turned, covariance, about=about)
            write(belief, folder / f"fast {name}" / f"{track}.square")
    found = tuple(PlannedEstimator(name, f"fast {name}/{{track}}.square") for name in TIGHTER)
    study = studied(folder, tmp_path / "out", estimators=found)
    assert {each.scored_under for each in study.results} == {"projected"}
    assert {each.independent for each in study.results} == {False}
    assert all(marked(study, metric) == set() for metric in BELIEFS)


def test_how_residuals_were_scored_is_written(folder, tmp_path):
    options = Options(intervals=PLAIN, singular="drop", joint="none")
    study = studied(folder, tmp_path / "out", options=options)
    table = pl.read_parquet(tmp_path / "out" / "tasks.parquet")
    assert table["gauge"].unique().to_list() == ["se3"]
    assert table["joint"].unique().to_list() == ["unknown"]
    assert table["scored_under"].unique().to_list() == ["after a fit"]
    written = document.document(study)
    jsonschema.validate(written, SCHEMA)
    assert written["tasks"][0]["scored_under"] == "after a fit"
    again = studied(folder, tmp_path / "out", options=options)  # from the cache
    assert again.results == study.results
    rows = pl.read_csv(csv_text(study).encode())
    assert rows["alignment"].unique().to_list() == ["se3"]


DIFFERENT = (  # the same beliefs as in TIGHTER, but another gauge is declared
    PlannedEstimator("honest", "honest/{track}.square"),
    PlannedEstimator("liar", "yaw/{track}.square"),
)


@pytest.mark.slow
def test_estimators_of_different_gauges_are_aligned_by_the_freest(folder, tmp_path):
    study = studied(folder, tmp_path / "out", estimators=DIFFERENT)
    assert {each.gauge for each in study.results} == {"se3"}
    assert any("all are aligned by se3" in note for note in study.notes)
    alike = studied(folder, tmp_path / "alike")
    assert [dict(each.numbers) for each in study.results] == [
        dict(each.numbers) for each in alike.results
    ]


def test_each_run_is_scored_once_whatever_gauges_are_declared(folder, tmp_path, monkeypatch):
    scored, heard = [], []
    monkeypatch.setattr(
        "smfeval.studies.task.evaluate_task",
        lambda task, key: scored.append(task.options.alignment) or evaluate_task(task, key),
    )
    plan = replace(plan_of(folder, tmp_path / "out"), estimators=DIFFERENT)
    ran = run_study(
        plan, find_tasks(plan), workers=1, progress=lambda *counts: heard.append(counts)
    )
    assert scored.count(None) == len(TRACKS)  # se3 by themselves
    assert scored.count("se3") == len(TRACKS)
    assert [done for done, _, _ in heard] == list(range(2 * len(TRACKS) + 1))
    assert ran.known == 0
    assert run_study(plan, find_tasks(plan), workers=1).known == 2 * len(TRACKS)


def test_each_may_keep_its_own_gauge(folder, tmp_path):
    study = studied(folder, tmp_path / "out", estimators=DIFFERENT, own_gauges=True)
    assert {(each.estimator, each.gauge) for each in study.results} == {
        ("honest", "se3"),
        ("liar", "yaw"),
    }
    assert any("have different alignments, as asked for" in note for note in study.notes)
    assert {column.detail for column in study.sections[0].columns if column.unmarked} == {MIXED}
    first = grids(study)[0]
    said = dict(first.footnotes)
    assert [said[row.marks[0]] for row in first.rows] == [
        "after SE(3) alignment",
        "after yaw alignment",
    ]


def test_a_plan_asks_for_own_gauges(tmp_path):
    text = """[options]
gauge = "{gauge}"
[[tracks]]
name = "a"
reference = "a.tum"
[[estimators]]
name = "x"
path = "x.square"
"""
    path = tmp_path / "plan.toml"
    path.write_text(text.format(gauge="own"))
    assert (read_plan(path).own_gauges, read_plan(path).options.alignment) == (True, None)
    path.write_text(text.format(gauge="yaw"))
    assert (read_plan(path).own_gauges, read_plan(path).options.alignment) == (False, "yaw")
