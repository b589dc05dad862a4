"""A study as strict JSON data (schema `smfeval.study/1`): every number with the tasks behind it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from smfeval import __version__
from smfeval.align.quantities import Extent
from smfeval.compare.duels import Column, MetricCell, StudySection
from smfeval.show.render import json_text
from smfeval.studies.plan import Plan, PlannedEstimator, PlannedTrack
from smfeval.studies.result import PairResult, Study, TaskResult
from smfeval.studies.tables import verdict_moves
from smfeval.summarise.number import Number, finite_or_none

SCHEMA = "smfeval.study/1"
OPTIONS = (
    *("association", "tolerance_s", "offset_s", "alignment", "fit_on", "joint", "axes", "rules"),
    *("settings", "horizons", "kitti", "reference_covariance", "ref_sigma", "ref_shared"),
    *("singular", "intervals", "alert_limit", "risk"),
)
CHOICES = ("pairs", "sensitivity", "diverged_m", "own_gauges", "ranks_improper", "titles")

CELL_KEYS = ("estimator", "best", "reason", "median", "shared")

Keys = dict[tuple[str, str], list[str]]  # (estimator or pair, track) -> tasks that were scored


def text(study: Study) -> str:
    """One JSON document."""
    return json_text(document(study))


def document(study: Study) -> dict[str, Any]:
    """Everything that the study found; no times and no paths of a machine."""
    keys, pair_keys = _task_keys(study.results), _task_keys(study.pair_results)
    return {
        "schema": SCHEMA,
        "plan": plan_document(study.plan),
        "sections": [_section(each, keys) for each in study.sections],
        "pair_sections": [_section(each, pair_keys) for each in study.pair_sections],
        "sensitivity": {
            "sections": [_section(each, {}) for each in study.sensitivity],
            "verdicts": [
                _plain(each) | {"moved": _named(("planned", "alternative", "runs"), each.moved)}
                for each in verdict_moves(study.results)
            ],
        },
        "monte_carlo": [each.to_dict() for each in study.monte_carlo],
        "tasks": [
            _plain(each, without="doubts")
            | {"numbers": _plain(dict(each.numbers)), "notes": list(each.all_notes)}
            | {"updates": _plain(dict(each.updates))}
            for each in study.results
        ],
        "pair_tasks": [_plain(each, without="without_covariance") for each in study.pair_results],
        "notes": list(study.notes),
    }


def plan_document(plan: Plan) -> dict[str, Any]:
    """Echo of the plan; paths as it names them, without the folders of this machine."""
    return {
        "name": plan.name,
        "version": __version__,
        "tracks": [_planned(each) | {"extrinsics": dict(each.extrinsics)} for each in plan.tracks],
        "estimators": [_planned(each) for each in plan.estimators],
        "options": {name: _plain(getattr(plan.options, name)) for name in OPTIONS},
        **{name: _plain(getattr(plan, name)) for name in CHOICES},
        "headlines": list(plan.headlines),
    }


def _planned(planned: PlannedTrack | PlannedEstimator) -> dict[str, Any]:
    return _plain(planned) | {"reading": _plain(dict(planned.reading))}


def _plain(value: Any, *, without: str = "") -> Any:
    """What JSON has: numbers as their documents, no value that is not finite, texts of the rest."""
    if isinstance(value, Number):
        return value.to_dict()
    if isinstance(value, Extent | Path):
        return str(value)
    if is_dataclass(value):
        names = (each.name for each in fields(value) if each.name != without)
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return finite_or_none(value) if isinstance(value, float) else value


def _named(names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(names, map(_plain, row), strict=True)) for row in rows]


def _section(section: StudySection, keys: Keys) -> dict[str, Any]:
    return {
        "group": section.group,
        "converged_only": section.converged_only,
        "tracks": section.tracks,
        "diverged": _named(("estimator", "diverged", "scored"), section.diverged),
        "columns": [_column(each, keys) for each in section.columns],
        "pooled": [
            _plain(each) | {"left_out": _named(("reason", "tracks"), each.left_out)}
            for each in section.pooled
        ],
        "hypotheses": [
            {name: getattr(each, name) for name in ("pair", "tracks", "holds", "tested", "refuted")}
            | {"opposed": _named(("track", "factor"), each.opposed)}
            for each in section.hypotheses
        ],
        "notes": list(section.notes),
    }


def _column(column: Column, keys: Keys) -> dict[str, Any]:
    ranks, named = column.ranks, ("estimator", "rank")
    return {
        "metric": column.metric,
        "shared_tracks": column.shared_tracks,
        "cells": [_cell(each, keys) for each in column.cells],
        "duels": _plain(column.duels),
        "ranks": ranks
        and {
            "mean_rank": _named(named, zip(ranks.names, ranks.mean_rank, strict=True)),
            "tracks": ranks.tracks,
            "not_separated": _plain(ranks.cliques),
            "reason": ranks.reason,
        },
        **{name: _plain(getattr(column, name)) for name in ("unmarked", "detail", "notes")},
    }


def _cell(cell: MetricCell, keys: Keys) -> dict[str, Any]:
    values = []
    for track, value in cell.values:
        tasks = keys.get((cell.estimator, track), [])
        values.append({"track": track, "value": finite_or_none(value), "tasks": tasks})
    return {name: _plain(getattr(cell, name)) for name in CELL_KEYS} | {"values": values}


def _task_keys(results: Iterable[TaskResult | PairResult]) -> Keys:
    keys: Keys = defaultdict(list)
    for each in results:
        if each.failure is None:
            keys[each.name, each.track].append(each.key)
    return keys
