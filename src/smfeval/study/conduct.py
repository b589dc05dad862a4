"""A whole study: run what was found, count what was not, compare over tracks."""

from collections.abc import Sequence
from dataclasses import dataclass

from smfeval.study.find import Found, Missing
from smfeval.study.plan import Plan
from smfeval.study.result import NO_FILE, Study, TaskResult
from smfeval.study.run import Progress, run
from smfeval.study.store import write_tasks
from smfeval.study.tables import pair_sections, sections


@dataclass(frozen=True)
class Conducted:
    """A finished study, and what this run of it found and left on the disk."""

    study: Study
    known: int  # runs and pairs whose result an earlier run had left
    removed: int  # files with the scans of runs that the study has no more


def conduct(
    plan: Plan,
    found: Found,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
    progress: Progress = lambda done, failed, total: None,
) -> Conducted:
    """Do all tasks of a plan; an estimator without a file on a track has a gap there."""
    ran = run(
        plan,
        found.tasks,
        found.pair_tasks,
        workers=workers,
        scheduler=scheduler,
        fresh=fresh,
        progress=progress,
    )
    results = with_gaps(plan, ran.results, found.missing)
    write_tasks(results, plan.output)
    study = Study(
        plan=plan,
        results=results,
        pair_results=ran.pair_results,
        sections=sections(plan, results),
        pair_sections=pair_sections(plan, results, ran.pair_results),
        notes=found.notes,
    )
    return Conducted(study, ran.cached, ran.removed)


def with_gaps(
    plan: Plan, results: Sequence[TaskResult], missing: Sequence[Missing]
) -> tuple[TaskResult, ...]:
    """Results and gaps, in the order of the plan."""
    gaps = [
        TaskResult(
            gap.estimator,
            gap.group,
            gap.track,
            repeat=0,
            key="",
            source=gap.pattern,
            failure=NO_FILE,
        )
        for gap in missing
    ]
    tracks = {track.name: i for i, track in enumerate(plan.tracks)}
    estimators = {each.name: i for i, each in enumerate(plan.estimators)}
    return tuple(
        sorted(
            [*results, *gaps],
            key=lambda each: (tracks[each.track], estimators[each.estimator], each.repeat),
        )
    )
