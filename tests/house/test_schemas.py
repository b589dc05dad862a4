"""The schemas are those of the classes, and they refuse what no document has."""

import copy
import sys
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from smfeval.compare import compare_all
from smfeval.compare.sweep import sweep_of
from smfeval.summarise.numbers import NUMBERS
from support.evaluations import FAST, evaluated
from support.known_errors import belief, normal
from support.study_results import study
from support.sweep_points import line

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from tools.schemas import documents, text  # noqa: E402

MADE = documents()
OPEN = {  # their keys are names: of axes, numbers, options ...
    "by_axis", "coverage", "effective_scans", "extrinsics", "intervals", "k_by_axis", "numbers",
    "reading", "settings",
}  # fmt: skip


def scored():
    return evaluated(np.random.default_rng(1), options=replace(FAST, alert_limit="2cm,2deg"))


def paired():
    rng = np.random.default_rng(2)
    return compare_all([belief(normal(rng, 80), name=name) for name in "ab"])


def swept():
    return sweep_of(line(0.3))


RESULTS = {"score": scored, "pair": paired, "study": study, "sweep": swept}


@pytest.fixture(scope="module", params=RESULTS)
def case(request):
    schema = dict(MADE[f"src/smfeval/schemas/{request.param}.json"])
    if "anyOf" in schema:  # one or several: a document of one is checked faster as such
        schema["$ref"] = schema.pop("anyOf")[0]["$ref"]
    return RESULTS[request.param]().to_dict(), jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("path", MADE)
def test_the_package_ships_what_its_classes_say(path):
    jsonschema.Draft202012Validator.check_schema(MADE[path])
    assert (ROOT / path).read_text() == text(MADE[path]) + "\n", "run `python docs/schemas.py`"


def test_every_schema_that_is_shipped_is_made():
    assert {str(file.relative_to(ROOT)) for file in ROOT.glob("**/schemas/*.json")} == set(MADE)


def places(value, path=()):
    """Paths to every object whose keys are set; the first of a list stands for all."""
    if isinstance(value, dict):
        if not path or path[-1] not in OPEN:
            yield path
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def at(document, path):
    return reduce(getitem, path, document)


def changed(document, path, change):
    other = copy.deepcopy(document)
    change(at(other, path))
    return other


def test_a_key_too_many_too_few_or_a_word_for_a_number_is_refused(case):
    document, validator = case
    validator.validate(document)
    for path in places(document):
        assert not validator.is_valid(changed(document, path, lambda d: d.update(stray=1))), path
        for key, value in at(document, path).items():
            fewer = changed(document, path, lambda d, key=key: d.pop(key))
            assert not validator.is_valid(fewer), (path, key)
            if isinstance(value, float):
                worded = changed(document, path, lambda d, key=key: d.update({key: "much"}))
                assert not validator.is_valid(worded), (path, key)


def test_a_new_row_of_the_table_of_numbers_is_a_key_of_the_schema(monkeypatch):
    monkeypatch.setitem(NUMBERS, "new", replace(NUMBERS["log"], name="new"))
    scores = documents()["src/smfeval/schemas/score.json"]["$defs"]["Scores"]
    assert "new" in scores["required"]
