"""A task of a study: one estimate against one reference, or two estimates against each other.

The way of a task: `load_or_evaluate` looks up what the cache knows under its key, or else
`evaluate_task` (`evaluate_pair`) reads both tracks, scores, and collects the numbers.
"""

import os
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval import words
from smfeval.align.quantities import Extent
from smfeval.compare.sensitivity import Alternative
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.evaluation import REQUIRED_RULES, Evaluation, Options, evaluate
from smfeval.io import files_to_read, read
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.formats import sidecar_options
from smfeval.io.parquet_columns import Columns
from smfeval.io.remote import file_name, local_path, shown
from smfeval.io.results import per_scan_columns
from smfeval.io.source import is_file, is_url
from smfeval.io.source_text import parse_source
from smfeval.judge.evidence import TrackEvidence
from smfeval.maths.stamps import NANOSECONDS
from smfeval.score import RULES
from smfeval.studies.cache import (
    CHANGED,
    Cache,
    Result,
    canonical_once,
    code_version,
    digest_path,
    digest_value,
    forget_digests,
    library_versions,
    unchanged,
)
from smfeval.studies.plan import Reading
from smfeval.studies.result import UNGUARDED, PairResult, TaskResult
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import metrics
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack

if TYPE_CHECKING:
    from smfeval.compare import Pair

WINDOWS_PER_TRACK = 30  # of the horizon for relative scores: gaps may leave 12, which are needed
TRACKS_KEPT = 4  # per process; estimators on one track come after each other

DOUBTED = "something looks wrong there that may explain k"
UNMET_STAMPS = "stamps of estimate and reference are too far apart there"


@dataclass(frozen=True)
class Input:
    """A file to read, and how."""

    source: str  # absolute, or bag.mcap:/topic
    reading: Reading = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """The file, second files that its options name, and those that a format would find."""
        return tuple(files_to_read(self.source, **dict(self.reading)))


Runs = dict[tuple[str, str], tuple[Input, ...]]  # by (estimator, track): its repeats


@dataclass(frozen=True)
class Task:
    """Score one run of an estimator on a track."""

    estimator: str
    group: str
    track: str
    repeat: int  # 0, 1, 2 ... over the runs of this estimator on this track
    estimate: Input
    reference: Input
    extrinsic: str | None  # a file, absolute, or numbers
    options: Options
    sensitivity: bool = False  # score it again with other choices, too
    telemetry: str | None = None  # a table of what each update did, absolute

    @property
    def inputs(self) -> tuple[Input, Input]:
        """The two tracks that it reads."""
        return self.estimate, self.reference

    @property
    def extrinsics(self) -> tuple[str | None]:
        """The extrinsics that it reads."""
        return (self.extrinsic,)

    def empty_result(self, key: str) -> TaskResult:
        """The result before anything is found."""
        return TaskResult(
            estimator=self.estimator,
            group=self.group,
            track=self.track,
            repeat=self.repeat,
            key=key,
            source=self.estimate.source,
            failure=None,
        )


