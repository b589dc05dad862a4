"""Reports and studies for the eyes: rich tables with colour; a pipe gets the plain text."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from smfeval import words
from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats, Ints
from smfeval.show.report import Report, Row, Table
from smfeval.show.series import sigma
from smfeval.show.study.layout import Grid, TableCell, marks_text
from smfeval.show.study.remarks import answer_text, headline_remarks, study_title
from smfeval.show.study.terminal import STAR, STYLE, headline_grids, marks_legend
from smfeval.studies.result import Study

BLOCKS = "▁▂▃▄▅▆▇█"
BLOCK_RATIO = 2.0  # every block is so many times the one before
HONEST_BLOCK = 3  # this block stands for 1 to STEP
WIDTH = 40


def error_over_sigma(evaluation: Evaluation, *, width: int = WIDTH) -> str | None:
    """Error over the reported sigma, sqrt(tr S), along a track; None without a belief.

    An honest belief stays about the middle block; an overconfident one is at the top.
    """
    residuals = evaluation.position.residuals
    if residuals.covariance is None:
        return None
    ratio = np.linalg.norm(residuals.error, axis=1) / sigma(residuals)
    middle = binned_medians(evaluation.position.estimate.stamp, ratio, width=width)
    low, high = (words.number(float(end)) for end in (np.nanmin(middle), np.nanmax(middle)))
    honest = BLOCKS[HONEST_BLOCK - 1 : HONEST_BLOCK + 1]
    return f"{block_chart(middle)}  {low} to {high} ({honest} about 1: consistent)"


def binned_medians(stamp: Ints, value: Floats, *, width: int) -> Floats:
    """Median of each of `width` equal stretches of time; NaN where there is no scan. (width,)."""
    span = max(int(stamp[-1] - stamp[0]), 1)
    place = np.minimum((stamp - stamp[0]) * width // span, width - 1)
    edge = np.searchsorted(place, np.arange(width + 1))
    parts = (value[first:last] for first, last in pairwise(edge))
    return np.array([np.median(part) if len(part) else np.nan for part in parts])


def block_chart(ratio: Floats) -> str:
    """A block for each number, on a logarithmic scale anchored at 1; a blank for NaN."""
    with np.errstate(divide="ignore"):
        level = np.floor(np.log(ratio) / np.log(BLOCK_RATIO)) + HONEST_BLOCK
    level = np.clip(level, 0, len(BLOCKS) - 1)
    return "".join(" " if np.isnan(at) else BLOCKS[int(at)] for at in level)


COLOURS = {
    "overconfident": "bold red",
    "consistent": "bold green",
    "conservative": "bold yellow",
    "cannot tell": "bold",
}


def render(report: Report) -> RenderableType:
    """A report with its verdicts in colour."""
    parts: list[RenderableType] = []
    for section in report.sections:
        parts += [Text()] if parts and report.apart else []
        parts += [Text(section.title, COLOURS.get(section.label, ""))] if section.title else []
        parts += map(Text, section.lead)
        parts += [] if section.table is None else [_cell_table(section.table)]
        parts += [_row_table(section.rows)] if section.rows else []
        parts += map(Text, section.notes)
    return Group(*parts)


def _cell_table(found: Table) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="cyan")
    for heading in found.headings:
        table.add_column(heading, overflow="fold")
    for row in found.rows:
        table.add_row(*(Text(str(c), COLOURS[c.text] if c.is_label else "") for c in row))
    return table


def _row_table(rows: Sequence[Row]) -> RichTable:
    """Labels and texts; doubts stand out."""
    table = RichTable.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    last = None
    for label, text in rows:
        style = "bold yellow" if label == "doubt" else ""
        table.add_row(f"  {'' if label == last else label}", Text(text, style))
        last = label
    return table


def render_study(study: Study) -> RenderableType:
    """The headline table of a study, and what is to be said about it."""
    tables = headline_grids(study)
    parts: list[RenderableType] = [Text(study_title(study), style="bold"), Text(answer_text(study))]
    for grid in tables:
        parts += [Text(grid.title, style="bold"), _grid_table(grid)]
        parts += _remark_table(grid.remarks_below)
    legend = [*marks_legend(study, tables), *headline_remarks(study)]
    return Group(*parts, Text(), *_remark_table(legend))


def _grid_table(grid: Grid) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="cyan")
    table.add_column(grid.of, no_wrap=True)
    for head in grid.columns:
        table.add_column("\n".join(head.lines).rstrip())
    if grid.has_verdicts:
        table.add_column("verdicts")
    for row in grid.rows:
        verdicts = [row.verdicts] if grid.has_verdicts else []
        table.add_row(Text(f"{row}{marks_text(row.marks)}"), *map(_cell, row.cells), *verdicts)
    return table


def _cell(cell: TableCell) -> Text:
    shown = f"{cell.value_in(STYLE)}{STAR if cell.bold else ''}"
    text = Text(shown, style="bold" if cell.bold else "")
    beside = f" {cell.interval_in(STYLE)}{marks_text(cell.marks)}".rstrip()
    return text.append(beside, style="not bold dim")


def _remark_table(remarks: Sequence[Row]) -> list[RenderableType]:
    table = RichTable.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for each in remarks:
        table.add_row(f"  {each.label}", Text(each.text))
    return [table] if remarks else []
