r"""Tables in LaTeX: booktabs, intervals aligned in columns of their own.

The file can be read by a paper that loads booktabs (``\input``), and compiles by itself.
"""

from typing import Any

from smfeval.show.render import render_latex
from smfeval.show.report import Row
from smfeval.show.study.layout import (
    Grid,
    NumberStyle,
    column_blocks,
    grids,
)
from smfeval.show.study.remarks import (
    BEST_MEANING,
    meaning,
    study_remarks,
    study_title,
)
from smfeval.studies.result import Study

WIDTH = 80  # characters of \footnotesize in a line of `article`
APART = 3  # characters that the space between two columns takes

PRINTED = NumberStyle(power=lambda exponent: f" x 10{exponent}" if exponent else "", infinity="8")


def text(study: Study) -> str:
    """One float for each grid, then what is to be said about the whole study."""
    return render_latex(
        "study.tex",
        tables=[_table(grid) for grid in grids(study)],
        meaning=meaning(study),
        best=BEST_MEANING,
        remarks=[Row("study", study_title(study)), *study_remarks(study)],
    )


def _table(grid: Grid) -> dict[str, Any]:
    """A grid with its columns in blocks that a page is wide enough for."""
    name = max((len(str(row)) + len(row.marks) for row in grid.rows), default=0)
    widths = []  # characters that each column takes, about: values, and intervals with marks
    for at, head in enumerate(grid.columns):
        cells = [row.cells[at] for row in grid.rows]
        values = max((len(cell.value_in(PRINTED)) for cell in cells), default=0)
        ends = max((len(cell.interval_in(PRINTED)) + len(cell.marks) for cell in cells), default=0)
        widths.append(APART + max(len(str(head)), values + 1 + ends))
    return {
        "grid": grid,
        "blocks": column_blocks(name, widths, limit=WIDTH),
        "footnotes": grid.marked,
        "remarks": [Row(grid.title, ""), *grid.remarks] if grid.remarks else [],
    }
