"""One decider: which evidence convicts, which acquits, and what is said where none does."""

from dataclasses import replace

import pytest

from smfeval.judge.decide import Facts, decide
from smfeval.judge.evidence import Averaging
from smfeval.summarise.number import Number
from support.verdicts import NEAR, TIGHT, K, acquitting, facts, row

SMALL = Number(0.2, "1", 0.1, 0.3)


def with_k(k, **more):
    return replace(facts(**more), k=Number(k, "1", 0.9 * k, 1.1 * k))


def test_nothing_to_judge():
    assert decide(Facts("position", 600, None)).reason == "no uncertainty"
    assert decide(Facts("position", 2, K)).reason == "few scans"
    assert decide(facts(same=True)).reason == "no errors"
    assert decide(replace(facts(), k=Number(0.0, "1"))).reason == "no errors"


def test_what_holds_under_any_correlation_convicts_first():
    found = decide(facts(first=TIGHT, second=Averaging(20.0, 40.0, 50.0, 0.0, 40.0)))
    assert (found.label, found.by) == ("overconfident", "any correlation")
    assert found.at_least == pytest.approx(30 / TIGHT.limit)  # its own bound, not a larger one


def test_windows_that_call_it_wide_do_not_stop_the_first_evidence():
    wide = (row(0.1), row(0.1, 80, 100), row(0.1, 160, 50))
    found = decide(facts(first=TIGHT, rows=wide, track_scans=3000))
    assert found.label == "overconfident"


def test_errors_that_average_out_convict_too():
    found = decide(facts(second=Averaging(1.2, 4.0, 50.0, 0.0, 4.0)))
    assert (found.label, found.by, found.at_least) == ("overconfident", "averaging", 1.2)


def test_relative_motion_convicts_with_its_row():
    found = decide(facts(rows=(row(3.0),), track_scans=600))
    assert (found.label, found.by) == ("overconfident", "relative motion")
    assert found.row.k == 3.0
    assert 1 < found.at_least < 3


def test_horizons_that_disagree_convict_nobody():
    rows = (row(0.2), row(0.2, 80, 100), row(9.0, 160, 50))
    assert decide(facts(rows=rows, track_scans=3000)).reason == "horizons disagree"


def test_short_windows_of_a_long_track_acquit_nobody():
    short = (row(0.1, 2, 1000), row(0.1, 4, 500))
    assert decide(facts(rows=short, track_scans=3000)).label == "cannot tell"
    fits = (row(1.0, 2, 1000),)
    assert decide(facts(rows=fits, track_scans=3000)).label == "cannot tell"


def test_windows_up_to_a_share_of_the_track_acquit():
    wide = (row(0.2), row(0.2, 80, 100), row(0.2, 160, 50))
    assert decide(with_k(0.2, rows=wide, track_scans=3000)).label == "conservative"
    fits = (row(1.0), row(1.1, 80, 100), row(0.9, 160, 50))
    assert decide(facts(rows=fits, track_scans=3000)).label == "consistent"
    drifts = (row(1.0), row(0.4, 160, 50))
    assert decide(facts(rows=drifts, track_scans=3000)).label == "cannot tell"


@pytest.mark.parametrize("k", [1.01, 254.0])
def test_errors_larger_than_reported_are_never_conservative(k):
    """Whatever relative motion or averaging says, even where the first evidence is missing."""
    wide = (row(0.2), row(0.2, 80, 100), row(0.2, 160, 50))
    tiny = Averaging(0.01, 0.02, 200.0, 0.0, 0.02)
    averaged = {"second": tiny, "acquitting": tiny, "is_fitted": False}
    for evidence in ({"rows": wide, "track_scans": 3000}, averaged):
        for first in ({}, {"first": None}):
            found = decide(with_k(k, **evidence, **first))
            assert (found.label, found.reason) == ("cannot tell", "horizons disagree")


def test_after_a_fit_nobody_is_conservative():
    tiny = Averaging(0.01, 0.02, 200.0, 0.0, 0.02)
    assert decide(acquitting(tiny, is_fitted=True)).label == "cannot tell"
    assert decide(replace(acquitting(tiny, is_fitted=False), k=SMALL)).label == "conservative"


def test_a_little_too_wide_may_be_a_constant_that_is_small_by_chance():
    small = Averaging(0.3, 0.5, 200.0, 0.0, 0.5)
    assert decide(acquitting(small, is_fitted=False)).label == "cannot tell"


@pytest.mark.parametrize("is_fitted", [True, False])
def test_consistent_by_averaging(is_fitted):
    assert decide(acquitting(NEAR, is_fitted=is_fitted)).label == "consistent"


def test_an_uncertain_reference_hides_what_it_is_larger_than():
    assert decide(acquitting(NEAR, own_share=0.2)).label == "cannot tell"


def test_gaps_excuse_what_they_explain():
    found = decide(facts(first=TIGHT, gap_factor=100.0))
    assert (found.label, found.reason) == ("cannot tell", "gaps")
    assert decide(facts(first=TIGHT, gap_factor=2.0)).label == "overconfident"
    assert decide(acquitting(NEAR, no_acquittal=True)).reason == "gaps"


def test_a_quantity_that_decides_is_named():
    found = decide(facts(decides=("lever arm",)))
    assert (found.label, found.reason) == ("cannot tell", "extrinsic or time offset")


def test_a_doubt_that_no_column_expresses_forbids():
    found = decide(facts(first=TIGHT)).after_doubt("are its axes mirrored?")
    assert (found.label, found.reason) == ("cannot tell", "doubt")
    assert found.at_least is None
    nothing = decide(Facts("position", 600, None)).after_doubt("are its axes mirrored?")
    assert nothing.reason == "no uncertainty"


def test_one_that_is_lost_is_still_convicted():
    found = decide(facts(first=TIGHT)).after_doubt(None, "the estimate is lost")
    assert found.label == "overconfident"
    assert found.headline.startswith("the estimate is lost; overconfident: ")
