"""Repeats of a study as Monte Carlo runs."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import smfeval
from smfeval import nees, read
from smfeval.studies.updates import shared_times
from support.commands import run
from support.study_folders import estimate, planned, put, truth

PLAN = """\
pairs = false
[options]
interval = "none"
gauge = "{gauge}"
rules = ["log"]
[[tracks]]
name = "walk"
reference = "truth/walk.tum"
[[estimators]]
name = "good"
path = "good/walk/*.square"
"""
RUNS = 6


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(truth(), tmp_path / "truth" / "walk.tum")
    for seed in range(RUNS):
        track = estimate(seed) if seed else estimate(seed)[:-3]  # one run ends early
        put(track, tmp_path / "good" / "walk" / f"{seed}.square")
    return tmp_path


def test_runs_are_put_together_by_time(capsys, folder):
    planned(folder, PLAN.format(gauge="none"))
    outcome = run(capsys, "study", "study.toml", "--workers", "1", "--json")
    document = json.loads(outcome.out)
    schema = (Path(smfeval.__file__).parent / "schemas" / "study.json").read_text()
    jsonschema.validate(document, json.loads(schema))
    (found,) = document["monte_carlo"]
    assert (found["runs"], len(found["anees"]), found["left_out"]) == (RUNS, 57, 3)
    exact = read(folder / "truth" / "walk.tum")
    every = []
    for seed in range(RUNS):
        each = read(folder / "good" / "walk" / f"{seed}.square")[:57]
        every.append(nees(each.position - exact.position[:57], each.position_covariance))
    assert found["anees"] == pytest.approx((np.mean(every, axis=0) / 3).tolist(), rel=1e-6)
    text = run(capsys, "study", "study.toml", "--workers", "1").out
    assert "good on walk: consistent, ANEES" in " ".join(text.split())


def test_stamps_of_runs_need_not_be_the_same():
    steps = 100 * np.arange(20)
    late, gap = steps[3:] + 30, np.delete(steps - 20, 7)
    stamp, rows, left_out = shared_times([gap, late, steps])
    np.testing.assert_array_equal(stamp, np.delete(steps, [0, 1, 2, 7]))
    assert left_out == 4
    for each, row, shift in zip((gap, late, steps), rows, (-20, 30, 0), strict=True):
        np.testing.assert_array_equal(each[row], stamp + shift)
    nowhere, _, left_out = shared_times([steps, steps + 5000])
    assert (len(nowhere), left_out) == (0, 20)


def test_after_a_fit_the_band_is_not_held_against_anybody(capsys, folder):
    planned(folder, PLAN.format(gauge="se3"))
    text = " ".join(run(capsys, "study", "study.toml", "--workers", "1").out.split())
    assert "good on walk: cannot tell, ANEES" in text
    assert "after a fit the band does not hold" in text
