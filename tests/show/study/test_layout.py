"""What is shown, before any format."""

from dataclasses import replace

import pytest

from smfeval.compare.duels import Column, StudySection
from smfeval.show.study.layout import SAME_NOTE, Digits, grids
from smfeval.show.study.remarks import footnote_letter
from smfeval.show.study.terminal import STYLE
from smfeval.studies.result import Study
from support.study_results import (
    BASE,
    LOST,
    ODD,
    PLAIN,
    cell,
    k,
    mae,
    number,
    pair_section,
    plan,
    section,
    study,
)


def made(*sections, pairs=()):
    return Study(plan(), (), (), sections, pairs)


def one(*columns, tracks=3):
    (grid,) = grids(made(StudySection("g", False, tracks, columns, ())))
    return grid


def test_a_column_of_lengths_has_one_unit_that_suits_its_middle_number():
    def unit(*metres):
        cells = tuple(cell(str(at), number(each), (each,) * 3) for at, each in enumerate(metres))
        grid = one(Column("mae", cells, (), None))
        return grid.columns[0].unit, [row.cells[0].value.text for row in grid.rows]

    assert unit(0.0012, 0.0034, 0.05) == ("mm", ["1.20", "3.40", "50.0"])
    assert unit(0.012, 0.034, 0.5) == ("cm", ["1.20", "3.40", "50.0"])
    assert unit(0.12, 1.2, 3.4, 50.0) == ("m", ["0.120", "1.20", "3.40", "50.0"])
    assert unit(1e-6) == ("mm", ["1.00"])
    assert unit(0.0) == ("m", ["0"])


def test_a_metric_has_the_same_unit_in_all_tables():
    far = Column("mae", (cell(PLAIN, number(30.0), (30.0,) * 3),), (), None)
    first, second = grids(made(section(), StudySection("far", False, 3, (far,), ())))
    assert first.columns[0].unit == second.columns[0].unit == "cm"


def test_coverage_is_shown_in_percent_and_a_pure_number_without_unit():
    grid = grids(study())[0]
    assert [str(head) for head in grid.columns] == ["MAE (cm)", "k", "90 % coverage (%)"]
    shown = grid.rows[1].cells[2]
    assert (shown.value, shown.low, shown.high) == (Digits("89.7"), Digits("87.3"), Digits("93.1"))
    assert shown.number.value == 0.897


def test_rows_are_in_the_order_of_the_plan_and_a_baseline_is_never_bold():
    grid = grids(study())[0]
    assert [row.baseline for row in grid.rows] == [False, False, False, True]
    assert mae().cells[3].best
    assert [row.cells[0].bold for row in grid.rows] == [True, True, False, False]
    assert [row.cells[1].bold for row in grid.rows] == [False, True, False, False]
    assert str(grid.rows[3]) == f"{BASE} (baseline)"


def test_a_missing_value_is_a_dash_with_a_footnote():
    grid = grids(study())[0]
    lost = grid.rows[2]
    assert all(each.value is None and not each.marks for each in lost.cells)
    assert dict(grid.footnotes)[lost.marks[0]] == "no value on any track"
    assert grid.rows[3].cells[2].marks == lost.marks


def test_other_numbers_of_tracks_than_the_table_has_are_told_once_for_a_row():
    grid = grids(study())[0]
    notes = dict(grid.footnotes)
    lost = "lost on 1 of 2 tracks: keble_02 (mean error above 5 m)"
    assert [notes[mark] for mark in grid.rows[3].marks] == [lost, "2 of 3 tracks"]
    assert [notes[mark] for mark in grid.rows[3].cells[0].marks] == [
        "tracks: 2; an interval needs 6"
    ]
    assert grid.rows[0].marks == ()


def test_what_holds_for_every_cell_is_a_remark_below_the_table():
    few = "one track; no interval"
    cells = tuple(cell(name, number(1.0, reason=few), (1.0,)) for name in (PLAIN, ODD))
    grid = one(Column("mae", cells, (), None), Column("rmse", cells, (), None), tracks=1)
    assert grid.footnotes == ()
    assert [(each.label, each.text) for each in grid.remarks] == [("note", few)]


def test_not_a_number_is_no_value_and_infinity_is_one():
    cells = (cell(PLAIN, number(float("nan")), (1.0,) * 3), cell(ODD, number(float("inf")), ()))
    grid = one(Column("mae", cells, (), None), tracks=0)
    assert grid.rows[0].cells[0].value is None
    assert grid.rows[1].cells[0].value == Digits("inf")


def test_an_estimator_that_one_column_lacks_has_a_dash_there():
    short = replace(k(), cells=k().cells[:1])
    grid = one(mae(), short)
    assert len(grid.rows) == 4
    assert [row.cells[1].value is None for row in grid.rows] == [False, True, True, True]


def test_a_table_that_converged_tracks_leave_as_it_was_is_told_once():
    same = replace(section(), converged_only=True)
    (grid,) = grids(made(section(), same))
    assert SAME_NOTE in [each.text for each in grid.remarks]
    assert len(grids(made(section(), section(converged_only=True)))) == 2
    assert len(grids(made(same))) == 1


def test_what_a_terminal_would_obey_is_spelled_out():
    grid = grids(study())[0]
    assert grid.rows[2].name == r"never\x1b[31m runs\n"
    assert LOST.isprintable() is False


def test_pairs_come_last_and_have_no_baselines():
    *_, grid = grids(made(section(), pairs=(pair_section(),)))
    assert (grid.of, grid.rows[0].name) == ("pair", f"{PLAIN} | {ODD}")


@pytest.mark.parametrize(("index", "expected"), [(0, "a"), (25, "z"), (26, "aa"), (53, "bb")])
def test_footnotes_never_run_out_of_letters(index, expected):
    assert footnote_letter(index) == expected


def test_columns_that_stand_side_by_side_fit():
    grid = grids(study())[0]
    assert grid.blocks(STYLE, limit=10_000) == [[0, 1, 2]]
    assert grid.blocks(STYLE, limit=len(ODD) + 50) == [[0, 1], [2]]
    assert grid.blocks(STYLE, limit=10) == [[0], [1], [2]]
