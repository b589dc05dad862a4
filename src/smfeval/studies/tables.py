"""Results over tracks: a section per group, then over all, then on converged tracks only."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smfeval import words
from smfeval.compare.across import Entrants, fewest_for_median, metric_column
from smfeval.compare.duels import FEWEST, LEVEL, Column, Section
from smfeval.compare.hypothesis import REFUTED, HypothesisCount, count_hypothesis
from smfeval.compare.pooled import COUNT_DOUBT, FEWEST_TRACKS, PooledK, TrackK, pool_tracks
from smfeval.judge.evidence import TrackEvidence
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.studies.plan import Plan
from smfeval.studies.result import PAIR_NUMBERS, PairResult, TaskResult
from smfeval.studies.task import WINDOWS_PER_TRACK
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import NUMBERS, metrics

OPPOSED, OPPOSED_P = "opposed", "opposed_p"  # no columns: the hypothesis is counted from them
UNREFERENCED = ("k_pair", "nees_median")  # columns of pairs that need no reference
RunNumber = tuple[str, str, Number]  # (name of the row, track, number of one run)
RunOutcome = tuple[str, str, str | None]  # (name of the row, track, failure of one run)


@dataclass(frozen=True)
class Board:
    """One metric: a value per row and track."""

    metric: str
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
    metrics: tuple[Board, ...]
    runs: Ints  # good ones
    failed_runs: Ints  # runs
    converged: Bools
    absorbed: Bools  # a fit can have absorbed what is claimed (`TaskResult.comparable`)

    @property
    def has_runs(self) -> Bools:
        """Whether there is a good run."""
        return self.runs > 0

    @property
    def track_count(self) -> int:
        """Tracks on which anybody has a value."""
        found = [~np.isnan(board.values).all(axis=0) for board in self.metrics]
        return int(np.any(found, axis=0).sum()) if found else 0

    def on_tracks(self, tracks: Ints) -> "Boards":
        """The same on some tracks. (m,) places."""
        return Boards(
            names=self.names,
            tracks=tuple(self.tracks[i] for i in tracks),
            metrics=tuple(
                replace(b, values=b.values[:, tracks], nan_runs=b.nan_runs[:, tracks])
                for b in self.metrics
            ),
            runs=self.runs[:, tracks],
            failed_runs=self.failed_runs[:, tracks],
            converged=self.converged[:, tracks],
            absorbed=self.absorbed[:, tracks],
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
    by_metric: dict[str, list[RunNumber]] = {metric: [] for metric in metrics()}
    for each in results:
        for metric, number in each.numbers if each.failure is None else ():
            by_metric[metric].append((each.estimator, each.track, number))
    boards = {
        metric: median_board(metric, names, tracks, found) for metric, found in by_metric.items()
    }
    runs, failed = count_runs(names, tracks, ((r.estimator, r.track, r.failure) for r in results))
    converged = (runs > 0) & (boards["mae"].values <= plan.diverged_m)  # NaN is not converged
    filled = tuple(each for each in boards.values() if not each.empty)
    absorbed = np.zeros(runs.shape, dtype=np.bool_)
    row, place = _index(names), _index(tracks)
    for each in results:
        absorbed[row[each.estimator], place[each.track]] |= not each.comparable
    return Boards(names, tracks, filled, runs, failed, converged, absorbed)


def pair_boards(results: Sequence[PairResult], alone: Boards) -> Boards:
    """Values of the pairs; a pair has converged where both of it have, `alone`."""
    label = {(each.a, each.b): each.name for each in results}
    names, tracks = tuple(label.values()), alone.tracks

    def of(metric: str) -> Board:
        numbers = ((label[r.a, r.b], r.track, getattr(r, metric)) for r in results)
        return median_board(metric, names, tracks, (row for row in numbers if row[2] is not None))

    outcomes = ((label[r.a, r.b], r.track, r.failure) for r in results)
    runs, failed = count_runs(names, tracks, outcomes)
    row = {name: i for i, name in enumerate(alone.names)}
    a, b = ([row[pair[side]] for pair in label] for side in (0, 1))
    converged = alone.converged[a] & alone.converged[b]
    boards = (of(metric) for metric in PAIR_NUMBERS)
    values = tuple(each for each in boards if not each.empty or each.metric in UNREFERENCED)
    nothing = np.zeros_like(converged)
    return Boards(names, tracks, values, runs, failed, converged, nothing)


def median_board(
    metric: str, names: tuple[str, ...], tracks: tuple[str, ...], found: Iterable[RunNumber]
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


def count_runs(
    names: tuple[str, ...], tracks: tuple[str, ...], outcomes: Iterable[RunOutcome]
) -> tuple[Ints, Ints]:
    """Good and failed runs of each row on each track. (names, tracks) both."""
    row, place = _index(names), _index(tracks)
    count = np.zeros((2, len(names), len(tracks)), dtype=np.int64)
    for name, track, failure in outcomes:
        count[int(failure is not None), row[name], place[track]] += 1
    return count[0], count[1]


def _index(names: tuple[str, ...]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}


WIN_NOTES = {
    "k": ("k: who is closest to 1 wins, as a ratio, track by track",),
    "coverage_90": ("90 % coverage: who is closest to 90 % wins, track by track",),
}


def section_notes(plan: Plan, boards: Boards, *, converged_only: bool) -> tuple[str, ...]:
    """Of a table of estimators; `boards` are those of all its tracks."""
    return (
        _median_note(plan),
        _bold_note(plan),
        *(_convergence_notes(plan, boards) if converged_only else ()),
        *_failed_run_notes(boards),
        *_nan_notes(boards),
        *_relative_notes(plan, boards),
    )


def pair_notes(plan: Plan, boards: Boards) -> tuple[str, ...]:
    """Of a table of pairs; `boards` are those of the tracks on which both converge."""
    return (
        _median_note(plan),
        "k_pair > 1 proves that at least one of the two understates its errors; k_pair <= 1 proves "
        "nothing; only tracks on which both converge count (by their errors against the reference)",
        *_checked_notes(boards),
        *_nan_notes(boards),
    )


def _checked_notes(boards: Boards) -> tuple[str, ...]:
    """What the reference adds, where it could be held against a pair."""
    if all(board.metric != OPPOSED for board in boards.metrics):
        return ()
    return (
        "k_pair by ref.: of the same scans, each of the two aligned to the reference instead of to "
        "each other, under the covariances as reported; k_pair is a bound where errors are not "
        "opposed, and chance makes independent errors opposed on "
        f"{words.share(REFUTED)} of tracks as judged here",
    )


def _median_note(plan: Plan) -> str:
    level = plan.options.intervals.level
    return (
        f"median over tracks [{words.level(level)} interval from resampling tracks: exact "
        f"bootstrap distribution, expanded percentiles; none below {fewest_for_median(level)} "
        "tracks]; a track with "
        "several runs counts once, by their median"
    )


def _pooled_notes(pooled: Sequence[PooledK]) -> tuple[str, ...]:
    """What the verdicts over the tracks rest on."""
    if not pooled:
        return ()
    return (
        "verdict over the study: k of each track, two-sided, is pooled as log k with its standard "
        "error and a variance between tracks (Paule-Mandel; interval of Hartung-Knapp, none below "
        f"{FEWEST_TRACKS} tracks); or more tracks are overconfident, each by itself, than happens "
        f"to an honest estimator in {words.share(COUNT_DOUBT)} of studies; or what the kindest "
        "fits leave is, over all tracks, beyond what any correlation inside a track explains",
    )


def _bold_note(plan: Plan) -> str:
    if not plan.contenders:
        return "every estimator is a baseline: nobody competes"
    return (
        "bold: the best contender (least median loss) and every one that it was tested against and "
        "does not significantly beat: Wilcoxon signed-rank test over shared tracks, zeros after "
        f"Pratt, Holm over all pairs of contenders of a metric at {words.exact(LEVEL)}; fewer "
        f"than {FEWEST} "
        "shared tracks that differ are not tested, and who was not tested is not bold; a track "
        "that one has no value on and another has counts as lost in the choice of the best"
    )


def _convergence_notes(plan: Plan, boards: Boards) -> tuple[str, ...]:
    """What was left out; where nothing was, the table repeats the other."""
    limit = (
        "left out: tracks of an estimator whose MAE there is above "
        f"{words.exact(plan.diverged_m)} m"
    )
    same = (boards.has_runs == boards.converged).all()
    return (f"{limit}; there are none" if same else limit,)


def _failed_run_notes(boards: Boards) -> tuple[str, ...]:
    """Runs that failed where others did not: the value is that of the others."""
    beside = int(boards.failed_runs[boards.has_runs].sum())
    return (f"failed runs on tracks that other runs scored: {beside}",) if beside else ()


def _nan_notes(boards: Boards) -> tuple[str, ...]:
    left_out = {board.metric: int(np.sum(board.nan_runs)) for board in boards.metrics}
    return tuple(
        f"{metric}: not a number in {count} runs, left out"
        for metric, count in left_out.items()
        if count
    )


def is_relative(metric: str) -> bool:
    """Whether a metric is of relative motion, which no fit can absorb."""
    return metric in NUMBERS and NUMBERS[metric].space == "relative"


def _relative_notes(plan: Plan, boards: Boards) -> tuple[str, ...]:
    """Over which horizon relative scores are, and who has none on how many tracks."""
    values = [board.values for board in boards.metrics if is_relative(board.metric)]
    if not values:
        return ()
    chosen = plan.options.scored_horizon
    size = f"a {WINDOWS_PER_TRACK}th of the reference's duration" if chosen is None else str(chosen)
    lost = boards.has_runs & np.isnan(values[0])
    counts = zip(boards.names, lost.sum(axis=1).tolist(), boards.has_runs.sum(axis=1), strict=True)
    without = [f"{name} on {words.count_of(n, int(of), 'track')}" for name, n, of in counts if n]
    told = f"relative scores are over windows of {size}, the same for all on a track"
    if not without:
        return (told,)
    why = "cross-covariances are unknown, or its windows of that length are too few or dependent"
    return (f"{told}; none for {words.join(without)} ({why})",)


OF_ERRORS = ("mae", "rmse")  # metrics of the mean alone: a fit changes no claim about it
ABSORBED = (
    "the fit can absorb what is claimed (how errors of different scans move together is not known, "
    "and the errors lie within what the claim allows)"
)
ALL_TRACKS = "all"
ALL_TRACKS_LONG = "all tracks"  # where one of several groups is itself called "all"


def sections(plan: Plan, results: Sequence[TaskResult]) -> tuple[Section, ...]:
    """Compare the estimators of a study, metric by metric.

    On converged tracks only, each estimator keeps its own; two meet where both converged.
    """
    boards = task_boards(plan, results)
    return tuple(
        _section(plan, boards.on_tracks(tracks), results, group, converged_only=converged_only)
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
    found = [
        (_pair_section(plan, boards.on_tracks(tracks), group), {boards.tracks[i] for i in tracks})
        for group, tracks in _groups(plan)
    ]
    return tuple(
        replace(
            section,
            notes=section.notes + unchecked_notes([r for r in pair_results if r.track in tracks]),
        )
        for section, tracks in found
    )


def unchecked_notes(results: Sequence[PairResult]) -> tuple[str, ...]:
    """On comparisons that the reference says nothing about, with the reason of the first."""
    why = [each.unchecked for each in results if each.unchecked is not None]
    if not why:
        return ()
    often = words.count_of(len(why), len(results), "comparison")
    such = " such as" if len(set(why)) > 1 else ""
    return (f"the reference says nothing about the errors in {often}:{such} {why[0]}",)


def _section(
    plan: Plan,
    boards: Boards,
    results: Sequence[TaskResult],
    group: str,
    *,
    converged_only: bool,
) -> Section:
    kept = boards.converged_only() if converged_only else boards
    pooled = pooled_estimators(plan, kept, results)
    return Section(
        group=group,
        converged_only=converged_only,
        tracks=kept.track_count if converged_only else len(boards.tracks),
        columns=_columns(plan, kept, plan.contenders),
        diverged=_diverged_counts(boards),
        notes=(
            *section_notes(plan, boards, converged_only=converged_only),
            *_pooled_notes(pooled),
        ),
        pooled=pooled,
    )


NO_HORIZON = "relative motion has no horizon with enough windows that are independent"
ONE_SIDED = (
    "after a fit k is one-sided where it is not known how errors of different scans move together"
)


def pooled_estimators(
    plan: Plan, boards: Boards, results: Sequence[TaskResult]
) -> tuple[PooledK, ...]:
    """k of every estimator that reports a belief, over the tracks of the boards."""
    level = plan.options.intervals.level
    shown = next((board.values for board in boards.metrics if board.metric == "k"), None)
    if shown is None:
        return ()
    runs: dict[tuple[str, str], list[TaskResult]] = defaultdict(list)
    for each in results:
        if each.failure is None:
            runs[each.estimator, each.track].append(each)
    found = (
        pool_tracks(
            name,
            [
                track_k(track, runs[name, track])
                for track, value in zip(boards.tracks, values, strict=True)
                if not np.isnan(value)
            ],
            level,
            is_fitted=any(
                run.gauge != "none" for each in boards.tracks for run in runs[name, each]
            ),
        )
        for name, values in zip(boards.names, shown, strict=True)
    )
    return tuple(each for each in found if each.judged)


def track_k(track: str, runs: Sequence[TaskResult]) -> TrackK:
    """k of a track from its runs, which share its data: mean logarithms of value and ends.

    It is convicted where most of its runs are. Its evidence is that of the run with the least T.
    """
    convicted = 2 * sum(run.verdict == "overconfident" for run in runs) > len(runs)
    found = TrackK(track, None, convicted=convicted, evidence=_least_evidence(runs))
    numbers = [k for run in runs if (k := run.two_sided_k) is not None and k.value > 0]
    if not numbers:
        return replace(found, reason=_why_no_k(runs))
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


def _least_evidence(runs: Sequence[TaskResult]) -> TrackEvidence | None:
    found = [run.evidence for run in runs if run.evidence is not None and run.withheld is None]
    return min(found, key=lambda each: each.excess) if len(found) == len(runs) else None


def _why_no_k(runs: Sequence[TaskResult]) -> str:
    withheld = next((run.withheld for run in runs if run.withheld is not None), None)
    known = any(run.joint in ("given", "implied") for run in runs)
    return withheld or (NO_HORIZON if known else ONE_SIDED)


def _pair_section(plan: Plan, boards: Boards, group: str) -> Section:
    kept = boards.converged_only()
    shown = tuple(board for board in kept.metrics if board.metric not in (OPPOSED, OPPOSED_P))
    return Section(
        group=group,
        converged_only=True,
        tracks=kept.track_count,
        columns=_columns(plan, replace(kept, metrics=shown), ()),
        diverged=_diverged_counts(boards),
        notes=pair_notes(plan, kept),
        hypotheses=hypotheses(kept),
    )


def hypotheses(boards: Boards) -> tuple[HypothesisCount, ...]:
    """On how many tracks the errors of each pair are not opposed; a track counts once."""
    found = {board.metric: board.values for board in boards.metrics}
    if OPPOSED not in found:
        return ()

    def by_track(metric: str, row: int) -> dict[str, float]:
        if metric not in found:
            return {}
        values = zip(boards.tracks, found[metric][row].tolist(), strict=True)
        return {track: value for track, value in values if not np.isnan(value)}

    counts = (
        count_hypothesis(name, by_track(OPPOSED, row), by_track(OPPOSED_P, row))
        for row, name in enumerate(boards.names)
    )
    return tuple(each for each in counts if each.tracks)


def _columns(plan: Plan, boards: Boards, contenders: tuple[str, ...]) -> tuple[Column, ...]:
    competes = tuple(name in contenders for name in boards.names)
    entrants = Entrants(boards.names, competes, boards.tracks)
    return tuple(_column(plan, entrants, board, boards.absorbed) for board in boards.metrics)


def _column(plan: Plan, entrants: Entrants, board: Board, absorbed: Bools) -> Column:
    metric = NUMBERS.get(board.metric)
    of_belief = board.metric not in OF_ERRORS and not is_relative(board.metric)
    made = metric_column(
        board.metric,
        entrants,
        board.values,
        unit=board.unit,
        loss=None if metric is None else metric.loss,
        level=plan.options.intervals.level,
        left_out=absorbed & ~np.isnan(board.values) if of_belief else None,
        why=ABSORBED,
    )
    return replace(made, notes=WIN_NOTES.get(board.metric, ()))


def _diverged_counts(boards: Boards) -> tuple[tuple[str, int, int], ...]:
    """(name, diverged tracks, scored tracks) of every row."""
    lost = (boards.has_runs & ~boards.converged).sum(axis=1).tolist()
    return tuple(zip(boards.names, lost, boards.has_runs.sum(axis=1).tolist(), strict=True))


def _groups(plan: Plan) -> list[tuple[str, Ints]]:
    """Every group with its tracks; then all tracks, where there are several groups."""
    group = np.array([track.group for track in plan.tracks])
    found = [(name, np.flatnonzero(group == name)) for name in plan.groups]
    if len(found) > 1:
        every = ALL_TRACKS_LONG if ALL_TRACKS in plan.groups else ALL_TRACKS
        found.append((every, np.arange(len(plan.tracks))))
    return found