@dataclass(frozen=True)
class PairTask:
    """Compare two estimators on a track, without its reference."""

    a: str
    b: str
    group: str
    track: str
    repeat: int
    first: Input
    second: Input
    extrinsics: tuple[str | None, str | None]  # to the reference's body, so that the bodies agree
    options: Options
    reference: Input | None = None  # to check how the errors of the two depend on each other
    reference_offset_s: float = 0.0  # added to the estimates' stamps before they meet it
    sensitivity: bool = False  # under other gauges and clocks, too

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The tracks that it reads."""
        both = (self.first, self.second)
        return both if self.reference is None else (*both, self.reference)

    def empty_result(self, key: str) -> PairResult:
        """The result before anything is found."""
        return PairResult(self.a, self.b, self.group, self.track, self.repeat, key, failure=None)


def files_of(task: Task | PairTask) -> tuple[Path, ...]:
    """All files that a task reads: tracks with their second files, and extrinsics."""
    tracks = [file for given in task.inputs for file in given.files]
    named = [local_path(text) for text in (*task.extrinsics, *_tables(task)) if text is not None]
    return tuple(dict.fromkeys([*tracks, *(file for file in named if is_file(file))]))


def _tables(task: Task | PairTask) -> tuple[str | None, ...]:
    """The telemetry of a run."""
    return (task.telemetry,) if isinstance(task, Task) else ()


@dataclass(frozen=True)
class TaskOutcome:
    """The result of a task, and whether it was known before."""

    result: Result
    cached: bool


def load_or_evaluate(
    task: Task | PairTask,
    cache: Cache,
    *,
    fresh: bool = False,
    version: str | None = None,
    run: str = "",
) -> TaskOutcome:
    """The result of a task: known before (unless a fresh one is wanted), or done and kept.

    What is kept under a key was computed from files that had the digests of the key before and
    after. Raises where nothing can be kept, and where who asks has another `version` of smfeval.
    `run` names the run of the study: digests are remembered within it only.
    """
    if version not in (None, code_version()):
        raise OptionError(f"a worker has smfeval {code_version()}; the study is run by {version}")
    forget_digests(run)
    known = None if fresh else load_known(task, cache)
    if known is not None:
        return known
    scans = None
    try:
        with unchanged(lambda: files_of(task)):
            key = task_key(task)
            result: Result
            if isinstance(task, Task):
                result, scans = evaluate_task(task, key)
            else:
                result = evaluate_pair(task, key)
    except Exception as error:
        return failed_outcome(task, failure_sentence(error, task))

    if result.failure is None:
        cache.save(result, scans)
    return TaskOutcome(result, cached=False)


def load_known(task: Task | PairTask, cache: Cache) -> TaskOutcome | None:
    """The result that the cache has under the key of a task; None where it has none."""
    try:
        known = cache.load(task.empty_result(task_key(task)))
    except SmfevalError:  # of its files: whoever does the task will say it
        return None
    return None if known is None else TaskOutcome(known, cached=True)


def failed_outcome(task: Task | PairTask, why: str) -> TaskOutcome:
    """The outcome of a task that came to nothing."""
    return TaskOutcome(replace(task.empty_result(""), failure=why), cached=False)


def task_key(task: Task | PairTask) -> str:
    """The key of a task: of the code, its libraries, the options and every file that it reads.

    Of a file its name and its bytes count, not its folder, so that a study may move. Raises where
    a file cannot be read.
    """

    def content(file: Path) -> tuple[str, str]:
        return file.name, digest_path(file)

    def of_input(given: Input) -> tuple[Any, ...]:
        reading = tuple(pair for pair in given.reading if pair[0] not in sidecar_options())
        own = tuple(parse_source(given.source)[1].items())
        return own, reading, tuple(map(content, given.files))

    def of_extrinsic(text: str | None) -> tuple[str, str] | str | None:
        return text if text is None or not is_file(local_path(text)) else content(local_path(text))

    return digest_value(
        (
            code_version(),
            library_versions(),
            type(task).__name__,
            tuple(map(of_input, task.inputs)),
            tuple(map(of_extrinsic, (*task.extrinsics, *_tables(task)))),
            canonical_once(task.options),
            task.reference_offset_s if isinstance(task, PairTask) else None,
            task.sensitivity,
        )
    )


def evaluate_task(task: Task, key: str = "") -> tuple[TaskResult, Columns | None]:
    """Score an estimate; the second has a value per scored scan, None if the task failed."""
    nothing = task.empty_result(key)
    try:
        reference = _read_cached(task.reference)
        estimate = read(task.estimate.source, **dict(task.estimate.reading))
        asked = (*metrics(), *task.options.chosen_rules)
        horizon = common_horizon(reference)
        options = replace(task.options, relative_horizon=horizon, numbers=asked)
        if task.extrinsic is not None:
            options = replace(options, extrinsic=read_extrinsic(task.extrinsic))

        evaluation = evaluate(estimate, reference, options=options)
        claim = evaluation.claim
        numbers = ((name, evaluation.get(name)) for name in metrics())
        result = replace(
            nothing,
            scans=evaluation.pairs.scans,
            scored=len(evaluation.position.residuals),
            verdict=evaluation.verdict.label,
            numbers=tuple((name, _plain_number(n)) for name, n in numbers if n is not None),
            notes=tuple(without_folders(note, task) for note in evaluation.all_notes),
            doubts=tuple(
                (f"{each.about or ''} {each.cause}", without_folders(str(each), task))
                for each in evaluation.doubts
            ),
            gauge=evaluation.alignment.kind,
            joint=None if claim is None else claim.joint.kind,
            independent=evaluation.has_independent_increments,
            scored_under=None if claim is None else claim.how,
            alternatives=_alternatives(task, evaluation) if task.sensitivity else (),
            withheld=why_withheld(evaluation),
            at_least=evaluation.verdict.at_least,
            evidence=track_evidence(evaluation),
            guard=motion_guard(evaluation),
        )
        return _with_updates(result, task, evaluation), _scan_columns(evaluation)
    except Exception as error:
        return replace(nothing, failure=failure_sentence(error, task)), None


def _with_updates(result: TaskResult, task: Task, evaluation: Evaluation) -> TaskResult:
    """The result with what its telemetry says of the updates, or why it says nothing."""
    if task.telemetry is None:
        return result
    from smfeval.explain.telemetry import update_log  # noqa: PLC0415  few studies have telemetry
    from smfeval.explain.updates import explain_updates  # noqa: PLC0415
    from smfeval.io.telemetry import read_telemetry_table  # noqa: PLC0415
    from smfeval.studies.updates import update_numbers  # noqa: PLC0415

    try:
        log, _ = update_log(read_telemetry_table(Path(task.telemetry)), evaluation.estimate)
        explanation = explain_updates(log, evaluation)
    except SmfevalError as error:
        return replace(result, unexplained=failure_sentence(error, task))
    return replace(result, updates=update_numbers(explanation, evaluation))


def _alternatives(task: Task, evaluation: Evaluation) -> tuple[Alternative, ...]:
    """The evaluation under other choices; what failed is told without folders."""
    from smfeval.compare.sensitivity import score_alternatives  # noqa: PLC0415  rarely asked for

    return tuple(
        replace(each, failure=words.visible(without_folders(each.failure, task)))
        if each.failure is not None
        else each
        for each in score_alternatives(evaluation)
    )


def _pair_alternatives(pair: "Pair") -> tuple[Alternative, ...]:
    """Of the sweeps of a pair: gauges that were not chosen, and clocks."""
    from smfeval.compare.sensitivity import CLOCK_STEPS_MS, clock_name  # noqa: PLC0415

    gauges = (
        Alternative(f"alignment {row.gauge}", row.k, failure=row.reason)
        for row in pair.gauges
        if not row.chosen
    )
    clocks = (
        Alternative(clock_name(row.offset_ms), row.k)
        for row in pair.clock
        if row.offset_ms in CLOCK_STEPS_MS
    )
    return (*gauges, *clocks)


def common_horizon(reference: AnyTrack) -> Extent | None:
    """The horizon of relative scores on a track, for all estimators alike; seconds, two digits."""
    seconds = float(reference.stamp[-1] - reference.stamp[0]) / NANOSECONDS / WINDOWS_PER_TRACK
    if not seconds > 0:
        return None
    digit = 10.0 ** (floor(log10(seconds)) - 1)
    return Extent(round(floor(seconds / digit) * digit, 12), "s")


def evaluate_pair(task: PairTask, key: str = "") -> PairResult:
    """Compare two estimates about one body; there are no rows per scan.

    The reference, if there is one, only checks how their errors depend on each other; where it
    cannot, the pair is compared without it.
    """
    nothing = task.empty_result(key)
    try:
        first = _read_cached(task.first)
        second = read(task.second.source, **dict(task.second.reading))
        named = ((task.a, first), (task.b, second))
        bare = tuple(name for name, t in named if not isinstance(t, GaussianTrack | ParticleTrack))
        if bare:
            who = "both" if len(bare) == len(named) else bare[0]
            return replace(nothing, failure=f"no covariance: {who}", without_covariance=bare)
        pair, unchecked = _compare_both(task, first, second)
        found = pair.hypothesis
        return replace(
            nothing,
            matched=len(pair.pairs),
            verdict=pair.claim.label,
            k_pair=_plain_number(pair.k),
            k_pair_paper=None if pair.k_paper is None else Number(pair.k_paper, "1"),
            nees_median=_plain_number(pair.nees_median),
            k_pair_reference=None if found is None else Number(found.k_pair, "1"),
            opposed=None if found is None else Number(found.factor, "1"),
            opposed_p=None if found is None or found.p is None else Number(found.p, "1"),
            unchecked=unchecked,
            alternatives=_pair_alternatives(pair),
        )
    except Exception as error:
        return replace(nothing, failure=failure_sentence(error, task))


def _compare_both(task: PairTask, a: AnyTrack, b: AnyTrack) -> "tuple[Pair, str | None]":
    """The pair, and why the reference says nothing about it; None where it does."""
    from smfeval.compare import compare_pair  # noqa: PLC0415  many studies compare no pairs
    from smfeval.compare.frames import in_one_body  # noqa: PLC0415

    extrinsics = [None if each is None else read_extrinsic(each) for each in task.extrinsics]
    why, sweeps = None, task.sensitivity
    if task.reference is not None:
        try:
            reference = _read_cached(task.reference)
            offset_ns = round(task.reference_offset_s * NANOSECONDS)
            reference = reference.shift_stamps(-offset_ns) if offset_ns else reference
            both = in_one_body([a, b], extrinsics, body=reference.about.body)
            found = compare_pair(*both, options=task.options, reference=reference, sweeps=sweeps)
        except SmfevalError as error:
            why = failure_sentence(error, task)
        else:
            return found, None
    both = in_one_body([a, b], extrinsics)
    return compare_pair(*both, options=task.options, sweeps=sweeps), why


def why_withheld(evaluation: Evaluation) -> str | None:
    """Why k of a track tells nothing about its belief; None where it does."""
    risk = evaluation.gap_risk
    if evaluation.verdict.doubt is not None:
        return DOUBTED
    if risk is not None and (risk.may_convict or risk.may_acquit):
        return UNMET_STAMPS
    return None


def track_evidence(evaluation: Evaluation) -> TrackEvidence | None:
    """What the kindest fit of the position leaves; None where a verdict is withheld, or of none.

    Without a second evidence nothing averages out: the degrees of freedom are those of one error.
    Of particles there is none: clouds far from Gaussian have another mean square.
    """
    facts, claim = evaluation.verdict.facts, evaluation.claim
    first, second = facts.first, facts.second
    if first is None or claim is None or claim.particles is not None:
        return None
    if evaluation.verdict.doubt is not None:
        return None
    degrees = float(first.dimension) if second is None else second.degrees
    absorbed = first.excess if second is None else second.absorbed
    return TrackEvidence(first.excess, degrees, absorbed, first.dimension)


def motion_guard(evaluation: Evaluation) -> tuple[float, float]:
    """Within which factors k of relative motion may be wrong where its J is only assumed."""
    motion = evaluation.relative_motion
    row = None if motion is None else motion.scored
    return UNGUARDED if row is None else row.guard


def _scan_columns(evaluation: Evaluation) -> Columns:
    """A value per scored scan; columns that a belief does not have are there, and empty."""
    found, axes = per_scan_columns(evaluation), evaluation.options.axes
    rules = {*evaluation.options.chosen_rules, *REQUIRED_RULES}
    names = [
        *("stamp", "reference_stamp"),
        *(f"error_{axis}" for axis in axes),
        *(f"covariance_{row}{axis}" for i, row in enumerate(axes) for axis in axes[: i + 1]),
        *(rule for rule in RULES if rule in rules),
        *(f"{rule}_{space}" for space in ("rotation", "pose") for rule in ("nees", "pit")),
    ]
    return {name: found.get(name) for name in names}


def _read_cached(given: Input) -> AnyTrack:
    """Read a track that the next tasks will want, too."""
    content = tuple(digest_path(file) for file in given.files)
    hashable = tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in given.reading)
    return _read_content(replace(given, reading=hashable), content)


@lru_cache(maxsize=TRACKS_KEPT)
def _read_content(given: Input, content: tuple[str, ...]) -> AnyTrack:
    with unchanged(lambda: given.files) as now:
        track = read(given.source, **dict(given.reading))
        if now != content:  # otherwise it would be remembered as what it is not
            raise FormatError(f"{given.source}: {CHANGED}")
    return track


def _plain_number(number: Number) -> Number:
    """The number in Python's own floats, which a file keeps exactly."""
    low, high, effective = (
        None if value is None else float(value)
        for value in (number.low, number.high, number.n_effective)
    )
    return Number(float(number.value), number.unit, low, high, effective, number.reason)


def failure_sentence(error: Exception, task: Task | PairTask) -> str:
    """What went wrong, in words that are the same on every machine."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for it"
    if isinstance(error, SmfevalError):
        said = str(error)
    elif isinstance(error, OSError):
        said = f"the system refuses: {error}"
    else:
        said = f"a bug of ours: {type(error).__name__}: {error}"
    return words.visible(without_folders(said, task))


def without_folders(text: str, task: Task | PairTask) -> str:
    """The text with the files of the task named without their folders."""
    if os.sep not in text and "/" not in text:  # most name no file, which would be looked up
        return text
    named: dict[str, str] = {}
    for given in task.inputs:
        with suppress(SmfevalError):  # a URL that cannot be had, which may be what is told
            named |= {str(file): file.name for file in given.files}
        if is_url(given.source):
            url = parse_source(given.source)[0]
            named[shown(url)] = file_name(url)
    beside = (*task.extrinsics, getattr(task, "telemetry", None))
    named |= {given: Path(given).name for given in beside if given}
    for path in sorted(named, key=len, reverse=True):
        text = text.replace(path, named[path])
    return text
