"""The verbs of the command line as functions: paths or tracks in, results out.

Options are keywords with the names that the flags have (`gauge="yaw"`, `offset="auto"`), those of
reading among them (`format="kitti"`), with `ref_` before the name where they are for the reference.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval import evaluation
from smfeval.align.body import move_to_body
from smfeval.associate import Pairs
from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation, Options
from smfeval.io import extrinsic_in_bags, is_geodetic, read
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.options import ReadOptions
from smfeval.maths import se3
from smfeval.options import refuse_unused_tolerance
from smfeval.schema import Option, format_value, options_at, suggest_word, with_values
from smfeval.track import AnyTrack, Beliefs

if TYPE_CHECKING:
    from smfeval.calibration import Calibration
    from smfeval.compare import Comparison
    from smfeval.compare.sweep import Sweep
    from smfeval.studies.result import Study
    from smfeval.why.one_track import Examination

Source = str | Path | AnyTrack  # a track, or what `read` takes
Extrinsic = str | Path | se3.Pose

REFERENCE = "ref_"


def evaluate(
    estimate: Source,
    reference: Source,
    *,
    extrinsic: Extrinsic | None = None,
    options: Options | None = None,
    pairs: Pairs | None = None,
    **keywords: Any,
) -> Evaluation:
    """Score an estimate against a reference.

    Parameters
    ----------
    estimate, reference
        Tracks, or what `read` takes: a path, `bag.mcap:/topic`.
    extrinsic
        Pose of the reference's body in the estimate's: a file, `x,y,z,qx,qy,qz,qw`, or a pair of
        position and quaternion.
    options
        Options as a whole; keywords change some of them.
    pairs
        The scans to score, such as those common to several estimates; None: all that match.
    **keywords
        Options of `smfeval score` by the names of their flags: `gauge="yaw"`, `axes="xy"`,
        `tolerance="10ms"`, `offset="auto"`; how to read the estimate: `format="kitti"`,
        `preset="fast-lio2"`; how to read the reference: `ref_format="euroc"`.
    """
    given = _split(keywords, "score", "evaluate", read_from=(estimate, reference))
    refuse_unused_tolerance(given.options)
    options = with_values(_start(options, given, extrinsic), given.options)
    truth = _track(reference, given.shared | given.reference)
    belief = read_beside(estimate, truth, given.reading)
    belief = in_body_of(truth, belief, (estimate, reference), extrinsic=options.extrinsic)
    return evaluation.evaluate(belief, truth, options=options, pairs=pairs)


def pair(
    *tracks: Source,
    reference: Source | None = None,
    extrinsics: Sequence[Extrinsic | None] | None = None,
    options: Options | None = None,
    **keywords: Any,
) -> "Comparison":
    """Compare two or more estimates of one motion with each other; no reference is needed.

    Parameters
    ----------
    *tracks
        Tracks, or what `read` takes.
    reference
        Used only to check that the errors of two are not opposed.
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
    chosen = with_values(_start(options, given, None), given.options)
    limit = {name: given.shared[name] for name in ("limit",) if name in given.shared}
    truth = None if reference is None else _track(reference, limit | given.reference)
    beliefs = [_track(each, given.reading) for each in tracks]
    poses = [_pose(each) for each in extrinsics or [None] * len(tracks)]
    body = None if truth is None else truth.about.body
    return compare_all(in_one_body(beliefs, poses, body=body), options=chosen, reference=truth)


def calibrate(
    train: Sequence[tuple[Source, Source]],
    on: Sequence[tuple[Source, Source]] = (),
    *,
    model: str | None = None,
    telemetry: Sequence[str | Path] = (),
    follow: Sequence[str] = (),
    force_one: bool = False,
    conformal: float | None = None,
    extrinsic: Extrinsic | None = None,
    options: Options | None = None,
    **keywords: Any,
) -> "Calibration":
    """Learn a correction of covariances on some tracks, and prove it on others.

    Parameters
    ----------
    train, on
        Pairs of estimate and reference: tracks, or what `read` takes. Without `on`, every training
        track is left out in turn.
    model
        `scale`, `blocks`, `axes`, `floor`, `growth` or `telemetry`; None: `scale`, unless another
        is shown to have a better log score on training tracks that are left out.
    telemetry, follow
        A table beside each track (training tracks first), and columns that a factor may follow.
    force_one
        Learn from one track, on parts of it in time if there is no other.
    conformal
        Also find regions that hold on this share of new tracks.
    extrinsic
        Pose of the references' body in the estimates'.
    options
        Options as a whole; keywords change some of them.
    **keywords
        Options of `smfeval score` by the names of their flags, and how to read tracks.
    """
    from smfeval import calibration  # noqa: PLC0415  only where asked for
    from smfeval.io.corrections import read_telemetry_columns  # noqa: PLC0415

    sources = [*train, *on]
    if not all(isinstance(each, tuple | list) and len(each) == 2 for each in sources):
        raise OptionError("tracks are given in pairs: [(estimate, reference), ...]")
    every = [source for pair in sources for source in pair]
    given = _split(keywords, "score", "calibrate", read_from=every)
    options = with_values(_start(options, given, extrinsic), given.options)
    tracks = []
    for estimate, reference in sources:
        truth = _track(reference, given.shared | given.reference)
        tracks.append((read_beside(estimate, truth, given.reading), truth))
    return calibration.calibrate(
        tracks[: len(train)],
        tracks[len(train) :],
        options=options,
        model=model,
        telemetry=[read_telemetry_columns(table) for table in telemetry],
        columns=tuple(follow),
        force_one=force_one,
        regions=conformal,
    )


