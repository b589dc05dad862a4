"""Tables in Markdown, as GitHub shows them."""

from smfeval.show.report import Row
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
ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>#|~&$"})

STYLE = NumberStyle(
    power=lambda exponent: (
        f" \N{MULTIPLICATION SIGN} 10{str(exponent).translate(SUPERSCRIPTS)}" if exponent else ""
    ),
    infinity="∞",
)


def text(study: Study) -> str:
    """A heading for the study, one for each table, and lists of what is to be said."""
    tables = grids(study)
    bold = f" Bold: {escape_markdown(BEST_MEANING)}." if any(grid.bold for grid in tables) else ""
    parts = [
        f"## {escape_markdown(study_title(study))}",
        escape_markdown(answer_text(study)),
        f"{escape_markdown(meaning(study).capitalize())}.{bold}",
        *(table(grid) for grid in tables),
        _list(study_remarks(study)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(grid: Grid) -> str:
    """One grid under its heading."""
    titles = [f"{escape_markdown(str(head))}{_marks(head.marks)}" for head in grid.columns]
    heads = [grid.of, *titles, *(["verdicts"] if grid.has_verdicts else [])]
    rule = ["---", *["---:"] * (len(heads) - 1)]
    body = [_line(heads), _line(rule)]
    for row in grid.rows:
        cells = [f"{escape_markdown(str(row))}{_marks(row.marks)}"]
        for cell in row.cells:
            value, interval = cell.value_in(STYLE), cell.interval_in(STYLE)
            value = f"**{value}**" if cell.bold else value
            cells.append(f"{value} {interval}".strip() + _marks(cell.marks))
        body.append(_line([*cells, *([row.verdicts] if grid.has_verdicts else [])]))
    parts = [f"### {escape_markdown(grid.title)}", "\n".join(body), _list(grid.remarks_below)]
    return "\n\n".join(part for part in parts if part)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _list(remarks: tuple[Row, ...]) -> str:
    return "\n".join(f"- *{each.label}* {escape_markdown(each.text)}" for each in remarks)


def _marks(marks: tuple[str, ...]) -> str:
    return f" <sup>{','.join(marks)}</sup>" if marks else ""


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return text.translate(ESCAPES)
