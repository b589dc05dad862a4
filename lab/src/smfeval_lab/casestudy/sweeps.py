"""What knobs and variants of the lab's own filter do, from runs that were scored."""

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from smfeval.compare.slopes import Failure, KnobSettings, Point
from smfeval.compare.sweep import Sweep, sweep_of
from smfeval.errors import SeriesError
from smfeval.explain.updates import credit_nats
from smfeval.studies.sweep import split_outcomes
from smfeval_lab.casestudy.plan import (
    OWN_FILTER,
    CaseStudyPlan,
    Job,
    family_jobs,
    knob_jobs,
    variant_jobs,
)
from smfeval_lab.casestudy.result import CreditReach, Outcome, Outcomes, VariantRow
from smfeval_lab.sweep import point_of_evaluation
from smfeval_lab.worlds import SeededWorld

NamedJob = tuple[str, KnobSettings, Job]  # estimator's name in the sweep, its settings, the run


def knob_sweep(plan: CaseStudyPlan, outcomes: Outcomes) -> Sweep | None:
    """A sweep of each knob of the lab's own filter, the others at their defaults.

    Filters of the plan whose R turns, too, are in it under their names.
    """
    own = (
        (OWN_FILTER, settings, job)
        for track in plan.turning
        for settings, job in knob_jobs(plan, track)
    )
    families = (
        (family.filter, settings, job)
        for family in plan.family_noises
        for track in plan.swept
        for settings, job in family_jobs(plan, track, family)
    )
    return _build_sweep("knobs", chain(own, families), outcomes)


def credit_reach(plan: CaseStudyPlan, outcomes: Outcomes) -> Iterator[CreditReach]:
    """How far each knob moves the credit, which is what an update brings."""
    for knob in plan.knobs:
        reach = [
            float(np.ptp([credit_nats(each.run.updates, each.evaluation) for each in runs]))
            for track in plan.swept
            if len(runs := _runs_over_knob(knob.name, plan, track, outcomes)) > 1
        ]
        if reach:
            yield CreditReach(knob.name, max(reach))


def variant_sweep(plan: CaseStudyPlan, outcomes: Outcomes) -> Sweep | None:
    """A sweep of R in each variant; None where nothing can be swept."""
    named = (
        (variant.name, settings, job)
        for variant in plan.variants
        for track in plan.swept
        for settings, job in variant_jobs(plan, track, variant)
    )
    return _build_sweep("variants", named, outcomes)


def variant_rows(plan: CaseStudyPlan, outcomes: Outcomes) -> Iterator[VariantRow]:
    """Each variant with the filter's own R against the filter as it is."""
    for track in plan.tried:
        usual = outcomes.get(Job(track, OWN_FILTER))
        for variant in plan.variants:
            tried = outcomes.get(Job(track, OWN_FILTER, variant.settings))
            if usual is not None and tried is not None:
                yield _variant_row(variant.name, tried, usual)


def closed_share(k: float, usual: float) -> float | None:
    """Share of the overconfidence that is gone: 1 - log k / log k_usual.

    0 as before, 1 honest, more than 1 conservative, negative worse than before.
    """
    return 1 - float(np.log(k) / np.log(usual)) if usual > 1 and k > 0 else None


def _runs_over_knob(
    knob: str, plan: CaseStudyPlan, track: SeededWorld, outcomes: Outcomes
) -> list[Outcome]:
    """The runs on a track in which no other knob is turned and that tell of their updates."""
    return [
        outcomes[job]
        for _, job in knob_jobs(plan, track)
        if job in outcomes
        and outcomes[job].run.telemetry is not None
        and all(word.startswith(f"{knob}=") for word in job.settings)
    ]


def _variant_row(name: str, tried: Outcome, usual: Outcome) -> VariantRow:
    k, before, precision = (
        tried.evaluation.get("k"),
        usual.evaluation.get("k"),
        tried.evaluation.get("precision"),
    )
    if k is None or before is None or precision is None:
        raise SeriesError(f"{name}: a variant without a covariance cannot be compared")
    return VariantRow(
        track=tried.job.track.name,
        variant=name,
        settings=tried.job.settings,
        k=k,
        mae=tried.evaluation["mae"],
        precision=precision,
        closed_share=closed_share(k.value, before.value) if _is_overconfident(usual) else None,
    )


def _is_overconfident(outcome: Outcome) -> bool:
    return outcome.evaluation.verdict.label == "overconfident"


def _build_sweep(name: str, named: Iterable[NamedJob], outcomes: Outcomes) -> Sweep | None:
    """The sweep of those runs that there are; None where no knob has two values."""
    points, failures = split_outcomes(
        [_point(who, settings, outcomes[job]) for who, settings, job in named if job in outcomes]
    )
    try:
        return sweep_of(points, name=name, failures=failures)
    except SeriesError:
        return None  # the study lists what did not run


def _point(name: str, settings: KnobSettings, outcome: Outcome) -> Point | Failure:
    who = (name, outcome.job.track.name, settings)
    return point_of_evaluation(who, outcome.evaluation, notes=outcome.run.notes)
