r"""The table of formats that a study is written in; Markdown and LaTeX have no module of their own.

A file of LaTeX can be read by a paper that loads booktabs (``\input``), and compiles by itself.
"""

from collections.abc import Callable

from smfeval.dataclass import dataclass
from smfeval.show.render import escape_markdown, render_latex
from smfeval.show.report import Row
from smfeval.show.study import csv, document, terminal
from smfeval.show.study.layout import Grid, NumberStyle, grids
from smfeval.show.study.remarks import (
    BEST_MEANING,
    answer_text,
    meaning,
    study_remarks,
    study_title,
)
from smfeval.studies.result import Study

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MARKDOWN = NumberStyle(
    power=lambda exponent: (
        f" \N{MULTIPLICATION SIGN} 10{str(exponent).translate(SUPERSCRIPTS)}" if exponent else ""
    ),
    infinity="∞",
)
LATEX = NumberStyle(power=lambda exponent: f" x 10{exponent}" if exponent else "", infinity="8")
LATEX_WIDTH = 80  # characters of \footnotesize in a line of `article`


def markdown_text(study: Study) -> str:
    """A heading for the study, one for each table, and lists of what is to be said."""
    tables = grids(study)
    bold = f" Bold: {escape_markdown(BEST_MEANING)}." if any(grid.bold for grid in tables) else ""
    parts = [
        f"## {escape_markdown(study_title(study))}",
        escape_markdown(answer_text(study)),
        f"{escape_markdown(meaning(study).capitalize())}.{bold}",
        *(_markdown_table(grid) for grid in tables),
        _markdown_list(study_remarks(study)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_table(grid: Grid) -> str:
    """One grid under its heading."""
    titles = [f"{escape_markdown(str(head))}{_superscript(head.marks)}" for head in grid.columns]
    heads = [grid.of, *titles, *(["verdicts"] if grid.has_verdicts else [])]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for row in grid.rows:
        cells = [f"{escape_markdown(str(row))}{_superscript(row.marks)}"]
        for cell in row.cells:
            value, interval = cell.value_in(MARKDOWN), cell.interval_in(MARKDOWN)
            value = f"**{value}**" if cell.bold else value
            cells.append(f"{value} {interval}".strip() + _superscript(cell.marks))
        lines.append([*cells, *([row.verdicts] if grid.has_verdicts else [])])
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    parts = [f"### {escape_markdown(grid.title)}", body, _markdown_list(grid.remarks_below)]
    return "\n\n".join(part for part in parts if part)


def _markdown_list(remarks: tuple[Row, ...]) -> str:
    return "\n".join(f"- *{each.label}* {escape_markdown(each.text)}" for each in remarks)


def _superscript(marks: tuple[str, ...]) -> str:
    return f" <sup>{','.join(marks)}</sup>" if marks else ""


def latex_text(study: Study) -> str:
    """One float for each grid (booktabs, intervals in columns of their own), then the remarks.

    The columns of a grid are in blocks that a page is wide enough for.
    """
    tables = [
        {
            "grid": grid,
            "blocks": grid.blocks(LATEX, limit=LATEX_WIDTH),
            "footnotes": grid.marked,
            "remarks": [Row(grid.title, ""), *grid.remarks] if grid.remarks else [],
        }
        for grid in grids(study)
    ]
    return render_latex(
        "study.tex",
        tables=tables,
        meaning=meaning(study),
        best=BEST_MEANING,
        remarks=[Row("study", study_title(study)), *study_remarks(study)],
    )


@dataclass(frozen=True)
class StudyFormat:
    """How a study is written, and the ending of such a file."""

    suffix: str
    text: Callable[[Study], str]


FORMATS = {
    "terminal": StudyFormat(".txt", terminal.text),
    "markdown": StudyFormat(".md", markdown_text),
    "csv": StudyFormat(".csv", csv.text),
    "json": StudyFormat(".json", document.text),
    "latex": StudyFormat(".tex", latex_text),
}
