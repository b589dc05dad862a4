"""Running a study: every task once, here or on a cluster, and the results in the plan's order."""

from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypedDict, TypeVar, Unpack
from uuid import uuid4

from smfeval import words
from smfeval.align.fit import alignment_of
from smfeval.compare.frames import GAUGES_BY_FREEDOM
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError, SmfevalError
from smfeval.evaluation import choose_axes
from smfeval.io import declared_gauge, read, remote
from smfeval.io.source import is_url
from smfeval.schema import POSITION_AXES, AlignmentKind
from smfeval.studies.cache import Cache, code_version, keep_digests, make_folder
from smfeval.studies.find import MissingEstimate, StudyTasks
from smfeval.studies.plan import Plan
from smfeval.studies.result import NO_FILE, PairResult, Study, TaskResult, intern_texts, is_failure
from smfeval.studies.store import (
    link_scans,
    remove_other_scans,
    scans_path,
    write_pairs,
    write_tasks,
)
from smfeval.studies.tables import pair_sections, sections, sensitivity_sections
from smfeval.studies.task import PairTask, Task, TaskOutcome, load_known, load_or_evaluate
from smfeval.studies.updates import repeated_runs
from smfeval.studies.workers import do_tasks
from smfeval.track import AnyTrack

AnyTask = TypeVar("AnyTask", Task, PairTask)
CACHE = "cache"
Progress = Callable[[int, int, int], None]  # hears: done, failed, total


@dataclass(frozen=True)
class StudyRun:
    """A finished study, and what this run of it found and left on the disk."""

    study: Study
    known: int  # runs and pairs whose result an earlier run had left
    removed: int  # files with the scans of runs that the study has no more


