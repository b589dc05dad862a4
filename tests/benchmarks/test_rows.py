import json
from dataclasses import replace

import numpy as np
import pytest
from suite.checks import ends_apart, rmse_of_evo, same_rmse
from suite.cost import Command, Cost, Run, again, environment, measured
from suite.race import answered, rows_of
from suite.report import BEGIN, END, between_marks
from suite.rows import (
    CORES,
    CPU,
    PEAK,
    SIZE,
    WALL,
    Agreement,
    Answer,
    Goal,
    Limit,
    Pairing,
    Question,
    Rate,
    Row,
    alike,
    disagreements,
)
from suite.words import cells, goal_words, goals, growth, head, ratio_words, section

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


def test_a_limit_is_of_our_number_alone_of_each_task_or_beyond_the_peers():
    plain, each, more = Limit(0.16, 1_000), Limit(0.06, 1_000, 30), Limit(0.045, 1_000, 1, True)
    assert replace(row(0.16, 1.0), goal=plain).met is True
    assert replace(row(0.17, 1.0), goal=plain).met is False
    assert replace(row(1.7, 1.0), goal=each).met is True
    assert replace(row(0.105, 0.065), goal=more).met is True
    assert replace(row(0.115, 0.065), goal=more).met is False
    assert [goal_words(one) for one in (plain, each, more)] == [
        "at most 160 ms", "at most 60 ms a task", "at most 45 ms more"
    ]  # fmt: skip
    assert goal_words(Limit(700.0, 1_000), PEAK) == "at most 700 MB"


def test_the_growth_of_our_commands_is_a_goal():
    costs = {"a": {n: Cost(0.1 + 1e-6 * n**1.2, 50.0) for n in (100, 10_000, 1_000_000)}}
    asked = replace(QUESTION, pairings=(), grows=("a",))
    assert "| n^1.20 | **missed** |" in goals([Answer(asked, (), costs)])


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
    assert again(plain, [run(0.1)] * 4)
    assert not again(plain, [run(0.1)] * 5)
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


BOTH = replace(
    QUESTION,
    pairings=(Pairing("a", "b"), Pairing("a", "a", goal=Goal(2.0, 1_000), measure=CORES)),
)
TWICE = Cost(3.0, 50.0, wall_s=1.2, written_mb=0.5)


@pytest.mark.parametrize(
    ("measure", "ratio"), [(CPU, 2.0), (WALL, 4.0), (CORES, 6.0 / 1.2), (SIZE, 3.0)]
)
def test_a_row_compares_what_its_measure_names(measure, ratio):
    peer = Cost(6.0, 70.0, wall_s=4.8, written_mb=1.5)
    found = Row("made", 1_000, "a", "b", TWICE, peer, Goal(4.5, 1_000), measure=measure)
    assert found.ratio == pytest.approx(ratio)
    assert found.met is (ratio >= 4.5)


def test_what_was_not_told_has_no_ratio():
    assert replace(row(1.0, 2.0), measure=WALL).ratio is None
    assert replace(row(1.0, None), measure=SIZE).ratio is None


def test_wall_against_cpu_of_one_command_is_a_row_and_a_goal_of_its_own():
    runs = {"a": Run(TWICE, "", 3.0), "b": run(1.0)}
    rows = tuple(rows_of(BOTH, 1_000, runs, {}))
    assert [each.ratio for each in rows] == [pytest.approx(1 / 3), pytest.approx(2.5)]
    answer = Answer(BOTH, rows)
    assert "| wall against CPU | at least 2 x less | 2.5 x less | met |" in goals([answer])
    cpu, cores = section(answer).split("\n\n", 2)[2].split("\n\n")
    assert cpu.count("\n") == 2  # a head, a line below it and one row, without the last line end
    assert "| 1,000 | `a` | 1.2 | `a` | 3 | 2.5 x less |" in cores


@pytest.mark.parametrize("measure", [CPU, WALL, CORES, SIZE])
@pytest.mark.parametrize("rate", [None, Rate("scans a second", lambda scans, s: scans / s)])
def test_every_cell_has_its_head(measure, rate):
    found = replace(row(1.0, 2.0), measure=measure)
    assert len(cells(found, rate)) == len(head(measure, rate))


def test_a_rate_is_of_our_own_number():
    rate = Rate("scans a second", lambda scans, seconds: scans / seconds)
    by_head = dict(zip(head(CPU, rate), cells(row(0.5, 3.0), rate), strict=False))
    assert by_head["scans a second"] == "2,000"
    assert "" in cells(replace(row(0.5, 3.0), measure=WALL), rate)


def test_a_question_that_cannot_be_asked_says_why_and_leaves_its_goals_unmeasured(tmp_path):
    lacking = replace(QUESTION, lacks=lambda: "no chromium")
    answer = answered(lacking, 10_000, lambda _: pytest.fail("no files are needed"), tmp_path)
    assert "Not run: no chromium." in section(answer)
    assert "not measured" in goals([answer])
    assert growth([answer]).count("\n") == 2


def test_work_without_a_start_up_grows_by_its_own_costs():
    costs = {"a": {150: Cost(1.0, 50.0), 300: Cost(4.0, 60.0)}}
    assert "| `a` |  | n^2.00 |  |  |" in growth([Answer(QUESTION, (), costs)])


def test_wall_time_and_size_grow_too_where_they_are_compared():
    sized = replace(QUESTION, pairings=(Pairing("a", "b", measure=SIZE),))
    costs = {
        scans: Cost(1.0, 50.0, written_mb=0.7 + 1e-5 * max(scans - 100, 0))
        for scans in (100, 100_100, 1_000_100)
    }
    assert "| size n^1.00 |" in growth([Answer(sized, (), {"a": costs})])
    assert "size" not in growth([Answer(QUESTION, (), {"a": costs})])


def test_a_script_may_tell_its_own_wall_time_and_a_command_the_size_of_what_it_writes(tmp_path):
    told = ("sh", "-c", """echo '{"cpu_s": 2.5, "wall_s": 1.5}'""")
    inside = measured(Command("a", told, inside=True), tmp_path).cost
    assert (inside.cpu_s, inside.wall_s, inside.written_mb) == (2.5, 1.5, None)
    untold = ("sh", "-c", """echo '{"cpu_s": 2.5}'""")
    assert measured(Command("a", untold, inside=True), tmp_path).cost.wall_s is None
    page = tmp_path / "page"
    writes = Command("a", ("sh", "-c", f"printf 12345 > {page}"), writes=str(page))
    assert measured(writes, tmp_path).cost.written_mb == pytest.approx(5e-6)


def test_commands_keep_their_bytecode_and_know_no_settings_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/made")
    found = environment(tmp_path)
    assert not {"PYTHONDONTWRITEBYTECODE", "XDG_CONFIG_HOME"} & set(found)
