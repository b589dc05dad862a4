r"""Tables in LaTeX: booktabs, intervals aligned in columns of their own.

The file can be read by a paper that loads booktabs (``\input``), and compiles by itself.
"""

from typing import Any

from smfeval.show.render import render_latex
from smfeval.show.study.digits import NumberStyle
from smfeval.show.study.layout import Grid, TableCell, column_blocks, grids
from smfeval.show.study.remarks import BEST_MEANING, Remark, meaning, study_remarks, study_title
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
        remarks=[Remark("study", study_title(study)), *study_remarks(study)],
    )


def _table(grid: Grid) -> dict[str, Any]:
    """A grid with its columns in blocks that a page is wide enough for."""
    facts = [len(fact) + APART for fact in grid.facts]
    name = max((len(str(row)) + len(row.marks) for row in grid.rows), default=0)
    blocks = column_blocks(name, facts + _widths(grid), limit=WIDTH)
    return {
        "grid": grid,
        "blocks": [
            {
                "facts": [grid.facts[at] for at in block if at < len(facts)],
                "columns": [at - len(facts) for at in block if at >= len(facts)],
            }
            for block in blocks
        ],
        "footnotes": [Remark(f"({mark})", sentence) for mark, sentence in grid.footnotes],
        "remarks": [Remark(grid.title, ""), *grid.remarks] if grid.remarks else [],
    }


def _widths(grid: Grid) -> list[int]:
    """Characters that each column of numbers takes, about."""
    return [
        APART + max(len(str(head)), _width([row.cells[at] for row in grid.rows]))
        for at, head in enumerate(grid.columns)
    ]


def _width(cells: list[TableCell]) -> int:
    """Of the values and, beside them, of the intervals with their marks."""
    values = max((len(cell.value_in(PRINTED)) for cell in cells), default=0)
    behind = max((len(cell.interval_in(PRINTED)) + len(cell.marks) for cell in cells), default=0)
    return values + 1 + behind
