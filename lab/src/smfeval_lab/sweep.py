"""A grid of settings, run by the lab's filters on simulated worlds: files for a sweep."""

from dataclasses import replace
from itertools import product
from os.path import relpath
from typing import Unpack

from smfeval.compare.slopes import Failure, KnobSettings, format_settings
from smfeval.errors import SmfevalError
from smfeval.studies.plan import PlannedEstimator, PlannedTrack
from smfeval.studies.run import Labour
from smfeval.studies.sweep import LabRuns, PointsAndFailures, SweepPlan, points_of_files
from smfeval_lab.filters import RunFilter, filter_named, run_filter
from smfeval_lab.kept_runs import REFERENCE, RUNS, Job, RunCache, Walk
from smfeval_lab.worlds import SeededWorld, world_named

Notes = dict[tuple[Job, KnobSettings], tuple[str, ...]]  # of each run that came to an end


def points_of_lab(
    plan: SweepPlan, *, run: RunFilter | None = None, **labour: Unpack[Labour]
) -> PointsAndFailures:
    """Run every filter with every setting on every world and seed, and score their files.

    Runs are kept beside the output folder, and done once unless `fresh`. `run` may be given to
    sweep another filter. Unknown worlds, filters and knobs are refused before anything runs; a walk
    or a run that fails stops no other.
    """
    lab = plan.lab
    assert lab is not None
    if run is None:
        _refuse_unknown(lab)
    folder = plan.output.with_name(f"{plan.output.name}_lab")
    cache = RunCache(folder, run or run_filter, labour.get("fresh", False))
    tracks = [SeededWorld(world, seed) for world, seed in product(lab.worlds, lab.seeds)]
    total = len(tracks) * len(lab.filters) * len(lab.settings)
    notes: Notes = {}
    failures: list[Failure] = []
    for track in tracks:
        walk = Walk(track, lab.duration_s, lab.faults)
        for name, settings in product(lab.filters, lab.settings):
            if "progress" in labour:
                labour["progress"](len(notes) + len(failures), len(failures), total)
            job = Job(track, name, tuple(f"{knob}={value}" for knob, value in settings))
            try:
                cache.reference(walk)
                notes[job, settings] = cache.run(walk, job).notes
            except SmfevalError as error:
                failures.append(Failure(name, track.name, settings, str(error)))
    return points_of_files(_plan_of_files(plan, cache, notes), failures, **labour)


def _refuse_unknown(lab: LabRuns) -> None:
    for world in lab.worlds:
        world_named(world)
    for name, settings in product(lab.filters, lab.settings):
        filter_named(name).settings([f"{knob}={value}" for knob, value in settings])


def _plan_of_files(plan: SweepPlan, cache: RunCache, notes: Notes) -> SweepPlan:
    """The plan with the tracks and estimators of all runs that came to an end."""
    folder = relpath(cache.folder / RUNS, plan.folder)
    tracks = dict.fromkeys(job.track.name for job, _ in notes)
    estimators, runs, of_runs = {}, {}, {}
    for (job, settings), said in notes.items():
        name = f"{job.filter} {format_settings(settings)}"
        path = f"{folder}/{{track}}/{job.stem}.square"
        logged = cache.folder / RUNS / job.track.name / f"{job.stem}.parquet"
        telemetry = "{folder}/{name}.parquet" if logged.is_file() else None
        estimators[name] = PlannedEstimator(name, path, telemetry=telemetry)
        runs[name] = (job.filter, settings)
        of_runs[name, job.track.name] = said
    return replace(
        plan,
        tracks=tuple(PlannedTrack(each, f"{folder}/{each}/{REFERENCE}.square") for each in tracks),
        estimators=tuple(estimators.values()),
        runs=runs,
        run_notes=of_runs,
    )
