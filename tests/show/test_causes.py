"""Alibis as a table, diagnoses as text."""

from dataclasses import replace

import pytest

from smfeval.judge.decide import Facts, Verdict
from smfeval.judge.evidence import AnyCorrelation
from smfeval.show.causes import (
    DIAGNOSES_TITLE,
    alibis_section,
    diagnoses_section,
    outcome_text,
)
from smfeval.summarise.number import Number
from smfeval.why.alibis import Alibi, Alibis, Need
from support.faults import FAULTS, Made


def verdict(label, excess, at_least=None, space="position"):
    first = AnyCorrelation(excess, 3, 310, excess)
    facts = Facts(space, 310, Number(82.0, "1"), first)
    return Verdict(label, "any correlation", facts, at_least=at_least)


SCORED = verdict("overconfident", 62.4, 20.0)
BETTER = verdict("consistent", 0.9)
TURNED = verdict("overconfident", 31.2, 10.0, "rotation")
ROWS = (
    Alibi("gauge", "se3", SCORED, SCORED),
    Alibi("gauge", "sim3", SCORED, reason="one pose is too few"),
    Alibi("reference noise", "2 mm, total station", SCORED, BETTER, Need(0.041, "m")),
    Alibi("reference noise", "2 cm, RTK", SCORED, BETTER, proviso="it is RTK"),
    Alibi("reference noise", "", TURNED, needed=Need(0.01, "rad")),
)
FOUND = Alibis(SCORED, ROWS, "the closing sentence", ("a note",))


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


def test_the_table_has_a_line_for_each_alibi_and_names_each_once():
    _, head, *lines = [" ".join(line.split()) for line in str(alibis_section(FOUND)).splitlines()]
    assert head == "alibi granted T at least verdict needed ends it"
    assert lines[:7] == [
        "as scored 62.4 20 overconfident",
        "gauge se3 62.4 20 overconfident no",
        "sim3 cannot be asked",
        "reference noise 2 mm, total station 0.9 consistent 4.1 cm yes",
        "2 cm, RTK 0.9 consistent yes, if it is RTK",
        "rotation as scored 31.2 10 overconfident",
        "reference noise 0.573 deg",
    ]


def test_a_proviso_is_shown_only_where_it_would_help():
    helps = Alibi("reference noise", "1 cm", SCORED, BETTER, proviso="the reference is such a one")
    assert outcome_text(helps) == "yes, if the reference is such a one"
    assert outcome_text(replace(helps, verdict=SCORED)) == "no"


def test_the_text_ends_with_the_closing_sentence():
    lines = str(alibis_section(FOUND)).splitlines()
    assert lines[0] == "what else could explain it"
    assert lines[-1] == "the closing sentence"
    assert "  note  gauge, sim3: one pose is too few" in lines
    assert "  note  a note" in lines


def test_nothing_to_explain_is_one_line():
    found = Alibis(BETTER, (), "there is nothing to explain: fine")
    assert str(alibis_section(found)) == "there is nothing to explain: fine\n"


def shown(name, **how):
    return str(diagnoses_section(FAULTS[name](Made(1500, 0.9, 3)).diagnoses(), **how))


def test_a_diagnosis_shows_its_name_meaning_and_advice():
    lines = shown("lever-arm bias").splitlines()
    assert lines[0] == DIAGNOSES_TITLE
    assert lines[1].startswith("  lever-arm bias")
    assert "constant in body axes" in lines[1]
    assert lines[2].strip().startswith("try: check the extrinsic by")


def test_an_honest_belief_has_nothing_that_stands_out():
    assert "no fault stands out" in str(diagnoses_section(Made(1000, 0.9, 11).diagnoses()))


def test_windows_and_regimes_are_for_those_who_ask():
    brief, full = shown("a stretch"), shown("a stretch", verbose=True)
    assert "regime" not in brief
    assert full.count("RMSE") == 12 + 7  # windows, thirds of turning and speed, standing
    assert set(brief.splitlines()) < set(full.splitlines())


def test_a_short_track_is_one_sentence():
    assert str(diagnoses_section(Made(40, 0.0, 0).diagnoses())).splitlines() == [
        DIAGNOSES_TITLE,
        "  too short to diagnose: 40 scans, 60 are needed",
    ]


def test_what_was_not_tested_is_said_once_per_reason():
    out = str(diagnoses_section(Made(1000, 0.995, 2).diagnoses()))
    assert out.count("independent scans are too few") < out.count(",")
    assert "not tested" in out


def test_a_mean_that_a_fit_took_away_is_zero():
    out = str(diagnoses_section(Made(1000, 0.9, 11).diagnoses("se3")))
    assert "vertical: 0 [" in out
    assert "e-1" not in out