def study(
    plan: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
    sensitivity: bool = False,
) -> "Study":
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
        Score every run again under other gauges, clocks and the other kind of reference.
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


def sweep(plan: str | Path) -> "Sweep":
    """Measure the runs of a plan (TOML) with one knob turned: does sharper mean better?

    A plan with a table [lab] runs filters of the lab, which is left to `smfeval sweep`.
    """
    from smfeval.compare.sweep import sweep_of  # noqa: PLC0415  only where asked for
    from smfeval.studies.sweep_plan import FileRuns, read_sweep  # noqa: PLC0415
    from smfeval.studies.sweep_points import points_of_files  # noqa: PLC0415

    planned = read_sweep(Path(plan))
    if not isinstance(planned.source, FileRuns):
        raise OptionError(f"{plan}: a plan with a table [lab] is run by the command line")
    points, failures = points_of_files(planned.source)
    return sweep_of(
        points,
        name=planned.name,
        failures=failures,
        dimension=planned.options.space.dimension,
        level=planned.options.intervals.level,
    )


def examine(source: Source, **reading: Any) -> "Examination":
    """Look at motion, covariance and plausibility of a track, or of what `read` takes."""
    from smfeval.why import one_track  # noqa: PLC0415  only where asked for

    _refuse_reading(reading, (source,))
    return one_track.examine(_track(source, reading))


def read_beside(source: Source, reference: AnyTrack, reading: Mapping[str, Any]) -> AnyTrack:
    """The estimate, read as it is to be compared with a reference: GNSS about its origin."""
    if isinstance(source, Beliefs):
        return source
    shared, options = dict(reference.about.extra).get("ENU_ORIGIN"), dict(reading)
    if shared and "origin" not in options and is_geodetic(source, **options):
        options["origin"] = shared
    return read(source, **options)


def in_body_of(
    reference: AnyTrack,
    estimate: AnyTrack,
    sources: Iterable[Source],
    *,
    extrinsic: se3.Pose | None,
) -> AnyTrack:
    """The estimate about the reference's body, where a bag tells how the two are mounted.

    An extrinsic that is given comes first: then nothing is looked for in the sources.
    """
    if extrinsic is not None:
        return estimate
    other = reference.about.body
    files = [each for each in sources if not isinstance(each, Beliefs)]
    found = extrinsic_in_bags(estimate.about.body, other, files)
    if found is None:
        return estimate
    mounted, note = found
    return move_to_body(estimate, mounted, other).with_notes(note)


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


def write_tables(study: "Study") -> None:
    """The tables of a study in every format, into its output folder."""
    from smfeval.io.atomic import writing  # noqa: PLC0415  only for studies
    from smfeval.show.study.formats import FORMATS  # noqa: PLC0415

    for entry in FORMATS.values():
        with writing(study.plan.output / f"tables{entry.suffix}") as stream:
            stream.write(entry.text(study).encode())


@dataclass(frozen=True)
class Keywords:
    """Keywords of a call, by what they are for."""

    options: dict[str, Any]  # of the evaluation, parsed
    reading: dict[str, Any]  # of the estimates
    reference: dict[str, Any]  # of reading the reference

    @property
    def shared(self) -> dict[str, Any]:
        """Of reading, what holds for all files."""
        names = {each.name for each in options_at(ReadOptions, "options")}
        return {name: value for name, value in self.reading.items() if name in names}


def _split(
    keywords: Mapping[str, Any], verb: str, call: str, *, read_from: Iterable[Source | None]
) -> Keywords:
    """The keywords of a call, which are named as the flags of a verb are."""
    options = {each.name: each for each in options_at(Options, verb)}
    reading = [each.name for each in options_at(ReadOptions, "read")]
    about_reference = options_at(ReadOptions, f"reference of {verb}")
    reference = [f"{REFERENCE}{each.name}" for each in about_reference]
    for name in keywords:
        if name not in (*options, *reading, *reference):
            known = suggest_word(name, [*options, *reading, *reference])
            raise OptionError(f"{call}: the option {name!r} is unknown; {known}")
    _refuse_reading([name for name in keywords if name not in options], read_from)
    return Keywords(
        {name: _parse(options[name], keywords[name]) for name in options if name in keywords},
        {name: keywords[name] for name in reading if name in keywords},
        {
            name.removeprefix(REFERENCE): keywords[name]
            for name in reference
            if name in keywords and name not in options
        },
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


def _start(options: Options | None, given: Keywords, extrinsic: Extrinsic | None) -> Options:
    """Options before the keywords: with the extrinsic, and with singular scans as bad rows."""
    start = options or Options()
    if extrinsic is not None:
        start = replace(start, extrinsic=_pose(extrinsic))
    return replace(start, singular=given.reading.get("bad_rows", start.singular))


def _pose(extrinsic: Extrinsic | None) -> se3.Pose | None:
    if extrinsic is None or isinstance(extrinsic, tuple):
        return extrinsic
    return read_extrinsic(str(extrinsic))


def _track(source: Source, reading: Mapping[str, Any]) -> AnyTrack:
    """The track, read if it is not one already."""
    return source if isinstance(source, Beliefs) else read(source, **reading)
