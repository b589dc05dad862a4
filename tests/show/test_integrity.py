"""What is shown of integrity: lines of the report, tables, and the Stanford diagram."""

import json
from dataclasses import replace

import numpy as np
import pytest

from smfeval.score.integrity import ProtectedError
from smfeval.show.figures import gallery_of
from smfeval.show.integrity import diagram_data, integrity_rows, stanford_diagram
from smfeval.show.page.scores import score_page
from smfeval.show.score import Findings, last_lines, report
from support.evaluations import FAST, evaluated, plain

LIMITED = replace(FAST, alert_limit="2cm,3deg")


@pytest.fixture
def limited(rng):
    return evaluated(rng, 200, tightness=100.0, options=LIMITED)


def test_the_report_says_how_often_it_is_safe_and_wrong(limited):
    lines = str(report([Findings(limited)])).splitlines()
    (first,) = (line for line in lines if line.startswith("  integrity"))
    assert "With alert limits of 2 cm horizontal and 3 deg attitude this filter says" in first
    counts = limited.integrity.counts
    assert any(f"HMI in {counts['hazardously_misleading']} of 200 scans" in line for line in lines)
    assert max(len(row.text) for row in integrity_rows(limited.integrity, 87)) <= 87


def test_quiet_keeps_the_sentence(limited):
    assert last_lines(Findings(limited)).splitlines()[1] == limited.integrity.sentence


def test_all_numbers_have_both_intervals_and_each_level(limited):
    text = str(report([Findings(limited)], verbose=True))
    assert "[CI if independent]" in text
    for name in ("horizontal", "attitude"):
        assert f"\n  {name} " in text.partition("protection levels\n")[2]


def test_nothing_is_shown_where_no_limit_is_given(rng):
    without = evaluated(rng)
    for verbose in (False, True):
        assert "integrity" not in str(report([Findings(without)], verbose=verbose))
    assert "stanford" not in score_page([Findings(without)], command="")[: 10**4]
    gallery = gallery_of(without)
    assert "stanford" not in {*gallery.figures, *gallery.refusals}


def test_a_factor_is_told_only_where_one_is_needed(limited):
    found = limited.integrity
    assert found.factor > 1
    assert "times as large would keep HMI at 0.0001" in integrity_rows(found, 87)[-1].text
    kept = replace(found, factor=1.0)
    assert "times as large" not in integrity_rows(kept, 87)[-1].text


def test_every_scan_is_in_the_diagram_and_its_regions(rng):
    error = np.append(rng.exponential(0.3, 500), [0.0, 1e-9])
    level = np.append(rng.uniform(0.1, 1.2, 500), [np.inf, 0.0])
    found = stanford_diagram(ProtectedError("horizontal", 1.0, error, level))
    assert found.counts.sum() == 502
    assert sum(found.shares.values()) == pytest.approx(1)
    beyond = found.edges[:-1] > 1.0
    hazardous = int(((error > 1) & (level <= 1)).sum())
    assert found.counts[np.ix_(beyond, found.edges[1:] <= 1.0)].sum() == pytest.approx(
        hazardous, abs=0.2 * hazardous + 3
    )  # but for the bins about the limit
    assert found.shares["HMI"] == hazardous / 502


def test_the_data_of_the_page_are_strict_json(limited):
    (horizontal, attitude) = diagram_data(limited.integrity)
    json.dumps([horizontal, attitude], allow_nan=False)
    assert sum(horizontal["count"]) == 200
    assert (horizontal["unit"], attitude["unit"]) == ("m", "deg")
    assert attitude["limit"] == pytest.approx(3)
    assert diagram_data(None) is None


def test_the_page_has_the_diagram_and_the_sentence(limited):
    page = score_page([Findings(limited)], command="")
    assert 'id="stanford"' in page
    assert "this filter says it is safe in" in page


def test_estimates_without_a_level_are_named_and_the_others_drawn(limited, rng):
    gallery = gallery_of([limited, plain(rng, 200)])
    assert "stanford" in gallery.figures
    assert any("not in stanford" in note for note in gallery.notes)
    drawn = [axes for axes in gallery.figures["stanford"].axes if axes.get_xscale() == "log"]
    assert [axes.get_title(loc="left") for axes in drawn] == [
        "made: horizontal error, limit 0.02 m",
        "made: attitude error, limit 3 deg",
    ]
