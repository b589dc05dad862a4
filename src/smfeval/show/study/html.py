"""Tables as a fragment of HTML: no styles, no scripts, what a page needs to sort and to trace."""

from html import escape

from smfeval.show.study.layout import Grid, TableCell, TableRow, grids
from smfeval.show.study.remarks import (
    BEST_MEANING,
    NumberStyle,
    Remark,
    meaning,
    study_remarks,
    study_title,
)
from smfeval.study.result import Study
from smfeval.summarise.number import Number

STYLE = NumberStyle(
    power=lambda exponent: f" &times; 10<sup>{exponent}</sup>" if exponent else "",
    infinity="&infin;",
)


def text(study: Study) -> str:
    """One section with a table for each grid.

    Numbers carry `data-sort` (the value), `data-low` and `data-high` in full, in the unit
    `data-unit`, and `data-tracks`, of how many tracks they are the median.
    """
    tables = grids(study)
    best = f"<p>Bold: {escape(BEST_MEANING)}.</p>" if any(grid.bold for grid in tables) else ""
    lines = [
        '<section class="smfeval-study">',
        f"<h2>{escape(study_title(study))}</h2>",
        f"<p>{escape(meaning(study).capitalize())}.</p>",
        best,
        *(table(grid) for grid in tables),
        _list(study_remarks(study)),
        "</section>",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def table(grid: Grid) -> str:
    """One grid, its title as caption, footnotes and remarks in a list below."""
    lost = ["diverged"] if grid.counts_diverged else []
    heads = [grid.of, *lost, *map(str, grid.columns)]
    below = [Remark(f"({mark})", sentence) for mark, sentence in grid.footnotes]
    lines = [
        "<table>",
        f"<caption>{escape(grid.title)}</caption>",
        f"<thead><tr>{''.join(map(_head, heads))}</tr></thead>",
        "<tbody>",
        *(_row(row, grid) for row in grid.rows),
        "</tbody>",
        "</table>",
        _list((*below, *grid.remarks)),
    ]
    return "\n".join(line for line in lines if line)


def _head(title: str) -> str:
    return f'<th scope="col">{escape(title)}</th>'


def _row(row: TableRow, grid: Grid) -> str:
    name = f'<th scope="row">{escape(str(row))}{_marks(row.marks)}</th>'
    lost = _counted(row.diverged) if grid.counts_diverged else ""
    role = ' class="baseline"' if row.baseline else ""
    return f"<tr{role}>{name}{lost}{''.join(map(_cell, row.cells))}</tr>"


def _counted(diverged: str) -> str:
    """'2 of 40', sorted by the 2."""
    return f'<td data-sort="{diverged.partition(" ")[0]}">{escape(diverged)}</td>'


def _cell(cell: TableCell) -> str:
    value, interval = cell.value_in(STYLE), cell.interval_in(STYLE)
    value = f"<strong>{value}</strong>" if cell.bold else value
    inside = f"{value} {interval}".strip() + _marks(cell.marks)
    return f"<td{_numbers(cell.number, cell.tracks)}>{inside}</td>"


def _numbers(number: Number | None, tracks: int) -> str:
    """Attributes with the number in full; a script reads Infinity."""
    if number is None:
        return ' data-sort=""'
    ends = {"sort": number.value, "low": number.low, "high": number.high}
    told = {name: repr(float(end)) for name, end in ends.items() if end is not None}
    told = {name: end.replace("inf", "Infinity") for name, end in told.items()}
    told |= {"unit": escape(number.unit), "tracks": str(tracks)}
    return "".join(f' data-{name}="{end}"' for name, end in told.items())


def _list(remarks: tuple[Remark, ...]) -> str:
    items = (f"<li><em>{each.label}</em> {escape(each.text)}</li>" for each in remarks)
    return "\n".join(["<ul>", *items, "</ul>"]) if remarks else ""


def _marks(marks: tuple[str, ...]) -> str:
    return f"<sup>{','.join(marks)}</sup>" if marks else ""
