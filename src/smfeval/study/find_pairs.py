"""Every two estimators on every track, each about the body of the track's reference."""

from dataclasses import replace
from itertools import combinations

from smfeval.associate.nearest import TOLERANCE_S
from smfeval.evaluation import Options
from smfeval.study.find_extrinsic import Extrinsics
from smfeval.study.plan import Plan, PlannedEstimator, PlannedTrack
from smfeval.study.task import PairTask, Runs


def pair_tasks_of(
    plan: Plan, runs: Runs, extrinsics: Extrinsics
) -> tuple[tuple[PairTask, ...], tuple[str, ...]]:
    """Tasks, track by track, and notes on what has no partner.

    The first run of one estimator meets the first run of the other, and so on.
    """
    options, notes = pair_options(plan.options)
    tasks, unpaired = [], 0
    for track in plan.tracks:
        for a, b in combinations(plan.estimators, 2):
            if not _meet(a, b):
                continue
            ours, theirs = runs[a.name, track.name], runs[b.name, track.name]
            unpaired += abs(len(ours) - len(theirs)) if ours and theirs else 0
            tasks += [
                PairTask(
                    *(a.name, b.name, track.group, track.name, repeat),
                    *both,
                    _bodies(a, b, track, extrinsics),
                    options,
                )
                for repeat, both in enumerate(zip(ours, theirs, strict=False))
            ]
    if unpaired:
        notes += (f"pairs: {unpaired} runs have no partner; one estimator has fewer repeats",)
    return tuple(tasks), notes + _apart(plan)


def pair_options(options: Options) -> tuple[Options, tuple[str, ...]]:
    """The options that a pair has: no clock offset to a reference, no fit on its start."""
    chosen = replace(options, association="nearest", offset_s=0.0, fit_on=None, horizons=())
    notes = _unused(options)
    if options.association == "nearest":
        return chosen, notes
    note = f"pairs are matched by nearest stamps within {TOLERANCE_S * 1e3:g} ms"
    return replace(chosen, tolerance_s=TOLERANCE_S), (note, *notes)


def _unused(options: Options) -> tuple[str, ...]:
    """Notes on what the plan says about a reference, which a pair has not."""
    notes = []
    if options.offset_s != 0:
        offset = "auto" if options.offset_s == "auto" else f"{options.offset_s:g} s"
        notes.append(
            f"pairs: the clock offset to the reference ({offset}) is not used; between two "
            "estimators it is taken as 0"
        )
    if options.fit_on is not None:
        notes.append(f"pairs: aligned over all matched scans, not on the first {options.fit_on}")
    return tuple(notes)


def _meet(a: PlannedEstimator, b: PlannedEstimator) -> bool:
    """Whether the two can be brought to one body: same reference, or the way between is known."""
    return a.reference == b.reference or all(
        each.reference is None or each.pair_extrinsic is not None for each in (a, b)
    )


def _bodies(
    a: PlannedEstimator, b: PlannedEstimator, track: PlannedTrack, extrinsics: Extrinsics
) -> tuple[str | None, str | None]:
    """Extrinsics that bring both to one body."""
    first, second = (
        each.extrinsic
        if a.reference == b.reference or each.reference is None
        else each.pair_extrinsic
        for each in (a, b)
    )
    return extrinsics.of(first, track, a.name), extrinsics.of(second, track, b.name)


def _apart(plan: Plan) -> tuple[str, ...]:
    """A note on each estimator that cannot be brought to the body of the others."""
    return tuple(
        f"pairs: {each.name} has a reference of its own and meets only estimators with the same "
        "one; pair_extrinsic (pose of the tracks' body in the estimator's) would join it to all"
        for each in plan.estimators
        if not all(_meet(each, other) for other in plan.estimators) and each.reference is not None
    )
