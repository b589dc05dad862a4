"""The table of numbers: a new rule is its formula and its row, and is seen everywhere."""

import json
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from smfeval import evaluation
from smfeval.errors import TrackError
from smfeval.maths.special import normal_quantile
from smfeval.score import RULES, Rule
from smfeval.summarise import quantities
from smfeval.summarise.numbers import NUMBERS, number_named, rule_row
from support.commands import run
from support.evaluations import EXACT, evaluated
from support.study_folders import HERE, entered

HUBER_M = 0.05


def huber(residuals, settings):
    """Squared near zero, linear beyond HUBER_M. (n,)."""
    del settings
    size = np.sqrt(np.einsum("ni,ni->n", residuals.error, residuals.error))
    return np.where(size < HUBER_M, 0.5 * size**2 / HUBER_M, size - 0.5 * HUBER_M)


@pytest.fixture
def with_huber(monkeypatch):
    rule = Rule("huber", "m", huber, title="Huber loss", proper=False, metric=True)
    monkeypatch.setitem(RULES, rule.name, rule)
    monkeypatch.setitem(NUMBERS, rule.name, rule_row(rule))


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(capsys, "demo", "--save", "made")
    return Path("made")


@pytest.mark.usefixtures("with_huber")
def test_a_rule_added_in_one_row_is_seen_everywhere(folder, capsys):
    score = ("score", folder / "honest.square", "--ref", folder / "truth.tum")
    assert "Huber" in run(capsys, *score, "-v").out
    document = json.loads(run(capsys, *score, "--json").out)
    value = document["scores"]["huber"]["value"]
    assert 0 < document["scores"]["huber"]["low"] < value < document["scores"]["huber"]["high"]
    assert run(capsys, *score, "-q", "--fail-if", f"huber>{0.9 * value}").code == 1
    assert run(capsys, *score, "-q", "--fail-if", f"huber>{1.1 * value}").code == 0
    assert run(capsys, *score, "-q", "--html", "page.html").code == 0
    assert "Huber loss" in Path("page.html").read_text()


@pytest.mark.parametrize("space", ["rotation", "pose"])
def test_a_rule_added_in_one_row_is_seen_in_its_space(space, folder, capsys, monkeypatch):
    rule = Rule("huber", "1", huber, title=f"{space} Huber loss", proper=False, space=space)
    monkeypatch.setitem(RULES, rule.name, rule)
    monkeypatch.setitem(NUMBERS, rule.name, rule_row(rule))
    score = ("score", folder / "honest.square", "--ref", folder / "truth.tum")
    (line,) = [row for row in run(capsys, *score, "-v").out.splitlines() if "Huber loss" in row]
    assert line.split()[0] == space
    document = json.loads(run(capsys, *score, "--json").out)
    value = document[space]["numbers"]["huber"]["value"]
    assert value > 0
    assert "huber" not in document["scores"]
    assert run(capsys, *score, "-q", "--fail-if", f"huber>{0.9 * value}").code == 1


def test_the_energy_of_a_body_needs_its_size(folder, capsys):
    score = ("score", folder / "honest.square", "--ref", folder / "truth.tum")
    assert "body" not in json.dumps(list(json.loads(run(capsys, *score, "--json").out)["scores"]))
    refused = run(capsys, *score, "--rules", "energy_body")
    assert refused.code == 2
    assert "needs the size of the body" in refused.err
    for rules in ((), ("--rules", "energy_body")):
        sized = run(capsys, *score, "--body-size", "0.5", *rules, "--json")
        assert json.loads(sized.out)["pose"]["numbers"]["energy_body"]["unit"] == "m"
    assert run(capsys, *score, "--body-size", "-1").code == 2


@pytest.mark.parametrize(
    "name", ["k_rotation", "nees_rotation", "coverage95_pose", "rotation_error"]
)
def test_numbers_of_the_spaces_are_conditions(name, folder, capsys):
    score = ("score", folder / "overconfident.square", "--ref", folder / "truth.tum", "-q")
    assert run(capsys, *score, "--fail-if", f"{name}>0").code == 1
    assert run(capsys, *score, "--fail-if", f"{name}>1000").code == 0


@pytest.mark.usefixtures("with_huber")
def test_a_rule_added_in_one_row_is_a_column_of_studies(tmp_path, monkeypatch, capsys):
    entered(tmp_path, monkeypatch)
    assert "Huber loss" in run(capsys, "study", "study.toml", *HERE, "-v").out


