"""What a case study found."""

from dataclasses import dataclass

from smfeval.compare.sweep import KnobEffect, Sweep
from smfeval.evaluation import Evaluation
from smfeval.explain.updates import Explanation
from smfeval.summarise.number import Number
from smfeval_lab.casestudy.plan import OWN_FILTER, CaseStudyPlan
from smfeval_lab.filters.run import Run
from smfeval_lab.kept_runs import Job


@dataclass(frozen=True)
class Outcome:
    """A run and its scores."""

    job: Job
    run: Run
    evaluation: Evaluation

    @property
    def k(self) -> float | None:
        """Inflation."""
        k = self.evaluation.get("k")
        return None if k is None else k.value


Outcomes = dict[Job, Outcome]


@dataclass(frozen=True)
class ScoreRow:
    """Error, reported uncertainty and verdict of a filter on a track."""

    track: str
    filter: str
    scans: int
    sigma_m: float | None  # reported, per axis, median; None: it reports no covariance
    mae: Number
    k: Number | None
    coverage_90: Number | None
    verdict: str
    lost: bool
    cpu_per_scan_s: float


@dataclass(frozen=True)
class VariantRow:
    """A variant of the lab's own filter on a track, against the filter as published."""

    track: str
    variant: str
    settings: tuple[str, ...]
    k: Number
    mae: Number
    precision: Number
    closed: float | None  # share of log k that is gone; None: no overconfidence was shown before


@dataclass(frozen=True)
class FailedRuns:
    """A filter that did not come to an end, why, and on which tracks."""

    filter: str
    sentence: str
    tracks: tuple[str, ...]
    runs: int


@dataclass(frozen=True)
class CaseStudy:
    """The findings: a table for each question, and the runs that they are made of."""

    plan: CaseStudyPlan
    scores: tuple[ScoreRow, ...]
    knobs: Sweep | None  # of the lab's own filter, and R of some others; None: none ran
    credit_reach: dict[str, float]  # knob -> nats by which it moves the credit, see `credit_reach`
    explanations: dict[str, Explanation]  # track -> why the lab's own filter reports what it does
    variants: tuple[VariantRow, ...]
    variant_sweep: Sweep | None  # the noise R of each variant turned
    not_run: tuple[FailedRuns, ...]
    notes: tuple[str, ...]
    cpu_s: float  # of all runs, one core
    outcomes: tuple[Outcome, ...]  # of the filters as the study sets them

    def knob_effect(self, knob: str) -> KnobEffect | None:
        """What a knob of the lab's own filter does, if it was turned."""
        found = () if self.knobs is None else self.knobs.effects
        own = (each for each in found if each.estimator == OWN_FILTER)
        return next((each for each in own if each.knob == knob), None)

    @property
    def family_effects(self) -> tuple[KnobEffect, ...]:
        """What R does in other filters."""
        found = () if self.knobs is None else self.knobs.effects
        return tuple(each for each in found if each.estimator != OWN_FILTER)

    def variant_effect(self, variant: str) -> KnobEffect | None:
        """What R does in a variant."""
        found = () if self.variant_sweep is None else self.variant_sweep.effects
        return next((each for each in found if each.estimator == variant), None)
