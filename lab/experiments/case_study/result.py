"""What a case study found."""

from dataclasses import dataclass

from case_study.plan import OWN_FILTER, CaseStudyPlan
from smfeval.compare.sweep import KnobEffect, Sweep
from smfeval.evaluation import Evaluation
from smfeval.explain.updates import Explanation
from smfeval.summarise.number import Number
from smfeval_lab.filters.run import Run
from smfeval_lab.kept_runs import Job


@dataclass(frozen=True)
class Outcome:
    """A run and its scores."""

    job: Job
    run: Run
    evaluation: Evaluation


Outcomes = dict[Job, Outcome]


@dataclass(frozen=True)
class ScoreRow:
    """Error, reported uncertainty and verdict of a filter, or of a variant, on a track."""

    track: str
    filter: str
    settings: tuple[str, ...]  # those of a variant
    scans: int
    sigma_m: float | None  # reported, per axis, median; None: it reports no covariance
    mae: Number
    k: Number | None
    coverage_90: Number | None
    verdict: str
    lost: bool
    cpu_per_scan_s: float


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
    sweep: Sweep | None  # of everybody whose knobs turn; None: none ran
    credit_reach: dict[str, float]  # knob -> nats by which it moves the credit, see `credit_reach`
    explanations: dict[str, Explanation]  # track -> why the lab's own filter reports what it does
    not_run: tuple[FailedRuns, ...]
    notes: tuple[str, ...]
    cpu_s: float  # of all runs, one core
    outcomes: tuple[Outcome, ...]  # of the filters as they ship

    def effect(self, knob: str, name: str = OWN_FILTER) -> KnobEffect | None:
        """What a knob does in the lab's own filter, or in another, if it was turned."""
        found = () if self.sweep is None else self.sweep.effects
        return next((each for each in found if (each.estimator, each.knob) == (name, knob)), None)
