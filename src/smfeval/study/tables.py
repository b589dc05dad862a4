"""Results over tracks: a section per group, then over all, then on converged tracks only."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from smfeval.compare.across import Column, Entrants, Section, column
from smfeval.maths.arrays import Ints
from smfeval.study.metrics import METRICS
from smfeval.study.plan import Plan
from smfeval.study.result import PairResult, TaskResult
from smfeval.study.table_notes import WINS, pair_notes, section_notes
from smfeval.study.table_values import Board, Boards, pair_boards, task_boards

ALL = "all"
ALL_BESIDE = "all tracks"  # where one of several groups is itself called "all"


def sections(plan: Plan, results: Sequence[TaskResult]) -> tuple[Section, ...]:
    """Compare the estimators of a study, metric by metric.

    On converged tracks only, each estimator keeps its own; two meet where both converged.
    """
    boards = task_boards(plan, results)
    return tuple(
        _section(plan, boards.on(tracks), group, converged_only=converged_only)
        for converged_only in (False, True)
        for group, tracks in _groups(plan)
    )


def pair_sections(
    plan: Plan, results: Sequence[TaskResult], pair_results: Sequence[PairResult]
) -> tuple[Section, ...]:
    """Compare pairs on the tracks on which both converge, by `results`; nobody wins."""
    if not pair_results:
        return ()
    boards = pair_boards(pair_results, task_boards(plan, results))
    return tuple(_pair_section(plan, boards.on(tracks), group) for group, tracks in _groups(plan))


def _section(plan: Plan, boards: Boards, group: str, *, converged_only: bool) -> Section:
    kept = boards.converged_only() if converged_only else boards
    return Section(
        group=group,
        converged_only=converged_only,
        tracks=kept.seen if converged_only else len(boards.tracks),
        columns=_columns(plan, kept, plan.contenders),
        diverged=_diverged(boards),
        notes=section_notes(plan, boards, converged_only=converged_only),
    )


def _pair_section(plan: Plan, boards: Boards, group: str) -> Section:
    kept = boards.converged_only()
    return Section(
        group=group,
        converged_only=True,
        tracks=kept.seen,
        columns=_columns(plan, kept, ()),
        diverged=_diverged(boards),
        notes=pair_notes(plan, kept),
    )


def _columns(plan: Plan, boards: Boards, contenders: tuple[str, ...]) -> tuple[Column, ...]:
    competes = tuple(name in contenders for name in boards.names)
    entrants = Entrants(boards.names, competes, boards.tracks)
    return tuple(_column(plan, entrants, board) for board in boards.metrics)


def _column(plan: Plan, entrants: Entrants, board: Board) -> Column:
    metric = METRICS.get(board.metric)
    made = column(
        board.metric,
        entrants,
        board.values,
        unit=board.unit,
        loss=None if metric is None else metric.loss,
        level=plan.options.intervals.level,
    )
    return replace(made, notes=WINS.get(board.metric, ()))


def _diverged(boards: Boards) -> tuple[tuple[str, int, int], ...]:
    """(name, diverged tracks, scored tracks) of every row."""
    lost = (boards.scored & ~boards.converged).sum(axis=1).tolist()
    return tuple(zip(boards.names, lost, boards.scored.sum(axis=1).tolist(), strict=True))


def _groups(plan: Plan) -> list[tuple[str, Ints]]:
    """Every group with its tracks; then all tracks, where there are several groups."""
    group = np.array([track.group for track in plan.tracks])
    found = [(name, np.flatnonzero(group == name)) for name in plan.groups]
    if len(found) > 1:
        every = ALL_BESIDE if ALL in plan.groups else ALL
        found.append((every, np.arange(len(plan.tracks))))
    return found
