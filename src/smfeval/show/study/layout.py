"""The sections of a study, laid out as grids."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import median_low

import numpy as np

from smfeval.compare.across.result import Cell, Column, Section
from smfeval.show.study.digits import Digits, alone, together
from smfeval.show.study.footnotes import Marks, footnotes, number_of
from smfeval.show.study.grid import Grid, Head, Row, Shown
from smfeval.show.study.remarks import Remark, section_remarks, shared_notes
from smfeval.show.study.titles import title_of, title_of_section, visible
from smfeval.study.result import Study
from smfeval.summarise.number import Number

SAME = "on converged tracks only, all numbers are the same"
LENGTHS = ((1.0, "m"), (1e-2, "cm"), (1e-3, "mm"))

Scale = tuple[float, str]  # the shown unit, in the unit of the number; its name


def grids(study: Study) -> tuple[Grid, ...]:
    """All tables, those of pairs last; a metric has the same unit in all tables of its kind."""
    scales, pair_scales = _scales(study.sections), _scales(study.pair_sections)
    baselines = {each.name for each in study.plan.estimators if each.role == "baseline"}
    said, pairs_said = shared_notes(study.sections), shared_notes(study.pair_sections)
    return (
        *(_grid(each, "estimator", scales, baselines, said) for each in _told_once(study)),
        *(_grid(each, "pair", pair_scales, set(), pairs_said) for each in study.pair_sections),
    )


def _grid(
    section: Section,
    of: str,
    scales: dict[str, Scale],
    baselines: set[str],
    said: tuple[str, ...],
) -> Grid:
    cells = _by_row(section.columns)
    notes = footnotes(list(cells.values()), section.tracks)
    units = [scales[column.metric] for column in section.columns]
    lost = {name: f"{diverged} of {scored}" for name, diverged, scored in section.diverged}

    def row(at: int, name: str) -> Row:
        entries = zip(cells[name], units, notes.cells[at], strict=True)
        baseline = name in baselines
        shown = tuple(_shown(*entry, contender=not baseline) for entry in entries)
        return Row(visible(name), baseline, lost.get(name, ""), notes.rows[at], shown)

    return Grid(
        title=title_of_section(section, of),
        of=of,
        columns=tuple(Head(title_of(c.metric), scales[c.metric][1]) for c in section.columns),
        rows=tuple(row(at, name) for at, name in enumerate(cells)),
        footnotes=tuple((mark, visible(sentence)) for mark, sentence in notes.listed),
        remarks=(
            *section_remarks(section, without=said),
            *(Remark("note", visible(sentence)) for sentence in notes.everywhere),
        ),
    )


def _told_once(study: Study) -> Iterator[Section]:
    """Sections without those that converged tracks leave as they were; a note says so."""
    converged = {each.group: each for each in study.sections if each.converged_only}
    whole = {each.group: each for each in study.sections if not each.converged_only}
    for each in study.sections:
        other = (whole if each.converged_only else converged).get(each.group)
        if other is None or other.columns != each.columns:
            yield each
        elif not each.converged_only:
            yield replace(each, notes=(*each.notes, SAME))


def _by_row(columns: tuple[Column, ...]) -> dict[str, list[Cell | None]]:
    """Cells by estimator, in the order of the columns; None where a column has no such cell."""
    by_column = [{cell.estimator: cell for cell in column.cells} for column in columns]
    names = dict.fromkeys(name for column in by_column for name in column)
    return {name: [column.get(name) for column in by_column] for name in names}


def _shown(cell: Cell | None, scale: Scale, marks: Marks, *, contender: bool) -> Shown:
    number = number_of(cell)
    if cell is None or number is None:
        return Shown(None, None, None, bold=False, marks=marks, number=None, tracks=0)
    digits = _digits(number, scale[0])
    return Shown(*digits, cell.best and contender, marks, number, len(cell.values))


def _digits(number: Number, unit: float) -> tuple[Digits, Digits | None, Digits | None]:
    if number.low is None or number.high is None:
        return alone(number.value / unit), None, None
    return together(number.value / unit, number.low / unit, number.high / unit)


def _scales(sections: Iterable[Section]) -> dict[str, Scale]:
    """The unit of each metric."""
    medians: dict[str, list[Cell]] = {}
    for section in sections:
        for column in section.columns:
            medians.setdefault(column.metric, []).extend(column.cells)
    return {metric: _scale(metric, cells) for metric, cells in medians.items()}


def _scale(metric: str, cells: list[Cell]) -> Scale:
    """Metres, centimetres or millimetres by the middle number; coverage in percent."""
    numbers = [number for number in map(number_of, cells) if number is not None]
    unit = numbers[0].unit if numbers else "1"
    if unit == "m":
        sizes = [abs(n.value) for n in numbers if np.isfinite(n.value) and n.value]
        middle = median_low(sizes) if sizes else 1.0
        return next((length for length in LENGTHS if middle >= length[0]), LENGTHS[-1])
    if metric.startswith("coverage"):
        return 1e-2, "%"
    return 1.0, "" if unit == "1" else unit
