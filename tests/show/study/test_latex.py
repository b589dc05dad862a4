"""LaTeX, by itself and inside a paper, compiled where there is a compiler."""

import shutil

import pytest

from smfeval.compare.duels import Column, StudySection
from smfeval.show.render import escape_latex
from smfeval.show.study.formats import latex_text as text
from smfeval.studies.result import Study
from support.study_results import cell, number, plan, study
from support.tex import assert_cells_as_in_heads, compiled

PAPER = r"""\documentclass{article}
\usepackage{booktabs}
\begin{document}
before
\input{tables}
after
\end{document}
"""


def test_it_compiles_by_itself_and_nothing_sticks_out(tmp_path):
    log, words = compiled(tmp_path, text(study()))
    assert "Overfull" not in log
    assert "Missing character" not in log
    if words is not None:
        assert "[2600, 1.60" in words
        assert "no value on any track" in words


def test_a_paper_can_read_it(tmp_path):
    if not shutil.which("pdflatex"):
        pytest.skip("no pdflatex on this machine")
    (tmp_path / "tables.tex").write_text(text(study()), encoding="utf-8")
    _, words = compiled(tmp_path, PAPER)
    if words is not None:
        assert words.index("before") < words.index("after")
        assert "nightly: 4 estimators" in words


NASTY = (
    r"\input{secret}", "[z]", "*b", "%", "$x^2$", "a_b", "#1", "~", "{", "}", "&", "<>|`\"'",
    "--- --", "Zoë Ångström ß", "\N{GREEK SMALL LETTER SIGMA}-Filter 中 🤖", "a\nb\tc",
    "\\\\", "^^41",
)  # fmt: skip


def nasty():
    cells = tuple(cell(name, number(1.0, 0.5, 2.0), (1.0,) * 3, best=True) for name in NASTY)
    table = StudySection("g", False, 3, (Column("mae", cells, (), None),), (), NASTY)
    return Study(plan(NASTY), (), (), (table,), (), NASTY)


def test_no_name_is_a_command(tmp_path):
    log, words = compiled(tmp_path, text(nasty()))
    assert "Missing character" not in log
    if words is not None:
        words = words.replace("ˆ", "^").replace("˜", "~")  # noqa: RUF001  accents without letters
        for name in (r"\input{secret}", "[z]", "*b", "$x^2$", "#1", "<>|", "--- --", "^^41"):
            assert f"note {name}" in words
        assert "note U+03C3-Filter U+4E2D U+1F916" in words


def test_many_tables_are_not_too_many(tmp_path):
    many = tuple(
        StudySection(f"group {at}", False, 3, nasty().sections[0].columns, ()) for at in range(70)
    )
    compiled(tmp_path, text(Study(plan(NASTY), (), (), many, ())))


def test_wide_values_beside_wide_intervals_of_other_rows_do_not_stick_out(tmp_path):
    far = (number(9e4), number(10.0, 1.9, 3.6e3), number(970.0, 80.0, 4.2e7))
    cells = tuple(cell(name, each, (1.0,) * 3) for name, each in zip("ABC", far, strict=True))
    columns = tuple(Column(f"metric {at}", cells, (), None) for at in range(9))
    many = Study(plan("ABC"), (), (), (StudySection("g", False, 3, columns, ()),), ())
    log, _ = compiled(tmp_path, text(many))
    assert "Overfull" not in log


def test_intervals_stand_in_columns_of_their_own():
    lines = text(study()).splitlines()
    row = next(line for line in lines if line.startswith(r"fast\_lio2 & $5600"))
    assert row == r"fast\_lio2 & $5600$ & $[2600, 1.60 \times 10^{4}]$ \\"
    assert r"fast\_lio2 & \textbf{\boldmath$4.12$} & $[3.98, 4.31]$ \\" in lines
    assert any(r"$1250$\rlap{\textsuperscript{d}} &" in line for line in lines)


def test_every_row_has_as_many_cells_as_its_head():
    assert_cells_as_in_heads(text(study()), fewest=3)


def test_signs_with_a_meaning_are_written_out():
    assert escape_latex(r"a_b&c%d#e$f{g}") == r"a\_b\&c\%d\#e\$f\{g\}"
    assert escape_latex("~^\\") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}"
    assert escape_latex("a-b--c---d") == "a-b-{}-c-{}-{}-d"
    assert escape_latex("é 中") == r"é \texttt{U+4E2D}"
