"""Run what a folder does not hold yet, and score all of it: the leaderboard is a study."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf
from pathlib import Path

import numpy as np

from smfeval import words
from smfeval.compare.across import Entrants, metric_column
from smfeval.compare.duels import StudySection
from smfeval.errors import OptionError, SmfevalError
from smfeval.show.study.remarks import format_tracks, whole_section
from smfeval.studies.find import find_tasks
from smfeval.studies.plan import Plan, PlannedEstimator, PlannedTrack
from smfeval.studies.result import Study
from smfeval.studies.run import Progress, run_study
from smfeval.studies.tables import sections
from smfeval.summarise.numbers import NUMBERS
from smfeval_lab.benchmark.contenders import Contender
from smfeval_lab.benchmark.frozen import VERSION, FrozenTrack, KeptWalk, kept_walk
from smfeval_lab.kept_runs import REFERENCE, RUNS, Job, RunCache

LEADERBOARD = "leaderboard"  # folder of the study
COST, RELATIVE_K = "ms per scan", "relative k"
FOREIGN_ERRORS = (RuntimeError, np.linalg.LinAlgError)  # what packages of others raise

Costs = dict[tuple[str, str], float]  # ms of a scan, by contender and track
Failures = dict[tuple[str, str], list[str]]  # tracks, by contender and sentence


def run_benchmark(
    folder: Path,
    tracks: Sequence[FrozenTrack],
    contenders: Sequence[Contender],
    *,
    strict: bool = False,
    progress: Progress = lambda done, failed, total: None,
) -> tuple[Costs, tuple[str, ...]]:
    """Do all runs that the folder does not hold, one track after the other.

    Returns what a scan costs each, and what is to be said: doubts about recordings, which stop a
    `strict` benchmark, and runs that failed, which stop no other.
    """
    costs: Costs = {}
    failures: Failures = {}
    doubts, failed, total = list[str](), 0, len(tracks) * len(contenders)
    for at, track in enumerate(tracks):
        walk = kept_walk(folder, track)  # its recording is let go before the next is made
        if walk.doubt is not None:
            doubts.append(walk.doubt)
            if strict:
                raise OptionError(walk.doubt)
        for place, contender in enumerate(contenders):
            progress(at * len(contenders) + place, failed, total)
            try:
                costs[contender.name, track.name] = _run(folder, walk, contender)
            except (SmfevalError, *FOREIGN_ERRORS) as error:
                sentence = str(error) or type(error).__name__
                failures.setdefault((contender.name, sentence), []).append(track.name)
                failed += 1
    progress(total, failed, total)
    if not costs:
        (name, sentence), *_ = failures
        raise OptionError(f"no contender came to an end; {name}: {sentence}")
    said = (
        f"{name} did not run on {format_tracks(on, len(tracks))}: {sentence}"
        for (name, sentence), on in failures.items()
    )
    return costs, (*_few(doubts), *said)


def _run(folder: Path, walk: KeptWalk, contender: Contender) -> float:
    """Run it, or find its run; returns the ms of the processor that a scan took."""
    cache = RunCache(folder, partial(contender.run, walk.folder))
    cache.reference(walk)
    done = cache.run(walk, Job(walk.track, contender.name), contender=contender.how)
    return 1e3 * done.cpu_s / walk.contents.scans


def _few(doubts: Sequence[str]) -> Iterable[str]:
    """The first, and how many more."""
    more = f" (and {words.count(len(doubts) - 1)} more)" if len(doubts) > 1 else ""
    return [f"{doubts[0]}{more}: figures of others are not comparable"] if doubts else []


def score_benchmark(
    folder: Path,
    tracks: Sequence[FrozenTrack],
    costs: Costs,
    notes: Sequence[str],
    *,
    workers: int | None = None,
    progress: Progress = lambda done, failed, total: None,
) -> Study:
    """The study of all runs that came to an end, with a column of what they cost."""
    names = dict.fromkeys(name for name, _ in costs)
    plan = Plan(
        name=f"benchmark {VERSION}",
        folder=folder,
        tracks=tuple(
            PlannedTrack(each.name, f"{RUNS}/{{track}}/{REFERENCE}.square", group=each.group)
            for each in tracks
        ),
        estimators=tuple(
            PlannedEstimator(each, f"{RUNS}/{{track}}/{each}.square") for each in names
        ),
        output=folder / LEADERBOARD,
        headlines=(RELATIVE_K, COST),
    )
    study = run_study(plan, find_tasks(plan), workers=workers, progress=progress).study
    ranked = _nearest_k_first(study)
    made = tuple(_with_cost(each, ranked, costs) for each in sections(ranked, study.results))
    return replace(study, plan=ranked, sections=made, notes=(*notes, *study.notes))


def _nearest_k_first(study: Study) -> Plan:
    """The plan in the order of median k, the nearest to 1 first; then those that report none."""
    loss, whole = NUMBERS["k"].loss, whole_section(study)
    cells = [c for k in (whole.columns if whole else ()) if k.metric == "k" for c in k.cells]
    far = {c.estimator: loss(c.median.value) for c in cells if c.median is not None and loss}
    ranked = sorted(study.plan.estimators, key=lambda each: far.get(each.name, inf))
    return replace(study.plan, estimators=tuple(ranked))


def _with_cost(section: StudySection, plan: Plan, costs: Costs) -> StudySection:
    """The section with a column of costs, in which nobody wins: machines and their load differ."""
    names = tuple(each.name for each in plan.estimators)
    of_group = [each.name for each in plan.tracks if each.group == section.group]
    tracks = tuple(of_group or (each.name for each in plan.tracks))
    values = [costs.get(cell, np.nan) for cell in product(names, tracks)]
    column = metric_column(
        COST,
        Entrants(names, (True,) * len(names), tracks),
        np.reshape(values, (len(names), len(tracks))),
        unit="ms",
        loss=None,
        level=plan.options.intervals.level,
    )
    return replace(section, columns=(*section.columns, column))
