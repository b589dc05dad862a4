"""Other explanations as a table, causes as text."""

from dataclasses import replace

import pytest

from smfeval.judge.decide import Facts, Verdict
from smfeval.judge.evidence import AnyCorrelation
from smfeval.show.causes import (
    CAUSES_TITLE,
    causes_section,
    explanations_section,
    why_sections,
)
from smfeval.summarise.number import Number
from smfeval.why.explanations import Explanations, Need, OtherExplanation, Reasons
from support.faults import FAULTS, Made


def verdict(label, excess, at_least=None, space="position"):
    first = AnyCorrelation(excess, 3, 310, excess)
    facts = Facts(space, 310, Number(82.0, "1"), first)
    return Verdict(label, "any correlation", facts, at_least=at_least)


SCORED = verdict("overconfident", 62.4, 20.0)
BETTER = verdict("consistent", 0.9)
TURNED = verdict("overconfident", 31.2, 10.0, "rotation")
ROWS = (
    OtherExplanation("alignment", "se3", SCORED, SCORED),
    OtherExplanation("alignment", "sim3", SCORED, reason="one pose is too few"),
    OtherExplanation("reference noise", "2 mm (total station)", SCORED, BETTER, Need(0.041, "m")),
    OtherExplanation("reference noise", "2 cm (RTK)", SCORED, BETTER, condition="it is RTK"),
    OtherExplanation("reference noise", "", TURNED, needed=Need(0.01, "rad")),
)
FOUND = Explanations(SCORED, ROWS, "the closing sentence", ("a note",))


@pytest.mark.parametrize(
    ("need", "words"),
    [
        (Need(0.041, "m"), "4.1 cm"),
        (Need(0.0205, "s"), "20.5 ms"),
        (Need(0.01, "rad"), "0.573 deg"),
        (Need(None, "s"), "none is enough"),
    ],
)
def test_what_is_needed_is_said_in_its_unit(need, words):
    assert str(need) == words


def lines_of(**how):
    return [" ".join(line.split()) for line in str(explanations_section(FOUND, **how)).splitlines()]


def test_the_table_has_a_line_for_each_explanation_and_names_each_once():
    assert lines_of(verbose=True) == [
        "what else could explain it assumed k at least verdict",
        "as scored 20 overconfident",
        "alignment se3 20 overconfident",
        "sim3 not known",
        "reference noise 2 mm (total station) consistent",
        "2 cm (RTK) consistent",
        "rotation as scored 10 overconfident",
        "a note",
        "reference noise, 2 cm (RTK): if it is RTK",
        "alignment, sim3: one pose is too few",
        "the closing sentence",
    ]


def test_the_short_table_has_what_explains_most_and_counts_the_rest():
    assert lines_of() == [
        "what else could explain it assumed k at least verdict",
        "as scored 20 overconfident",
        "reference noise 2 mm (total station) consistent",
        "no effect: alignment",
        "the closing sentence",
    ]


def test_lines_fit_into_100_columns_and_the_short_ones_on_a_quarter_of_a_screen():
    found = replace(FOUND, sentence="nothing else explains the verdict; " * 9)
    causes = FAULTS["lever-arm bias"](Made(1500, 0.9, 3)).diagnoses()
    for verbose in (False, True):
        sections = why_sections(Reasons(causes, found), verbose=verbose)
        lines = "".join(map(str, sections)).splitlines()
        assert max(map(len, lines)) <= 100
        assert verbose or len(lines) <= 14


def test_nothing_to_explain_is_one_line():
    found = Explanations(BETTER, (), "there is nothing to explain: fine")
    assert str(explanations_section(found)) == "there is nothing to explain: fine\n"


def shown(name, **how):
    return str(causes_section(FAULTS[name](Made(1500, 0.9, 3)).diagnoses(), **how))


def test_a_diagnosis_shows_its_name_meaning_and_advice():
    lines = shown("lever-arm bias").splitlines()
    assert lines[0] == CAUSES_TITLE
    assert lines[1].startswith("  lever-arm bias")
    assert "constant in body axes" in lines[1]
    assert any(line.strip().startswith("try: give an extrinsic") for line in lines)


def test_an_honest_belief_has_nothing_that_stands_out():
    assert "no cause stands out" in str(causes_section(Made(1000, 0.9, 11).diagnoses()))


def test_windows_and_regimes_are_for_those_who_ask():
    brief, full = shown("a stretch"), shown("a stretch", verbose=True)
    assert "regime" not in brief
    assert full.count("RMSE") == 12 + 7  # windows, thirds of turning and speed, standing
    assert set(brief.splitlines()) < set(full.splitlines())


def test_a_short_track_is_one_sentence():
    assert str(causes_section(Made(40, 0.0, 0).diagnoses())).splitlines() == [
        CAUSES_TITLE,
        "  too short to diagnose: 40 scans, 60 are needed",
    ]


def test_what_was_not_tested_is_said_once_per_reason():
    out = str(causes_section(Made(1000, 0.995, 2).diagnoses(), verbose=True))
    assert out.count("independent scans are too few") < out.count(",")
    assert "not tested" in out


def test_a_mean_that_a_fit_took_away_is_zero():
    out = str(causes_section(Made(1000, 0.9, 11).diagnoses("se3"), verbose=True))
    assert "vertical: 0 [" in out
    assert "e-1" not in out
