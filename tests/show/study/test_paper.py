"""The paper's tables in LaTeX: layout, titles and order of the plan, bold by the test."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from smfeval.compare.sensitivity import Alternative
from smfeval.show.study.paper import text
from smfeval.studies.plan import Plan, PlannedEstimator, PlannedTrack, Titles
from smfeval.studies.result import PairResult, Study, TaskResult
from smfeval.studies.tables import pair_sections, sections, sensitivity_sections
from smfeval.summarise.number import Number
from support.tex import assert_cells_as_in_heads, compiled

NAMES = ("b_filter", "a_filter", "kiss")
UNITS = {"mae": "m", "rmse": "m", "energy": "m", "log": "nat", "log_consistency": "nat"} | {
    "log_sharpness": "nat", "nees_median": "1", "k": "1", "coverage_90": "1",
}  # fmt: skip
TRACKS = tuple(f"walk_{at}" for at in range(9))


def made(scale_of_b=2.0, lost=0):
    """B is `scale_of_b` times as wrong as A on each of 9 tracks, 7 in one data set."""
    groups = ["oxford"] * 7 + ["tunnels"] * 2
    plan = Plan(
        "paper",
        Path("somewhere"),
        tuple(PlannedTrack(t, f"{t}.tum", g) for t, g in zip(TRACKS, groups, strict=True)),
        tuple(
            PlannedEstimator(
                each, f"{each}/{{track}}.tum", "baseline" if each == "kiss" else "contender"
            )
            for each in NAMES
        ),
        output=Path("out"),
        ranks_improper=True,
        titles=Titles(
            groups=(("tunnels", "GEODE & more"),),
            estimators=(("a_filter", "A-LIO"), ("kiss", "KISS_ICP")),
        ),
    )
    size = np.random.default_rng(3).uniform(0.5, 1.5, len(TRACKS))
    runs = [
        run(name, track, group, value * (scale_of_b if name == "b_filter" else 1.0), at < lost)
        for name in NAMES
        for at, (track, group, value) in enumerate(zip(TRACKS, groups, size, strict=True))
    ]
    pairs = [
        PairResult(
            "b_filter", "a_filter", group, track, 0, "key", None, 90, "overconfident",
            k_pair=Number(2.56, "1"), k_pair_paper=Number(3.756, "1"),
            k_pair_reference=Number(3.1, "1"), opposed=Number(1.0 if at else 1.5, "1"),
        )
        for at, (track, group) in enumerate(zip(TRACKS, groups, strict=True))
    ]  # fmt: skip
    tables = sections(plan, runs), pair_sections(plan, runs, pairs)
    moved = sensitivity_sections(plan, runs, pairs)
    return Study(plan, tuple(runs), tuple(pairs), *tables, sensitivity=moved)


def run(name, track, group, value, is_lost):
    errors = {"mae": 9.0 if is_lost else 0.01 * value, "rmse": 0.012 * value}
    beliefs = {metric: 2 * value for metric in UNITS if metric not in errors}
    found = errors | ({} if name == "kiss" else beliefs)
    numbers = tuple((metric, Number(each, UNITS[metric])) for metric, each in found.items())
    result = TaskResult(name, group, track, 0, "key", "source", None, 100, 99, None, numbers)
    other = Alternative("association gp", 7.25)
    return result if name == "kiss" else replace(result, alternatives=(other,))


def rows(source, start):
    return [line for line in source.splitlines() if line.startswith(start)]


def test_table_one_has_eleven_columns_with_arrows_and_a_block_for_each_data_set():
    source = text(made())
    counts = assert_cells_as_in_heads(source, fewest=3)
    assert counts[:2] == [11, 6]
    for head in (r"MAE $\downarrow$", r"log $\downarrow$", r"$k$ $\to 1$", r"cov. $\to 90$"):
        assert head in source
    assert source.index(r"\emph{GEODE \& more, n = 2}") < source.index(r"\emph{oxford, n = 7}")


def test_rows_have_the_titles_of_the_plan_in_its_order():
    source = text(made())
    starts = [line.split(" &")[0] for line in source.splitlines() if " & 7 &" in line]
    assert starts == ["A-LIO", r"KISS\_ICP$^\dagger$", r"b\_filter", r"A-LIO / b\_filter"]


def test_bold_is_who_the_test_does_not_separate_from_the_best():
    better, worse = (rows(text(made()), start)[1] for start in ("A-LIO &", r"b\_filter &"))
    assert better.count("textbf") == 6  # MAE, RMSE, energy, log, k, coverage: all that is contested
    assert "textbf" not in worse
    assert "textbf" not in "".join(rows(text(made()), "KISS"))


def test_lost_tracks_are_counted_and_a_second_block_is_without_them():
    source = text(made(lost=1))
    assert r"\emph{oxford, converged, n = 6}" in source
    assert [line.split(" & ")[1] for line in rows(source, "A-LIO &")] == ["2", "7 (1)", "6"]


def test_table_two_has_the_paper_s_k_pair_beside_ours_and_the_share_of_tracks():
    (_, of_pair, *_) = rows(text(made()), "A-LIO / ")
    assert of_pair == r"A-LIO / b\_filter & 7 & $3.76$ & $2.56$ & $3.10$ & 6 of 7 \\"


def test_how_k_moves_and_counts_are_told():
    source = text(made())
    assert rows(source, "continuous reference") == [r"continuous reference & $7.25$ & $7.25$ \\"]
    assert "A-LIO: k above 1 in 9 of 9 runs; 0 of 0 intervals of k above 1" in source


def test_it_compiles_by_itself_and_inside_a_paper(tmp_path):
    log, words = compiled(tmp_path, text(made(lost=1)))
    assert "Overfull" not in log
    if words is not None:
        assert "GEODE & more" in words
    (tmp_path / "tables.tex").write_text(text(made()), encoding="utf-8")
    paper = r"\documentclass[twocolumn]{article}\usepackage{booktabs,graphicx}\begin{document}"
    log, _ = compiled(tmp_path, paper + "before\n\\input{tables}\nafter\\end{document}\n")
    assert "Overfull" not in log


@pytest.mark.parametrize("study", [made(), made(lost=1)])
def test_without_pairs_there_is_no_second_table(study):
    assert "Pairs without" not in text(replace(study, pair_sections=(), sensitivity=()))
