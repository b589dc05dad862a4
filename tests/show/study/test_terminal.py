"""Plain text, for a terminal or a pipe."""

import re
from dataclasses import replace
from io import StringIO

from rich.console import Console

from smfeval.compare.duels import Column, StudySection
from smfeval.show.study.layout import column_blocks
from smfeval.show.study.terminal import text
from smfeval.show.terminal import render_study
from smfeval.studies.result import Study
from support.study_results import PLAIN, cell, k, mae, number, plan, study


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

Best by MAE: A (median 4.12 cm), not separated from B and D.

oxford (3 tracks)
  estimator  MAE                 k
             cm
  A          4.12* [3.98, 4.31]  5600  [2600, 1.60e4]
  B          6.23* [4.01, 11.7]  1.31* [0.920, 2.04]
  C (a)         -                   -
  D (b,c)    1250* (d)            inf  (e)
  (a)   no value on any track
  (b)   lost on 1 of 2 tracks: keble_02 (mean error above 5 m)
  (c)   2 of 3 tracks
  (d)   tracks: 2; an interval needs 6
  (e)   an end is not finite
  note  a note

[]  median over tracks, its 95 % CI in brackets; a consistent estimator has k 1 and coverage 90 %
*   the best contender and all that are not significantly worse, by a test over tracks
"""
    )


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
        shown = f"6.23  ({mark})" if brief else f"6.23  [4.01, 11.7] ({mark})"
        assert any(line.endswith(shown) for line in lines)
    console = Console(file=StringIO(), width=200)
    console.print(render_study(other))
    rich = console.file.getvalue()
    assert re.search(rf"6\.23 +\({mark}\)", rich)
    assert f"({mark})  {FEW}" in rich


def test_the_brief_text_is_one_table_and_counts_what_it_leaves_out():
    brief = text(study(), brief=True)
    assert len(brief.splitlines()) < len(text(study()).splitlines()) / 2
    assert brief.count("fast_lio2  ") == 2  # blocks of one table
    assert "-v has all metrics, ranks, tests, converged tracks, pairs and 1 note" in brief
    assert f"pairs   median k_pair (1 if consistent): {PLAIN} | " in brief


def quiet(metric):
    return replace(mae(), metric=metric, notes=(), duels=(), ranks=None)
