"""The tables of the recipe `paper`, in LaTeX: estimators by data set, then pairs by data set.

Each group of tracks is a block of columns. An estimator without a covariance has a dash for the
energy score and all that needs one, though the score of its bare poses could be computed.
"""

from dataclasses import dataclass, replace

from smfeval import words
from smfeval.show.render import render_latex
from smfeval.show.study.layout import Grid, TableCell, TableRow, whole_grids
from smfeval.show.study.remarks import BEST_MEANING, Remark, meaning, metric_title
from smfeval.studies.result import Study

METRICS = ("mae", "energy", "log", "k", "coverage_90")
NEEDING_COVARIANCE = ("energy", "log", "k", "coverage_90")
PAIR_METRICS = ("k_pair",)
EMPTY = TableCell(None, None, None, bold=False, marks=(), number=None, tracks=0)


@dataclass(frozen=True)
class Block:
    """The columns of one group of tracks."""

    group: str
    grid: Grid

    @property
    def footnotes(self) -> tuple[Remark, ...]:
        """What the letters behind the cells that are shown mean."""
        shown = {
            mark
            for row in self.grid.rows
            if any(cell.value is not None for cell in row.cells)
            for marks in (row.marks, *(cell.marks for cell in row.cells))
            for mark in marks
        }
        return tuple(
            Remark(f"({mark})", sentence) for mark, sentence in self.grid.footnotes if mark in shown
        )


@dataclass(frozen=True)
class PaperTable:
    """Rows with a tuple of cells for each block; None where a group does not have the row."""

    of: str
    blocks: tuple[Block, ...]
    rows: tuple[tuple[str, tuple[TableRow | None, ...]], ...]
    counts_diverged: bool


def text(study: Study) -> str:
    """Table 1 of estimators and, where there are pairs, Table 2."""
    tables = [_table(study, METRICS)]
    if study.pair_sections:
        tables.append(_table(study, PAIR_METRICS, pairs=True))
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
    return (
        f"{options.association} pose within {words.duration(options.tolerance_s)}, aligned by "
        f"{options.alignment}, lost beyond a mean error of {lost}; tests by Wilcoxon over tracks, "
        "corrected by Holm within each metric; a dash where an estimator reports no covariance"
    )


def _table(study: Study, metrics: tuple[str, ...], *, pairs: bool = False) -> PaperTable:
    titles = tuple(metric_title(name) for name in metrics)
    needing = tuple(metric_title(name) for name in NEEDING_COVARIANCE)
    found = whole_grids(study, pairs=pairs)
    if len(found) == 2:  # of one group, the table over all is the same
        found = {group: grid for group, grid in found.items() if group != "all"} or found
    blocks = tuple(
        Block(group, grid if pairs else without_bare_scores(grid, needing))
        for group, grid in ((group, grid.brief(titles)) for group, grid in found.items())
    )
    names = dict.fromkeys(
        str(row)
        for block in blocks
        for row in block.grid.rows
        if not pairs or any(cell.value is not None for cell in row.cells)
    )
    return PaperTable(
        "pair" if pairs else "estimator",
        blocks,
        tuple((name, tuple(_row(block.grid, name) for block in blocks)) for name in names),
        any(block.grid.counts_diverged for block in blocks),
    )


def without_bare_scores(grid: Grid, needing: tuple[str, ...]) -> Grid:
    """The table with dashes for who has no k, and so no covariance."""
    k = metric_title("k")
    at_k = [at for at, head in enumerate(grid.columns) if head.title == k]
    return replace(
        grid,
        rows=tuple(
            row
            if any(row.cells[at].value is not None for at in at_k)
            else replace(row, cells=_dashed(grid, row, needing))
            for row in grid.rows
        ),
    )


def _dashed(grid: Grid, row: TableRow, needing: tuple[str, ...]) -> tuple[TableCell, ...]:
    return tuple(
        EMPTY if head.title in needing else cell
        for head, cell in zip(grid.columns, row.cells, strict=True)
    )


def _row(grid: Grid, name: str) -> TableRow | None:
    return next((row for row in grid.rows if str(row) == name), None)
