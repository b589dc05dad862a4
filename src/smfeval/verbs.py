"""The verbs of the command line as functions: paths or tracks in, results out.

Options are keywords with the names that the flags have (`align="yaw"`, `offset="auto"`), those of
reading among them (`format="kitti"`). A source may name its own (`io.source_text`), which is how
those of the reference are given: `"truth.csv?columns=stamp=t"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from smfeval import evaluation
from smfeval.align.body import move_to_body
from smfeval.associate import Pairs, nearest_pairs
from smfeval.associate.origin import share_origin
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError, PairingError
from smfeval.evaluation import Evaluation, Options, choose_axes
from smfeval.io import extrinsic_in_bags, files_to_read, read
from smfeval.io.atomic import writing
from smfeval.io.options import ReadOptions
from smfeval.io.progress import report
from smfeval.maths import se3
from smfeval.options import refuse_unused_tolerance
from smfeval.schema import Option, format_value, options_at, suggest_word, with_values
from smfeval.track import AnyTrack, Beliefs, ParticleTrack, Track
from smfeval.why import one_track

if TYPE_CHECKING:
    from smfeval.calibration import Calibration
    from smfeval.compare import Comparison
    from smfeval.compare.sweep import Sweep
    from smfeval.studies.result import Study
    from smfeval.studies.run import Labour
    from smfeval.studies.sweep import PointsAndFailures, SweepPlan

Source = str | Path | AnyTrack  # a track, or what `read` takes
Extrinsic = str | Path | se3.Pose


def evaluate(
    estimate: Source | ArrayLike,
    reference: Source | ArrayLike,
    *,
    covariance: ArrayLike | None = None,
    time: ArrayLike | None = None,
    extrinsic: Extrinsic | None = None,
    options: Options | None = None,
    pairs: Pairs | None = None,
    **keywords: Any,
) -> Evaluation:
    """Score an estimate against a reference.

    Parameters
    ----------
    estimate, reference
        Tracks, or what `read` takes: a path, `bag.mcap:/topic`, `a.csv?body=imu`; or arrays of
        poses or positions, row by row (`from_arrays`).
    covariance, time
        Of arrays: the covariances of the estimate, and the stamps of both.
    extrinsic
        Pose of the reference's body in the estimate's: a file, `x,y,z,qx,qy,qz,qw`, or a pair of
        position and quaternion.
    options
        Options as a whole; keywords change some of them.
    pairs
        The scans to score, such as those common to several estimates; None: all that match.
    **keywords
        Options of `smfeval score` by the names of their flags: `align="yaw"`, `axes="xy"`,
        `tolerance="10ms"`, `offset="auto"`; how to read the estimate: `format="kitti"`,
        `preset="fast-lio2"`.
    """
    sources = (
        _track_of(estimate, time, covariance, "estimate"),
        _track_of(reference, time, None, "reference"),
    )
    given = _split(keywords, "score", "evaluate", read_from=sources)
    options = _options(options, given, extrinsic)
    truth, (belief,) = _read_against(sources[:1], sources[1], given, options)
    return _evaluate(belief, truth, options, given, pairs)


def _track_of(source: Any, time: Any, covariance: Any, name: str) -> Source:
    """A track of arrays; files and tracks as they are."""
    if isinstance(source, str | PathLike | Track | ParticleTrack):
        if covariance is not None:
            raise OptionError("covariance= is of arrays; this estimate is a track or a file")
        return Path(source) if isinstance(source, PathLike) else source
    from smfeval.io.arrays import from_arrays  # noqa: PLC0415  only where asked for

    return from_arrays(time, source, covariance, name=name)


def evaluate_all(
    estimates: Sequence[Source],
    reference: Source,
    *,
    common: bool = False,
    calibration: str | Path | None = None,
    telemetry: str | Path | None = None,
    extrinsic: Extrinsic | None = None,
    options: Options | None = None,
    **keywords: Any,
) -> list[Evaluation]:
    """Score estimates against one reference, each as `evaluate` does.

    Parameters
    ----------
    estimates, reference, extrinsic, options, **keywords
        As of `evaluate`.
    common
        Score all of them on the scans whose reference pose is matched by every estimate.
    calibration, telemetry
        The file of a correction of covariances, and the table whose columns it follows.
    """
    given = _split(keywords, "score", "evaluate_all", read_from=(*estimates, reference))
    options = _options(options, given, extrinsic)
    correct = None if calibration is None else (calibration, telemetry)
    truth, beliefs = _read_against(estimates, reference, given, options, correct)
    evaluations = []
    if not common:
        for done, belief in enumerate(beliefs):
            report(done, len(beliefs))
            evaluations.append(_evaluate(belief, truth, options, given))
        return evaluations

    pairs = [nearest_pairs(each, truth, options) for each in beliefs]
    shared = reduce(np.intersect1d, [each.reference for each in pairs])
    if len(shared) == 0:
        raise PairingError("no reference pose is matched by all estimates")
    for belief, own in zip(beliefs, pairs, strict=True):
        kept = np.isin(own.reference, shared)
        note = f"{len(own) - int(kept.sum())} matched scans left out: not common to all estimates"
        fewer = replace(
            own,
            estimate=own.estimate[kept],
            reference=own.reference[kept],
            gap_s=own.gap_s[kept],
        )
        evaluations.append(_evaluate(belief, truth, options, given, fewer, note))
    return evaluations


def _evaluate(
    belief: AnyTrack,
    truth: AnyTrack,
    options: Options,
    given: Keywords,
    pairs: Pairs | None = None,
    *notes: str,
) -> Evaluation:
    """Score on the axes asked for, or on those that the belief has."""
    if "axes" not in given.options:
        options, lacking = choose_axes(options, {"the estimate": belief}, {"the reference": truth})
        notes += tuple(f"{who} {what}" for who, what in lacking.items())
    return evaluation.evaluate(belief, truth, options=options, pairs=pairs, notes=notes)


def pair(
    *tracks: Source,
    reference: Source | None = None,
    extrinsics: Sequence[Extrinsic | None] | None = None,
    options: Options | None = None,
    **keywords: Any,
) -> Comparison:
    """Compare two or more estimates of one motion with each other; no reference is needed.

    Parameters
    ----------
    *tracks
        Tracks, or what `read` takes.
    reference
        Used only to check that the errors of two are not negatively correlated.
    extrinsics
        For each track the pose of a common body in its own, or None.
    options
        Options as a whole; keywords change some of them.
    **keywords
        Options of `smfeval pair` by the names of their flags, and how to read the tracks.
    """
    from smfeval.compare import compare_all  # noqa: PLC0415  only where asked for
    from smfeval.compare.frames import in_one_body  # noqa: PLC0415

    if len(tracks) < 2:
        raise OptionError("a pair needs two tracks")
    given = _split(keywords, "pair", "pair", read_from=(*tracks, reference))
    options = _options(options, given, None)
    poses = [_pose(each) for each in extrinsics or [None] * len(tracks)]
    truth = None if reference is None else _track(reference, given.reference)
    beliefs = [_track(each, given.reading) for each in tracks]
    body = None if truth is None else truth.about.body
    beliefs = in_one_body(beliefs, poses, body=body)
    if "axes" not in given.options:
        options, lacking = choose_axes(options, dict(enumerate(beliefs)), {})
        for at, what in lacking.items():
            beliefs[at] = beliefs[at].with_notes(f"it {what}")
    return compare_all(beliefs, options=options, reference=truth, told=report)


def calibrate(
    train: Sequence[tuple[Source, Source]],
    on: Sequence[tuple[Source, Source]] = (),
    *,
    model: str | None = None,
    telemetry: Sequence[str | Path] = (),
    follow: Sequence[str] = (),
    force_one: bool = False,
    conformal: float | None = None,
    estimator: str | None = None,
    extrinsic: Extrinsic | None = None,
    options: Options | None = None,
    **keywords: Any,
) -> Calibration:
    """Learn a correction of covariances on some tracks, and prove it on others.

    Parameters
    ----------
    train, on
        Pairs of estimate and reference: tracks, or what `read` takes. Without `on`, every training
        track is left out in turn.
    model
        `scale`, `blocks`, `axes`, `floor` or `telemetry`; None: `scale`, unless another
        is shown to have a better log score on training tracks that are left out. `law`: a
        covariance from distance, turning and time, as for tracks that report none.
    telemetry, follow
        A table beside each track (training tracks first), and columns that a factor may follow.
    force_one
        Learn from one track, on parts of it in time if there is no other.
    conformal
        Also find regions that hold on this share of new tracks.
    estimator
        Whose tracks these are, where files do not say.
    extrinsic
        Pose of the references' body in the estimates'.
    options
        Options as a whole; keywords change some of them.
    **keywords
        Options of `smfeval score` by the names of their flags, and how to read tracks.
    """
    from smfeval import calibration  # noqa: PLC0415  only where asked for
    from smfeval.io.documents import read_telemetry_columns, with_version  # noqa: PLC0415

    sources = [*train, *on]
    if not all(isinstance(each, tuple | list) and len(each) == 2 for each in sources):
        raise OptionError("tracks are given in pairs: [(estimate, reference), ...]")
    every = [source for pair in sources for source in pair]
    given = _split(keywords, "score", "calibrate", read_from=every)
    options = _options(options, given, extrinsic)

    truths: dict[str, AnyTrack] = {}  # each file is read once
    tracks = []
    for done, (estimate, reference) in enumerate(sources):
        report(done, len(sources))
        if isinstance(reference, Beliefs):
            truth = reference
        else:
            if str(reference) not in truths:
                truths[str(reference)] = read(reference, **given.reference)
            truth = truths[str(reference)]
        truth, belief = share_origin(truth, _track(estimate, given.reading))
        named = belief if estimator is None else belief.with_about(algorithm=estimator)
        tracks.append((named, truth))
    notes: list[str] = []
    if "axes" not in given.options:
        beliefs = {(at, each.provenance.name): each for at, (each, _) in enumerate(tracks)}
        references = {(~at, each.provenance.name): each for at, (_, each) in enumerate(tracks)}
        options, lacking = choose_axes(options, beliefs, references)
        notes = [f"{name} {what}" for (_, name), what in lacking.items()]

    found = calibration.calibrate(
        tracks[: len(train)],
        tracks[len(train) :],
        options=options,
        model=model,
        telemetry=[read_telemetry_columns(table) for table in telemetry],
        columns=tuple(follow),
        force_one=force_one,
        regions=conformal,
    )
    correction = with_version(found.correction)
    return replace(found, correction=correction, notes=(*found.notes, *notes))


def study(
    plan: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
    sensitivity: bool = False,
) -> Study:
    """Score every estimator on every track of a plan (TOML), and compare them over tracks.

    Results are kept in the plan's output folder, as `smfeval study` does; what is known there is
    not done again unless `fresh`.

    Parameters
    ----------
    plan
        The file.
    workers
        Processes; None: one per core.
    scheduler
        Address of a Dask cluster that does the work.
    fresh
        Do again what is known from an earlier run.
    sensitivity
        Score every run again under other alignments, time offsets and the other kind of reference.
    """
    from smfeval.studies.find import find_tasks  # noqa: PLC0415  only where asked for
    from smfeval.studies.plan_file import read_plan  # noqa: PLC0415
    from smfeval.studies.run import run_study  # noqa: PLC0415

    planned = read_plan(Path(plan))
    planned = replace(planned, sensitivity=planned.sensitivity or sensitivity)
    found = find_tasks(planned)
    check_output_folder(planned.output)
    done = run_study(planned, found, workers=workers, scheduler=scheduler, fresh=fresh)
    write_tables(done.study)
    return done.study


def sweep(plan: str | Path, *, workers: int | None = None, fresh: bool = False) -> Sweep:
    """Measure the runs of a plan (TOML) with one knob turned: does sharper mean better?

    Runs are kept in the plan's output folder, as those of a study; what is known there is not done
    again unless `fresh`. A plan with a table [lab] runs filters, which is left to `smfeval sweep`.

    Parameters
    ----------
    plan
        The file.
    workers
        Processes; None: one per core.
    fresh
        Do again what is known from an earlier run.
    """
    from smfeval.studies.sweep import read_sweep  # noqa: PLC0415  only where asked for

    planned = read_sweep(Path(plan))
    if planned.lab is not None:
        raise OptionError(f"{plan}: a plan with a table [lab] is run by the command line")
    return measure_sweep(planned, workers=workers, fresh=fresh)


def measure_sweep(
    plan: SweepPlan,
    *,
    points_of_lab: Callable[..., PointsAndFailures] | None = None,
    **labour: Unpack[Labour],
) -> Sweep:
    """Score the runs of a sweep, those of the lab by its own function, and judge each knob."""
    from smfeval.compare.sweep import sweep_of  # noqa: PLC0415  only where asked for
    from smfeval.io.documents import TABLES, write_document  # noqa: PLC0415
    from smfeval.studies.sweep import points_of_files  # noqa: PLC0415

    check_output_folder(plan.output)
    points, failures = (points_of_lab or points_of_files)(plan, **labour)
    found = sweep_of(
        points,
        name=plan.name,
        failures=failures,
        dimension=plan.options.space.dimension,
        level=plan.options.intervals.level,
    )
    write_document(found.to_dict(), plan.output / TABLES)
    return found


def examine(
    source: Source, *, telemetry: str | Path | None = None, **reading: Any
) -> one_track.Examination:
    """Look at motion, covariance and plausibility of a track, or of what `read` takes.

    `telemetry` is a table with the number of points of each scan (`matched` or `points`).
    """
    from smfeval.why import no_reference  # noqa: PLC0415  only where asked for

    _refuse_reading(reading, (source,))
    track = _track(source, reading)
    counts = None
    if telemetry is not None:
        from smfeval.io.documents import read_point_counts  # noqa: PLC0415  imports polars

        counts = read_point_counts(telemetry, track.stamp)
    found, revisits = no_reference.look(track, counts)
    return replace(one_track.examine(track), findings=found, revisits=revisits)


def _read_against(
    estimates: Sequence[Source],
    reference: Source,
    given: Keywords,
    options: Options,
    correction: tuple[str | Path, str | Path | None] | None = None,
) -> tuple[AnyTrack, list[AnyTrack]]:
    """The reference, and the estimates about its body where a bag tells how the two are mounted.

    An extrinsic that is given comes first: then nothing is looked for in the sources.
    """
    truth = _track(reference, given.reference)
    beliefs = [_track(each, given.reading) for each in estimates]
    if correction is not None:
        from smfeval.io.documents import correct_track  # noqa: PLC0415  only where asked for

        beliefs = [correct_track(each, *correction) for each in beliefs]
    if options.extrinsic is not None:
        return truth, beliefs

    for at, (source, belief) in enumerate(zip(estimates, beliefs, strict=True)):
        files = [each for each in (source, reference) if not isinstance(each, Beliefs)]
        mounted = extrinsic_in_bags(belief.about.body, truth.about.body, files)
        if mounted is not None:
            pose, note = mounted
            beliefs[at] = move_to_body(belief, pose, truth.about.body).with_notes(note)
    return truth, beliefs


STUDY_FILES = ("cache", "tasks.parquet", "tables.json")  # what an output folder of a study holds


def check_output_folder(folder: Path) -> None:
    """Raise, before any work is done, on a folder that holds something else than a study."""
    if not folder.is_dir():
        return
    inside = [each.name for each in folder.iterdir()]
    if inside and not any(name in inside for name in STUDY_FILES):
        raise OptionError(
            f"{folder}: the output folder holds other things, such as {min(inside)}; "
            "name another in the plan"
        )


def write_tables(study: Study) -> None:
    """The tables of a study in every format, into its output folder."""
    from smfeval.show.study.formats import FORMATS  # noqa: PLC0415  only for studies

    for entry in FORMATS.values():
        with writing(study.plan.output / f"tables{entry.suffix}") as stream:
            stream.write(entry.text(study).encode())


def files_read(
    estimates: Iterable[str], references: Iterable[str], *, verb: str = "score", **keywords: Any
) -> list[Path]:
    """The files that a verb would open for these sources, with second files beside them."""
    given = _split(keywords, verb, verb, read_from=("",))
    return [
        file
        for sources, reading in ((estimates, given.reading), (references, given.reference))
        for source in sources
        for file in files_to_read(source, **reading)
    ]


@dataclass(frozen=True)
class Keywords:
    """Keywords of a call, by what they are for."""

    options: dict[str, Any]  # of the evaluation, parsed
    reading: dict[str, Any]  # of the estimates
    reference: dict[str, Any]  # of reading the reference: what holds for all files


def _split(
    keywords: Mapping[str, Any], verb: str, call: str, *, read_from: Iterable[Source | None]
) -> Keywords:
    """The keywords of a call, which are named as the flags of a verb are."""
    options = {each.name: each for each in options_at(Options, verb)}
    flags = {flag: each.name for each in options.values() for flag in (each.flag or "").split()}
    keywords = {flags.get(name, name): value for name, value in keywords.items()}
    reading = {each.name for each in options_at(ReadOptions, "read")}
    for name in keywords:
        if name not in options and name not in reading:
            near = suggest_word(name, [*options, *sorted(reading)])
            raise OptionError(f"{call}: the option {name!r} is unknown; {near}")
    _refuse_reading([name for name in keywords if name not in options], read_from)

    shared = {each.name for each in options_at(ReadOptions, "options")}
    if verb == "pair":  # whose reference is only a check
        shared = {"limit"}
    given = keywords.items()
    return Keywords(
        {name: _parse(options[name], said) for name, said in given if name in options},
        {name: said for name, said in given if name in reading},
        {name: said for name, said in given if name in shared},
    )


def _parse(option: Option, said: Any) -> Any:
    """The value of an option, from what a plan or a flag may say, or from numpy."""
    plain = said.item() if hasattr(said, "item") else said
    plain = list(plain) if isinstance(plain, tuple) else plain
    if option.kind.repeats and not isinstance(plain, list):
        plain = [plain]
    if plain is None or not option.kind.accepts(plain):
        raise OptionError(f"{option.name} is to be {option.kind.words}, not {format_value(said)}")
    return option.parse(plain)


def _refuse_reading(names: Iterable[str], sources: Iterable[Source | None]) -> None:
    """Raise on options of reading where nothing is read: all sources are tracks already."""
    given = list(names)
    if given and all(each is None or isinstance(each, Beliefs) for each in sources):
        raise OptionError(f"{given[0]} says how to read a file, and no file is read here")


def _options(options: Options | None, given: Keywords, extrinsic: Extrinsic | None) -> Options:
    """Options with the extrinsic, singular scans treated as bad rows, and then the keywords."""
    refuse_unused_tolerance(given.options)
    start = options or Options()
    if extrinsic is not None:
        start = replace(start, extrinsic=_pose(extrinsic))
    start = replace(start, singular=given.reading.get("bad_rows", start.singular))
    return with_values(start, given.options)


def _pose(extrinsic: Extrinsic | None) -> se3.Pose | None:
    if extrinsic is None or isinstance(extrinsic, tuple):
        return extrinsic
    from smfeval.io.extrinsic import read_extrinsic  # noqa: PLC0415  only where one is given

    return read_extrinsic(str(extrinsic))


def _track(source: Source, reading: Mapping[str, Any]) -> AnyTrack:
    """The track, read if it is not one already."""
    if not isinstance(source, Beliefs | str | PathLike):
        raise OptionError(
            f"a track or a file is needed, not {type(source).__name__}; "
            "smfeval.from_arrays(stamp, pose, covariance) makes a track of arrays"
        )
    return source if isinstance(source, Beliefs) else read(source, **reading)
