"""The words of a verdict: they say what the data say, and no more."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from smfeval.align.nuisance import Nuisance
from smfeval.judge.decide import Reason, Verdict, decide
from smfeval.judge.evidence import AnyCorrelation, Averaging
from smfeval.judge.sentences import evidence_rows
from smfeval.summarise.number import Number
from support.verdicts import HONEST, NEAR, TIGHT, acquitting, facts, row

OPENED = ("translation", "rotation", "lever arm", "clock")


def test_a_conviction_has_sigmas_k_and_its_bound():
    found = decide(facts(first=TIGHT, freedoms=OPENED))
    assert found.headline == (
        "overconfident: position errors are 2 times the reported sigma (k = 4, 95 % CI 3 to 5)"
    )
    assert "mean-square k at least 9.63 whatever the correlations" in found.sentence


def test_a_large_k_that_the_extrinsic_mostly_explains_says_what_is_left():
    values = Nuisance(np.zeros(3), lever_m=np.array([0.12, 0.0, 0.0]))
    small = facts(first=TIGHT, freedoms=("lever arm",), values=values)
    found = decide(replace(small, k=Number(400.0, "1"))).sentence
    left = f"{TIGHT.excess**0.5:.3g}"
    assert f"{left} times sigma with lever arm 12 cm fitted" in found
    assert "fitted" not in decide(small).sentence


def test_the_second_evidence_is_worded_differently():
    said = decide(facts(second=Averaging(1.2, 4.0, 50.0, 0.0, 4.0))).sentence
    assert "at least 1.2 if the errors of this track average out" in said
    assert "whatever" not in said


def test_the_memory_that_excuses_is_said():
    first = AnyCorrelation(2.0, 3, 600, 1.9)
    found = decide(facts(first=first, step_s=0.1))
    assert found.reason == "correlation"
    assert "overconfident unless errors more than 8.13 s apart are correlated" in found.sentence


def test_a_bound_above_k_says_why():
    tails = replace(facts(first=TIGHT), k=Number(2.0, "1", 1.5, 3.0))
    assert "mean-square k at least 9.63 whatever" in decide(tails).sentence


def test_relative_motion_that_is_too_tight_beside_a_small_k_is_named():
    small = replace(facts(rows=(row(3.0),), track_scans=600), k=Number(0.96, "1", 0.6, 2.0))
    found = decide(small)
    assert found.label == "overconfident"
    over = f"position errors of motion over {found.row.horizon} scans are 1.73 times the reported"
    assert over in found.headline


def test_a_quantity_that_decides_is_shown_with_its_value():
    values = Nuisance(np.zeros(3), lever_m=np.array([0.12, 0.0, 0.0]))
    said = decide(facts(decides=("lever arm",), values=values)).sentence
    assert "another extrinsic (lever arm 12 cm) would explain it" in said


def test_an_aligned_track_shows_no_more_than_it_can():
    assert "as far as an aligned track can show" in decide(acquitting(NEAR)).sentence
    assert "aligned" not in decide(acquitting(NEAR, is_fitted=False)).sentence


def test_noise_of_the_reference_that_would_end_it():
    found = replace(decide(facts(first=TIGHT)), reference_sigma=0.007)
    assert "a reference sigma of 7 mm would explain it" in found.sentence
    turned = replace(found, facts=replace(found.facts, space="rotation"))
    assert "a reference sigma of 0.401 deg" in turned.sentence


@pytest.mark.parametrize(
    "verdict",
    [
        decide(facts()),
        decide(facts(first=TIGHT)),
        decide(acquitting(NEAR)),
        decide(facts(rows=(row(3.0),), track_scans=600)),
        decide(facts(rows=(row(1.0),), track_scans=900)),
    ],
)
def test_sentence_headline_and_data_agree(verdict):
    assert verdict.sentence.startswith(verdict.headline)
    document = verdict.to_dict()
    assert document["label"] == verdict.label
    assert (document["at_least"] is None) == (verdict.label != "overconfident")
    assert document["factor"] == 4.0
    assert "nan" not in verdict.sentence


def test_all_evidence_for_those_who_want_it():
    values = Nuisance(np.zeros(3), clock_s=0.002)
    found = dict(evidence_rows(decide(facts(first=HONEST, values=values, freedoms=("clock",)))))
    assert found["mean square / reported"] == "1"
    assert found["limit whatever the correlations, 97.5 %"] == "3.12"
    assert found["best-case time offset"] == "+2 ms"
    assert "k at least" not in found


@pytest.mark.parametrize("reason", get_args(Reason))
def test_what_cannot_be_told_names_one_thing_to_do(reason):
    found = Verdict("cannot tell", "nothing", facts(), reason)
    assert found.next_step
    assert found.to_dict()["next"] == found.next_step
    assert decide(facts(first=TIGHT)).next_step is None


def test_a_reference_that_hides_the_estimate_is_what_to_improve():
    found = Verdict("cannot tell", "nothing", facts(own_share=0.1), "not shown")
    assert found.next_step == "a more precise reference"
