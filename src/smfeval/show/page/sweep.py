"""The page of `smfeval sweep`: what each knob does, every setting and every run."""

from collections.abc import Iterator
from typing import Any

from smfeval import words
from smfeval.compare.slopes import Point, format_settings
from smfeval.compare.sweep import Sweep
from smfeval.show.page.document import Card, document, sentence
from smfeval.show.report import Cell, Cells, ReportSection, Table, number_cell
from smfeval.show.sweep import (
    effect_table,
    extent,
    failure_lines,
    knob_lines,
    predictions,
    verdicts,
)
from smfeval.summarise.inflation import median_chi_squared
from smfeval.words import printable

LOOKS = {
    "not more accurate": "overconfident",
    "worse": "overconfident",
    "more accurate": "consistent",
}
LOOKS |= {"better": "consistent", "between": "conservative", "mixed": "conservative"}
RUN_HEADINGS = ("estimator", "track", "setting", "precision", "median NEES", "MAE", "scans")


def sweep_page(sweep: Sweep, *, command: str) -> str:
    """The page of a finished sweep."""
    knobs = list(dict.fromkeys(effect.knob for effect in sweep.effects))
    return document(
        "report.html",
        title=sweep.name,
        command=command,
        data={"knobs": [_knob(sweep, knob) for knob in knobs]},
        question="One knob turned: does sharper mean better, or only more confident?",
        heading=extent(sweep),
        verdict=_card(sweep),
        sections=list(_sections(sweep, knobs)),
    )


def _card(sweep: Sweep) -> Card:
    """What each knob does; one label where all have the same."""
    labels = list(dict.fromkeys(effect.label for effect in sweep.effects))
    failed = tuple(sentence(line.strip()) for line in failure_lines(sweep))
    if not labels:
        return Card("cannot tell", "No knob has two values that could be scored.", warnings=failed)
    label = labels[0] if len(labels) == 1 else "mixed"
    evidence = tuple(f"{e.estimator}, {e.knob}: {e.sentence}." for e in sweep.effects)
    return Card(label, f"{verdicts(sweep)}.", evidence, warnings=failed, look=LOOKS.get(label, ""))


def _sections(sweep: Sweep, knobs: list[str]) -> Iterator[ReportSection]:
    plots = tuple((f"knob-{n}", f"{knob}: its value at each mark") for n, knob in enumerate(knobs))
    yield ReportSection("NEES and error over precision", plots=plots)
    notes = tuple(line.strip() for line in predictions(sweep))
    yield ReportSection(
        "What each knob does", table=Table.of_texts(effect_table(sweep)), notes=notes
    )
    runs = tuple(map(_run, sweep.points))
    yield ReportSection("Every run", table=Table(RUN_HEADINGS, runs) if runs else None)
    if sweep.notes:
        yield ReportSection("Conventions and assumptions", notes=sweep.notes)


def _run(point: Point) -> Cells:
    return (
        Cell(point.estimator),
        Cell(point.track),
        Cell(format_settings(point.settings)),
        number_cell(point.precision),
        number_cell(point.nees_median),
        number_cell(point.mae),
        Cell(words.count(point.scored), point.scored),
    )


def _knob(sweep: Sweep, knob: str) -> dict[str, Any]:
    """What the script draws of a knob."""
    return {
        "honest": median_chi_squared(sweep.dimension),
        "lines": [
            {
                "estimator": printable(estimator),
                "name": printable(name),
                "precision": line.precision.tolist(),
                "nees": (10**line.log_nees).tolist(),
                "error": (10**line.log_error).tolist(),
                "values": [printable(value) for value in line.values],
            }
            for estimator, name, line in knob_lines(sweep, knob)
        ],
    }
