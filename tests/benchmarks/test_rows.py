import json
from dataclasses import replace

import numpy as np
import pytest
from suite.checks import ends_apart, rmse_of_evo, same_rmse
from suite.cost import Command, Cost, Run, again
from suite.race import rows_of
from suite.report import BEGIN, END, between_marks
from suite.rows import Agreement, Answer, Goal, Pairing, Question, Row, alike, disagreements
from suite.words import cells, goals, ratio_words

EVO_TEXT = "APE w.r.t. translation part (m)\n\n       max\t0.124469\n      rmse\t0.051064\n"
QUESTION = Question("made", "", lambda _: (), (Pairing("a", "b", goal=Goal(5.0, 1_000)),))


def row(ours_s: float, peer_s: float | None, goal: float | None = None) -> Row:
    peer = None if peer_s is None else Cost(peer_s, 100.0)
    return Row(
        "made", 1_000, "a", "b", Cost(ours_s, 50.0), peer, Goal(goal, 1_000) if goal else None
    )


def run(cpu_s: float, out: str = "") -> Run:
    return Run(Cost(cpu_s, 50.0), out, cpu_s)


def test_the_ratio_is_the_peers_cpu_over_ours():
    assert row(0.5, 4.0).ratio == 8.0
    assert row(0.5, None).ratio is None


def test_a_goal_is_met_or_missed_or_not_measured():
    assert row(1.0, 5.0, goal=5.0).met is True
    assert row(1.0, 4.9, goal=5.0).met is False
    assert row(1.0, None, goal=5.0).met is None
    assert row(1.0, 5.0).met is None


def test_a_ratio_below_one_is_said_as_more():
    assert ratio_words(5.25) == "5.25 x less"
    assert ratio_words(0.5) == "2 x more"
    assert ratio_words(1_234.5) == "1,234 x less"


def test_a_difference_that_is_no_number_does_not_agree():
    assert Agreement("x", 1e-10, 1e-9).holds
    assert not Agreement("x", 2e-9, 1e-9).holds
    assert not alike("x", float("nan"), 1.0, 1.0).holds


def test_differences_are_relative():
    assert alike("x", 1.0e6, 1.0e6 + 1.0, 1.0).difference == pytest.approx(1e-6, rel=1e-5)
    assert alike("x", 0.0, 0.0, 0.0).holds


def test_the_rmse_of_evo_is_read_from_its_text_with_the_rounding_and_from_its_file_without():
    value, rounded = rmse_of_evo(EVO_TEXT)
    assert (value, rounded) == (0.051064, pytest.approx(5e-7))
    assert rmse_of_evo('{"rmse": 0.05106443857348662, "mean": 1.0}') == (0.05106443857348662, 0.0)


def test_a_wrong_rmse_is_found_in_text_and_file():
    ours = 0.05106443857348662
    assert same_rmse(ours, EVO_TEXT)[0].holds
    assert not same_rmse(ours + 1e-6, EVO_TEXT)[0].holds
    assert not same_rmse(ours * (1 + 1e-8), json.dumps({"rmse": ours}))[0].holds


def test_ends_may_differ_by_the_chance_of_the_replicates_only():
    rng = np.random.default_rng(0)
    lows = np.quantile(rng.normal(size=(2, 1_000, 1_000)), 0.025, axis=2)
    chance = np.std(lows[0] - lows[1]) / (2 * 1.959964)  # in widths
    ends = {"low": 0.0, "high": 1.0, "replicates": 1_000}
    (same,) = ends_apart(json.dumps(ends), json.dumps(ends))
    assert same.difference == 0.0
    assert same.limit == pytest.approx(5 * chance, rel=0.1)
    (apart,) = ends_apart(json.dumps(ends | {"high": 1.3}), json.dumps(ends))
    assert apart.difference == pytest.approx(0.3)
    assert not apart.holds


def test_a_command_runs_again_until_its_budget_or_its_rounds_are_used():
    plain, inside = Command("a", ("a",)), Command("a", ("a",), inside=True)
    assert again(plain, [])
    assert again(plain, [run(4.0)])
    assert not again(plain, [run(30.0)])
    assert again(plain, [run(0.1)] * 5)
    assert not again(plain, [run(0.1)] * 6)
    assert not again(inside, [run(0.1)] * 2)


def test_a_peer_that_was_not_run_leaves_its_cost_open_and_says_why():
    (left,) = rows_of(QUESTION, 1_000, {"a": run(1.0)}, {"b": "about 7 min"})
    assert (left.peer_cost, left.note, left.met) == (None, "about 7 min", None)
    assert "about 7 min" in cells(left)


def test_a_goal_belongs_to_its_size():
    runs = {"a": run(1.0), "b": run(9.0)}
    (small,), (large,) = (list(rows_of(QUESTION, scans, runs, {})) for scans in (1_000, 10_000))
    assert small.goal is not None
    assert large.goal is None


def test_a_goal_that_was_not_measured_is_listed_all_the_same():
    measured = goals([Answer(QUESTION, (row(1.0, 9.0, goal=5.0),))])
    assert "| 9 x less | met |" in measured
    assert "**missed**" in goals([Answer(QUESTION, (row(1.0, 2.0, goal=5.0),))])
    assert "not measured" in goals([Answer(QUESTION, ())])


def test_a_row_that_disagrees_in_one_number_is_found():
    fine, wrong = Agreement("x", 0.0, 0.0), Agreement("y", 2.0, 1.0)
    rows = tuple(replace(row(1.0, 2.0), agreements=each) for each in ((), (fine,), (fine, wrong)))
    assert disagreements([Answer(QUESTION, rows[:2])]) == []
    assert disagreements([Answer(QUESTION, rows)]) == [rows[2]]


def test_only_what_stands_between_the_marks_is_replaced():
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert between_marks(page, "new\n") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    with pytest.raises(ValueError, match="figures"):
        between_marks("no marks", "new")
