"""Results over tracks: a section per group, then over all, then on converged tracks only.

Where every run is scored again with one choice made otherwise (`compare.sensitivity`: gauge, clock,
reference), a section tells how k moves: each alternative has the median of k with its interval,
beside that of the plan on all tracks, and the verdicts that differ from the plan's are counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from smfeval import words
from smfeval.compare.across import Entrants, fewest_for_median, metric_column
from smfeval.compare.duels import FEWEST, LEVEL, Column, StudySection
from smfeval.compare.hypothesis import REFUTED, HypothesisCount, count_hypothesis
from smfeval.compare.pooled import COUNT_DOUBT, FEWEST_TRACKS, PooledK, TrackK, pool_tracks
from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.studies.plan import Plan
from smfeval.studies.result import PAIR_NUMBERS, PairResult, TaskResult
from smfeval.studies.task import WINDOWS_PER_TRACK
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import NUMBERS, metrics

OPPOSED, OPPOSED_P = "opposed", "opposed_p"  # no columns: the hypothesis is counted from them
UNREFERENCED = ("k_pair", "nees_median")  # columns of pairs that need no reference
MOST_REFUTED = 0.25  # of an estimator's tracks, increments that are not independent; chance: 5 %
OF_ERRORS = ("mae", "rmse")  # metrics of the mean alone: a fit changes no claim about it
WIN_NOTES = {
    "k": ("k: who is closest to 1 wins, as a ratio, track by track",),
    "coverage_90": ("90 % coverage: who is closest to 90 % wins, track by track",),
}
IMPROPER = (
    "without known cross-covariances, scores of beliefs are not proper after an alignment: one "
    "that is overconfident can score better"
)
MIXED = "not all have the same alignment"
NO_HORIZON = "relative motion has no horizon with enough windows that are independent"
ONE_SIDED = "after alignment k is one-sided where cross-covariances are not known"
ALL_TRACKS = "all"
ALL_TRACKS_LONG = "all tracks"  # where one of several groups is itself called "all"


@dataclass(frozen=True)
class Board:
    """One metric: a value per row and track, the median over runs."""

    unit: str
    values: Floats  # (names, tracks)
    nan_runs: Ints  # runs whose value is not a number: left out

    @property
    def empty(self) -> bool:
        """Whether nobody has a value."""
        return bool(np.isnan(self.values).all())


@dataclass(frozen=True)
class Boards:
    """All metrics of which there is a value, and what became of the runs. (names, tracks)."""

    names: tuple[str, ...]
    tracks: tuple[str, ...]
    metrics: dict[str, Board]
    runs: Ints  # good ones
    failed_runs: Ints
    converged: Bools
    improper: Bools  # scores of the belief are not proper
    alignments: Ints  # one number for each kind of alignment; -1 without a good run

    @property
    def has_runs(self) -> Bools:
        """Whether there is a good run."""
        return self.runs > 0

    @property
    def track_count(self) -> int:
        """Tracks on which anybody has a value."""
        found = [~np.isnan(board.values).all(axis=0) for board in self.metrics.values()]
        return int(np.any(found, axis=0).sum()) if found else 0

    def on_tracks(self, places: Ints) -> "Boards":
        """All of it on some tracks. (m,) places."""

        def there(board: Any) -> dict[str, Any]:
            arrays = ((n, each) for n, each in vars(board).items() if isinstance(each, np.ndarray))
            return {name: each[:, places] for name, each in arrays}

        boards = {name: replace(board, **there(board)) for name, board in self.metrics.items()}
        tracks = tuple(self.tracks[i] for i in places)
        return replace(self, tracks=tracks, metrics=boards, **there(self))

    def converged_only(self) -> "Boards":
        """All of it without the values of those that diverged."""
        kept = {
            name: replace(board, values=np.where(self.converged, board.values, np.nan))
            for name, board in self.metrics.items()
        }
        return replace(self, metrics=kept)


def task_boards(plan: Plan, results: Sequence[TaskResult]) -> Boards:
    """Values of the estimators; one has converged where its mean error is small."""
    names = tuple(each.name for each in plan.estimators)
    boards = _boards(results, names, tuple(track.name for track in plan.tracks), metrics())
    converged = boards.metrics["mae"].values <= plan.diverged_m  # NaN is not converged
    kept = {name: board for name, board in boards.metrics.items() if not board.empty}
    return replace(boards, metrics=kept, converged=boards.has_runs & converged)


def pair_boards(results: Sequence[PairResult], alone: Boards) -> Boards:
    """Values of the pairs; a pair has converged where both of it have, `alone`."""
    both = {each.name: (each.a, each.b) for each in results}
    boards = _boards(results, tuple(both), alone.tracks, PAIR_NUMBERS)
    a, b = ([alone.names.index(pair[side]) for pair in both.values()] for side in (0, 1))
    found = boards.metrics.items()
    kept = {name: board for name, board in found if not board.empty or name in UNREFERENCED}
    return replace(boards, metrics=kept, converged=alone.converged[a] & alone.converged[b])


def _boards(
    results: Sequence[TaskResult | PairResult],
    names: tuple[str, ...],
    tracks: tuple[str, ...],
    metrics: Iterable[str],
) -> Boards:
    """Medians over the runs of each row on each track, and what became of the runs."""
    row, place = ({name: i for i, name in enumerate(listed)} for listed in (names, tracks))
    shape = len(names), len(tracks)
    runs, improper = np.zeros((2, *shape), dtype=np.int64), np.zeros(shape, dtype=np.bool_)
    alignments, kinds = np.full(shape, -1, dtype=np.int64), dict[str | None, int]()
    cells: dict[str, dict[tuple[int, int], list[Number]]] = {m: defaultdict(list) for m in metrics}
    refuted = refuted_estimators([each for each in results if isinstance(each, TaskResult)])
    for each in results:
        where = row[each.name], place[each.track]
        runs[int(each.failure is not None)][where] += 1
        if isinstance(each, TaskResult) and each.failure is None:
            improper[where] |= not each.is_proper or each.estimator in refuted
            alignments[where] = kinds.setdefault(each.gauge, len(kinds))
        for metric, number in dict(each.numbers).items():
            if number is not None:
                cells[metric][where].append(number)

    boards = {}
    for metric, found in cells.items():
        values, nan_runs, unit = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64), ""
        for where, numbers in found.items():
            good = [number.value for number in numbers if not np.isnan(number.value)]
            nan_runs[where], unit = len(numbers) - len(good), numbers[-1].unit
            values[where] = np.median(good) if good else np.nan
        boards[metric] = Board(unit, values, nan_runs)
    nowhere = np.zeros(shape, dtype=np.bool_)
    return Boards(names, tracks, boards, runs[0], runs[1], nowhere, improper, alignments)


def refuted_estimators(results: Sequence[TaskResult]) -> set[str]:
    """Estimators whose implied joint covariance is refuted: their increments are correlated."""
    tested: dict[str, list[bool]] = defaultdict(list)
    for each in results:
        if each.independent is not None:
            tested[each.estimator].append(not each.independent)
    return {name for name, wrong in tested.items() if sum(wrong) > MOST_REFUTED * len(wrong)}


def sections(plan: Plan, results: Sequence[TaskResult]) -> tuple[StudySection, ...]:
    """Compare the estimators of a study, metric by metric.

    On converged tracks only, each estimator keeps its own; two meet where both converged.
    """
    boards = task_boards(plan, results)
    found = []
    for converged_only in (False, True):
        for group, places in _groups(plan):
            there = boards.on_tracks(places)
            kept = there.converged_only() if converged_only else there
            pooled = pooled_estimators(plan, kept, results)
            section = StudySection(
                group=group,
                converged_only=converged_only,
                tracks=kept.track_count if converged_only else len(places),
                columns=_columns(plan, kept, plan.contenders),
                diverged=_diverged_counts(there),
                notes=section_notes(plan, there, pooled, converged_only=converged_only),
                pooled=pooled,
            )
            found.append(section)
    return tuple(found)


def pair_sections(
    plan: Plan, results: Sequence[TaskResult], pair_results: Sequence[PairResult]
) -> tuple[StudySection, ...]:
    """Compare pairs on the tracks on which both converge, by `results`; nobody wins."""
    if not pair_results:
        return ()
    boards = pair_boards(pair_results, task_boards(plan, results))
    found = []
    for group, places in _groups(plan):
        there = boards.on_tracks(places)
        kept = there.converged_only()
        shown = {m: board for m, board in kept.metrics.items() if m not in (OPPOSED, OPPOSED_P)}
        section = StudySection(
            group=group,
            converged_only=True,
            tracks=kept.track_count,
            columns=_columns(plan, replace(kept, metrics=shown), ()),
            diverged=_diverged_counts(there),
            notes=(
                *pair_notes(plan, kept),
                *unchecked_notes([each for each in pair_results if each.track in there.tracks]),
            ),
            hypotheses=hypotheses(kept),
        )
        found.append(section)
    return tuple(found)


def _groups(plan: Plan) -> list[tuple[str, Ints]]:
    """Every group with the places of its tracks; then all, where there are several groups."""
    group = np.array([track.group for track in plan.tracks])
    found = [(name, np.flatnonzero(group == name)) for name in plan.groups]
    if len(found) > 1:
        every = ALL_TRACKS_LONG if ALL_TRACKS in plan.groups else ALL_TRACKS
        found.append((every, np.arange(len(plan.tracks))))
    return found


def _columns(plan: Plan, boards: Boards, contenders: tuple[str, ...]) -> tuple[Column, ...]:
    competes = tuple(name in contenders for name in boards.names)
    routes = tuple(map(plan.route_of.__getitem__, boards.tracks))
    entrants = Entrants(boards.names, competes, boards.tracks, routes)
    improper = boards.improper[np.array(competes, dtype=np.bool_)].any(axis=0)
    used = np.ma.masked_less(boards.alignments, 0)
    mixed = (used.max(axis=0) != used.min(axis=0)).filled(False)
    columns = []
    for metric, board in boards.metrics.items():
        hidden = improper & (is_of_belief(metric) and not plan.ranks_improper)
        column = metric_column(
            metric,
            entrants,
            board.values,
            unit=board.unit,
            loss=NUMBERS[metric].loss if metric in NUMBERS else None,
            level=plan.options.intervals.level,
            comparable=~(hidden | mixed),
            why=IMPROPER if hidden.any() else MIXED if mixed.any() else None,
        )
        columns.append(replace(column, notes=(*column.notes, *WIN_NOTES.get(metric, ()))))
    return tuple(columns)


def is_of_belief(metric: str) -> bool:
    """Whether an alignment can make a metric improper: not errors, nor relative motion."""
    return metric not in OF_ERRORS and not is_relative(metric)


def is_relative(metric: str) -> bool:
    """Whether a metric is of relative motion, which needs no alignment."""
    return metric in NUMBERS and NUMBERS[metric].space == "relative"


def _diverged_counts(boards: Boards) -> tuple[tuple[str, int, int], ...]:
    """(name, diverged tracks, scored tracks) of every row."""
    lost = (boards.has_runs & ~boards.converged).sum(axis=1).tolist()
    return tuple(zip(boards.names, lost, boards.has_runs.sum(axis=1).tolist(), strict=True))


def pooled_estimators(
    plan: Plan, boards: Boards, results: Sequence[TaskResult]
) -> tuple[PooledK, ...]:
    """k of every estimator that reports a belief, over the tracks of the boards."""
    level = plan.options.intervals.level
    if "k" not in boards.metrics:
        return ()
    scored: dict[tuple[str, str], list[TaskResult]] = defaultdict(list)
    for each in results:
        if each.failure is None:
            scored[each.estimator, each.track].append(each)
    found, route = [], plan.route_of
    for name, values in zip(boards.names, boards.metrics["k"].values, strict=True):
        runs: dict[str, list[TaskResult]] = defaultdict(list)  # by route: they share its truth
        for track, value in zip(boards.tracks, values, strict=True):
            if not np.isnan(value):
                runs[route[track]] += scored[name, track]
        is_fitted = any(run.gauge != "none" for t in boards.tracks for run in scored[name, t])
        tracks = [track_k(route, of_route) for route, of_route in runs.items()]
        found.append(pool_tracks(name, tracks, level, is_fitted=is_fitted))
    return tuple(each for each in found if each.judged)


def track_k(track: str, runs: Sequence[TaskResult]) -> TrackK:
    """k of a track from its runs, which share its data: mean logarithms of value and ends.

    Overconfident where most of its runs are. Its evidence is that of the run with the least T.
    """
    overconfident = 2 * sum(run.verdict == "overconfident" for run in runs) > len(runs)
    left = [run.evidence for run in runs if run.evidence is not None and run.withheld is None]
    evidence = min(left, key=lambda each: each.excess) if len(left) == len(runs) else None
    found = TrackK(track, None, overconfident=overconfident, evidence=evidence)
    numbers = [k for run in runs if (k := run.two_sided_k) is not None and k.value > 0]
    if not numbers:
        withheld = next((run.withheld for run in runs if run.withheld is not None), None)
        known = any(run.joint in ("given", "implied") for run in runs)
        return replace(found, reason=withheld or (NO_HORIZON if known else ONE_SIDED))
    whole = [k for k in numbers if k.low and k.high is not None]
    if not whole:
        return replace(found, k=numbers[0])
    value, low, high = (
        float(np.exp(np.mean(np.log([getattr(k, end) for k in whole]))))
        for end in ("value", "low", "high")
    )
    guards = [run.k_guard for run in runs]
    guard = min(least for least, _ in guards), max(most for _, most in guards)
    return replace(found, k=Number(value, "1", low, high), guard=guard)


def hypotheses(boards: Boards) -> tuple[HypothesisCount, ...]:
    """On how many tracks the errors of each pair are not opposed; a track counts once."""
    if OPPOSED not in boards.metrics:
        return ()

    def by_track(metric: str, row: int) -> dict[str, float]:
        if metric not in boards.metrics:
            return {}
        values = zip(boards.tracks, boards.metrics[metric].values[row].tolist(), strict=True)
        return {track: value for track, value in values if not np.isnan(value)}

    counts = (
        count_hypothesis(name, by_track(OPPOSED, row), by_track(OPPOSED_P, row))
        for row, name in enumerate(boards.names)
    )
    return tuple(each for each in counts if each.tracks)


def section_notes(
    plan: Plan, boards: Boards, pooled: Sequence[PooledK], *, converged_only: bool
) -> tuple[str, ...]:
    """Of a table of estimators; `boards` are those of all its tracks."""
    notes = [_median_note(plan)]
    if plan.contenders:
        notes.append(
            "marked: the best contender (least median loss) and all that were tested against it "
            "and are not significantly worse, where somebody is: Wilcoxon signed-rank test over "
            "comparable tracks, zeros after Pratt, Holm over all pairs of contenders of a metric "
            f"at {words.exact(LEVEL)}; who shares fewer than {FEWEST} tracks that differ with the "
            "best is not tested and not marked; a track that one has no value on and another has "
            "counts as lost in the choice of the best"
        )
    else:
        notes.append("every estimator is a baseline: there is nothing to compare")
    if converged_only:
        same = (boards.has_runs == boards.converged).all()  # then the table repeats the other
        notes.append(
            "left out: tracks of an estimator whose MAE there is above "
            f"{words.exact(plan.diverged_m)} m{'; there are none' if same else ''}"
        )
    beside = int(boards.failed_runs[boards.has_runs].sum())
    if beside:
        notes.append(f"failed runs on tracks that other runs scored: {beside}")
    notes += [*_nan_notes(boards), *_relative_notes(plan, boards)]
    if pooled:
        notes.append(
            "verdict over the study: k of each track, two-sided, is pooled as log k with its "
            "standard error and a variance between tracks (Paule-Mandel; interval of "
            f"Hartung-Knapp, none below {FEWEST_TRACKS} tracks); or more tracks are overconfident, "
            "each by itself, than happens to a consistent estimator in "
            f"{words.share(COUNT_DOUBT)} of studies; or what the best-case fits leave is, over all "
            "tracks, too large whatever the correlations inside a track"
        )
    return tuple(notes)


def pair_notes(plan: Plan, boards: Boards) -> tuple[str, ...]:
    """Of a table of pairs; `boards` are those of the tracks on which both converge."""
    notes = [
        _median_note(plan),
        "k_pair > 1 proves that at least one of the two understates its errors; k_pair <= 1 proves "
        "nothing; only tracks on which both converge count (by their errors against the reference)",
    ]
    if OPPOSED in boards.metrics:
        notes.append(
            "k_pair by ref.: of the same scans, each of the two aligned to the reference instead "
            "of to each other, under the covariances as reported; k_pair is a bound where the "
            "symmetric cross-covariance of the errors is positive semidefinite; for independent "
            f"errors chance makes it negative on {words.share(REFUTED)} of tracks as judged here"
        )
    return (*notes, *_nan_notes(boards))


def unchecked_notes(results: Sequence[PairResult]) -> tuple[str, ...]:
    """On comparisons that the reference says nothing about, with the reason of the first."""
    why = [each.unchecked for each in results if each.unchecked is not None]
    if not why:
        return ()
    often = words.count_of(len(why), len(results), "comparison")
    such = " such as" if len(set(why)) > 1 else ""
    return (f"the reference says nothing about the errors in {often}:{such} {why[0]}",)


def _median_note(plan: Plan) -> str:
    level = plan.options.intervals.level
    shared = len(set(plan.route_of.values())) < len(plan.tracks)
    return (
        f"median over tracks [{words.level(level)} interval from resampling tracks: exact "
        f"bootstrap distribution, expanded percentiles; none below {fewest_for_median(level)} "
        "tracks]; a track with "
        "several runs counts once, by their median"
        + ("; tracks of one route are resampled and tested together" if shared else "")
    )


def _nan_notes(boards: Boards) -> tuple[str, ...]:
    return tuple(
        f"{metric}: not a number in {count} runs, left out"
        for metric, board in boards.metrics.items()
        if (count := int(np.sum(board.nan_runs)))
    )


def _relative_notes(plan: Plan, boards: Boards) -> tuple[str, ...]:
    """Over which horizon relative scores are, and who has none on how many tracks."""
    values = [board.values for name, board in boards.metrics.items() if is_relative(name)]
    if not values:
        return ()
    chosen = plan.options.scored_horizon
    size = f"a {WINDOWS_PER_TRACK}th of the reference's duration" if chosen is None else str(chosen)
    lost = boards.has_runs & np.isnan(values[0])
    counts = zip(boards.names, lost.sum(axis=1).tolist(), boards.has_runs.sum(axis=1), strict=True)
    without = [f"{name} on {words.count_of(n, int(of), 'track')}" for name, n, of in counts if n]
    what = f"relative scores are over windows of {size}, the same for all on a track"
    if not without:
        return (what,)
    why = "cross-covariances are unknown, or its windows of that length are too few or dependent"
    return (f"{what}; none for {words.join(without)} ({why})",)


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


def sensitivity_sections(
    plan: Plan, results: Sequence[TaskResult], pairs: Sequence[PairResult]
) -> tuple[StudySection, ...]:
    """k of every estimator, and k_pair of every pair, as planned and under each alternative.

    Empty where none was asked for.
    """
    found = []
    runs = [each for each in results if each.failure is None and each.alternatives]
    compared = [each for each in pairs if each.k_pair is not None and each.alternatives]
    for metric, scored in (("k", runs), ("k_pair", compared)):
        columns = _alternative_columns(plan, metric, scored)
        if columns:
            notes = _move_notes(runs) if metric == "k" else ()
            title = f"sensitivity of {metric}"
            found.append(StudySection(title, False, len(plan.tracks), columns, (), notes))
    return tuple(found)


def _alternative_columns(
    plan: Plan, metric: str, scored: Sequence[TaskResult | PairResult]
) -> tuple[Column, ...]:
    """The plan's own column, then one for each alternative."""
    found: dict[str, Found] = {metric: defaultdict(list)}
    for each in scored:
        number = dict(each.numbers)[metric]
        assert number is not None
        found[metric][each.name, each.track].append(number.value)
        for other in each.alternatives:
            values = found.setdefault(f"{metric}, {other.name}", defaultdict(list))
            if other.k is not None:
                values[each.name, each.track].append(other.k)
    names = tuple(dict.fromkeys(each.name for each in scored))
    tracks = tuple(track.name for track in plan.tracks)
    entrants = Entrants(names, (False,) * len(names), tracks, tuple(plan.route_of.values()))
    columns = []
    for title, values in found.items():
        if any(values.values()):
            medians = {where: np.median(runs) for where, runs in values.items() if runs}
            board = np.array([[medians.get((n, t), np.nan) for t in tracks] for n in names])
            level = plan.options.intervals.level
            columns.append(metric_column(title, entrants, board, unit="1", loss=None, level=level))
    return tuple(columns)


def verdict_moves(results: Iterable[TaskResult]) -> tuple[VerdictMoves, ...]:
    """Of every estimator and alternative, in the order of the results."""
    seen: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for each in results:
        for other in each.alternatives:
            if other.verdict is not None and each.verdict is not None:
                seen[each.estimator, other.name][each.verdict, other.verdict] += 1
    found = []
    for who, often in seen.items():
        moved = tuple((a, b, n) for (a, b), n in sorted(often.items()) if a != b)
        found.append(VerdictMoves(*who, often.total(), moved))
    return tuple(found)


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
        "an alignment with fewer degrees of freedom than an estimate leaves open counts them as "
        "errors: k there proves nothing",
    )
