"""Tables as plain text, for a terminal or a pipe."""

from collections.abc import Sequence
from functools import partial
from textwrap import wrap

from smfeval.show.report import Row
from smfeval.show.study.layout import Grid, NumberStyle, TableCell, column_blocks, grids
from smfeval.show.study.remarks import (
    BEST_MEANING,
    doubt_lines,
    meaning,
    monte_carlo_lines,
    study_remarks,
    study_title,
    unscored_runs,
)
from smfeval.studies.result import Study
from smfeval.words import printable

WIDTH = 100  # columns, as of all reports
GAP = "   "  # between two columns
STAR = "*"
HEADLINES = (
    *("MAE", "energy score", "log score", "k", "90 % coverage", "available", "HMI"),
    *("k_pair", "k_pair by ref."),
)
MORE_HINT = (
    "-v, and tables.txt, have all metrics, ranks, tests, and the tracks that would be needed"
)
BOLD, NORMAL = "\x1b[1m", "\x1b[0m"

WRAP = partial(wrap, break_long_words=False, break_on_hyphens=False)
STYLE = NumberStyle(power=lambda exponent: f"e{exponent}" if exponent else "", infinity="inf")

ColumnLines = list[str]  # a column: its head and one cell for each row, all equally wide


def text(study: Study, *, colour: bool = False, width: int = WIDTH, brief: bool = False) -> str:
    """All tables, and what is to be said about them; `colour` makes the starred numbers bold.

    A `brief` text has the headline metrics, notes on the study, and what was not scored only.
    """
    if brief:
        tables, legend = headlines(study)
    else:
        tables = grids(study)
        legend = [*_legend(study, tables), *study_remarks(study)]
    parts = [study_title(study), *(table(grid, colour=colour, width=width) for grid in tables)]
    return "\n\n".join([*parts, _format_remarks(legend, 0, width)]) + "\n"


def headlines(study: Study) -> tuple[tuple[Grid, ...], list[Row]]:
    """The tables with the metrics that matter first, and their legend."""
    whole = len(study.sensitivity)  # that was asked for
    tables = grids(study)
    first, last = tables[: len(tables) - whole], tables[len(tables) - whole :]
    tables = (*(grid.brief(HEADLINES) for grid in first), *last)
    notes = [Row("note", printable(note)) for note in study.notes]
    return tables, [
        *_legend(study, tables),
        *monte_carlo_lines(study),
        *doubt_lines(study),
        *notes,
        *unscored_runs(study),
        Row("more", MORE_HINT),
    ]


def _legend(study: Study, tables: tuple[Grid, ...]) -> list[Row]:
    starred = [Row(STAR, BEST_MEANING)] if any(grid.bold for grid in tables) else []
    return [Row("[]", meaning(study)), *starred]


def table(grid: Grid, *, colour: bool = False, width: int = WIDTH) -> str:
    """One grid: a block of columns after the other, then footnotes and remarks."""
    names = _align_left([grid.of, *(f"{row}{_marks(row.marks)}" for row in grid.rows)])
    told = [grid.facts_of(row) for row in grid.rows]
    lanes = [_align_right([fact, *(row[at] for row in told)]) for at, fact in enumerate(grid.facts)]
    lanes += [
        _column_lines(str(head), [row.cells[at] for row in grid.rows], colour=colour)
        for at, head in enumerate(grid.columns)
    ]
    widths = [len(lane[0]) + len(GAP) for lane in lanes]
    split = column_blocks(len(names[0]) + 2, widths, limit=width)
    parts = []
    for block in split:
        rows = zip(names, *(lanes[at] for at in block), strict=True)
        parts.append("\n".join(f"  {GAP.join(cells).rstrip()}" for cells in rows))
    below = _format_remarks(grid.remarks_below, 2, width)
    return "\n".join([grid.title, "\n\n".join(parts), *([below] if below else [])])


def _column_lines(head: str, cells: list[TableCell], *, colour: bool) -> ColumnLines:
    """Values to the right, intervals to the left, so that both are aligned."""
    starred = any(cell.bold for cell in cells)
    star = [STAR if cell.bold else " " * starred for cell in cells]
    values = _align_right([c.value_in(STYLE) + s for c, s in zip(cells, star, strict=True)])
    others = _align_left(
        [f"{cell.interval_in(STYLE)}{_marks(cell.marks)}".strip() for cell in cells]
    )
    width = max(len(head), *(len(f"{v} {o}") for v, o in zip(values, others, strict=True)), 0)
    lane = [f"{head:{width}}"]
    for cell, value, other in zip(cells, values, others, strict=True):
        fill = " " * (width - len(f"{value} {other}"))
        shown = value.replace(value.strip(), f"{BOLD}{value.strip()}{NORMAL}")
        lane.append(f"{shown if colour and cell.bold else value} {other}{fill}")
    return lane


def _align_left(cells: list[str]) -> ColumnLines:
    return [cell.ljust(max(map(len, cells))) for cell in cells]


def _align_right(cells: list[str]) -> ColumnLines:
    return [cell.rjust(max(map(len, cells))) for cell in cells]


def _marks(marks: tuple[str, ...]) -> str:
    return f" ({','.join(marks)})" if marks else ""


def _format_remarks(remarks: Sequence[Row], indent: int, width: int) -> str:
    """Label and sentence in two columns; long sentences are continued below themselves."""
    wide = max((len(each.label) for each in remarks), default=0)
    lines, last = [], None
    for each in remarks:
        first = f"{'':{indent}}{'' if each.label == last else each.label:{wide}}  "
        start = " " * len(first)
        lines += WRAP(each.text, width, initial_indent=first, subsequent_indent=start)
        last = each.label
    return "\n".join(lines)
