"""What must be said beside the tables of a study: methods, and everything that is missing."""

import numpy as np

from smfeval.compare.across.bootstrap_median import fewest
from smfeval.compare.across.duels import FEWEST, LEVEL
from smfeval.study.plan import Plan
from smfeval.study.table_values import Boards

WINS = {
    "k": ("k: who is closest to 1 wins, as a ratio, track by track",),
    "coverage_90": ("90 % coverage: who is closest to 90 % wins, track by track",),
}


def section_notes(plan: Plan, boards: Boards, *, converged_only: bool) -> tuple[str, ...]:
    """Of a table of estimators; `boards` are those of all its tracks."""
    return (
        _medians(plan),
        _bold(plan),
        *(_converged(plan, boards) if converged_only else ()),
        *_failed_runs(boards),
        *_no_numbers(boards),
    )


def pair_notes(plan: Plan, boards: Boards) -> tuple[str, ...]:
    """Of a table of pairs; `boards` are those of the tracks on which both converge."""
    return (
        _medians(plan),
        "k_pair > 1 proves that at least one of the two understates its errors; k_pair <= 1 proves "
        "nothing; only tracks on which both converge count (by their errors against the reference)",
        *_no_numbers(boards),
    )


def _medians(plan: Plan) -> str:
    level = plan.options.intervals.level
    return (
        f"median over tracks [{100 * level:g} % interval from resampling tracks: exact bootstrap "
        f"distribution, expanded percentiles; none below {fewest(level)} tracks]; a track with "
        "several runs counts once, by their median"
    )


def _bold(plan: Plan) -> str:
    if not plan.contenders:
        return "every estimator is a baseline: nobody competes"
    return (
        "bold: the best contender (least median loss) and every one that it was tested against and "
        "does not significantly beat: Wilcoxon signed-rank test over shared tracks, zeros after "
        f"Pratt, Holm over all pairs of contenders of a metric at {LEVEL:g}; fewer than {FEWEST} "
        "shared tracks that differ are not tested, and who was not tested is not bold; a track "
        "that one has no value on and another has counts as lost in the choice of the best"
    )


def _converged(plan: Plan, boards: Boards) -> tuple[str, ...]:
    """What was left out; where nothing was, the table repeats the other."""
    limit = f"left out: tracks of an estimator whose MAE there is above {plan.diverged_m:g} m"
    same = (boards.scored == boards.converged).all()
    return (f"{limit}; there are none" if same else limit,)


def _failed_runs(boards: Boards) -> tuple[str, ...]:
    """Runs that failed where others did not: the value is that of the others."""
    beside = int(boards.failed[boards.scored].sum())
    return (f"failed runs on tracks that other runs scored: {beside}",) if beside else ()


def _no_numbers(boards: Boards) -> tuple[str, ...]:
    left_out = {board.metric: int(np.sum(board.no_number)) for board in boards.metrics}
    return tuple(
        f"{metric}: not a number in {count} runs, left out"
        for metric, count in left_out.items()
        if count
    )
