"""Studies under other gauges, clocks and references."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import smfeval
from smfeval import evaluate, read
from smfeval.compare.sensitivity import Alternative
from smfeval.options import TOLERANCE_S
from smfeval.show.study import document, terminal
from smfeval.show.study.formats import csv_text, markdown_text
from smfeval.studies.find import find_tasks
from smfeval.studies.run import run_study
from smfeval.studies.tables import sensitivity_sections, verdict_moves
from smfeval.studies.task import evaluate_task
from support.study_plans import made_study

SCHEMA = json.loads((Path(smfeval.__file__).parent / "schemas" / "study.json").read_text())
NAMES = [
    *("alignment none", "alignment yaw", "alignment sim3", "alignment first-pose"),
    *("time offset -50 ms", "time offset -10 ms", "time offset +10 ms", "time offset +50 ms"),
    "association gp",
]


def asked(tmp_path, **changes):
    return replace(
        made_study(tmp_path, tracks=2, scans=100), sensitivity=True, pairs=True, **changes
    )


def done(plan):
    return run_study(plan, find_tasks(plan), workers=1)


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return find_tasks(asked(tmp_path_factory.mktemp("made"))).tasks[0]


@pytest.fixture(scope="module")
def alternatives(task):
    return {each.name: each for each in evaluate_task(task)[0].alternatives}


def test_each_alternative_is_an_evaluation_with_one_choice_made_otherwise(task, alternatives):
    tracks = read(task.estimate.source), read(task.reference.source, body="imu")
    chosen = evaluate(*tracks, options=task.options).alignment.kind
    assert [*alternatives] == [name for name in [*NAMES[:2], "alignment se3", *NAMES[2:]]
                               if name != f"alignment {chosen}"]  # fmt: skip
    for name, changes in {
        "alignment sim3": {"alignment": "sim3"},
        "time offset +10 ms": {"offset_s": 0.01, "tolerance_s": TOLERANCE_S + 0.01},
        "association gp": {"association": "gp"},
    }.items():
        again = evaluate(*tracks, options=replace(task.options, **changes))
        assert alternatives[name].k == again["k"].value
        assert alternatives[name].verdict == again.verdict.label


def test_a_clock_that_is_off_shows(alternatives):
    assert alternatives["time offset +50 ms"].k != alternatives["time offset +10 ms"].k


def test_it_is_off_unless_asked_for(tmp_path):
    study = done(replace(asked(tmp_path), sensitivity=False)).study
    assert study.sensitivity == ()
    assert "sensitivity" not in terminal.text(study)
    assert document.document(study)["sensitivity"] == {"sections": [], "verdicts": []}


def test_text_markdown_csv_and_json_tell_it_and_the_cache_keeps_it(tmp_path):
    plan = asked(tmp_path)
    first = done(plan)
    again = done(plan)
    assert (again.known, again.study) == (6, first.study)
    assert done(replace(plan, sensitivity=False)).known == 0
    for text in (terminal.text(first.study), terminal.text(first.study, brief=True)):
        assert "sensitivity of k (2 tracks)" in text
        assert "k, association gp" in text
        assert "k_pair, time offset +10 ms" in text
    assert "k, association gp" in markdown_text(first.study)
    assert "sensitivity,sensitivity of k,false," in csv_text(first.study)
    found = document.document(first.study)
    jsonschema.validate(found, SCHEMA)
    assert found["tasks"][0]["alternatives"][0]["name"] == "alignment none"


def test_verdicts_that_move_are_counted_over_runs(tmp_path):
    results = done(replace(asked(tmp_path), sensitivity=False, pairs=False)).study.results
    made = [
        replace(
            each,
            verdict="consistent",
            alternatives=(
                Alternative("alignment none", 2.0 + at, "overconfident" if at else "consistent"),
                Alternative("time offset +10 ms", 1.0, "consistent"),
                Alternative("alignment sim3", failure="too short"),
            ),
        )
        for at, each in enumerate(each for each in results if each.estimator == "honest")
    ]
    gauge, clock = verdict_moves(made)
    assert gauge.moved == (("consistent", "overconfident", 1),)
    assert (gauge.runs, clock.moved) == (2, ())
    assert gauge.sentence == (
        "honest, alignment none: 1 of 2 verdicts move (consistent to overconfident: 1)"
    )
    (section,) = sensitivity_sections(asked(tmp_path / "b"), made, ())
    assert [column.metric for column in section.columns] == [
        "k", "k, alignment none", "k, time offset +10 ms",
    ]  # fmt: skip
    assert section.columns[1].cells[0].median.value == 2.5
    assert "could not be scored: 2 of 6, such as alignment sim3: too short" in section.notes
