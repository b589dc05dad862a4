"""How uncertain a reference is, in the words of a user."""

import numpy as np
import pytest

from smfeval.align.quantities import (
    AlertLimits,
    ReferenceSigma,
    parse_alert_limits,
    parse_reference_sigma,
)
from smfeval.errors import OptionError
from smfeval.options import Options


@pytest.mark.parametrize(
    ("said", "position_m", "rotation_rad", "shown"),
    [
        ("1cm", 0.01, 0, "1 cm per axis"),
        ("8mm, 0.1deg", 0.008, np.radians(0.1), "8 mm and 0.1 deg per axis"),
        ("0.02", 0.02, 0, "2 cm per axis"),
        (0.02, 0.02, 0, "2 cm per axis"),
        (1e-5, 1e-5, 0, "10 um per axis"),
        ("0.02m,0.002rad", 0.02, 0.002, "2 cm and 0.114592 deg per axis"),
        ("0,1deg", 0, np.radians(1), "0 m and 1 deg per axis"),
        (ReferenceSigma(0.5), 0.5, 0, "50 cm per axis"),
    ],
)
def test_metres_without_a_unit_and_angles_with_one(said, position_m, rotation_rad, shown):
    found = parse_reference_sigma(said)
    assert found.position_m == pytest.approx(position_m, rel=1e-15)
    assert found.rotation_rad == pytest.approx(rotation_rad, rel=1e-15)
    assert str(found) == shown
    assert Options(ref_sigma=said).ref_sigma == Options(ref_shared=said).ref_shared == found


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("1cm,0.1", "'1cm,0.1': is 0.1 in deg or rad? write 0.1deg or 0.1rad"),
        ("-1cm", "a reference cannot be uncertain by -1 cm per axis"),
        ("1cm,-1deg", "a reference cannot be uncertain by 1 cm and -1 deg per axis"),
        ("inf", "a reference cannot be uncertain by inf m per axis"),
        ("nan", "a reference cannot be uncertain by nan m per axis"),
        ("1cm,400deg", "a reference cannot be uncertain by 1 cm and 400 deg per axis"),
        ("0", "a reference that is uncertain by 0 is exact: leave it out"),
        ("0,0deg", "a reference that is uncertain by 0 is exact: leave it out"),
        *(
            (said, f"{said!r} is no sigma; write 1cm or 1cm,0.1deg")
            for said in ("", "RTK", "0.1deg", "1cm,2cm", "1cm,", "1cm,1deg,2deg", "1 furlong")
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(said, sentence):
    with pytest.raises(OptionError) as caught:
        parse_reference_sigma(said)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("name", ["ref_sigma", "ref_shared"])
def test_a_reference_is_not_exact_and_uncertain_at_once(name):
    with pytest.raises(OptionError, match=f"{name} and ref_exact contradict each other"):
        Options(reference_covariance=False, **{name: "1cm"})


@pytest.mark.parametrize(
    ("said", "limits", "shown"),
    [
        ("1m", {"horizontal": 1.0}, "1 m horizontal"),
        (2, {"horizontal": 2.0}, "2 m horizontal"),
        ("1m,0.5m vertical,2deg", {"horizontal": 1.0, "vertical": 0.5, "attitude": np.radians(2)},
         "1 m horizontal, 50 cm vertical and 2 deg attitude"),
        ("0.3m lateral, 1.5 m along-track", {"cross": 0.3, "along": 1.5},
         "1.5 m along and 30 cm cross"),
        (AlertLimits(vertical=5.0), {"vertical": 5.0}, "5 m vertical"),
    ],
)  # fmt: skip
def test_a_length_without_a_word_is_a_horizontal_limit_and_an_angle_one_of_the_attitude(
    said, limits, shown
):
    found = parse_alert_limits(said)
    assert found.given == pytest.approx(limits)
    assert str(found) == shown
    assert Options(alert_limit=said).alert_limit == found


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("far", "'far' is no alert limit; write 1m or 1m,0.5m vertical,2deg"),
        ("-1m", "'-1m' is no alert limit; write 1m or 1m,0.5m vertical,2deg"),
        ("1m,", "'1m,' is no alert limit; write 1m or 1m,0.5m vertical,2deg"),
        ("0m", "an alert limit is positive, not 0 (horizontal)"),
        ("1m,2m", "'1m,2m' has two limits of the horizontal error"),
        ("1m verical", "'1m verical': 'verical' is no error; 'vertical' may be meant"),
        ("1deg vertical", "'1deg vertical': vertical and deg do not go together"),
        ("1m attitude", "'1m attitude': attitude and m do not go together"),
        ("1m up down", "'1m up down': '1m up down' is no alert limit; write 0.5m vertical"),
    ],
)  # fmt: skip
def test_what_is_no_alert_limit_is_refused_with_what_would_be_one(said, sentence):
    with pytest.raises(OptionError) as refusal:
        parse_alert_limits(said)
    assert str(refusal.value) == sentence


def test_a_risk_without_an_alert_limit_is_refused():
    with pytest.raises(OptionError, match="a risk means nothing without an alert limit"):
        Options(risk=1e-3)
