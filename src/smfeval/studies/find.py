"""The files of a plan as tasks; what is missing is known before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from os.path import normpath
from pathlib import Path

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.evaluation import Options
from smfeval.io import read
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.formats import sidecar_options
from smfeval.io.presets import preset_named
from smfeval.io.source import exists, is_file, is_url
from smfeval.io.source_text import file_beside, split_options
from smfeval.options import TOLERANCE_S
from smfeval.studies.plan import (
    Plan,
    PlannedEstimator,
    PlannedTrack,
    Reading,
    expand_home,
    fill_pattern,
    source_file,
)
from smfeval.studies.task import Input, PairTask, Runs, Task

MOST_NAMED = 5  # missing references that a sentence names


@dataclass(frozen=True)
class MissingEstimate:
    """An estimator without a file on a track."""

    estimator: str
    group: str
    track: str
    pattern: str  # what was looked for, as the plan says it


@dataclass(frozen=True)
class StudyTasks:
    """The tasks of a plan: track by track, estimators in the order of the plan, then repeats."""

    tasks: tuple[Task, ...]
    pair_tasks: tuple[PairTask, ...]
    missing: tuple[MissingEstimate, ...]
    notes: tuple[str, ...] = ()


class Extrinsics:
    """Each extrinsic is read once here, so that a wrong one stops the study before it starts."""

    def __init__(self, plan: Plan):
        self._plan = plan
        self._known: dict[str, str] = {}
        self._bodies: dict[str, str | None] = {}

    def of_run(self, each: PlannedEstimator, track: PlannedTrack, run: Input) -> str | None:
        """The estimator's own, or that of the track for the body that the estimate is about."""
        pattern = each.extrinsic
        if pattern is None and each.reference is None and track.extrinsics:
            pattern = dict(track.extrinsics).get(self._body(run) or "")
        return self.of(pattern, track, each.name)

    def _body(self, run: Input) -> str | None:
        """The body of an estimate: as the plan or its preset says, or else its file."""
        reading = dict(run.reading)
        preset = preset_named(reading.get("preset"))
        planned: str | None = reading.get("body") or (None if preset is None else preset.body)
        if planned is None and run.source not in self._bodies:
            try:
                self._bodies[run.source] = read(run.source, **reading).about.body
            except SmfevalError:
                self._bodies[run.source] = None  # the task will say why
        return planned or self._bodies[run.source]

    def of(self, pattern: str | None, track: PlannedTrack, estimator: str) -> str | None:
        """The extrinsic for a track: an absolute path, or numbers as they are written."""
        if pattern is None:
            return None
        path = fill_pattern(pattern, track, self._plan).text
        if path not in self._known:
            source = pattern if "," in pattern and not exists(Path(path)) else path
            try:
                read_extrinsic(source)
            except FormatError as error:
                raise FormatError(f"estimator {estimator}, extrinsic: {error}") from error
            self._known[path] = source
        return self._known[path]


def find_tasks(plan: Plan) -> StudyTasks:
    """Look up every file that the plan names.

    A missing estimate is a gap. A missing reference, an estimator without any file, and a file
    that would count twice stop the study.
    """
    references = _find_references(plan)
    runs, missing = _find_runs(plan)
    notes = refuse_shared_files(plan, runs)
    extrinsics = Extrinsics(plan)
    tasks = []
    for track in plan.tracks:
        options = plan.options
        if track.tolerance_s is not None and options.association != "gp":
            options = replace(options, tolerance_s=track.tolerance_s)
        for each in plan.estimators:
            for repeat, estimate in enumerate(runs[each.name, track.name]):
                reference = _own_reference(each, track, plan) or references[track.name]
                extrinsic = extrinsics.of_run(each, track, estimate)
                who = (each.name, track.group, track.name, repeat)
                chosen = (options, plan.sensitivity, _telemetry(each, track, estimate, plan))
                tasks.append(Task(*who, estimate, reference, extrinsic, *chosen))
    refuse_misplaced_files(plan, tasks)
    pair_tasks, pair_notes = (
        pair_tasks_of(plan, runs, references, extrinsics) if plan.pairs else ((), ())
    )
    return StudyTasks(tuple(tasks), pair_tasks, missing, notes + pair_notes)


