"""The words of a verdict: they say what the data say, and no more."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval.align.nuisance import Nuisance
from smfeval.judge.decide import decide
from smfeval.judge.evidence import AnyCorrelation, Averaging
from smfeval.judge.sentences import evidence_text, fitted_text
from smfeval.summarise.number import Number
from support.verdicts import HONEST, NEAR, TIGHT, acquitting, facts, row

OPENED = ("translation", "rotation", "lever arm", "clock")


def test_a_conviction_has_sigmas_k_and_its_bound():
    said = decide(facts(first=TIGHT, freedoms=OPENED, coverage=0.02)).sentence
    assert (
        "overconfident: errors are 2 times the reported sigma (k = 4 [3, 5], at least 9.63" in said
    )
    assert "whatever the correlations)" in said
    assert "it holds for any extrinsic and clock offset" in said
    assert "holds the reference in 2 % of scans" in said


def test_the_second_evidence_is_worded_differently():
    said = decide(facts(second=Averaging(1.2, 4.0, 50.0, 0.0, 4.0))).sentence
    assert "at least 1.2 if the errors of this track average out" in said
    assert "whatever" not in said


def test_the_memory_that_excuses_is_said():
    first = AnyCorrelation(2.0, 3, 600, 1.9)
    found = decide(facts(first=first, step_s=0.1))
    assert found.reason == "correlation"
    assert "unless errors more than 8.13 s apart are still correlated" in found.sentence


def test_a_bound_above_k_says_why():
    tails = replace(facts(first=TIGHT), k=Number(2.0, "1", 1.5, 3.0))
    assert "the bound is of the mean square" in decide(tails).sentence


def test_a_quantity_that_decides_is_shown_with_its_value():
    values = Nuisance(np.zeros(3), lever_m=np.array([0.12, 0.0, 0.0]))
    said = decide(facts(decides=("lever arm",), values=values)).sentence
    assert "another extrinsic (lever arm 12 cm) would explain it" in said


def test_an_aligned_track_shows_no_more_than_it_can():
    assert "as far as an aligned track can show" in decide(acquitting(NEAR)).sentence
    assert "aligned" not in decide(acquitting(NEAR, is_fitted=False)).sentence


def test_noise_of_the_reference_that_would_end_it():
    found = replace(decide(facts(first=TIGHT)), reference_sigma=0.007)
    assert "a reference uncertain by 7 mm per axis would end the verdict" in found.sentence
    turned = replace(found, facts=replace(found.facts, space="rotation"))
    assert "a reference uncertain by 0.401 deg per axis" in turned.sentence


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
    said = evidence_text(decide(facts(first=HONEST)))
    assert said.startswith("mean square 1 times the claim (3.12 at most")
    values = Nuisance(np.zeros(3), clock_s=0.002)
    assert fitted_text(decide(facts(values=values, freedoms=("clock",)))) == (
        "clock +2 ms would be kindest to the estimate"
    )
