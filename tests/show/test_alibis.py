"""Alibis as a table."""

import pytest

from smfeval.explain.alibis import Alibi, Alibis, ExtrinsicTolerance, Judgement, Need
from smfeval.show.report import alibi_table, format_need, outcome_text
from smfeval.show.report import alibis_text as text
from smfeval.summarise.number import Number

SCORED = Judgement(Number(82.0, "1", 17.0, 700.0), 194.0, "overconfident", 310)
BETTER = Judgement(Number(0.9, "1", 0.7, 1.2), 2.1, "consistent", 310)
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
    assert "; k has its 95 % interval\n" in text(FOUND)
    alone = Judgement(Number(82.0, "1"), 194.0, "overconfident", 310)
    row = Alibi("gauge", "sim3", alone)
    shown = text(Alibis(alone, (row,), ExtrinsicTolerance(), "the closing sentence"))
    assert "; k has no interval\n" in shown
    assert "95 %" not in shown


def test_the_text_ends_with_the_closing_sentence():
    lines = text(FOUND).splitlines()
    assert lines[0] == "what else could explain it"
    assert lines[-1] == "the closing sentence"
    assert "  note  gauge, first-pose: one track has no orientation" in lines
    assert any("1 cm and 0.5 deg" in line for line in lines)
    assert "  note  a note" in lines


def test_nothing_to_explain_is_one_line():
    found = Alibis(BETTER, (), ExtrinsicTolerance(), "there is nothing to explain: fine")
    assert text(found) == "there is nothing to explain: fine\n"
