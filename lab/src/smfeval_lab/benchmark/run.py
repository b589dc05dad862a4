"""Run what a folder does not hold yet, and score all of it: the leaderboard is a study."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import inf
from pathlib import Path

import numpy as np

from smfeval.align.quantities import Extent
from smfeval.compare.across import Entrants, metric_column
from smfeval.compare.duels import StudySection
from smfeval.errors import OptionError, SmfevalError
from smfeval.evaluation import Options
from smfeval.show.study.remarks import format_tracks, whole_section
from smfeval.studies.find import find_tasks
from smfeval.studies.plan import Plan, PlannedEstimator, PlannedTrack
from smfeval.studies.result import Study
from smfeval.studies.run import Progress, run_study
from smfeval.studies.tables import sections
from smfeval.summarise.numbers import NUMBERS
from smfeval_lab.benchmark.contenders import Contender
from smfeval_lab.benchmark.frozen import VERSION, FrozenTrack, kept_walk
from smfeval_lab.kept_runs import REFERENCE, RUNS, Job, RunCache

LEADERBOARD = "leaderboard"  # folder of the study
COST, RELATIVE_K = "CPU per scan", "relative k"
HORIZON = Extent(1.0, "s")  # of relative motion; needs cross-covariances
FOREIGN_ERRORS = (RuntimeError, np.linalg.LinAlgError)  # what packages of others raise


@dataclass(frozen=True)
class BenchmarkRuns:
    """All runs that came to an end, and what is to be said of the others."""

    folder: Path
    tracks: tuple[FrozenTrack, ...]
    cost_ms: dict[tuple[str, str], float]  # of a scan, by contender and track
    doubts: tuple[str, ...]  # recordings that are not the frozen ones
    failures: dict[tuple[str, str], list[str]]  # tracks, by contender and sentence

    @property
    def notes(self) -> tuple[str, ...]:
        """Doubts, then who did not run where."""
        return (
            *(f"{doubt}: no figures of others are comparable" for doubt in self.doubts),
            *(
                f"{name} did not run on {format_tracks(on, len(self.tracks))}: {sentence}"
                for (name, sentence), on in self.failures.items()
            ),
        )


def run_benchmark(
    folder: Path,
    tracks: Sequence[FrozenTrack],
    contenders: Sequence[Contender],
    *,
    strict: bool = False,
    progress: Progress = lambda done, failed, total: None,
) -> BenchmarkRuns:
    """Do all runs that the folder does not hold, one track after the other.

    A run that fails stops no other. A recording that is not the frozen one stops a `strict`
    benchmark.
    """
    found = BenchmarkRuns(folder, tuple(tracks), {}, (), {})
    done = failed = 0
    total = len(tracks) * len(contenders)
    for track in tracks:
        progress(done, failed, total)
        walk = kept_walk(folder, track)  # its recording is let go before the next is made
        if walk.doubt is not None:
            found = replace(found, doubts=(*found.doubts, walk.doubt))
            if strict:
                raise OptionError(walk.doubt)
        for contender in contenders:
            progress(done, failed, total)
            cache = RunCache(folder, partial(contender.run, walk.folder))
            job = Job(walk.track, contender.name)
            try:
                cache.reference(walk)
                run = cache.run(walk, job, contender=contender.how)
                found.cost_ms[contender.name, track.name] = 1e3 * run.cpu_s / walk.contents.scans
            except (SmfevalError, *FOREIGN_ERRORS) as error:
                reason = contender.name, str(error) or type(error).__name__
                found.failures.setdefault(reason, []).append(track.name)
                failed += 1
            done += 1
    progress(done, failed, total)
    if not found.cost_ms:
        raise OptionError(f"no contender came to an end; {': '.join(next(iter(found.failures)))}")
    return found


def score_benchmark(
    runs: BenchmarkRuns,
    *,
    workers: int | None = None,
    progress: Progress = lambda done, failed, total: None,
) -> Study:
    """The study of all runs that came to an end, with a column of what they cost."""
    names = dict.fromkeys(name for name, _ in runs.cost_ms)
    differs = " with other recordings" if runs.doubts else ""
    plan = Plan(
        name=f"lab benchmark {VERSION}{differs}",
        folder=runs.folder,
        tracks=tuple(
            PlannedTrack(each.name, f"{RUNS}/{{track}}/{REFERENCE}.square", group=each.group)
            for each in runs.tracks
        ),
        estimators=tuple(
            PlannedEstimator(each, f"{RUNS}/{{track}}/{each}.square") for each in names
        ),
        output=runs.folder / LEADERBOARD,
        options=Options(horizons=(HORIZON,)),
        headlines=(RELATIVE_K, COST),
    )
    study = run_study(plan, find_tasks(plan), workers=workers, progress=progress).study
    ranked = _nearest_k_first(study)
    made = tuple(_with_cost(each, ranked, runs) for each in sections(ranked, study.results))
    return replace(study, plan=ranked, sections=made, notes=(*runs.notes, *study.notes))


def _nearest_k_first(study: Study) -> Plan:
    """The plan in the order of median k, the nearest to 1 first; then those that report none."""
    loss, whole = NUMBERS["k"].loss, whole_section(study)
    cells = [c for k in (whole.columns if whole else ()) if k.metric == "k" for c in k.cells]
    far = {c.estimator: loss(c.median.value) for c in cells if c.median is not None and loss}
    ranked = sorted(study.plan.estimators, key=lambda each: far.get(each.name, inf))
    return replace(study.plan, estimators=tuple(ranked))


def _with_cost(section: StudySection, plan: Plan, runs: BenchmarkRuns) -> StudySection:
    """The section with a column of costs, in which nobody wins: machines and their load differ."""
    names = tuple(each.name for each in plan.estimators)
    of_group = [each.name for each in plan.tracks if each.group == section.group]
    tracks = tuple(of_group or (each.name for each in plan.tracks))
    values = [runs.cost_ms.get(cell, np.nan) for cell in product(names, tracks)]
    column = metric_column(
        COST,
        Entrants(names, (True,) * len(names), tracks),
        np.reshape(values, (len(names), len(tracks))),
        unit="ms",
        loss=None,
        level=plan.options.intervals.level,
    )
    return replace(section, columns=(*section.columns, column))
