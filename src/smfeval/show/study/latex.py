r"""Tables in LaTeX: booktabs, intervals aligned in columns of their own.

The file can be read by a paper that loads booktabs (``\input``), and compiles by itself.
"""

from typing import Any

from smfeval.show.render import render_latex
from smfeval.show.report import Row
from smfeval.show.study.layout import (
    Grid,
    NumberStyle,
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
    return {
        "grid": grid,
        "blocks": grid.blocks(PRINTED, limit=WIDTH),
        "footnotes": grid.marked,
        "remarks": [Row(grid.title, ""), *grid.remarks] if grid.remarks else [],
    }
