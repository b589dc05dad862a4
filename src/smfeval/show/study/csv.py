"""Tables as CSV in long form: one row for each number, with all that is known about it."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

from smfeval.compare.duels import Column, Duel, MetricCell, Section
from smfeval.compare.pooled import PooledK
from smfeval.show.study.layout import gauges
from smfeval.studies.result import Study
from smfeval.summarise.number import finite_or_none
from smfeval.summarise.numbers import NUMBERS

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
    "predicted_low",  # where k of a new track lies
    "predicted_high",
    "tracks_of_table",
    "diverged",
    "gauge",  # the alignment; several are joined by "+"
    "best",
    "left_out",  # tracks that count in no test and for no mark
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
    for section in study.sections:
        rows = _rows(section, roles)
        writer.writerows(
            {"table": "estimators", "gauge": used.get(row["estimator"]), **row} for row in rows
        )
    for section in study.pair_sections:
        writer.writerows({"table": "pairs", **row} for row in _rows(section, {}))
    for section in study.sensitivity:
        writer.writerows({"table": "sensitivity", **row} for row in _rows(section, roles))
    return lines.getvalue()


def _rows(section: Section, roles: dict[str, Any]) -> Iterator[dict[str, Any]]:
    lost = {name: diverged for name, diverged, _ in section.diverged}
    table = {
        "group": section.group,
        "converged_only": _boolean_text(section.converged_only),
        "tracks_of_table": section.tracks,
    }
    for column in section.columns:
        for cell in column.cells:
            who = {
                "estimator": cell.estimator,
                "role": roles.get(cell.estimator, ""),
                "diverged": lost.get(cell.estimator),
            }
            number = {"metric": column.metric} | _cell(cell, column.metric)
            yield table | who | number | _shared(cell, column) | _standing(cell, column)
    for each in section.pooled:
        who = {
            "estimator": each.estimator,
            "role": roles.get(each.estimator, ""),
            "diverged": lost.get(each.estimator),
        }
        yield table | who | _pooled(each)
    for counted in section.hypotheses:
        for metric, count in (("not_opposed", counted.holds), ("opposed", counted.refuted)):
            told = {"metric": metric, "unit": "tracks", "value": count, "tracks": counted.tracks}
            yield table | {"estimator": counted.pair} | told


def _cell(cell: MetricCell, metric: str) -> dict[str, Any]:
    median, by_track = cell.median, {track: finite_or_none(value) for track, value in cell.values}
    told = {
        "unit": NUMBERS[metric].unit if metric in NUMBERS else "",
        "tracks": len(cell.values),
        "best": _boolean_text(cell.best),
        "left_out": len(cell.left_out),
        "by_track": json.dumps(by_track, allow_nan=False, ensure_ascii=False),
    }
    if median is None:
        return told
    ends = {"value": median.value, "low": median.low, "high": median.high}
    return told | ends | {"unit": median.unit, "reason": median.reason}


def _shared(cell: MetricCell, column: Column) -> dict[str, Any]:
    number = cell.shared
    if number is None:
        return {}
    ends = {"shared_value": number.value, "shared_low": number.low, "shared_high": number.high}
    return ends | {"shared_tracks": column.shared_tracks}


def _pooled(pooled: PooledK) -> dict[str, Any]:
    """The pooled k as a row of its own, with the verdict over these tracks."""
    told = {
        "metric": "k_pooled",
        "unit": "1",
        "tracks": pooled.tracks,
        "left_out": sum(len(tracks) for _, tracks in pooled.left_out),
        "verdict": pooled.label,
    }
    if pooled.predicted is not None:
        told |= {"predicted_low": pooled.predicted[0], "predicted_high": pooled.predicted[1]}
    k = pooled.k
    if k is None:
        return told
    return told | {"value": k.value, "low": k.low, "high": k.high, "reason": k.reason}


def _standing(cell: MetricCell, column: Column) -> dict[str, Any]:
    """Against the best contender, and among all."""
    ranks = column.ranks
    ranked = dict(zip(ranks.names, ranks.mean_rank, strict=True)) if ranks else {}
    duel = next((each for each in column.duels if each.other == cell.estimator), None)
    return {"mean_rank": ranked.get(cell.estimator), **(_duel(duel) if duel else {})}


def _duel(duel: Duel) -> dict[str, Any]:
    names = ("shared", "ties", "difference", "p", "p_holm", "further_tracks")
    told = {name: getattr(duel, name) for name in names}
    return told | {"against": duel.best, "beaten": _boolean_text(duel.beaten)}


def _boolean_text(flag: bool) -> str:
    return "true" if flag else "false"
