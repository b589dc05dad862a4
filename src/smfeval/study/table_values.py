"""From results to arrays: one value per estimator (or pair) and track, NaN where there is none.

The value on a track is the median over the runs there, so a track counts once; runs that failed
have no value. A track has diverged where that value of the MAE is above the limit of the plan.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.study.metrics import METRICS
from smfeval.study.plan import Plan
from smfeval.study.result import PairResult, TaskResult
from smfeval.summarise.number import Number

Found = tuple[str, str, Number]  # (name of the row, track, number of one run)
Outcome = tuple[str, str, str | None]  # (name of the row, track, failure of one run)


@dataclass(frozen=True)
class Board:
    """One metric: a value per row and track."""

    metric: str
    unit: str
    values: Floats  # (names, tracks)
    no_number: Ints  # runs whose value is not a number: left out


@dataclass(frozen=True)
class Boards:
    """All metrics of which there is a value, and what became of the runs. (names, tracks)."""

    names: tuple[str, ...]
    tracks: tuple[str, ...]
    metrics: tuple[Board, ...]
    runs: Ints  # good ones
    failed: Ints  # runs
    converged: Bools

    @property
    def scored(self) -> Bools:
        """Whether there is a good run."""
        return self.runs > 0

    @property
    def seen(self) -> int:
        """Tracks on which anybody has a value."""
        found = [~np.isnan(board.values).all(axis=0) for board in self.metrics]
        return int(np.any(found, axis=0).sum()) if found else 0

    def on(self, tracks: Ints) -> "Boards":
        """The same on some tracks. (m,) places."""
        return Boards(
            names=self.names,
            tracks=tuple(self.tracks[i] for i in tracks),
            metrics=tuple(
                replace(b, values=b.values[:, tracks], no_number=b.no_number[:, tracks])
                for b in self.metrics
            ),
            runs=self.runs[:, tracks],
            failed=self.failed[:, tracks],
            converged=self.converged[:, tracks],
        )

    def converged_only(self) -> "Boards":
        """The same without the values of those that diverged."""
        kept = (np.where(self.converged, b.values, np.nan) for b in self.metrics)
        metrics = zip(self.metrics, kept, strict=True)
        return replace(self, metrics=tuple(replace(b, values=v) for b, v in metrics))


def task_boards(plan: Plan, results: Sequence[TaskResult]) -> Boards:
    """Values of the estimators."""
    names = tuple(each.name for each in plan.estimators)
    tracks = tuple(each.name for each in plan.tracks)
    by_metric: dict[str, list[Found]] = {metric: [] for metric in METRICS}
    for each in results:
        for metric, number in each.numbers if each.failure is None else ():
            by_metric[metric].append((each.estimator, each.track, number))
    boards = {metric: board(metric, names, tracks, found) for metric, found in by_metric.items()}
    runs, failed = counted(names, tracks, ((r.estimator, r.track, r.failure) for r in results))
    converged = (runs > 0) & (boards["mae"].values <= plan.diverged_m)  # NaN is not converged
    filled = tuple(each for each in boards.values() if not np.isnan(each.values).all())
    return Boards(names, tracks, filled, runs, failed, converged)


def pair_boards(results: Sequence[PairResult], alone: Boards) -> Boards:
    """Values of the pairs; a pair has converged where both of it have, `alone`."""
    label = {(each.a, each.b): f"{each.a} | {each.b}" for each in results}
    names, tracks = tuple(label.values()), alone.tracks

    def of(metric: str) -> Board:
        numbers = ((label[r.a, r.b], r.track, getattr(r, metric)) for r in results)
        return board(metric, names, tracks, (row for row in numbers if row[2] is not None))

    outcomes = ((label[r.a, r.b], r.track, r.failure) for r in results)
    runs, failed = counted(names, tracks, outcomes)
    row = {name: i for i, name in enumerate(alone.names)}
    a, b = ([row[pair[side]] for pair in label] for side in (0, 1))
    converged = alone.converged[a] & alone.converged[b]
    return Boards(names, tracks, (of("k_pair"), of("nees_median")), runs, failed, converged)


def board(
    metric: str, names: tuple[str, ...], tracks: tuple[str, ...], found: Iterable[Found]
) -> Board:
    """Median over the runs of each row on each track."""
    row, place = _index(names), _index(tracks)
    runs: dict[tuple[int, int], list[float]] = defaultdict(list)
    values, unit = np.full((len(names), len(tracks)), np.nan), ""
    no_number = np.zeros(values.shape, dtype=np.int64)
    for name, track, number in found:
        where, unit = (row[name], place[track]), number.unit
        if np.isnan(number.value):
            no_number[where] += 1
        else:
            runs[where].append(number.value)
    for where, numbers in runs.items():
        values[where] = np.median(numbers)
    return Board(metric, unit, values, no_number)


def counted(
    names: tuple[str, ...], tracks: tuple[str, ...], outcomes: Iterable[Outcome]
) -> tuple[Ints, Ints]:
    """Good and failed runs of each row on each track. (names, tracks) both."""
    row, place = _index(names), _index(tracks)
    count = np.zeros((2, len(names), len(tracks)), dtype=np.int64)
    for name, track, failure in outcomes:
        count[int(failure is not None), row[name], place[track]] += 1
    return count[0], count[1]


def _index(names: tuple[str, ...]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}
