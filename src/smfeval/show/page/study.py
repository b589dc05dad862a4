"""The pages of `smfeval study` and `sweep`: what is concluded, the tables, and every run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from smfeval import words
from smfeval.compare.duels import StudySection
from smfeval.compare.slopes import Line, Point, format_settings
from smfeval.compare.sweep import Sweep
from smfeval.show import sweep as of_sweep
from smfeval.show.page.document import Card, document, option_rows, sentence
from smfeval.show.report import Cell, Cells, ReportSection, Row, Table, number_cell, plain_cell
from smfeval.show.study import remarks
from smfeval.show.study.layout import HEADLINES, ColumnHead, grids, headline_grid
from smfeval.show.study.terminal import STYLE
from smfeval.studies.result import NO_FILE, Study, TaskResult
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import finite_or_none
from smfeval.summarise.numbers import NUMBERS
from smfeval.words import printable

FAILED = "failed"
WIDTH = 150  # characters of a table that a window of 1400 pixels has room for
FIRST = ("k", "k_pair", "coverage_90", "nees_median")  # columns that are never out of sight


def study_page(study: Study, *, command: str) -> str:
    """The page of a finished study."""
    shown = _calibration_first(study)
    tables = grids(shown)
    return document(
        "study.html",
        title=study.plan.name,
        command=command,
        data={"spread": _values(study)},
        heading=study.plan.name,
        verdict=_verdict(study),
        meaning=sentence(remarks.meaning(study)),
        best=remarks.BEST_MEANING if any(grid.bold for grid in tables) else "",
        first=headline_grid(shown, intervals=HEADLINES),
        unscored=remarks.unscored_runs(study),
        grids=[(grid, grid.blocks(STYLE, limit=WIDTH)) for grid in tables],
        study_remarks=remarks.study_remarks(shown),
        runs=_runs(study),
        conventions=ReportSection(rows=tuple(_conventions(study)), notes=study.notes),
    )


def _verdict(study: Study) -> Card:
    """Which is best and which overconfident; one label where all runs have the same."""
    labels = {each.verdict for each in study.results if each.verdict}
    if not labels:
        return Card("cannot tell", "No run could be scored.", (f"{remarks.study_title(study)}.",))
    label = labels.pop() if len(labels) == 1 else "mixed verdicts"
    first, *others = *map(sentence, remarks.answers(study)), f"{remarks.study_title(study)}."
    return Card(label, first, tuple(others))


def _outcome(result: TaskResult) -> str:
    if result.failure is not None:
        return NO_FILE if result.is_gap else FAILED
    return result.verdict or "cannot tell"


def _calibration_first(study: Study) -> Study:
    """The same tables, with the columns that answer the page's question before the others."""

    def ordered(sections: Sequence[StudySection]) -> tuple[StudySection, ...]:
        return tuple(
            replace(each, columns=tuple(sorted(each.columns, key=lambda c: _place(c.metric))))
            for each in sections
        )

    return replace(
        study, sections=ordered(study.sections), pair_sections=ordered(study.pair_sections)
    )


def _place(metric: str) -> int:
    return FIRST.index(metric) if metric in FIRST else len(FIRST)


def _runs(study: Study) -> dict[str, Any]:
    """Every run with its verdict and its numbers, in the units of `smfeval score`."""
    metrics, rows = _metrics(study), []
    for run in study.results:
        outcome = Cell(_outcome(run), is_label=run.failure is None)
        if run.failure is not None and not run.is_gap:
            outcome = Cell(f"failed: {run.failure}")
        values = {metric: number.value for metric, number in run.numbers}
        names = Cell(run.estimator), Cell(run.group), Cell(run.track)
        repeat = Cell(str(run.repeat + 1), run.repeat)
        rows.append((*names, repeat, outcome, *(plain_cell(values.get(each)) for each in metrics)))
    return {"columns": [_head(metric) for metric in metrics], "rows": rows}


def _metrics(study: Study) -> list[str]:
    """Metrics that any run has, those that answer the page's question first."""
    found = dict.fromkeys(metric for each in study.results for metric, _ in each.numbers)
    return sorted(found, key=_place)


def _head(metric: str) -> ColumnHead:
    if metric not in NUMBERS:
        return ColumnHead(metric, "")
    shown = NUMBERS[metric]
    return ColumnHead(shown.title, "" if shown.unit == "1" else shown.unit)


