"""A grid of settings, run by the lab's filters on simulated worlds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from smfeval.compare.slopes import Failure, Point, Who, point_of, scan_series
from smfeval.errors import OptionError, SmfevalError
from smfeval.evaluation import Evaluation, Options, evaluate
from smfeval.studies.sweep import LabRuns, PointsAndFailures, Progress, split_outcomes
from smfeval_lab.filters import RunFilter, filter_named, run_filter
from smfeval_lab.recording import Recording
from smfeval_lab.sensors.faults import NO_FAULTS
from smfeval_lab.simulate import simulate
from smfeval_lab.worlds import world_named

SIMULATED = "simulated"


def points_of_lab(
    lab: LabRuns,
    options: Options,
    *,
    progress: Progress = lambda done, total: None,
    record: Callable[[str, int], Recording] | None = None,
    run: RunFilter | None = None,
) -> PointsAndFailures:
    """Run every filter with every setting on every world and seed.

    `record` and `run` may be given to sweep other recordings or another filter. Unknown worlds,
    filters and knobs are refused before anything runs; a walk or a run that fails stops no other.
    """
    if record is None or run is None:
        for world in lab.worlds:
            world_named(world)
        for name in lab.filters:
            for settings in lab.settings:
                filter_named(name).settings(_setting_arguments(settings))
    faults = None if lab.faults else NO_FAULTS
    record = record or partial(simulate, duration_s=lab.duration_s, faults=faults)
    run = run or run_filter
    total = len(lab.worlds) * len(lab.seeds) * len(lab.filters) * len(lab.settings)
    outcomes: list[Point | Failure] = []
    for world in lab.worlds:
        for seed in lab.seeds:
            recording: Recording | SmfevalError
            try:
                recording = record(world, seed)
            except SmfevalError as error:  # fails the runs on it and no other
                recording = error
            for name in lab.filters:
                for settings in lab.settings:
                    progress(len(outcomes), total)
                    who = (name, f"{world}_{seed}", settings)
                    outcomes.append(_outcome(who, recording, run, options))
    return split_outcomes(outcomes)


def _setting_arguments(settings: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{knob}={value}" for knob, value in settings)


def _outcome(
    who: Who, recording: Recording | SmfevalError, run: RunFilter, options: Options
) -> Point | Failure:
    """A point, or the sentence that says why there is none."""
    if isinstance(recording, SmfevalError):
        return Failure(*who, str(recording))
    if recording.reference is None:
        raise OptionError(f"{recording.name} has no reference to score a sweep against")
    try:
        done = run(who[0], recording, _setting_arguments(who[2]))
        lean = replace(options, numbers=POINT_NUMBERS)
        evaluation = evaluate(done.belief, recording.reference, options=lean)
    except SmfevalError as error:
        return Failure(*who, str(error))
    return point_of_evaluation(who, evaluation, notes=(*done.notes, *evaluation.all_notes))


POINT_NUMBERS = ("precision", "nees_median", "mae", "k_rotation", "k_pose")


def point_of_evaluation(
    who: Who, evaluation: Evaluation, *, notes: tuple[str, ...]
) -> Point | Failure:
    """The point of a run that was scored."""
    numbers = {name: evaluation.get(name) for name in POINT_NUMBERS}
    known = {name: number for name, number in numbers.items() if number is not None}
    scored, scans = evaluation.position, None
    stamp, series = scored.estimate.stamp, scored.series
    if scored.residuals.covariance is not None:
        scans = scan_series(stamp, series["nees"], series["ape"], scored.residuals.covariance)
    count = len(scored.residuals)
    return point_of(who, known, source=SIMULATED, scored=count, notes=notes, scans=scans)
