"""What a study found: one result per task, and the tables over tracks."""

from dataclasses import is_dataclass
from math import exp
from sys import intern
from typing import Any

from smfeval.compare.duels import StudySection
from smfeval.compare.monte_carlo import MonteCarlo
from smfeval.compare.sensitivity import Alternative
from smfeval.dataclass import dataclass
from smfeval.judge.evidence import TrackEvidence
from smfeval.results import Result
from smfeval.studies.plan import PAIR_SEPARATOR, Plan
from smfeval.summarise.number import Number

SPATIAL = 3  # degrees of freedom of a window of relative motion
UNGUARDED = (1.0, 1.0)
PROPER = (None, "reported", "projected")  # `scored_under` covariances that the belief implies
NO_FILE = "no file"  # the failure of a gap; where it was looked for is the source of the result


@dataclass(frozen=True)
class TaskResult:
    """One estimate scored, or the sentence that says why it could not be."""

    estimator: str
    group: str
    track: str
    repeat: int
    key: str  # of the task in the cache: content of inputs, options and version
    source: str  # as the plan finds it, relative to the plan's folder where it lies below
    failure: str | None  # None: scored
    scans: int = 0  # of the estimate
    scored: int = 0
    verdict: str | None = None
    numbers: tuple[tuple[str, Number], ...] = ()  # by metric (see `summarise.numbers`)
    notes: tuple[str, ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()  # what looks wrong in the files: kind and sentence
    gauge: str | None = None  # the alignment that was used
    joint: str | None = None  # which joint covariance was claimed: given, implied or unknown
    independent: bool | None = None  # whether increments are, as an implied J assumes
    scored_under: str | None = None  # which covariance of the residuals (`evaluation.claim`)
    alternatives: tuple[Alternative, ...] = ()  # with other choices, where that is asked for
    withheld: str | None = None  # why k is no evidence here: gaps between stamps, or a doubt
    at_least: float | None = None  # lower bound of the factor, where it is overconfident
    evidence: TrackEvidence | None = None  # what the kindest fit leaves
    guard: tuple[float, float] = UNGUARDED  # times k of relative motion: its J is only assumed
    updates: tuple[tuple[str, Number], ...] = ()  # from telemetry (see `studies.updates`)
    unexplained: str | None = None  # why its telemetry says nothing of the updates

    @property
    def name(self) -> str:
        """The name of the row that the result counts in."""
        return self.estimator

    @property
    def all_notes(self) -> tuple[str, ...]:
        """Notes, then doubts, as files have them."""
        return (*self.notes, *(f"doubt: {sentence}" for _, sentence in self.doubts))

    @property
    def excess(self) -> float | None:
        """Mean square of what the kindest fit leaves, in units of the claim."""
        return None if self.evidence is None else self.evidence.excess

    @property
    def two_sided_k(self) -> Number | None:
        """k that may be above or below 1 for what the belief is: None after a fit with J unknown.

        None, too, where something else than the belief may make it what it is (`withheld`).
        After a fit with J given or implied it is that of relative motion; without a fit that of
        the positions, or of relative motion where positions wander too much for an interval. The
        mean of a chi-squared variable of nu degrees over nu is 1, that of its logarithm -1 / nu:
        k of relative motion is moved by that, for logarithms are to be pooled.
        """
        if self.withheld is not None:
            return None
        numbers = dict(self.numbers)
        if self._speaks_by_positions:
            return numbers.get("k")
        relative = numbers.get("relative_k")
        if relative is None or not relative.n_effective:
            return relative
        up = exp(1 / (SPATIAL * relative.n_effective))
        return relative.map(lambda value: up * value, relative.unit)

    @property
    def k_guard(self) -> tuple[float, float]:
        """Factors on `two_sided_k` within which a joint covariance that is assumed may be wrong."""
        return UNGUARDED if self._speaks_by_positions else self.guard

    @property
    def _speaks_by_positions(self) -> bool:
        numbers = dict(self.numbers)
        k = numbers.get("k")
        has_interval = k is not None and k.low is not None
        instead = numbers.get("relative_k") is None or has_interval
        return self.scored_under in (None, "reported") and instead

    @property
    def is_proper(self) -> bool:
        """Whether scores of the belief are proper under the alignment, if what is implied holds."""
        return self.scored_under in PROPER

    @property
    def is_gap(self) -> bool:
        """Whether there was no file to score; then nothing ran."""
        return self.failure == NO_FILE


PAIR_NUMBERS = (
    *("k_pair", "nees_median", "k_pair_paper", "k_pair_reference"),
    *("opposed", "opposed_p"),
)


@dataclass(frozen=True)
class PairResult:
    """Two estimators compared on one track, or why they could not be."""

    a: str
    b: str
    group: str
    track: str
    repeat: int
    key: str
    failure: str | None
    matched: int = 0
    verdict: str | None = None
    k_pair: Number | None = None
    nees_median: Number | None = None
    k_pair_paper: Number | None = None  # after an unweighted fit of SE(3), nothing granted
    k_pair_reference: Number | None = None  # with each of the two aligned to the reference
    opposed: Number | None = None  # factor by which k_pair could be too large: 1, none is opposed
    opposed_p: Number | None = None  # how often chance makes independent errors as opposed
    unchecked: str | None = None  # why the reference says nothing about the two
    alternatives: tuple[Alternative, ...] = ()  # under other gauges and clocks
    without_covariance: tuple[str, ...] = ()  # those of the two that report none: not compared

    @property
    def name(self) -> str:
        """The name of the row that the result counts in: 'A | B'."""
        return f"{self.a}{PAIR_SEPARATOR}{self.b}"

    @property
    def numbers(self) -> dict[str, Number | None]:
        """What was found, by name."""
        return {name: getattr(self, name) for name in PAIR_NUMBERS}


@dataclass(frozen=True)
class Study(Result):
    """The whole study, finished."""

    plan: Plan
    results: tuple[TaskResult, ...]  # in the order of the plan, whoever computed them
    pair_results: tuple[PairResult, ...]
    sections: tuple[StudySection, ...]  # per group and over all tracks; then on converged ones
    pair_sections: tuple[StudySection, ...]
    notes: tuple[str, ...] = ()
    sensitivity: tuple[StudySection, ...] = ()  # k and k_pair under alternatives, where asked for
    monte_carlo: tuple[MonteCarlo, ...] = ()  # estimators on tracks that have enough repeats

    @property
    def failed_runs(self) -> tuple[TaskResult, ...]:
        """Runs that failed; a missing file is none."""
        return tuple(r for r in self.results if is_failure(r))

    @property
    def failed_pairs(self) -> tuple[PairResult, ...]:
        """Pairs that failed; one without a covariance on both sides is none."""
        return tuple(r for r in self.pair_results if is_failure(r))

    @property
    def missing(self) -> tuple[TaskResult, ...]:
        """Estimators on tracks without a file."""
        return tuple(r for r in self.results if r.is_gap)


def is_failure(result: TaskResult | PairResult) -> bool:
    """Whether something went wrong: not where there is no file, or no covariance to compare."""
    left_out = result.is_gap if isinstance(result, TaskResult) else result.without_covariance
    return result.failure is not None and not left_out


def intern_texts(value: Any) -> Any:
    """The value with equal texts kept once: those of many results are alike."""
    if value is None or type(value) is float:  # most are
        return value
    if isinstance(value, str):
        return intern(value)
    if isinstance(value, tuple):
        return tuple(map(intern_texts, value))
    if is_dataclass(value):
        held = vars(value)  # each value is replaced by an equal one
        held.update((name, intern_texts(each)) for name, each in held.items())
    return value
