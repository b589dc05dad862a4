"""Alibis as a table, diagnoses as text."""

import pytest

from smfeval.explain.alibis import Alibi, AlibiJudgement, Alibis, ExtrinsicTolerance, Need
from smfeval.show.report import (
    DIAGNOSES_TITLE,
    alibi_table,
    alibis_text,
    diagnoses_text,
    format_need,
    outcome_text,
)
from smfeval.summarise.number import Number
from support.faults import FAULTS, Made

SCORED = AlibiJudgement(Number(82.0, "1", 17.0, 700.0), 194.0, "overconfident", 310)
BETTER = AlibiJudgement(Number(0.9, "1", 0.7, 1.2), 2.1, "consistent", 310)
ROWS = (
    Alibi("gauge", "sim3", SCORED),
    Alibi("gauge", "first-pose", None, reason="one track has no orientation"),
    Alibi("reference noise", "2 mm, total station", BETTER, Need("m", 0.041, 0.03, 0.05)),
    Alibi("reference noise", "2 cm, RTK", BETTER, proviso="it is RTK"),
)
FOUND = Alibis(SCORED, ROWS, ExtrinsicTolerance(), "the closing sentence", ("a note",))


@pytest.mark.parametrize(
    ("need", "words"),
    [
        (None, ""),
        (Need("m", 0.041), "4.1 cm"),
        (Need("m", 0.041, 0.009, 0.05), "4.1 cm [9 mm, 5 cm]"),
        (Need("s", 0.0205), "20.5 ms"),
        (Need("s", None, kindest=0.05, k_left=7.0), "none does: 50 ms leaves 7"),
        (Need("s", None, k_left=61.5), "none does: any amount leaves 61.5"),
        (Need("m", None), "not known"),
    ],
)
def test_what_is_needed_is_said_in_its_unit(need, words):
    assert format_need(need) == words


def test_the_table_has_a_line_for_each_alibi_and_names_each_once():
    head, scored, sim3, first, noise, rtk = alibi_table(FOUND)
    assert head.split() == [
        "alibi",
        "granted",
        "k",
        "median",
        "NEES",
        "k",
        "=",
        "1",
        "needs",
        "holds",
    ]
    assert " ".join(scored.split()) == "as scored 82 [17, 700] 194"
    assert " ".join(sim3.split()) == "gauge sim3 82 [17, 700] 194 no"
    assert " ".join(first.split()) == "first-pose - - cannot be asked"
    assert noise.endswith("yes")
    assert rtk.endswith("yes, if it is RTK")
    assert "4.1 cm [3 cm, 5 cm]" in noise


def test_a_proviso_is_shown_only_where_it_would_help():
    proviso = "the reference is such a one"
    helps = Alibi("reference noise", "1 cm", BETTER, proviso=proviso)
    assert outcome_text(helps, SCORED) == "yes, if the reference is such a one"
    assert outcome_text(Alibi("reference noise", "1 cm", SCORED, proviso=proviso), SCORED) == "no"


def test_an_interval_is_spoken_of_only_where_there_is_one():
    assert "; k has its 95 % interval\n" in alibis_text(FOUND)
    alone = AlibiJudgement(Number(82.0, "1"), 194.0, "overconfident", 310)
    row = Alibi("gauge", "sim3", alone)
    shown = alibis_text(Alibis(alone, (row,), ExtrinsicTolerance(), "the closing sentence"))
    assert "; k has no interval\n" in shown
    assert "95 %" not in shown


def test_the_text_ends_with_the_closing_sentence():
    lines = alibis_text(FOUND).splitlines()
    assert lines[0] == "what else could explain it"
    assert lines[-1] == "the closing sentence"
    assert "  note  gauge, first-pose: one track has no orientation" in lines
    assert any("1 cm and 0.5 deg" in line for line in lines)
    assert "  note  a note" in lines


def test_nothing_to_explain_is_one_line():
    found = Alibis(BETTER, (), ExtrinsicTolerance(), "there is nothing to explain: fine")
    assert alibis_text(found) == "there is nothing to explain: fine\n"


def shown(name, **how):
    return diagnoses_text(FAULTS[name](Made(1500, 0.9, 3)).diagnoses(), **how)


def test_a_diagnosis_shows_its_name_meaning_and_advice():
    lines = shown("lever-arm bias").splitlines()
    assert lines[0] == DIAGNOSES_TITLE
    assert lines[1].startswith("  lever-arm bias")
    assert "constant in body axes" in lines[1]
    assert lines[2].strip().startswith("try: check the extrinsic by")


def test_an_honest_belief_has_nothing_that_stands_out():
    assert "no fault stands out" in diagnoses_text(Made(1000, 0.9, 11).diagnoses())


def test_windows_and_regimes_are_for_those_who_ask():
    brief, full = shown("a stretch"), shown("a stretch", verbose=True)
    assert "regime" not in brief
    assert full.count("RMSE") == 12 + 7  # windows, thirds of turning and speed, standing
    assert set(brief.splitlines()) < set(full.splitlines())


def test_a_short_track_is_one_sentence():
    assert diagnoses_text(Made(40, 0.0, 0).diagnoses()).splitlines() == [
        DIAGNOSES_TITLE,
        "  too short to diagnose: 40 scans, 60 are needed",
    ]


def test_what_was_not_tested_is_said_once_per_reason():
    out = diagnoses_text(Made(1000, 0.995, 2).diagnoses())
    assert out.count("independent scans are too few") < out.count(",")
    assert "not tested" in out


def test_a_mean_that_a_fit_took_away_is_zero():
    out = diagnoses_text(Made(1000, 0.9, 11).diagnoses("se3"))
    assert "vertical: 0 [" in out
    assert "e-1" not in out
