r"""Tables in LaTeX: booktabs, intervals aligned in columns of their own.

The file can be read by a paper that loads booktabs (``\input``), and compiles by itself.

The tables of the recipe `paper` are estimators by data set, then pairs by data set: each group of
tracks is a block of columns. An estimator without a covariance has a dash for the energy score and
all that needs one, though the score of its bare poses could be computed.
"""

from dataclasses import dataclass, replace
from typing import Any

from smfeval import words
from smfeval.options import TOLERANCE_S
from smfeval.show.render import render_latex
from smfeval.show.report import Row
from smfeval.show.study.layout import (
    Grid,
    NumberStyle,
    TableCell,
    TableRow,
    column_blocks,
    grids,
    whole_grids,
)
from smfeval.show.study.remarks import (
    BEST_MEANING,
    meaning,
    metric_title,
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
    facts = [len(fact) + APART for fact in grid.facts]
    name = max((len(str(row)) + len(row.marks) for row in grid.rows), default=0)
    widths = []  # characters that each column takes, about: values, and intervals with marks
    for at, head in enumerate(grid.columns):
        cells = [row.cells[at] for row in grid.rows]
        values = max((len(cell.value_in(PRINTED)) for cell in cells), default=0)
        ends = max((len(cell.interval_in(PRINTED)) + len(cell.marks) for cell in cells), default=0)
        widths.append(APART + max(len(str(head)), values + 1 + ends))
    blocks = column_blocks(name, facts + widths, limit=WIDTH)
    return {
        "grid": grid,
        "blocks": [
            {
                "facts": [grid.facts[at] for at in block if at < len(facts)],
                "columns": [at - len(facts) for at in block if at >= len(facts)],
            }
            for block in blocks
        ],
        "footnotes": grid.marked,
        "remarks": [Row(grid.title, ""), *grid.remarks] if grid.remarks else [],
    }


PAPER_METRICS = ("mae", "energy", "log", "k", "coverage_90")
NEEDING_COVARIANCE = ("energy", "log", "k", "coverage_90")
PAIR_METRICS = ("k_pair",)


@dataclass(frozen=True)
class Block:
    """The columns of one group of tracks."""

    group: str
    grid: Grid

    @property
    def footnotes(self) -> tuple[Row, ...]:
        """What the letters behind the cells that are shown mean."""
        shown = {
            mark
            for row in self.grid.rows
            if any(cell.value is not None for cell in row.cells)
            for marks in (row.marks, *(cell.marks for cell in row.cells))
            for mark in marks
        }
        named = zip(self.grid.footnotes, self.grid.marked, strict=True)
        return tuple(row for (mark, _), row in named if mark in shown)


@dataclass(frozen=True)
class PaperTable:
    """Rows with a tuple of cells for each block; None where a group does not have the row."""

    of: str
    blocks: tuple[Block, ...]
    rows: tuple[tuple[str, tuple[TableRow | None, ...]], ...]
    counts_diverged: bool


def paper_text(study: Study) -> str:
    """Table 1 of estimators and, where there are pairs, Table 2."""
    tables = [_paper_table(study, PAPER_METRICS)]
    if study.pair_sections:
        tables.append(_paper_table(study, PAIR_METRICS, pairs=True))
    return render_latex(
        "paper.tex",
        tables=tables,
        meaning=meaning(study),
        best=BEST_MEANING,
        settings=settings(study),
    )


def settings(study: Study) -> str:
    """'nearest pose within 5 ms, aligned by se3, lost beyond a mean error of 5 m, ...'."""
    options, lost = study.plan.options, words.length(study.plan.diverged_m)
    within = words.duration(options.tolerance_s or TOLERANCE_S)
    return (
        f"{options.association} pose within {within}, aligned by "
        f"{options.alignment}, lost beyond a mean error of {lost}; tests by Wilcoxon over tracks, "
        "corrected by Holm within each metric; a dash where an estimator reports no covariance"
    )


def _paper_table(study: Study, metrics: tuple[str, ...], *, pairs: bool = False) -> PaperTable:
    titles = tuple(metric_title(name) for name in metrics)
    found = whole_grids(study, pairs=pairs)
    if len(found) == 2:  # of one group, the table over all is the same
        found = {group: grid for group, grid in found.items() if group != "all"} or found
    blocks = []
    for group, grid in found.items():
        shown = grid.brief(titles)
        blocks.append(Block(group, shown if pairs else without_bare_scores(shown)))
    names = dict.fromkeys(
        str(row)
        for block in blocks
        for row in block.grid.rows
        if not pairs or any(cell.value is not None for cell in row.cells)
    )

    def row_of(grid: Grid, name: str) -> TableRow | None:
        return next((row for row in grid.rows if str(row) == name), None)

    return PaperTable(
        "pair" if pairs else "estimator",
        tuple(blocks),
        tuple((name, tuple(row_of(block.grid, name) for block in blocks)) for name in names),
        any(block.grid.counts_diverged for block in blocks),
    )


def without_bare_scores(grid: Grid) -> Grid:
    """The table with dashes for who has no k, and so no covariance."""
    needing = [metric_title(name) for name in NEEDING_COVARIANCE]
    needs = [head.title in needing for head in grid.columns]
    of_k = [head.title == metric_title("k") for head in grid.columns]
    rows = []
    for row in grid.rows:
        if not any(cell.value is not None for cell, k in zip(row.cells, of_k, strict=True) if k):
            cells = zip(row.cells, needs, strict=True)
            dashed = tuple(TableCell.of(None, 1.0) if need else cell for cell, need in cells)
            row = replace(row, cells=dashed)  # noqa: PLW2901
        rows.append(row)
    return replace(grid, rows=tuple(rows))
