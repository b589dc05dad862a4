"""Two studies of the same tracks: what moved between their stores, significantly or not.

Runs meet by estimator and track; a track with several runs counts once, by their median. Each
metric of each estimator is tested over the tracks that both stores have a value on: Wilcoxon's
signed-rank test on the losses (so that k is compared by its distance from 1), Holm over the
estimators of a metric, as between estimators within one study (`compare.duels`). Scores of a belief
that are not proper after the alignment can move; which way is better they do not tell. But an
alignment only takes errors away: k above 1, or coverage below its level, on both sides can be
better or worse.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from smfeval import words
from smfeval.compare.across import losses_of
from smfeval.compare.duels import FEWEST, LEVEL, SignedRank, differences, holm, signed_rank
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError
from smfeval.io.source import is_file
from smfeval.maths.arrays import Floats
from smfeval.studies.result import NO_FILE, PROPER
from smfeval.studies.store import TASKS
from smfeval.studies.tables import is_of_belief
from smfeval.summarise.numbers import NumberRow, metrics

Outcome = Literal["better", "worse", "moved", "not significant", "not tested", "same"]
Run = tuple[str, str, str, int]  # estimator, group, track, repeat
OVERCONFIDENT = "overconfident"


@dataclass(frozen=True)
class MetricMove:
    """One metric of one estimator in both studies."""

    estimator: str
    metric: str
    unit: str
    tracks: int  # that both have a value on
    changed: int  # of these, on which the values differ
    old: float  # median over these tracks
    new: float
    difference: float  # median of new minus old, track by track
    apart: int  # tracks on which the intervals of old and new do not overlap
    p: float | None  # two-sided; None: not tested
    p_holm: float | None  # corrected over the estimators of the metric
    outcome: Outcome
    reason: str | None = None  # why it was not tested

    @property
    def is_significant(self) -> bool:
        """Whether the metric moved beyond chance."""
        return self.outcome in ("better", "worse", "moved")


@dataclass(frozen=True)
class VerdictMove:
    """A run whose verdict is another; None: it was not scored."""

    run: Run
    old: str | None
    new: str | None


@dataclass(frozen=True)
class StudyDiff:
    """What moved from one study to another."""

    old: str  # names of the folders
    new: str
    old_runs: int  # scored ones
    new_runs: int
    shared_runs: int  # scored in both
    same_runs: int  # of these, resting on the same files, options and code
    tracks: int  # with a run that is scored in both
    estimators: tuple[str, ...]  # with such a run
    moves: tuple[MetricMove, ...]  # by metric, then estimator
    verdicts: tuple[VerdictMove, ...]  # of runs that are scored in both
    failed: tuple[tuple[Run, str], ...]  # scored in the old study, failed in the new one, and why
    missing: tuple[Run, ...]  # scored in the old study, without a file or not planned in the new
    added: tuple[Run, ...]  # scored in the new study alone

    def count(self, name: str) -> int:
        """How many there are: `worse`, `failed` ..., or `worse.k` of one number."""
        kind, _, metric = name.partition(".")
        return sum(metric in ("", getattr(each, "metric", "")) for each in getattr(self, kind))

    @property
    def worse(self) -> tuple[MetricMove, ...]:
        """Metrics that became significantly worse."""
        return tuple(each for each in self.moves if each.outcome == "worse")

    @property
    def better(self) -> tuple[MetricMove, ...]:
        """Metrics that became significantly better."""
        return tuple(each for each in self.moves if each.outcome == "better")

    @property
    def overconfident(self) -> tuple[VerdictMove, ...]:
        """Runs that are called overconfident now and were not before."""
        return tuple(each for each in self.verdicts if each.new == OVERCONFIDENT)


def diff_studies(old: Path, new: Path) -> StudyDiff:
    """Compare the stores of two studies: their output folders."""
    before, after = _load(old), _load(new)
    scored_before, scored_after = (
        {run for run, row in store.items() if row["failure"] is None} for store in (before, after)
    )
    shared = sorted(scored_before & scored_after)
    if not shared:
        raise FormatError(
            f"{old} and {new}: no run of an estimator on a track is scored in both studies"
        )
    lost = sorted(scored_before - scored_after)
    failed = tuple(
        (run, str(after[run]["failure"]))
        for run in lost
        if run in after and after[run]["failure"] != NO_FILE
    )
    gone = {run for run, _ in failed}
    return StudyDiff(
        str(old),
        str(new),
        len(scored_before),
        len(scored_after),
        len(shared),
        sum(before[run]["key"] == after[run]["key"] for run in shared),
        len({run[2] for run in shared}),
        tuple(dict.fromkeys(run[0] for run in before if run in set(shared))),
        tuple(_moves(before, after, shared)),
        tuple(
            VerdictMove(run, before[run]["verdict"], after[run]["verdict"])
            for run in shared
            if before[run]["verdict"] != after[run]["verdict"]
        ),
        failed,
        tuple(run for run in lost if run not in gone),
        tuple(sorted(scored_after - scored_before)),
    )


Store = dict[Run, dict[str, Any]]


def _load(folder: Path) -> Store:
    """The rows of a store, by run, in its order."""
    from smfeval.io.parquet import read_table  # noqa: PLC0415  polars is slow to import

    path = folder / TASKS
    if not is_file(path):
        raise FormatError(f"{folder}: this is no output folder of a study; there is no {TASKS}")
    _, frame = read_table(path)
    needed = ("estimator", "group", "track", "repeat", "key", "failure", "verdict")
    lacking = [name for name in needed if name not in frame.columns]
    if lacking:
        raise FormatError(f"{path}: this is no table of a study; it lacks {words.join(lacking)}")
    rows = frame.iter_rows(named=True)
    return {(r["estimator"], r["group"], r["track"], r["repeat"]): r for r in rows}


def _moves(before: Store, after: Store, shared: Sequence[Run]) -> Iterator[MetricMove]:
    """Every metric that both stores have, estimator by estimator."""
    for row in metrics().values():
        runs: dict[str, dict[tuple[str, str], list[Run]]] = defaultdict(lambda: defaultdict(list))
        for run in shared:
            if all(store[run].get(row.name) is not None for store in (before, after)):
                runs[run[0]][run[1:3]].append(run)
        pairs = {
            name: _pair(before, after, list(by_track.values()), row)
            for name, by_track in runs.items()
        }
        tested = [name for name, pair in pairs.items() if pair.test.signed >= FEWEST]
        corrected = holm(np.array([pairs[name].test.p for name in tested])).tolist()
        p_holm = dict(zip(tested, corrected, strict=True))
        yield from (_move(row, name, pair, p_holm.get(name)) for name, pair in pairs.items())


@dataclass(frozen=True)
class _Paired:
    """Values of one metric on the tracks that both have, (n,) each, and their test."""

    old: Floats
    new: Floats
    is_proper: bool  # so that a lower loss is better
    apart: int
    test: SignedRank


def _pair(before: Store, after: Store, tracks: Sequence[list[Run]], row: NumberRow) -> _Paired:
    """Medians over the runs of each track, and the test of their losses."""
    stores, metric = (before, after), row.name
    old, new = (
        np.array([np.median([store[run][metric] for run in runs]) for runs in tracks])
        for store in stores
    )

    every = [store[run] for store in stores for runs in tracks for run in runs]
    is_proper = not is_of_belief(metric) or all(r.get("scored_under") in PROPER for r in every)

    def is_apart(run: Run) -> bool:
        ends: list[Any] = [s[run].get(f"{metric}_{e}") for s in stores for e in ("low", "high")]
        return None not in ends and bool(ends[1] < ends[2] or ends[3] < ends[0])

    losses = (losses_of(each[None], row.loss or float)[0] for each in (old, new))
    apart = sum(all(map(is_apart, runs)) for runs in tracks)
    return _Paired(old, new, is_proper, apart, signed_rank(differences(*losses)))


def _is_too_tight(row: NumberRow, pair: _Paired) -> bool:
    """Whether k is above 1 on both sides, or coverage below its level, by the median track."""
    if row.honest is None or not (row.decades or row.level):
        return False
    medians, consistent = [float(np.median(each)) for each in (pair.old, pair.new)], row.honest(1)
    return max(medians) <= consistent if row.level else min(medians) >= consistent


def _move(row: NumberRow, estimator: str, pair: _Paired, p_holm: float | None) -> MetricMove:
    changed = int(np.count_nonzero(differences(pair.old, pair.new)))
    outcome: Outcome
    if changed == 0:
        outcome = "same"
    elif p_holm is None:
        outcome = "not tested"
    elif p_holm > LEVEL:
        outcome = "not significant"
    elif row.loss is None or not (pair.is_proper or _is_too_tight(row, pair)):
        outcome = "moved"
    else:
        outcome = "worse" if pair.test.lean > 0 else "better"

    few = f"tracks that differ: {pair.test.signed}; {FEWEST} are needed"
    return MetricMove(
        estimator,
        row.name,
        row.unit,
        len(pair.old),
        changed,
        float(np.median(pair.old)),
        float(np.median(pair.new)),
        float(np.median(pair.new - pair.old)),
        pair.apart,
        None if p_holm is None else pair.test.p,
        p_holm,
        outcome,
        few if outcome == "not tested" else None,
    )
