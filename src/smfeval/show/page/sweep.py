"""The page of `smfeval sweep`: what each knob does, every setting and every run."""

from collections.abc import Iterator
from typing import Any

from smfeval import words
from smfeval.compare.slopes import Line, Point, format_settings
from smfeval.compare.sweep import Sweep
from smfeval.show.page.document import Card, document, sentence
from smfeval.show.report import Cell, Cells, ReportSection, Table, number_cell
from smfeval.show.sweep import (
    PREDICTIONS,
    effect_table,
    extent,
    failure_lines,
    interval_counts,
    knob_sentences,
    predicted_ends,
    predicted_slopes,
    predictions,
)
from smfeval.summarise.inflation import median_chi_squared
from smfeval.words import printable

LOOKS = {
    "not more accurate": "overconfident",
    "worse": "overconfident",
    "more accurate": "consistent",
}
LOOKS |= {"better": "consistent", "between": "conservative", "mixed": "conservative"}
MARKS = (  # of settings, in the order of the script
    *("circles", "squares", "triangles", "diamonds", "triangles that point down", "crosses", "x"),
)
RUN_HEADINGS = ("estimator", "track", "setting", "precision", "median NEES", "MAE", "scans")


def sweep_page(sweep: Sweep, *, command: str) -> str:
    """The page of a finished sweep."""
    return document(
        "report.html",
        title=sweep.name,
        command=command,
        data={"sweep": _drawn(sweep)} if sweep.lines else {},
        question="One knob turned: does sharper mean better, or only more confident?",
        heading=extent(sweep),
        verdict=_card(sweep),
        sections=list(_sections(sweep)),
    )


def _card(sweep: Sweep) -> Card:
    """What each knob does; one label where all have the same."""
    labels = list(dict.fromkeys(effect.label for effect in sweep.effects))
    failed = tuple(sentence(line.strip()) for line in failure_lines(sweep))
    if not labels:
        return Card("cannot tell", "No knob has two values that could be scored.", warnings=failed)
    label = labels[0] if len(labels) == 1 else "mixed"
    headline, *rest = knob_sentences(sweep)
    return Card(label, headline, tuple(rest), warnings=failed, look=LOOKS.get(label, ""))


def _sections(sweep: Sweep) -> Iterator[ReportSection]:
    if sweep.lines:
        knobs = dict.fromkeys(each.knob for each in sweep.lines)
        marks = (f"{mark}: {knob}" for knob, mark in zip(knobs, MARKS, strict=False))
        plots = (("sweep", f"each mark a run; {', '.join(marks)}"),)
        yield ReportSection("NEES and error over precision", plots=plots)
    notes = tuple(line.strip() for line in (*predictions(sweep), *interval_counts(sweep)))
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


def _drawn(sweep: Sweep) -> dict[str, Any]:
    """What the script draws: every line, and both predictions of each estimator."""
    estimators: dict[str, list[Line]] = {}
    for each in sweep.lines:
        estimators.setdefault(each.estimator, []).append(each.line)
    names = {"log_nees": "nees", "log_error": "error"}
    return {
        "honest": median_chi_squared(sweep.dimension),
        "lines": [
            {
                "estimator": printable(each.estimator),
                "knob": printable(each.knob),
                "name": printable(f"{each.estimator}, {each.track}, {each.knob}"),
                "precision": each.line.precision[order].tolist(),
                "nees": (10 ** each.line.log_nees[order]).tolist(),
                "error": (10 ** each.line.log_error[order]).tolist(),
                "values": [printable(each.line.values[at]) for at in order],
            }
            for each in sweep.lines
            for order in (each.line.precision.argsort(),)
        ],
        "predictions": [
            {
                "estimator": printable(estimator),
                "name": name,
                "of": names[quantity],
                "ends": [part.tolist() for part in predicted_ends(own, quantity, slope)],
            }
            for estimator, own in estimators.items()
            for quantity, slopes in predicted_slopes(sweep.dimension).items()
            for name, slope in zip(PREDICTIONS, slopes, strict=True)
        ],
    }