@pytest.mark.parametrize("row", [row for row in NUMBERS.values() if row.better == "honest"])
def test_an_honest_value_has_no_loss_and_others_have_some(row):
    honest = row.honest(1)
    assert row.loss(honest) == pytest.approx(0)
    assert row.loss(0.5 * honest) > 0


def test_a_row_is_found_by_its_name_and_by_its_aliases():
    assert number_named("coverage90") is number_named("coverage") is NUMBERS["coverage_90"]
    assert number_named("nothing") is None


def test_what_honest_beliefs_have_depends_on_their_dimension():
    assert NUMBERS["nees_median"].honest(1) == pytest.approx(normal_quantile(0.75) ** 2)
    assert NUMBERS["nees_mean"].honest(2) == 2


@pytest.fixture
def computed(monkeypatch):
    """How often each rule was computed."""
    count = Counter()

    def counting(rule):
        def formula(residuals, settings):
            count[rule.name, residuals.space] += 1
            return rule.formula(residuals, settings)

        return replace(rule, formula=formula)

    for name, rule in list(RULES.items()):
        monkeypatch.setitem(RULES, name, counting(rule))
    return count


def test_scores_are_computed_once_when_a_track_is_evaluated(rng, computed):
    found = evaluated(rng)
    dear = {("energy", "position"), ("crps", "position"), ("energy_rotation", "rotation")}
    assert dear <= set(computed)
    found.to_dict()
    found.per_scan()
    assert set(computed.values()) == {1}


def test_rules_and_numbers_that_are_not_asked_for_are_not_computed(rng, computed):
    few = replace(EXACT, rules=("energy",), numbers=("energy", "k"))
    found, whole = evaluated(rng, options=few), evaluated(rng, options=EXACT)
    scored = {"ape", "energy", "nees", "pit"}
    assert set(found.position.series) == scored
    assert {
        rule for (rule, space), n in computed.items() if n > 1 and space == "position"
    } == scored
    assert set(found.position.numbers) == {"energy", "k", "k_at_95", "coverage_90"}
    assert set(found.rotation.numbers) == {"k_at_95", "coverage_90_rotation"}
    assert (found.k_over_path, found.position.crps_by_axis) == ((), {})
    assert whole.k_over_path
    assert whole.position.crps_by_axis


def test_numbers_asked_for_alone_are_those_of_the_whole_table():
    whole, few = (
        evaluated(np.random.default_rng(1), options=replace(EXACT, numbers=numbers))
        for numbers in (None, ("nats_above_consistency", "rmse", "factor_per_axis"))
    )
    for name in ("nats_above_consistency", "rmse", "factor_per_axis", "coverage_90"):
        assert few[name] == whole[name]
    assert few.verdict.to_dict() == whole.verdict.to_dict()
    assert pickle.loads(pickle.dumps(whole)).to_dict() == whole.to_dict()


def test_a_second_thread_changes_no_number_and_hides_no_error(monkeypatch):
    alone = evaluated(np.random.default_rng(1), options=EXACT).to_dict()
    monkeypatch.setattr(evaluation, "MANY_SCANS", 1)
    assert evaluated(np.random.default_rng(1), options=EXACT).to_dict() == alone

    def fail(*tracks, **options):
        raise TrackError("no rotation")

    monkeypatch.setattr(evaluation, "score_orientation", fail)
    with pytest.raises(TrackError, match="no rotation"):
        evaluated(np.random.default_rng(1))


def test_numbers_together_are_those_that_each_has_alone(monkeypatch):
    together = evaluated(np.random.default_rng(1), 400, options=EXACT).to_dict()
    monkeypatch.setattr(quantities, "SHORT", 0)
    alone = evaluated(np.random.default_rng(1), 400, options=EXACT).to_dict()
    for part in ("scores", "calibration", "rotation", "pose"):
        assert _flat(alone[part]) == pytest.approx(_flat(together[part]), rel=1e-12)


def _flat(document, name=""):
    """Every number of a document by its path."""
    if isinstance(document, dict):
        return {
            k: v for key, part in document.items() for k, v in _flat(part, f"{name}/{key}").items()
        }
    return {name: document} if isinstance(document, float) else {}