def _values(study: Study) -> dict[str, Any]:
    """What the script draws: per metric and estimator, the value on each track."""
    metrics, section = [], remarks.whole_section(study)
    cells = {column.metric: column.cells for column in (section.columns if section else ())}
    for metric in (each for each in _metrics(study) if each in NUMBERS):
        points = []
        for each in study.results:
            if (number := dict(each.numbers).get(metric)) is not None:
                who = printable(each.estimator), printable(f"{each.group}/{each.track}")
                points.append((*who, finite_or_none(number.value)))
        drawn = {
            "title": str(_head(metric)),
            "log": NUMBERS[metric].decades,
            "points": [each for each in points if each[2] is not None],
            "left": sum(each[2] is None for each in points),
            "medians": {
                printable(cell.estimator): [cell.median.value, cell.median.low, cell.median.high]
                for cell in cells.get(metric, ())
                if cell.median is not None and isfinite(cell.median.value)
            },
            "honest": {"k": 1.0, "coverage_90": 0.9}.get(metric),
        }
        metrics.append(drawn)
    return {"names": [printable(each.name) for each in study.plan.estimators], "metrics": metrics}


def _conventions(study: Study) -> Iterator[Row]:
    """Of all runs, then of each estimator and of references that say more than their name."""
    yield from option_rows(study.plan.options)
    yield Row("rules", ", ".join(study.plan.options.rules))
    yield Row("diverged", f"mean error above {words.length(study.plan.diverged_m)}")
    for each in study.plan.estimators:
        own = {
            **dict(each.reading),
            "extrinsic": each.extrinsic,
            "reference": each.reference,
            "body of that reference": each.reference_body,
            "extrinsic for pairs": each.pair_extrinsic,
        }
        declared = _format_options(own) or "as its files declare"
        yield Row("estimators", f"{each.name} ({each.role}): {declared}")
    references: dict[str, None] = {}
    for track in study.plan.tracks:
        declared = _format_options({"body": track.body, **dict(track.reading)})
        references[f"group {track.group}: {declared or 'as their files declare'}"] = None
    yield from (Row("references", text) for text in references)


def _format_options(options: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items() if value is not None)


LOOKS = {"better": "consistent", "more accurate": "consistent", "between": "conservative"}
LOOKS |= {"mixed": "conservative", "not more accurate": "overconfident", "worse": "overconfident"}
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
        heading=of_sweep.extent(sweep),
        verdict=_card(sweep),
        sections=list(_sections(sweep)),
    )


def _card(sweep: Sweep) -> Card:
    """What each knob does; one label where all have the same."""
    labels = list(dict.fromkeys(effect.label for effect in sweep.effects))
    failed = tuple(map(sentence, of_sweep.failure_lines(sweep)))
    if not labels:
        return Card("cannot tell", "No knob has two values that could be scored.", warnings=failed)
    label = labels[0] if len(labels) == 1 else "mixed"
    headline, *rest = of_sweep.knob_sentences(sweep)
    return Card(label, headline, tuple(rest), warnings=failed, look=LOOKS.get(label, ""))


def _sections(sweep: Sweep) -> Iterator[ReportSection]:
    if sweep.lines:
        knobs = dict.fromkeys(each.knob for each in sweep.lines)
        marks = (f"{mark}: {knob}" for knob, mark in zip(knobs, MARKS, strict=False))
        plots = (("sweep", f"each mark a run; {', '.join(marks)}"),)
        yield ReportSection("NEES and error over precision", plots=plots)
    table = Table.of_texts(of_sweep.effect_table(sweep))
    notes = (*of_sweep.predictions(sweep), *of_sweep.interval_counts(sweep))
    yield ReportSection("What each knob does", table=table, notes=notes)
    runs = tuple(map(_run, sweep.points))
    yield ReportSection("Every run", table=Table(RUN_HEADINGS, runs) if runs else None)
    if sweep.notes:
        yield ReportSection("Conventions and assumptions", notes=sweep.notes)


def _run(point: Point) -> Cells:
    names = map(Cell, (point.estimator, point.track, format_settings(point.settings)))
    numbers = map(number_cell, (point.precision, point.nees_median, point.mae))
    return (*names, *numbers, Cell(words.count(point.scored), point.scored))


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
                "ends": [part.tolist() for part in of_sweep.predicted_ends(own, quantity, slope)],
            }
            for estimator, own in estimators.items()
            for quantity, slopes in of_sweep.predicted_slopes(sweep.dimension).items()
            for name, slope in zip(of_sweep.PREDICTIONS, slopes, strict=True)
        ],
    }