@dataclass(frozen=True)
class StudyPart:
    """One of several parts of a study, which share its cache and know nothing of each other."""

    number: int  # 1, 2 ... count
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise OptionError(f"{self} is no part: parts are counted from 1 to their number")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def of(self, jobs: Sequence[Task | PairTask]) -> list[Task | PairTask]:
        """A block of the jobs; blocks of all parts are all jobs, and differ by one job at most."""
        first, end = ((self.number - back) * len(jobs) // self.count for back in (1, 0))
        return list(jobs[first:end])


@dataclass(frozen=True)
class PartRun:
    """What came of a part of a study; its results are in the cache."""

    part: StudyPart
    results: tuple[TaskResult | PairResult, ...]
    known: int  # of them, by an earlier run
    total: int  # runs and pairs of the whole study


@dataclass(frozen=True)
class RunResults:
    """What came of all tasks, in the order of the plan, whoever computed them."""

    results: tuple[TaskResult, ...]
    pair_results: tuple[PairResult, ...]
    cached: int  # tasks and pairs whose result was known before
    removed: int  # files of scans that belonged to tasks the study has no more


class Labour(TypedDict, total=False):
    """Who does the tasks of a study, and how; the keyword arguments of all functions below."""

    workers: int | None  # processes of this machine (None: one per core; 1: this process)
    scheduler: str | None  # then the workers of a Dask cluster do it
    fresh: bool  # do again what is known
    progress: Progress


def run_study(plan: Plan, found: StudyTasks, **labour: Unpack[Labour]) -> StudyRun:
    """Do all tasks of a plan; an estimator without a file on a track has a gap there."""
    plan, found = on_common_axes(plan, found)
    tasks, gauge_notes = in_one_gauge(plan, found.tasks)
    ran = run_tasks(plan, tasks, found.pair_tasks, **labour)
    results = with_gaps(plan, ran.results, found.missing)
    write_tasks(results, plan.output)
    compared = tuple(each for each in ran.pair_results if not each.without_covariance)
    study = Study(
        plan=plan,
        results=results,
        pair_results=ran.pair_results,
        sections=sections(plan, results),
        pair_sections=pair_sections(plan, results, compared),
        notes=(*found.notes, *gauge_notes, *left_out_notes(plan, ran.pair_results)),
        sensitivity=sensitivity_sections(plan, results, compared),
        monte_carlo=repeated_runs(plan, results),
    )
    return StudyRun(study, ran.cached, ran.removed)


def run_part(plan: Plan, found: StudyTasks, part: StudyPart, **labour: Unpack[Labour]) -> PartRun:
    """Do one part of a plan's tasks and of its pairs, and leave the results in the cache.

    Which tasks belong to a part depends on the plan and its files alone, not on what is known.
    """
    plan, found = on_common_axes(plan, found)
    tasks, _ = in_one_gauge(plan, found.tasks)
    _refuse_duplicate_tasks(tasks)
    jobs = [
        *part.of(sorted(tasks, key=_shared_track_key)),
        *part.of(sorted(found.pair_tasks, key=_shared_track_key)),
    ]
    done = _do_all(jobs, study_cache(plan), lambda outcome: outcome, **labour)
    total = len(tasks) + len(found.pair_tasks)
    return PartRun(part, tuple(e.result for e in done), sum(e.cached for e in done), total)


def on_common_axes(plan: Plan, found: StudyTasks) -> tuple[Plan, StudyTasks]:
    """Plan and tasks on the axes that all estimators have; the first run of each tells."""
    firsts: dict[str, AnyTrack] = {}
    references: dict[str, AnyTrack] = {}
    for task in found.tasks if plan.options.axes == POSITION_AXES else ():
        if task.estimator not in firsts:
            with suppress(SmfevalError):  # the task will say why
                firsts[task.estimator], references[f"the reference of {task.track}"] = (
                    read(each.source, **dict(each.reading)) for each in task.inputs
                )
    options, lacking = choose_axes(plan.options, firsts, references)
    if not lacking:
        return plan, found

    def moved(each: AnyTask) -> AnyTask:
        return replace(each, options=replace(each.options, axes=options.axes))

    return replace(plan, options=options), replace(
        found,
        tasks=tuple(map(moved, found.tasks)),
        pair_tasks=tuple(map(moved, found.pair_tasks)),
        notes=(*found.notes, *(f"{who} {what}" for who, what in lacking.items())),
    )


def in_one_gauge(plan: Plan, tasks: tuple[Task, ...]) -> tuple[tuple[Task, ...], tuple[str, ...]]:
    """The tasks with one gauge for all, the one with most freedoms; a note where that changed any.

    Fewer freedoms leave larger errors, so that a table over several gauges compares these. What
    files declare is known before any of them is scored.
    """
    if plan.options.alignment is not None:
        return tasks, ()
    kinds: list[AlignmentKind | None] = []
    gauges: dict[AlignmentKind, dict[str, None]] = {}
    for task in tasks:
        try:
            declared = declared_gauge(task.estimate.source, **dict(task.estimate.reading))
        except SmfevalError:  # the task will say why
            kinds.append(None)
            continue
        kinds.append(alignment_of(declared))
        gauges.setdefault(alignment_of(declared), {})[task.estimator] = None
    if len(gauges) < 2:
        return tasks, ()
    listed = "; ".join(f"{kind}: {words.join(list(names))}" for kind, names in gauges.items())
    if plan.own_gauges:
        return tasks, (f"estimates have different alignments, as asked for ({listed})",)
    common = max(gauges, key=GAUGES_BY_FREEDOM.index)
    note = (
        f"estimates declare different alignments ({listed}): all are aligned by {common}, which "
        'has most degrees of freedom (gauge = "own" in [options] leaves each its own)'
    )
    return tuple(
        task
        if kind in (None, common)
        else replace(task, options=replace(task.options, alignment=common))
        for task, kind in zip(tasks, kinds, strict=True)
    ), (note,)


def left_out_notes(plan: Plan, pairs: Sequence[PairResult]) -> tuple[str, ...]:
    """A note on each estimator that was in no pair on some tracks: it reports no covariance."""
    tracks: dict[str, set[str]] = {each.name: set() for each in plan.estimators}
    for each in pairs:
        for name in each.without_covariance:
            tracks[name].add(each.track)
    return tuple(
        f"pairs: {name} reports no covariance on "
        f"{words.count_of(len(found), len(plan.tracks), 'track')}: in no pair there"
        for name, found in tracks.items()
        if found
    )


def with_gaps(
    plan: Plan, results: Sequence[TaskResult], missing: Sequence[MissingEstimate]
) -> tuple[TaskResult, ...]:
    """Results and gaps, in the order of the plan."""
    gaps = [
        TaskResult(gap.estimator, gap.group, gap.track, 0, "", gap.pattern, failure=NO_FILE)
        for gap in missing
    ]
    tracks = {track.name: i for i, track in enumerate(plan.tracks)}
    estimators = {each.name: i for i, each in enumerate(plan.estimators)}

    def place(each: TaskResult) -> tuple[int, int, int]:
        return tracks[each.track], estimators[each.estimator], each.repeat

    return tuple(sorted([*results, *gaps], key=place))


def run_tasks(
    plan: Plan, tasks: Sequence[Task], pair_tasks: Sequence[PairTask] = (), **labour: Unpack[Labour]
) -> RunResults:
    """Do all tasks and write the results below the plan's output folder (see `store`)."""
    _refuse_duplicate_tasks(tasks)
    output, folder, cache = plan.output.absolute(), plan.folder.absolute(), study_cache(plan)

    def file(done: TaskOutcome) -> TaskOutcome:
        """Name the source as the plan does, and show the scans of the task in their partition."""
        if not done.cached:  # workers work: time to import what writes the tables
            import polars  # noqa: F401, PLC0415  starts threads: workers are forked before

        result = done.result
        if isinstance(result, TaskResult):
            if result.failure is None:
                link_scans(cache.scans(result.key), scans_path(output, result), aside=cache.folder)
            result = replace(result, source=words.visible(source_in_plan(result.source, folder)))
        return replace(done, result=intern_texts(result))

    done = _do_all([*tasks, *pair_tasks], cache, file, **labour)
    results = tuple(each.result for each in done if isinstance(each.result, TaskResult))
    pairs = tuple(each.result for each in done if isinstance(each.result, PairResult))
    kept = (scans_path(output, each) for each in results if each.failure is None)
    removed = remove_other_scans(output, kept)
    write_tasks(results, output)
    write_pairs(pairs, output)
    return RunResults(results, pairs, sum(each.cached for each in done), removed)


def _do_all(
    jobs: Sequence[Task | PairTask],
    cache: Cache,
    file: Callable[[TaskOutcome], TaskOutcome],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
    progress: Progress = lambda done, failed, total: None,
) -> list[TaskOutcome]:
    """What came of all jobs, filed as they come, in the order of the jobs.

    Those that share a track are done after each other, so that a process reads it once.
    """
    run, failures = uuid4().hex, 0
    step = partial(load_or_evaluate, cache=cache, fresh=fresh, version=code_version(), run=run)
    gathered: dict[int, TaskOutcome] = {}
    progress(0, 0, len(jobs))
    with keep_digests(cache.folder, run):
        if not (fresh or cache.is_empty):  # what is known needs no worker
            for index, job in enumerate(jobs):
                if (known := load_known(job, cache)) is not None:
                    gathered[index] = file(known)
                    progress(len(gathered), 0, len(jobs))
        unknown = [index for index in range(len(jobs)) if index not in gathered]
        order = sorted(unknown, key=lambda index: _shared_track_key(jobs[index]))
        stream = do_tasks(step, [jobs[i] for i in order], workers=workers, scheduler=scheduler)
        with closing(stream):
            for place, done in stream:
                gathered[order[place]] = file(done)
                failures += is_failure(done.result)
                progress(len(gathered), failures, len(jobs))
    return [gathered[index] for index in range(len(jobs))]


def study_cache(plan: Plan) -> Cache:
    """The cache below the output folder; both are made."""
    return Cache(make_folder(make_folder(plan.output.absolute()) / CACHE))


def _refuse_duplicate_tasks(tasks: Sequence[Task]) -> None:
    """Raise where the results of two tasks would have the same name."""
    seen = set()
    for task in tasks:
        name = (task.group, task.estimator, task.track, task.repeat)
        if name in seen:
            raise OptionError(
                f"estimator {task.estimator} on track {task.track} of {task.group} stands twice as "
                f"run {task.repeat}"
            )
        seen.add(name)


def _shared_track_key(job: Task | PairTask) -> tuple[bool, str]:
    """Runs before pairs, and those that share a track beside each other."""
    if isinstance(job, Task):
        return False, job.reference.source
    return True, job.first.source


def source_in_plan(source: str, folder: Path) -> str:
    """The source from the plan's folder on, where it lies below; a URL without its secrets."""
    if is_url(source):
        return remote.shown(source)
    path = Path(source)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else source
