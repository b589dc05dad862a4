"""Plain text, for a terminal or a pipe."""

import re
from dataclasses import replace
from io import StringIO

from rich.console import Console

from smfeval.compare.duels import Column, StudySection
from smfeval.show.study.layout import column_blocks
from smfeval.show.study.terminal import BOLD, NORMAL, text
from smfeval.show.terminal import render_study
from smfeval.studies.result import Study
from support.study_results import cell, k, mae, number, plan, study


def small():
    def named(column):
        names = iter("ABCD")
        return replace(column, cells=tuple(replace(c, estimator=next(names)) for c in column.cells))

    columns = tuple(replace(named(each), duels=(), ranks=None, notes=()) for each in (mae(), k()))
    diverged = (("A", 0, 3), ("B", 1, 3), ("C", 0, 0), ("D", 1, 2))
    table = StudySection("oxford", False, 3, columns, diverged, ("a note",))
    return Study(plan("ABCD"), (), (), (table,), ())


def test_a_small_study_reads_like_this():
    assert (
        text(small())
        == """\
nightly: 4 estimators, 3 tracks, 0 runs

oxford (3 tracks)
  estimator   diverged   MAE (cm)             k
  A             0 of 3      4.1* [4.0, 4.3]   5.6e3  [2.6, 16]e3
  B             1 of 3      6.2* [4.0, 12]      1.3* [0.92, 2.0]
  C (a)         0 of 0        -                   -
  D (b)         1 of 2   1.25e3* (c)            inf  (d)
  (a)   no value on any track
  (b)   2 of 3 tracks
  (c)   tracks: 2; an interval needs 6
  (d)   an end is not finite
  note  a note

[]  median over tracks, its 95 % interval in brackets
*   the best contender and all that are not significantly worse, by a test over tracks
"""
    )


def test_colour_adds_bold_to_the_starred_numbers_and_changes_nothing_else():
    plain, coloured = text(study()), text(study(), colour=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[01]m", "", coloured) == plain
    bold = re.findall(re.escape(BOLD) + r"(.*?)" + re.escape(NORMAL), coloured)
    assert bold == ["4.1*", "6.2*", "1.3*", "90*", "4.1*", "5.12*", "1.3*", "90*"]


def wide(metrics=9):
    def column(at):
        numbers = [number(1234.5 * at, 1000.0 * at, 2000.0 * at) for _ in range(3)]
        cells = tuple(cell(n, each, (1.0,) * 3) for n, each in zip("ABC", numbers, strict=True))
        return Column(f"metric_{at}", cells, (), None, ("a long note, " * 30,))

    columns = tuple(column(at) for at in range(1, metrics + 1))
    table = StudySection("g", False, 3, columns, (("A", 0, 3),))
    return Study(plan("ABC"), (), (), (table,), ())


def test_a_wide_table_is_broken_into_blocks_and_nothing_is_lost():
    for width in (60, 80, 110):
        lines = text(wide(), width=width).splitlines()
        assert max(map(len, lines)) <= width
        heads = [line for line in lines if line.lstrip().startswith("estimator")]
        assert len(heads) > 1
        assert [f"metric_{at}" for at in range(1, 10)] == re.findall(r"metric_\d", " ".join(heads))
        assert sum(line.startswith("  A ") for line in lines) == len(heads)


def test_columns_are_aligned_in_every_block():
    for block in text(wide()).split("\n\n")[1:-1]:
        rows = [line for line in block.splitlines() if line.startswith(("  A ", "  B ", "  C "))]
        assert len({tuple(m.start() for m in re.finditer(r"\[", row)) for row in rows}) == 1


def test_blocks_hold_every_column_once_even_one_that_is_too_wide():
    assert column_blocks(10, [20, 20, 90, 20], limit=50) == [[0, 1], [2], [3]]
    assert column_blocks(10, [], limit=50) == []


def test_a_study_without_tables_still_says_what_it_is():
    assert text(Study(plan(), (), (), (), ())).startswith("nightly: 4 estimators, 3 tracks, 0 runs")


def test_the_brief_text_has_the_headlines_and_no_tests():
    brief, full = text(study(), brief=True), text(study())
    assert "rank   " in full
    assert "rank   " not in brief
    assert "power  " not in brief
    assert "failed" in brief
    assert "MAE" in brief


def test_the_brief_text_leaves_out_what_is_no_headline():
    other = replace(
        small(), sections=(replace(small().sections[0], columns=(quiet("mae"), quiet("rmse"))),)
    )
    assert "RMSE" in text(other)
    assert "RMSE" not in text(other, brief=True)


FEW = "not tested against the best: shared tracks: 3; 6 that differ are needed"


def test_who_was_not_tested_has_a_footnote_also_in_the_brief_text():
    first, second, *others = quiet("mae").cells
    cells = (first, replace(second, best=False, reason=FEW), *others)
    shown = (quiet("rmse"), replace(quiet("mae"), cells=cells))
    other = replace(small(), sections=(replace(small().sections[0], columns=shown),))
    for brief in (False, True):
        lines = text(other, brief=brief).splitlines()
        (mark,) = re.findall(r"^  \((\w)\) +" + re.escape(FEW), "\n".join(lines), re.M)
        assert any(line.endswith(f"6.2  [4.0, 12] ({mark})") for line in lines)
    console = Console(file=StringIO(), width=200)
    console.print(render_study(other))
    rich = console.file.getvalue()
    assert f"6.2 [4.0, 12] ({mark})" in rich
    assert f"({mark})  {FEW}" in rich


def test_the_brief_text_has_the_notes_on_the_study():
    assert "a note on the study" in text(study(), brief=True)


def quiet(metric):
    return replace(mae(), metric=metric, notes=(), duels=(), ranks=None)
