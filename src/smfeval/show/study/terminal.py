"""Tables as plain text, for a terminal or a pipe."""

from collections.abc import Sequence
from functools import partial
from textwrap import wrap

from smfeval.show.report import Row
from smfeval.show.study import layout, remarks
from smfeval.studies.result import Study

WIDTH = 100  # columns, as of all reports
GAP = "  "  # between two columns
STAR = "*"

WRAP = partial(wrap, break_long_words=False, break_on_hyphens=False)
STYLE = layout.NumberStyle(
    power=lambda exponent: f"e{exponent}" if exponent else "", infinity="inf"
)

ColumnLines = list[str]  # a column: its head and one cell for each row, all equally wide


def text(study: Study, *, width: int = WIDTH, brief: bool = False) -> str:
    """All tables, and what is to be said about them.

    A `brief` text has one table, over all tracks, and what was not scored.
    """
    tables = headline_grids(study, width) if brief else layout.grids(study)
    legend = remarks.headline_remarks(study) if brief else remarks.study_remarks(study)
    answer = WRAP(remarks.answer_text(study), width)
    shown = [table(grid, width=width) for grid in tables]
    notes = _format_remarks([*marks_legend(study, tables), *legend], 0, width)
    parts = [remarks.study_title(study), "\n".join(answer), *shown, notes]
    return "\n\n".join(part for part in parts if part) + "\n"


def headline_grids(study: Study, width: int = WIDTH) -> tuple[layout.Grid, ...]:
    """The table over all tracks, and those of alternatives that were asked for.

    Where the first would be too wide, k goes without its intervals.
    """
    first = layout.headline_grid(study)
    if first is not None and len(_blocks(first, width)) > 1:
        first = layout.headline_grid(study, intervals=())
    asked = layout.grids(study)[-len(study.sensitivity) :] if study.sensitivity else ()
    return (*([] if first is None else [first]), *asked)


def marks_legend(study: Study, tables: Sequence[layout.Grid]) -> list[Row]:
    """What brackets and stars are."""
    starred = [Row(STAR, remarks.BEST_MEANING)] if any(grid.bold for grid in tables) else []
    consistent = "a consistent estimator has k 1 and coverage 90 %"
    return [Row("[]", f"{remarks.meaning(study)}; {consistent}"), *starred]


def table(grid: layout.Grid, *, width: int = WIDTH) -> str:
    """One grid: a block of columns after the other, then footnotes and remarks."""
    parts = "\n\n".join(_blocks(grid, width))
    below = _format_remarks(grid.remarks_below, 2, width)
    return "\n".join(part for part in (grid.title, parts, below) if part)


def _blocks(grid: layout.Grid, width: int) -> list[str]:
    """Columns side by side, as many as the width has room for, behind the names."""
    names = _align_left(
        [grid.of, "", *(f"{row}{layout.marks_text(row.marks)}" for row in grid.rows)]
    )
    lanes = [
        _column_lines(head.lines, [row.cells[at] for row in grid.rows])
        for at, head in enumerate(grid.columns)
    ]
    if grid.has_verdicts:
        lanes.append(_align_left(["verdicts", "", *(row.verdicts for row in grid.rows)]))
    widths = [len(lane[0]) + len(GAP) for lane in lanes]
    return [
        "\n".join(
            f"  {GAP.join(cells).rstrip()}"
            for cells in zip(names, *(lanes[at] for at in block), strict=True)
            if any(map(str.strip, cells))
        )
        for block in layout.column_blocks(len(names[0]) + 2, widths, limit=width)
    ]


def _column_lines(head: tuple[str, str], cells: list[layout.TableCell]) -> ColumnLines:
    """Values to the right, intervals to the left, so that both are aligned."""
    starred = any(cell.bold for cell in cells)
    star = [STAR if cell.bold else " " * starred for cell in cells]
    values = [cell.value_in(STYLE) + mark for cell, mark in zip(cells, star, strict=True)]
    wide = max(map(len, values), default=0)
    others = [f"{cell.interval_in(STYLE)}{layout.marks_text(cell.marks)}".strip() for cell in cells]
    joined = (f"{value:>{wide}} {other}" for value, other in zip(values, others, strict=True))
    return _align_left([*head, *joined])


def _align_left(cells: list[str]) -> ColumnLines:
    return [cell.ljust(max(map(len, cells))) for cell in cells]


def _format_remarks(rows: Sequence[Row], indent: int, width: int) -> str:
    """Label and sentence in two columns; long sentences are continued below themselves."""
    wide = max((len(each.label) for each in rows), default=0)
    lines, last = [], None
    for each in rows:
        first = f"{'':{indent}}{'' if each.label == last else each.label:{wide}}  "
        start = " " * len(first)
        lines += WRAP(each.text, width, initial_indent=first, subsequent_indent=start)
        last = each.label
    return "\n".join(lines)
