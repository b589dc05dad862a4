"""The closing sentence, and what may hold, from rows made by hand."""

import math
from dataclasses import replace

import pytest

from smfeval.explain.alibis import Alibi, AlibiJudgement, Need
from smfeval.explain.alibis.combined import closing_sentence
from smfeval.summarise.number import Number

MAP = "1 cm, LiDAR registered to a surveyed map"


def judgement(k, label="overconfident"):
    return AlibiJudgement(Number(k, "1"), 2.4 * k, label, 300)


SCORED = judgement(80.0)
BAD, GOOD = judgement(60.0), judgement(0.9, "consistent")


def rows(*, offset=BAD, noise=BAD, on_map=BAD, rtk=BAD, together=BAD, needs=(None,) * 3):
    jitter, arm, sigma = needs
    return (
        Alibi("gauge", "sim3", BAD),
        Alibi("clock offset", "+4 ms, best within 50 ms", offset, searched=True),
        Alibi("clock jitter", "10 ms", BAD, Need("s", jitter, k_left=60.0)),
        Alibi("lever arm", "1 cm", BAD, Need("m", arm, k_left=60.0), searched=True),
        Alibi("reference noise", "2 mm", noise, Need("m", sigma)),
        Alibi("reference noise", MAP, on_map, proviso="the reference is such a one"),
        Alibi("reference noise", "2 cm, RTK", rtk, proviso="the reference is no better"),
        Alibi("all at once", "se3, noise 2 mm", together, searched=True),
    )


@pytest.mark.parametrize("label", ["cannot tell", "consistent", "conservative"])
@pytest.mark.parametrize("k", [80.0, 300.0, math.nan])
def test_an_alibi_that_does_not_bring_k_down_does_not_hold(label, k):
    row = Alibi("gauge", "first-pose", judgement(k, label))
    assert not row.holds(SCORED)
    assert row.outcome(SCORED) == (None if math.isnan(k) else "no")


def test_an_alibi_under_which_only_the_evidence_is_lost_does_not_hold():
    """The label is no longer overconfident, but k is nearly what it was."""
    assert Alibi("clock offset", "", judgement(79.0, "cannot tell")).outcome(SCORED) == "no"
    before, after = judgement(1.06), judgement(0.7, "cannot tell")
    before, hardly = replace(before, relative_k=7.2), replace(after, relative_k=7.1)
    assert Alibi("clock offset", "", hardly).outcome(before) == "no"
    assert Alibi("clock offset", "", replace(after, relative_k=2.0)).outcome(before) == "holds"
    small = judgement(0.9)  # convicted by a bound, although k is no excess
    assert not Alibi("gauge", "sim3", judgement(0.85, "cannot tell")).holds(small)
    assert Alibi("gauge", "sim3", judgement(0.4, "cannot tell")).holds(small)


def test_an_alibi_that_brings_k_down_may_hold_or_be_not_excluded():
    assert Alibi("gauge", "se3", judgement(59.0, "cannot tell")).outcome(SCORED) == "not excluded"
    near = judgement(1.15)  # nearly half of the excess is explained
    assert Alibi("gauge", "se3", judgement(1.08, "cannot tell")).outcome(near) == "not excluded"
    assert Alibi("gauge", "se3", GOOD).outcome(SCORED) == "holds"
    assert Alibi("gauge", "se3", judgement(39.0)).outcome(SCORED) == "in part"


def test_without_any_alibi_the_sentence_says_so_first():
    sentence = closing_sentence(SCORED, rows())
    assert sentence.startswith("no alibi holds: all at once leave k = 60 of 80")
    assert "depends" not in sentence


@pytest.mark.parametrize(
    ("together", "rest"),
    [(BAD, "no alibi holds: all at once"), (GOOD, "no alibi holds alone, but se3, noise 2 mm")],
)
def test_a_proviso_comes_first_where_only_it_saves_the_estimate(together, rest):
    sentence = closing_sentence(SCORED, rows(on_map=GOOD, rtk=GOOD, together=together))
    first = f"it depends on the reference: one of {MAP}, leaves k = 0.9 of 80; without it, "
    assert sentence.startswith(first + rest)
    assert "RTK, leaves" not in sentence


def test_a_proviso_comes_after_an_alibi_that_holds_without_one():
    sentence = closing_sentence(SCORED, rows(offset=GOOD, rtk=GOOD, needs=(None, None, 0.02)))
    assert sentence.startswith("an alibi holds: clock offset (+4 ms")
    assert "; it depends on the reference: one of 2 cm, RTK, leaves k = 0.9 of 80; k" in sentence


def test_all_at_once_is_left_out_where_it_cannot_be_asked():
    assert closing_sentence(SCORED, rows(together=None)).startswith("no alibi holds; ")


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        ((0.009, None, None), "k = 1 needs a clock jitter of 9 ms"),
        ((0.009, 0.05, None), "k = 1 needs a clock jitter of 9 ms, or a lever arm of 5 cm"),
        ((None, None, None), "what k = 1 needs is not known"),
    ],
)
def test_what_each_would_need_is_said_where_it_exists(needs, words):
    assert closing_sentence(SCORED, rows(needs=needs)).endswith(f"; {words}")


def test_the_sigma_needed_stands_beside_those_of_references():
    sentence = closing_sentence(SCORED, rows(needs=(None, 0.05, 0.007)))
    have = "a total station has 2 mm, LiDAR on a surveyed map 1 cm, RTK 2 cm"
    needs = f"a lever arm of 5 cm, or a reference sigma of 7 mm ({have})"
    assert sentence.endswith(f"; k = 1 needs {needs}")
