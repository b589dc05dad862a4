"""A study as strict JSON data (schema `smfeval.study/1`): every number with the tasks behind it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from smfeval import __version__
from smfeval.compare.duels import Column, Duel, MetricCell, Ranks, Section
from smfeval.compare.hypothesis import HypothesisCount
from smfeval.compare.pooled import PooledK
from smfeval.compare.sensitivity import Alternative
from smfeval.evaluation import Options
from smfeval.show.render import json_text
from smfeval.studies.plan import Plan, PlannedEstimator, PlannedTrack
from smfeval.studies.result import PairResult, Study, TaskResult
from smfeval.studies.tables import VerdictMoves, verdict_moves
from smfeval.summarise.number import Number, finite_or_none


def plan_document(plan: Plan) -> dict[str, Any]:
    """Echo of the plan; paths as it names them, without the folders of this machine."""
    return {
        "name": plan.name,
        "version": __version__,
        "tracks": [_planned_document(each) for each in plan.tracks],
        "estimators": [_planned_document(each) for each in plan.estimators],
        "options": options_document(plan.options),
        "pairs": plan.pairs,
        "sensitivity": plan.sensitivity,
        "diverged_m": plan.diverged_m,
        "own_gauges": plan.own_gauges,
    }


def options_document(options: Options) -> dict[str, Any]:
    """How every run was scored."""
    return {
        "association": options.association,
        "tolerance_s": options.tolerance_s,
        "offset_s": options.offset_s,
        "alignment": options.alignment,
        "fit_on": None if options.fit_on is None else str(options.fit_on),
        "joint": options.joint,
        "axes": options.axes,
        "rules": list(options.rules),
        "settings": asdict(options.settings),
        "horizons": [str(horizon) for horizon in options.horizons],
        "reference_covariance": options.reference_covariance,
        "ref_sigma": options.ref_sigma and asdict(options.ref_sigma),
        "ref_shared": options.ref_shared and asdict(options.ref_shared),
        "singular": options.singular,
        "intervals": asdict(options.intervals),
    }


def _planned_document(planned: PlannedTrack | PlannedEstimator) -> dict[str, Any]:
    reading = {name: _json_value(value) for name, value in planned.reading}
    told: dict[str, Any] = asdict(planned) | {"reading": reading}
    if isinstance(planned, PlannedTrack):
        told["extrinsics"] = dict(planned.extrinsics)
    return told


def _json_value(value: Any) -> Any:
    """What TOML says, in JSON; a path is its text."""
    if isinstance(value, list | tuple):
        return [_json_value(each) for each in value]
    return value if isinstance(value, str | int | float) or value is None else str(value)


SCHEMA = "smfeval.study/1"

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
            "verdicts": [_moves(each) for each in verdict_moves(study.results)],
        },
        "monte_carlo": [each.to_dict() for each in study.monte_carlo],
        "tasks": [_task(each) for each in study.results],
        "pair_tasks": [_pair_task(each) for each in study.pair_results],
        "notes": list(study.notes),
    }


def _section(section: Section, keys: Keys) -> dict[str, Any]:
    names = ("estimator", "diverged", "scored")
    return {
        "group": section.group,
        "converged_only": section.converged_only,
        "tracks": section.tracks,
        "diverged": [dict(zip(names, each, strict=True)) for each in section.diverged],
        "columns": [_column(each, keys) for each in section.columns],
        "pooled": [_pooled(each) for each in section.pooled],
        "hypotheses": [_hypothesis(each) for each in section.hypotheses],
        "notes": list(section.notes),
    }


def _column(column: Column, keys: Keys) -> dict[str, Any]:
    return {
        "metric": column.metric,
        "shared_tracks": column.shared_tracks,
        "cells": [_cell(each, keys) for each in column.cells],
        "duels": [_duel(each) for each in column.duels],
        "ranks": None if column.ranks is None else _ranks(column.ranks),
        "notes": list(column.notes),
    }


def _cell(cell: MetricCell, keys: Keys) -> dict[str, Any]:
    return {
        "estimator": cell.estimator,
        "best": cell.best,
        "left_out": list(cell.left_out),
        "why_left_out": cell.why_left_out,
        "median": _number(cell.median),
        "shared": _number(cell.shared),
        "values": [
            {
                "track": track,
                "value": finite_or_none(value),
                "tasks": keys.get((cell.estimator, track), []),
            }
            for track, value in cell.values
        ],
    }


def _pooled(pooled: PooledK) -> dict[str, Any]:
    left_out = [{"reason": why, "tracks": list(tracks)} for why, tracks in pooled.left_out]
    predicted = None if pooled.predicted is None else list(pooled.predicted)
    made = {"k": _number(pooled.k), "predicted": predicted, "left_out": left_out}
    return asdict(pooled) | made


def _hypothesis(counted: HypothesisCount) -> dict[str, Any]:
    opposed = [{"track": track, "factor": factor} for track, factor in counted.opposed]
    return {
        "pair": counted.pair,
        "tracks": counted.tracks,
        "holds": counted.holds,
        "tested": counted.tested,
        "refuted": counted.refuted,
        "opposed": opposed,
    }


def _duel(duel: Duel) -> dict[str, Any]:
    real = {name: finite_or_none(getattr(duel, name)) for name in ("difference", "p", "p_holm")}
    return asdict(duel) | real


def _ranks(ranks: Ranks) -> dict[str, Any]:
    return {
        "mean_rank": [
            {"estimator": name, "rank": rank}
            for name, rank in zip(ranks.names, ranks.mean_rank, strict=True)
        ],
        "tracks": ranks.tracks,
        "friedman_p": finite_or_none(ranks.friedman_p),
        "critical_difference": finite_or_none(ranks.critical_difference),
        "not_separated": [list(clique) for clique in ranks.cliques],
        "reason": ranks.reason,
    }


def _task(result: TaskResult) -> dict[str, Any]:
    numbers = {metric: number.to_dict() for metric, number in result.numbers}
    made = {"numbers": numbers, "notes": list(result.all_notes), "guard": list(result.guard)}
    found = asdict(result) | made | {"alternatives": [*map(_alternative, result.alternatives)]}
    del found["doubts"]  # they stand among the notes
    return found


def _alternative(found: Alternative) -> dict[str, Any]:
    return asdict(found) | {"k": finite_or_none(found.k)}


def _moves(moves: VerdictMoves) -> dict[str, Any]:
    moved = [{"planned": a, "alternative": b, "runs": runs} for a, b, runs in moves.moved]
    return asdict(moves) | {"moved": moved}


def _pair_task(result: PairResult) -> dict[str, Any]:
    numbers = {name: _number(number) for name, number in result.numbers.items()}
    found = asdict(result) | numbers | {"alternatives": [*map(_alternative, result.alternatives)]}
    del found["without_covariance"]  # its failure tells
    return found


def _number(number: Number | None) -> dict[str, Any] | None:
    return None if number is None else number.to_dict()


def _task_keys(results: Iterable[TaskResult | PairResult]) -> Keys:
    keys: Keys = defaultdict(list)
    for each in results:
        if each.failure is None:
            keys[each.name, each.track].append(each.key)
    return keys
