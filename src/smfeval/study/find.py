"""FIND: the files of a plan, as tasks; what is missing is known before anything runs."""

from dataclasses import dataclass

from smfeval.errors import FormatError, OptionError
from smfeval.study.find_extrinsic import Extrinsics
from smfeval.study.find_pairs import pair_tasks_of
from smfeval.study.find_refusals import refuse_bystanders, refuse_doubles
from smfeval.study.plan import Plan, PlannedEstimator, PlannedTrack, Reading
from smfeval.study.plan_patterns import filled
from smfeval.study.task import Input, PairTask, Runs, Task

SIDECARS = ("covariance", "times", "deviation")  # options of reading that name a second file
NAMED = 5  # missing references that a sentence names


@dataclass(frozen=True)
class Missing:
    """An estimator without a file on a track."""

    estimator: str
    group: str
    track: str
    pattern: str  # what was looked for, as the plan says it


@dataclass(frozen=True)
class Found:
    """The tasks of a plan: track by track, estimators in the order of the plan, then repeats."""

    tasks: tuple[Task, ...]
    pair_tasks: tuple[PairTask, ...]
    missing: tuple[Missing, ...]
    notes: tuple[str, ...] = ()


def find(plan: Plan) -> Found:
    """Look up every file that the plan names.

    A missing estimate is a gap. A missing reference, an estimator without any file, and a file
    that would count twice stop the study.
    """
    references = _references(plan)
    runs, missing = _runs(plan)
    notes = refuse_doubles(plan, runs)
    extrinsics = Extrinsics(plan)
    tasks = tuple(
        Task(
            each.name,
            track.group,
            track.name,
            repeat,
            estimate,
            _own_reference(each, track, plan) or references[track.name],
            extrinsics.of(each.extrinsic, track, each.name),
            plan.options,
        )
        for track in plan.tracks
        for each in plan.estimators
        for repeat, estimate in enumerate(runs[each.name, track.name])
    )
    refuse_bystanders(plan, tasks)
    pair_tasks, pair_notes = pair_tasks_of(plan, runs, extrinsics) if plan.pairs else ((), ())
    return Found(tasks, pair_tasks, missing, notes + pair_notes)


def _references(plan: Plan) -> dict[str, Input]:
    """The reference of each track; raises with the list of those that are missing."""
    found: dict[str, Input] = {}
    lost = []
    for track in plan.tracks:
        sources = filled(track.reference, track, plan).sources()
        reading, beside = _placed(track.reading, track, plan)
        if len(sources) > 1:
            raise OptionError(
                f"track {track.name}: {track.reference!r} finds {len(sources)} references, such "
                f"as {sources[0]} and {sources[1]}; one is needed"
            )
        if not sources or beside:
            lost.append(f"{track.name} ({beside or filled(track.reference, track, plan).text})")
        else:
            body = () if track.body is None else (("body", track.body),)
            found[track.name] = Input(sources[0], reading + body)
    if lost:
        more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
        raise FormatError(
            f"{len(lost)} of {len(plan.tracks)} tracks have no reference: "
            f"{', '.join(lost[:NAMED])}{more}"
        )
    return found


def _runs(plan: Plan) -> tuple[Runs, tuple[Missing, ...]]:
    """Files of every estimator on every track, and the gaps."""
    runs: Runs = {}
    missing = []
    for each in plan.estimators:
        for track in plan.tracks:
            reading, beside = _placed(each.reading, track, plan)
            sources = () if beside else filled(each.path, track, plan).sources()
            runs[each.name, track.name] = tuple(Input(source, reading) for source in sources)
            if not sources:
                pattern = beside or each.path
                missing.append(Missing(each.name, track.group, track.name, pattern))
        if not any(runs[each.name, track.name] for track in plan.tracks):
            raise FormatError(_nothing(each, missing[-len(plan.tracks)], plan))
    order = {track.name: i for i, track in enumerate(plan.tracks)}
    return runs, tuple(sorted(missing, key=lambda gap: order[gap.track]))


def _nothing(each: PlannedEstimator, gap: Missing, plan: Plan) -> str:
    """What an estimator without any file is told, by its gap on the first track."""
    meant = filled(gap.pattern, plan.tracks[0], plan).text
    return (
        f"estimator {each.name}: {gap.pattern!r} matches no file on any track; for track "
        f"{gap.track} it means {meant}"
    )


def _placed(reading: Reading, track: PlannedTrack, plan: Plan) -> tuple[Reading, str | None]:
    """The reading of one track with absolute paths, and a second file that is missing."""
    placed, lost = [], None
    for key, value in reading:
        if key in SIDECARS:
            sources = filled(value, track, plan).sources()
            lost = lost or (value if len(sources) != 1 else None)
            placed.append((key, sources[0] if sources else value))
        else:
            placed.append((key, value))
    return tuple(placed), lost


def _own_reference(each: PlannedEstimator, track: PlannedTrack, plan: Plan) -> Input | None:
    """The reference that an estimator has for itself, read as the track's."""
    if each.reference is None:
        return None
    sources = filled(each.reference, track, plan).sources()
    if len(sources) != 1:
        problem = "there is no" if not sources else f"there are {len(sources)} files for the"
        raise FormatError(
            f"estimator {each.name}, track {track.name}: {problem} reference "
            f"{filled(each.reference, track, plan).text}"
        )
    body = () if each.reference_body is None else (("body", each.reference_body),)
    return Input(sources[0], _placed(track.reading, track, plan)[0] + body)
