"""How k and the verdicts of a study move with what was chosen: gauge, clock, reference.

Every run is scored again with one choice made otherwise (`compare.sensitivity`). Over tracks, each
alternative has the median of k with its interval, beside that of the plan on all tracks, and the
verdicts that differ from the plan's are counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from smfeval import words
from smfeval.compare.across import Entrants, metric_column
from smfeval.compare.duels import Column, Section
from smfeval.studies.plan import Plan
from smfeval.studies.result import PairResult, TaskResult

TITLE = "sensitivity of"
Found = dict[tuple[str, str], list[float]]  # k of the runs, by (row, track)


@dataclass(frozen=True)
class VerdictMoves:
    """Verdicts of an estimator under one alternative, against those of the plan."""

    estimator: str
    alternative: str
    runs: int
    moved: tuple[tuple[str, str, int], ...]  # (verdict of the plan, of the alternative, runs)

    @property
    def sentence(self) -> str:
        """'alpha, gauge none: 3 of 8 verdicts move (cannot tell to overconfident: 3)'."""
        kinds = ", ".join(f"{a} to {b}: {words.count(n)}" for a, b, n in self.moved)
        often = words.count_of(sum(n for _, _, n in self.moved), self.runs, "verdict")
        return f"{self.estimator}, {self.alternative}: {often} move ({kinds})"


def sensitivity_section(plan: Plan, results: Sequence[TaskResult]) -> Section | None:
    """k of every estimator as planned and under each alternative; None where none was asked for."""
    scored = [each for each in results if each.failure is None and each.alternatives]
    planned = ((each.estimator, each.track, dict(each.numbers)["k"].value) for each in scored)
    others = (
        (other.name, each.estimator, each.track, other.k)
        for each in scored
        for other in each.alternatives
    )
    columns = _columns(plan, "k", planned, others)
    return _section(plan, "k", columns, _move_notes(scored)) if columns else None


def pair_sensitivity_section(plan: Plan, results: Sequence[PairResult]) -> Section | None:
    """k_pair of every pair as planned and under each alternative."""
    scored = [each for each in results if each.k_pair is not None and each.alternatives]
    planned = ((r.name, r.track, r.k_pair.value) for r in scored if r.k_pair is not None)
    others = (
        (other.name, each.name, each.track, other.k)
        for each in scored
        for other in each.alternatives
    )
    columns = _columns(plan, "k_pair", planned, others)
    return _section(plan, "k_pair", columns, ()) if columns else None


def verdict_moves(results: Iterable[TaskResult]) -> tuple[VerdictMoves, ...]:
    """Of every estimator and alternative, in the order of the results."""
    seen: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for each in results:
        for other in each.alternatives:
            if other.verdict is not None and each.verdict is not None:
                seen[each.estimator, other.name][each.verdict, other.verdict] += 1
    return tuple(
        VerdictMoves(
            *who,
            runs=often.total(),
            moved=tuple((a, b, n) for (a, b), n in sorted(often.items()) if a != b),
        )
        for who, often in seen.items()
    )


def _move_notes(results: Sequence[TaskResult]) -> tuple[str, ...]:
    moves = verdict_moves(results)
    still = sum(not each.moved for each in moves)
    every = [other for each in results for other in each.alternatives]
    failed = [f"{other.name}: {other.failure}" for other in every if other.failure is not None]
    count = f"{words.count(len(failed))} of {words.count(len(every))}"
    return (
        *(each.sentence for each in moves if each.moved),
        *([f"no verdict moves in {words.count_of(still, len(moves), 'row')}"] if still else []),
        *([f"could not be scored: {count}, such as {failed[0]}"] if failed else []),
        "a gauge with fewer freedoms than an estimate leaves open charges them to its belief: k "
        "there proves nothing against it",
    )


def _columns(
    plan: Plan,
    metric: str,
    planned: Iterable[tuple[str, str, float]],
    others: Iterable[tuple[str, str, str, float | None]],
) -> tuple[Column, ...]:
    """The plan's own column, then one for each alternative."""
    found: dict[str, Found] = {metric: defaultdict(list)}
    names: dict[str, None] = {}
    for row, track, k in planned:
        names[row] = None
        found[metric][row, track].append(k)
    for name, row, track, other in others:
        values = found.setdefault(f"{metric}, {name}", defaultdict(list))
        if other is not None:
            values[row, track].append(other)
    tracks = tuple(track.name for track in plan.tracks)
    entrants = Entrants(tuple(names), (False,) * len(names), tracks)
    level = plan.options.intervals.level
    return tuple(
        metric_column(title, entrants, _board(entrants, values), unit="1", loss=None, level=level)
        for title, values in found.items()
        if any(values.values())
    )


def _board(entrants: Entrants, found: Found) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Median over the runs of each row on each track; NaN where there is none."""
    return np.array(
        [
            [
                np.median(found[name, track]) if found.get((name, track)) else np.nan
                for track in entrants.tracks
            ]
            for name in entrants.names
        ]
    )


def _section(
    plan: Plan, metric: str, columns: tuple[Column, ...], notes: tuple[str, ...]
) -> Section:
    return Section(f"{TITLE} {metric}", False, len(plan.tracks), columns, (), notes)
