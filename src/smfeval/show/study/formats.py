r"""The table of formats that a study is written in; Markdown, LaTeX and CSV are written here.

A file of LaTeX can be read by a paper that loads booktabs (``\input``), and compiles by itself.
"""

import csv
import json
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

from smfeval.compare.duels import Column, MetricCell, StudySection
from smfeval.dataclass import dataclass
from smfeval.show.render import escape_markdown, render_latex
from smfeval.show.report import Row
from smfeval.show.study import document, remarks, terminal
from smfeval.show.study.layout import Grid, NumberStyle, gauges, grids
from smfeval.studies.result import Study
from smfeval.summarise.number import Number, finite_or_none
from smfeval.summarise.numbers import NUMBERS
from smfeval.words import csv_cell

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MARKDOWN = NumberStyle(
    power=lambda exponent: (
        f" \N{MULTIPLICATION SIGN} 10{str(exponent).translate(SUPERSCRIPTS)}" if exponent else ""
    ),
    infinity="∞",
)
LATEX = NumberStyle(power=lambda exponent: f" x 10{exponent}" if exponent else "", infinity="8")
LATEX_WIDTH = 80  # characters of \footnotesize in a line of `article`


def markdown_text(study: Study) -> str:
    """A heading for the study, one for each table, and lists of what is to be said."""
    tables = grids(study)
    best = f" Bold: {escape_markdown(remarks.BEST_MEANING)}."
    bold = best if any(grid.bold for grid in tables) else ""
    parts = [
        f"## {escape_markdown(remarks.study_title(study))}",
        escape_markdown(remarks.answer_text(study)),
        f"{escape_markdown(remarks.meaning(study).capitalize())}.{bold}",
        *(_markdown_table(grid) for grid in tables),
        _markdown_list(remarks.study_remarks(study)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_table(grid: Grid) -> str:
    """One grid under its heading."""
    titles = [f"{escape_markdown(str(head))}{_superscript(head.marks)}" for head in grid.columns]
    heads = [grid.of, *titles, *(["verdicts"] if grid.has_verdicts else [])]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for row in grid.rows:
        cells = [f"{escape_markdown(str(row))}{_superscript(row.marks)}"]
        for cell in row.cells:
            value, interval = cell.value_in(MARKDOWN), cell.interval_in(MARKDOWN)
            value = f"**{value}**" if cell.bold else value
            cells.append(f"{value} {interval}".strip() + _superscript(cell.marks))
        lines.append([*cells, *([row.verdicts] if grid.has_verdicts else [])])
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    parts = [f"### {escape_markdown(grid.title)}", body, _markdown_list(grid.remarks_below)]
    return "\n\n".join(part for part in parts if part)


def _markdown_list(rows: tuple[Row, ...]) -> str:
    return "\n".join(f"- *{each.label}* {escape_markdown(each.text)}" for each in rows)


def _superscript(marks: tuple[str, ...]) -> str:
    return f" <sup>{','.join(marks)}</sup>" if marks else ""


def latex_text(study: Study) -> str:
    """One float for each grid (booktabs, intervals in columns of their own), then the remarks.

    The columns of a grid are in blocks that a page is wide enough for.
    """
    tables = [
        {
            "grid": grid,
            "blocks": grid.blocks(LATEX, limit=LATEX_WIDTH),
            "footnotes": grid.marked,
            "remarks": [Row(grid.title, ""), *grid.remarks] if grid.remarks else [],
        }
        for grid in grids(study)
    ]
    return render_latex(
        "study.tex",
        tables=tables,
        meaning=remarks.meaning(study),
        best=remarks.BEST_MEANING,
        remarks=[Row("study", remarks.study_title(study)), *remarks.study_remarks(study)],
    )


CSV_COLUMNS = (
    "table",  # estimators, pairs, or sensitivity
    "group",
    "converged_only",
    "metric",
    "unit",
    "estimator",  # of pairs: 'A | B'
    "role",
    "value",  # empty: no track has one
    "low",
    "high",
    "reason",  # why there is no interval
    "tracks",  # that the value is the median of, or the pooled k
    "shared_value",  # median over the tracks that all have, where these are not all
    "shared_low",
    "shared_high",
    "shared_tracks",
    "verdict",  # of a pooled k
    "predicted_low",  # where k of a new track is
    "predicted_high",
    "tracks_of_table",
    "diverged",
    "alignment",  # several are joined by "+"
    "best",
    "left_out",  # tracks without a k to pool
    "against",  # the best contender; the next columns tell of the test against it
    "shared",
    "ties",
    "difference",
    "p",
    "p_holm",
    "beaten",
    "further_tracks",
    "mean_rank",
    "by_track",  # JSON: what the value is the median of
)


def csv_text(study: Study) -> str:
    """Tables in long form: a row for each number, with all that is known about it.

    All numbers are in full, in the units of `smfeval score`; nothing is rounded.
    """
    lines = StringIO()
    writer = csv.DictWriter(lines, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    roles = {each.name: each.role for each in study.plan.estimators}
    used = gauges(study)
    tables = {
        "estimators": study.sections,
        "pairs": study.pair_sections,
        "sensitivity": study.sensitivity,
    }
    for table, sections in tables.items():
        for row in (row for section in sections for row in _csv_rows(section)):
            name = row["estimator"]
            role = "" if table == "pairs" else roles.get(name, "")
            gauge = used.get(name) if table == "estimators" else None
            cells = {"table": table, "role": role, "alignment": gauge, **row}
            writer.writerow({key: csv_cell(cell) for key, cell in cells.items()})
    return lines.getvalue()


def _csv_rows(section: StudySection) -> Iterator[dict[str, Any]]:
    """A row for each cell, for each pooled k, and two for each count of opposed errors."""
    lost = {name: diverged for name, diverged, _ in section.diverged}
    table = {
        "group": section.group,
        "converged_only": str(section.converged_only).lower(),
        "tracks_of_table": section.tracks,
    }
    for column in section.columns:
        for cell in column.cells:
            who = {"estimator": cell.estimator, "diverged": lost.get(cell.estimator)}
            yield table | who | _csv_cell(cell, column) | _standing(cell, column)
    for each in section.pooled:
        low, high = each.predicted or (None, None)
        yield table | {
            "estimator": each.estimator,
            "diverged": lost.get(each.estimator),
            "metric": "k_pooled",
            **_ends(each.k),
            "unit": "1",
            "tracks": each.tracks,
            "left_out": sum(len(tracks) for _, tracks in each.left_out),
            "verdict": each.label,
            "predicted_low": low,
            "predicted_high": high,
        }
    for counted in section.hypotheses:
        for metric, count in (("not_opposed", counted.holds), ("opposed", counted.refuted)):
            found = {"metric": metric, "unit": "tracks", "value": count, "tracks": counted.tracks}
            yield table | {"estimator": counted.pair} | found


def _ends(number: Number | None, prefix: str = "") -> dict[str, Any]:
    """Value and ends of a number, and why it has none."""
    if number is None:
        return {}
    found = {f"{prefix}{end}": getattr(number, end) for end in ("value", "low", "high")}
    return found if prefix else found | {"unit": number.unit, "reason": number.reason}


def _csv_cell(cell: MetricCell, column: Column) -> dict[str, Any]:
    """The number of a cell, and that over the tracks that all have."""
    by_track = {track: finite_or_none(value) for track, value in cell.values}
    return {
        "metric": column.metric,
        "unit": NUMBERS[column.metric].unit if column.metric in NUMBERS else "",
        "tracks": len(cell.values),
        "best": str(cell.best).lower(),
        "by_track": json.dumps(by_track, allow_nan=False, ensure_ascii=False),
        **_ends(cell.median),
        **_ends(cell.shared, "shared_"),
        "shared_tracks": None if cell.shared is None else column.shared_tracks,
    }


def _standing(cell: MetricCell, column: Column) -> dict[str, Any]:
    """Against the best contender, and among all."""
    ranks = column.ranks
    ranked = dict(zip(ranks.names, ranks.mean_rank, strict=True)) if ranks else {}
    found: dict[str, Any] = {"mean_rank": ranked.get(cell.estimator)}
    for duel in column.duels:
        if duel.other == cell.estimator and "against" not in found:
            names = ("shared", "ties", "difference", "p", "p_holm", "further_tracks")
            found |= {name: getattr(duel, name) for name in names}
            found |= {"against": duel.best, "beaten": str(duel.beaten).lower()}
    return found


@dataclass(frozen=True)
class StudyFormat:
    """How a study is written, and the ending of such a file."""

    suffix: str
    text: Callable[[Study], str]


FORMATS = {
    "terminal": StudyFormat(".txt", terminal.text),
    "markdown": StudyFormat(".md", markdown_text),
    "csv": StudyFormat(".csv", csv_text),
    "json": StudyFormat(".json", document.text),
    "latex": StudyFormat(".tex", latex_text),
}
