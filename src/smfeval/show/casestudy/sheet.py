"""A table with a title and remarks, printed as text or as Markdown."""

from dataclasses import dataclass

from smfeval.show.study.markdown import escaped

Row = tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    """Cells are text; the first columns name the row."""

    title: str
    headings: Row
    rows: tuple[Row, ...]
    remarks: tuple[str, ...] = ()


def as_text(sheet: Sheet) -> str:
    """Title, aligned columns, remarks."""
    rows = (sheet.headings, *sheet.rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(sheet.headings))]
    lines = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(
        [sheet.title, *(f"  {line}".rstrip() for line in lines), *(f"  {r}" for r in sheet.remarks)]
    )


def as_markdown(sheet: Sheet) -> str:
    """Heading, table, list of remarks."""
    rule = ("---",) * len(sheet.headings)
    rows = [_line(sheet.headings), f"|{'|'.join(rule)}|", *map(_line, sheet.rows)]
    remarks = "\n".join(f"- {escaped(remark)}" for remark in sheet.remarks)
    parts = [f"## {escaped(sheet.title)}", "\n".join(rows), remarks]
    return "\n\n".join(part for part in parts if part)


def _line(row: Row) -> str:
    return f"| {' | '.join(map(escaped, row))} |"
