"""JSON: strict, as its schema says, and every number leads back to its tasks."""

import copy
import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

from smfeval import __version__
from smfeval.show.study.document import document, text
from support.study_results import ODD, PLAIN, TRACKS, study

SCHEMA = json.loads((files("smfeval") / "schemas" / "study.json").read_text())


@pytest.fixture
def made():
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text(study()), parse_constant=refuse)


def test_the_document_is_strict_and_matches_its_schema(made):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(made, SCHEMA)
    assert made == document(study())


def every_object(schema):
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for each in schema.values():
            yield from every_object(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from every_object(each)


def test_the_schema_allows_no_key_that_it_does_not_name():
    for each in every_object(SCHEMA):
        if "properties" in each:
            assert each["additionalProperties"] is False
            assert each["required"] == list(each["properties"])


def broken(made, change):
    other = copy.deepcopy(made)
    change(other)
    return other


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(schema="smfeval.study/2"),
        lambda d: d.pop("tasks"),
        lambda d: d["plan"].update(folder="somewhere"),
        lambda d: d["sections"][0]["columns"][0]["cells"][0]["median"].pop("unit"),
        lambda d: d["sections"][0]["columns"][0]["duels"][0].update(p=1.5),
        lambda d: d["sections"][0]["columns"][0]["ranks"]["mean_rank"][0].update(rank=0.5),
        lambda d: d["tasks"][0].update(scans=-1),
        lambda d: d["pair_tasks"][0].update(k_pair=3.0),
    ],
)
def test_the_schema_refuses_a_broken_document(made, change):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken(made, change), SCHEMA)


def test_the_plan_is_echoed_without_paths_of_the_machine(made):
    plan = made["plan"]
    assert (plan["name"], plan["version"], plan["diverged_m"]) == ("nightly", __version__, 5.0)
    assert plan["options"]["axes"] == "xy"
    assert plan["estimators"][0]["reading"]["origin"] == [51.7, -1.25, 60.0]
    assert [each["role"] for each in plan["estimators"]] == ["contender"] * 3 + ["baseline"]
    assert "somewhere" not in text(study())


def test_every_value_of_a_track_is_the_median_of_the_tasks_that_it_names(made):
    tasks = {each["key"]: each for each in made["tasks"]}
    traced = 0
    for section in made["sections"]:
        for column in section["columns"]:
            for cell in column["cells"]:
                for value in cell["values"]:
                    named = [tasks[key] for key in value["tasks"]]
                    assert {each["track"] for each in named} == {value["track"]}
                    assert {each["estimator"] for each in named} == {cell["estimator"]}
                    runs = [each["numbers"].get(column["metric"]) for each in named]
                    numbers = [each["value"] for each in runs if each is not None]
                    if value["value"] is not None:
                        assert np.median(numbers) == value["value"]
                        traced += 1
    assert traced == 20 + 19  # finite values of the two tables


def test_repeats_are_all_named_and_failed_runs_are_not(made):
    first = made["sections"][0]["columns"][0]["cells"][0]
    assert first["values"][0]["tasks"] == ["key of 0 keble_01 0", "key of 0 keble_01 1"]
    failed = {each["key"] for each in made["tasks"] if each["failure"] is not None}
    assert len(failed) == 4
    columns = [column for section in made["sections"] for column in section["columns"]]
    values = [v for column in columns for cell in column["cells"] for v in cell["values"]]
    named = {key for value in values for key in value["tasks"]}
    assert failed.isdisjoint(named)
    assert len(named) == len(made["tasks"]) - len(failed)


def test_pairs_lead_to_their_tasks_too(made):
    (cell,) = made["pair_sections"][0]["columns"][0]["cells"]
    assert cell["estimator"] == f"{PLAIN} | {ODD}"
    assert [each["tasks"] for each in cell["values"]] == [["pair key"], [], []]
    assert [each["track"] for each in cell["values"]] == list(TRACKS)


def test_ranks_duels_and_failures_are_there_in_full(made):
    column = made["sections"][0]["columns"][0]
    assert column["duels"][0]["further_tracks"] == 14
    assert column["ranks"]["not_separated"] == [[PLAIN, ODD]]
    assert column["ranks"]["mean_rank"][1] == {"estimator": ODD, "rank": 2.0}
    assert made["sections"][0]["diverged"][1] == {"estimator": ODD, "diverged": 1, "scored": 3}
    assert made["pair_tasks"][1]["failure"] == "no file"
