"""Markdown, read back by a parser of CommonMark."""

from markdown_it import MarkdownIt

from smfeval.show.render import escape_markdown
from smfeval.show.study.formats import markdown_text as text
from smfeval.words import printable
from support.study_results import BASE, ODD, PLAIN, study


def tables(source):
    """Cells as (text, bold) by table and row, and what stands outside of tables."""
    found, outside, inside = [], [], False
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(source):
        if token.type == "table_open":
            found.append([])
            inside = True
        elif token.type == "table_close":
            inside = False
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline":
            shown = "".join(c.content for c in token.children if c.type in ("text", "text_special"))
            bold = any(child.type == "strong_open" for child in token.children)
            (found[-1][-1] if inside else outside).append((shown, bold))
    return found, outside


def test_tables_are_read_back_with_every_name_as_it_is():
    (first, second, pairs), _ = tables(text(study()))
    assert [cell for cell, _ in first[0]] == [
        "estimator", "MAE (cm)", "k", "90 % coverage (%)", "verdicts",
    ]  # fmt: skip
    assert [row[0][0] for row in first[1:]] == [
        PLAIN, ODD, r"never\x1b[31m runs\n a", f"{BASE} (baseline) b,c",
    ]  # fmt: skip
    assert len(second) == 5
    assert pairs[1][0][0] == f"{PLAIN} | {ODD}"


def test_numbers_are_in_the_style_of_a_paper_and_the_best_are_bold():
    (first, *_), _ = tables(text(study()))
    assert first[1][1:] == [
        ("4.12 [3.98, 4.31]", True),
        ("5600 [2600, 1.60 × 10⁴]", False),  # noqa: RUF001
        ("4.20 [0, 9.10]", False),
        ("4 calibrated", False),
    ]
    assert first[2][2] == ("1.31 [0.920, 2.04]", True)
    assert first[4][1:4] == [("1250 d", False), ("∞ e", False), ("- a", False)]
    assert "**4.12** [3.98, 4.31]" in text(study())


def test_footnotes_remarks_and_failures_stand_below():
    _, outside = tables(text(study()))
    said = [shown for shown, _ in outside]
    assert "(c) 2 of 3 tracks" in said
    assert f"failed {BASE}, oxford/a|b: no <file>" in said
    assert any(f"{ODD} and {PLAIN}: about 14 further tracks" in each for each in said)


def test_every_printable_sign_survives():
    signs = "".join(map(chr, range(33, 127)))
    for name in (signs, *(f"a{sign}b{sign}c" for sign in signs), "~~x~~", "1. x", printable("\t")):
        ((_, row),), _ = tables(f"| head |\n| --- |\n| {escape_markdown(name)} |\n")
        assert row == [(name, False)]
