"""Files that would count twice, or that are no estimates at all."""

from collections.abc import Sequence
from os.path import normpath
from pathlib import Path

from smfeval.errors import OptionError
from smfeval.study.plan import Plan, PlannedEstimator
from smfeval.study.plan_patterns import file_of
from smfeval.study.task import Input, Runs, Task


def refuse_doubles(plan: Plan, runs: Runs) -> tuple[str, ...]:
    """Raise on a file that serves two tracks, or two estimators in the same way.

    Returns notes on estimators that read the same file in different ways.
    """
    notes: dict[str, None] = {}
    users: dict[str, tuple[PlannedEstimator, str]] = {}
    for each in plan.estimators:
        for track in plan.tracks:
            for run in runs[each.name, track.name]:
                other, where = users.setdefault(normpath(run.source), (each, track.name))
                if other is each and where != track.name:
                    raise OptionError(_two_tracks(each, run, where, track.name))
                if other is not each:
                    notes[_two_estimators(other, each, run)] = None
    return tuple(notes)


def _two_tracks(each: PlannedEstimator, run: Input, one: str, other: str) -> str:
    return (
        f"estimator {each.name}: {run.source} is found for track {one} and for track {other}; "
        f"the path {each.path!r} reaches too far"
    )


def _two_estimators(one: PlannedEstimator, other: PlannedEstimator, run: Input) -> str:
    """A note, if the two differ in how they read the file."""
    if _way(one) == _way(other):
        raise OptionError(
            f"estimators {one.name} and {other.name} read the same file in the same way: "
            f"{run.source}"
        )
    return f"estimators {one.name} and {other.name} read the same files, in different ways"


def _way(each: PlannedEstimator) -> tuple[object, ...]:
    return each.reading, each.extrinsic, each.reference, each.reference_body


def refuse_bystanders(plan: Plan, tasks: Sequence[Task]) -> None:
    """Raise if an estimate is a reference, or a file lies where the results will go."""
    references = {normpath(task.reference.source): task.track for task in tasks}
    for task in tasks:
        track = references.get(normpath(task.estimate.source))
        if track is not None:
            what = f"{task.estimate.source} is a reference of track {track}"
            raise OptionError(f"estimator {task.estimator}: {what}")
        _refuse_inside(plan, task.estimate, f"estimator {task.estimator}")
        _refuse_inside(plan, task.reference, f"track {task.track}")


def _refuse_inside(plan: Plan, given: Input, whose: str) -> None:
    path = Path(normpath(file_of(given.source)))
    if path.is_relative_to(plan.output):
        raise OptionError(
            f"{whose}: {path} lies in the output folder {plan.output}, which is for results alone"
        )
    if plan.output.is_relative_to(path):
        raise OptionError(f"{whose}: the output folder {plan.output} lies inside {path}")
