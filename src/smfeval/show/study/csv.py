"""Tables as CSV in long form: one row for each number, with all that is known about it."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

from smfeval.compare.duels import Column, MetricCell, StudySection
from smfeval.show.study.layout import gauges
from smfeval.studies.result import Study
from smfeval.summarise.number import Number, finite_or_none
from smfeval.summarise.numbers import NUMBERS
from smfeval.words import csv_cell

COLUMNS = (
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


def text(study: Study) -> str:
    """All numbers in full, in the units of `smfeval score`; nothing is rounded."""
    lines = StringIO()
    writer = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
    writer.writeheader()
    roles = {each.name: each.role for each in study.plan.estimators}
    used = gauges(study)
    tables = (("estimators", study.sections), ("pairs", study.pair_sections))
    for table, sections in (*tables, ("sensitivity", study.sensitivity)):
        for section in sections:
            for row in _rows(section):
                name = row["estimator"]
                role = "" if table == "pairs" else roles.get(name, "")
                gauge = used.get(name) if table == "estimators" else None
                cells = {"table": table, "role": role, "alignment": gauge, **row}
                writer.writerow({key: csv_cell(cell) for key, cell in cells.items()})
    return lines.getvalue()


def _rows(section: StudySection) -> Iterator[dict[str, Any]]:
    """A row for each cell, for each pooled k, and two for each count of opposed errors."""
    lost = {name: diverged for name, diverged, _ in section.diverged}
    table = {
        "group": section.group,
        "converged_only": _boolean_text(section.converged_only),
        "tracks_of_table": section.tracks,
    }
    for column in section.columns:
        for cell in column.cells:
            who = {"estimator": cell.estimator, "diverged": lost.get(cell.estimator)}
            yield table | who | _cell(cell, column) | _standing(cell, column)
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


def _cell(cell: MetricCell, column: Column) -> dict[str, Any]:
    """The number of a cell, and that over the tracks that all have."""
    by_track = {track: finite_or_none(value) for track, value in cell.values}
    return {
        "metric": column.metric,
        "unit": NUMBERS[column.metric].unit if column.metric in NUMBERS else "",
        "tracks": len(cell.values),
        "best": _boolean_text(cell.best),
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
            found |= {"against": duel.best, "beaten": _boolean_text(duel.beaten)}
    return found


def _boolean_text(flag: bool) -> str:
    return "true" if flag else "false"
