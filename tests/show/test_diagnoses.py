"""Diagnoses as text."""

from smfeval.show.report import DIAGNOSES_TITLE as TITLE
from smfeval.show.report import diagnoses_text as text
from support.faults import FAULTS, Made


def shown(name, **how):
    return text(FAULTS[name](Made(1500, 0.9, 3)).diagnoses(), **how)


def test_a_diagnosis_shows_its_name_meaning_and_advice():
    lines = shown("lever-arm bias").splitlines()
    assert lines[0] == TITLE
    assert lines[1].startswith("  lever-arm bias")
    assert "constant in body axes" in lines[1]
    assert lines[2].strip().startswith("try: check the extrinsic by")


def test_an_honest_belief_has_nothing_that_stands_out():
    assert "no fault stands out" in text(Made(1000, 0.9, 11).diagnoses())


def test_windows_and_regimes_are_for_those_who_ask():
    brief, full = shown("a stretch"), shown("a stretch", verbose=True)
    assert "regime" not in brief
    assert full.count("RMSE") == 12 + 7  # windows, thirds of turning and speed, standing
    assert set(brief.splitlines()) < set(full.splitlines())


def test_a_short_track_is_one_sentence():
    assert text(Made(40, 0.0, 0).diagnoses()).splitlines() == [
        TITLE,
        "  too short to diagnose: 40 scans, 60 are needed",
    ]


def test_what_was_not_tested_is_said_once_per_reason():
    out = text(Made(1000, 0.995, 2).diagnoses())
    assert out.count("independent scans are too few") < out.count(",")
    assert "not tested" in out


def test_a_mean_that_a_fit_took_away_is_zero():
    out = text(Made(1000, 0.9, 11).diagnoses("se3"))
    assert "vertical: 0 [" in out
    assert "e-1" not in out