def _find_references(plan: Plan) -> dict[str, Input]:
    """The reference of each track; raises with the list of those that are missing."""
    found: dict[str, Input] = {}
    lost = []
    for track in plan.tracks:
        filled = fill_pattern(track.reference, track, plan)
        sources = filled.sources()
        reading, beside = _resolve_paths(track.reading, track, plan)
        if len(sources) > 1:
            raise OptionError(
                f"track {track.name}: {track.reference!r} finds {len(sources)} references, such "
                f"as {sources[0]} and {sources[1]}; one is needed"
            )
        if not sources or beside:
            lost.append(f"{track.name} ({beside or filled.text})")
        else:
            body = () if track.body is None else (("body", track.body),)
            found[track.name] = Input(sources[0], reading + body)
    if lost:
        more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
        raise FormatError(
            f"{len(lost)} of {len(plan.tracks)} tracks have no reference: "
            f"{', '.join(lost[:MOST_NAMED])}{more}"
        )
    return found


def _find_runs(plan: Plan) -> tuple[Runs, tuple[MissingEstimate, ...]]:
    """Files of every estimator on every track, and the gaps."""
    runs: Runs = {}
    missing = []
    for each in plan.estimators:
        for track in plan.tracks:
            reading, beside = _resolve_paths(each.reading, track, plan)
            sources = () if beside else fill_pattern(each.path, track, plan).sources()
            runs[each.name, track.name] = tuple(Input(source, reading) for source in sources)
            if not sources:
                pattern = beside or each.path
                missing.append(MissingEstimate(each.name, track.group, track.name, pattern))
        if not any(runs[each.name, track.name] for track in plan.tracks):
            gap = missing[-len(plan.tracks)]  # that on the first track
            raise FormatError(
                f"estimator {each.name}: {gap.pattern!r} matches no file on any track; for track "
                f"{gap.track} it means {fill_pattern(gap.pattern, plan.tracks[0], plan).text}"
            )
    order = {track.name: i for i, track in enumerate(plan.tracks)}
    return runs, tuple(sorted(missing, key=lambda gap: order[gap.track]))


def _resolve_paths(reading: Reading, track: PlannedTrack, plan: Plan) -> tuple[Reading, str | None]:
    """The reading of one track with absolute paths, and a second file that is missing."""
    placed, lost = [], None
    for key, value in reading:
        if key in sidecar_options():
            sources = fill_pattern(value, track, plan).sources()
            lost = lost or (value if len(sources) != 1 else None)
            placed.append((key, sources[0] if sources else value))
        else:
            placed.append((key, value))
    return tuple(placed), lost


def _own_reference(each: PlannedEstimator, track: PlannedTrack, plan: Plan) -> Input | None:
    """The reference that an estimator has for itself, read as the track's."""
    if each.reference is None:
        return None
    reference, own = split_options(each.reference)
    filled = fill_pattern(reference, track, plan)
    sources = filled.sources()
    if len(sources) != 1:
        problem = "there is no" if not sources else f"there are {len(sources)} files for the"
        raise FormatError(
            f"estimator {each.name}, track {track.name}: {problem} reference {filled.text}"
        )
    body = () if each.reference_body is None else (("body", each.reference_body),)
    reading = tuple((dict(track.reading) | own).items())
    return Input(sources[0], _resolve_paths(reading, track, plan)[0] + body)


def _telemetry(each: PlannedEstimator, track: PlannedTrack, run: Input, plan: Plan) -> str | None:
    """The table that the estimator logged beside a run; None where it has none planned."""
    if each.telemetry is None:
        return None
    pattern = each.telemetry.replace("{track}", track.name).replace("{group}", track.group)
    path = plan.folder / expand_home(file_beside(pattern, run.source))
    if not is_file(path):
        raise FormatError(
            f"estimator {each.name}, track {track.name}: there is no telemetry {path}"
        )
    return str(path)


def refuse_shared_files(plan: Plan, runs: Runs) -> tuple[str, ...]:
    """Raise on a file that serves two tracks, or two estimators in the same way.

    Returns notes on estimators that read the same file in different ways.
    """

    def way(each: PlannedEstimator) -> tuple[object, ...]:
        return each.reading, each.extrinsic, each.reference, each.reference_body

    notes: dict[str, None] = {}
    users: dict[str, tuple[PlannedEstimator, str]] = {}
    for each in plan.estimators:
        for track in plan.tracks:
            for run in runs[each.name, track.name]:
                other, where = users.setdefault(normpath(run.source), (each, track.name))
                if other is each and where != track.name:
                    raise OptionError(
                        f"estimator {each.name}: {run.source} is found for track {where} and for "
                        f"track {track.name}; the path {each.path!r} reaches too far"
                    )
                names = f"estimators {other.name} and {each.name} read the same"
                if other is not each and way(other) == way(each):
                    raise OptionError(f"{names} file in the same way: {run.source}")
                if other is not each:
                    notes[f"{names} files, in different ways"] = None
    return tuple(notes)


