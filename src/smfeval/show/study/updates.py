"""What telemetry says over a study: tables of medians over tracks, sentences, and JSON data."""

from collections.abc import Iterator
from typing import Any

from smfeval import __version__, words
from smfeval.show.explain import SCHEMA
from smfeval.show.report import Report, ReportSection, Table
from smfeval.studies.result import Study
from smfeval.studies.updates import FIRST_UPDATES, UpdatesRow, updates_over_tracks
from smfeval.summarise.number import Number

FIRST = f"k of the first {FIRST_UPDATES} updates"
# Title of a table, its columns by the names of the numbers, and what they are.
TABLES: tuple[tuple[str, dict[str, str], str], ...] = (
    (
        "consistency and sharpness",
        {"k": "k", "coverage_90": "90 %", "precision": "precision", "k_first": FIRST},
        "k and the share inside the 90 % region: consistency; precision: sharpness, median of "
        f"-log det; {FIRST}: of the motion since the first scan, without any alignment",
    ),
    (
        "credit against reported precision",
        {
            "credit": "credit",
            "above_credit": "reported less credit",
            "unexplained": "less prior and credit",
            "matched": "N",
            "effective_points": "N / k",
            "consistent_sigma_m": "sigma sqrt(k)",
        },
        "credit: log det of sum n n^T / sigma^2; differences: median over scans, then over tracks; "
        "N / k points, or sigma sqrt(k) per point, would be consistent",
    ),
    (
        "R^2 of log NEES on what the scan's geometry and information say",
        {
            "r_squared_condition": "condition number",
            "r_squared_trace": "trace",
            "r_squared_determinant": "determinant",
            "r_squared_smallest": "smallest eigenvalue",
        },
        "of sum n n^T over the matched points of a scan",
    ),
    (
        "a displacement that all points of a scan share",
        {
            "shown_m": "innovations show",
            "recovered_one_nats": "takes back, one update",
            "recovered_every_nats": "every update",
            "needed_one_m": "k = 1 needs, one update",
            "needed_every_m": "every update",
        },
        "sigma of the displacement; takes back: nats of precision, were the shown one known",
    ),
)


def report(study: Study) -> Report:
    """A table for each question that the telemetry answers; the conclusion stands last."""
    rows = updates_over_tracks(study.plan, study.results)
    explained = sum(row.runs for row in rows)
    tracks = words.count(len(study.plan.tracks), "track")
    runs = words.count_of(explained, len(study.results), "run")
    title = f"explain: {study.plan.name}, {tracks}, {runs} with telemetry (medians over tracks)"
    sections = [ReportSection(title), *_sections(rows)]
    notes = (*(f"  {line}" for line in _unexplained(study)), *sentences(rows))
    return Report((*sections, ReportSection(notes=notes)))


def _sections(rows: tuple[UpdatesRow, ...]) -> Iterator[ReportSection]:
    for title, columns, meaning in TABLES:
        known = [name for name in columns if any(name in row.numbers for row in rows)]
        if known:
            head = ("estimator", *(columns[name] for name in known))
            cells = [
                (row.estimator, *(cell_text(name, row.numbers.get(name)) for name in known))
                for row in rows
            ]
            table = Table.of_texts([head, *cells])
            yield ReportSection(title, table=table, notes=(f"  {meaning}",))


def cell_text(name: str, number: Number | None) -> str:
    """A median with its interval; shares in percent, differences with a sign."""
    if number is None:
        return "-"
    if name.startswith("r_squared") or name == "coverage_90":
        return number.text("%")
    if name in ("above_credit", "unexplained"):
        return f"{words.slope(number.value, number.low, number.high)} nat"
    return str(number)


def sentences(rows: tuple[UpdatesRow, ...]) -> list[str]:
    """'fastlio2: reported precision less credit of the points: +0.61 nat; 1,299 points ...'."""
    lines = []
    for row in rows:
        numbers = row.numbers
        less = cell_text("above_credit", numbers["above_credit"])
        parts = [f"reported precision less the credit of its points: {less}"]
        if "effective_points" in numbers:
            many, few = (words.number(numbers[n].value) for n in ("matched", "effective_points"))
            parts.append(f"{many} points are worth {few}")
        if "r_squared_condition" in numbers:
            share = words.share(numbers["r_squared_condition"].value)
            parts.append(f"the condition number explains {share} of the variance of log NEES")
        if "k_first" in numbers:
            first = words.number(numbers["k_first"].value)
            parts.append(f"{FIRST}: {first}")
        lines.append(f"{row.estimator}: {'; '.join(parts)}")
    return lines


def _unexplained(study: Study) -> list[str]:
    """Runs whose telemetry says nothing, and why."""
    return [
        f"{run.estimator} on {run.track} is not explained: {run.unexplained}"
        for run in study.results
        if run.unexplained is not None
    ]


def document(study: Study) -> dict[str, Any]:
    """Every median, as strict JSON data."""
    estimators = []
    for row in updates_over_tracks(study.plan, study.results):
        numbers = {name: number.to_dict() for name, number in row.numbers.items()}
        estimators.append({"estimator": row.estimator, "runs": row.runs, "numbers": numbers})
    return {
        "schema": SCHEMA,
        "version": __version__,
        "study": study.plan.name,
        "estimators": estimators,
        "notes": _unexplained(study),
    }