def refuse_misplaced_files(plan: Plan, tasks: Sequence[Task]) -> None:
    """Raise if an estimate is a reference, or a file lies where the results will go."""
    references = {normpath(task.reference.source): task.track for task in tasks}
    for task in tasks:
        track = references.get(normpath(task.estimate.source))
        if track is not None:
            what = f"{task.estimate.source} is a reference of track {track}"
            raise OptionError(f"estimator {task.estimator}: {what}")
        _refuse_in_output(plan, task.estimate, f"estimator {task.estimator}")
        _refuse_in_output(plan, task.reference, f"track {task.track}")


def _refuse_in_output(plan: Plan, given: Input, whose: str) -> None:
    if is_url(given.source):
        return
    path = Path(normpath(source_file(given.source)))
    if path.is_relative_to(plan.output):
        raise OptionError(
            f"{whose}: {path} is in the output folder {plan.output}, which is for results alone"
        )
    if plan.output.is_relative_to(path):
        raise OptionError(f"{whose}: the output folder {plan.output} is inside {path}")


def pair_tasks_of(
    plan: Plan, runs: Runs, references: Mapping[str, Input], extrinsics: Extrinsics
) -> tuple[tuple[PairTask, ...], tuple[str, ...]]:
    """Tasks, track by track, and notes on what has no partner.

    The first run of one estimator meets the first run of the other, and so on.
    """
    options, notes = pair_options(plan.options)
    offset_s, again = plan.options.offset_s, plan.sensitivity
    clock_s = 0.0 if offset_s == "auto" else offset_s
    tasks, unpaired = [], 0
    for track in plan.tracks:
        for a, b in combinations(plan.estimators, 2):
            if not _are_comparable(a, b):
                continue
            ours, theirs = runs[a.name, track.name], runs[b.name, track.name]
            unpaired += abs(len(ours) - len(theirs)) if ours and theirs else 0
            alike = a.reference == b.reference
            reference = None
            if offset_s != "auto":
                own = _own_reference(a, track, plan) if alike else None
                reference = own or references[track.name]
            for repeat, both in enumerate(zip(ours, theirs, strict=False)):
                first, second = (
                    extrinsics.of_run(each, track, run)
                    if alike or each.reference is None
                    else extrinsics.of(each.pair_extrinsic, track, each.name)
                    for each, run in zip((a, b), both, strict=True)
                )
                who = (a.name, b.name, track.group, track.name, repeat)
                tasks.append(
                    PairTask(*who, *both, (first, second), options, reference, clock_s, again)
                )
    if unpaired:
        notes += (f"pairs: {unpaired} runs have no partner; one estimator has fewer repeats",)
    return tuple(tasks), notes + _apart_notes(plan.estimators)


def _apart_notes(estimators: Sequence[PlannedEstimator]) -> tuple[str, ...]:
    """On estimators that cannot be brought to the body of all others."""
    return tuple(
        f"pairs: {each.name} has a reference of its own and meets only estimators with the same "
        "one; pair_extrinsic (pose of the tracks' body in the estimator's) would join it to all"
        for each in estimators
        if each.reference is not None
        and not all(_are_comparable(each, other) for other in estimators)
    )


def _are_comparable(a: PlannedEstimator, b: PlannedEstimator) -> bool:
    """Whether the two can be brought to one body: same reference, or the way between is known."""
    return a.reference == b.reference or all(
        each.reference is None or each.pair_extrinsic is not None for each in (a, b)
    )


def pair_options(options: Options) -> tuple[Options, tuple[str, ...]]:
    """The options that a pair has, and notes on what the plan says about a reference.

    A pair has no clock offset to a reference and no fit on its start.
    """
    chosen, notes = replace(options, offset_s=0.0, fit_on=None, horizons=()), []
    if options.association == "gp":
        chosen = replace(chosen, association="interpolated", tolerance_s=TOLERANCE_S)
        notes.append(f"pairs are matched by nearest stamps within {words.duration(TOLERANCE_S)}")
    if options.offset_s != 0:
        offset = "auto" if options.offset_s == "auto" else words.duration(options.offset_s)
        notes.append(
            f"pairs: the time offset to the reference ({offset}) is not used; between two "
            "estimators it is taken as 0"
        )
    if options.offset_s == "auto":
        notes.append(
            "pairs: the errors are not compared with the reference, whose time offset is found "
            "run by run"
        )
    if options.fit_on is not None:
        notes.append(f"pairs: aligned over all matched scans, not on the first {options.fit_on}")
    return chosen, tuple(notes)
