"""Why the lab's own filter reports what it reports, track by track."""

import numpy as np

from smfeval.explain.degeneracy import geometry
from smfeval.lab.casestudy.measure import Outcome
from smfeval.lab.casestudy.result import CreditRow, ExplainedRow
from smfeval.lab.explained import Credit, explained, scored_updates
from smfeval.maths.arrays import Floats


def explained_row(outcome: Outcome) -> ExplainedRow:
    """Credit, degeneracy and shared displacement of one run."""
    found = explained(outcome.run, outcome.evaluation)
    told, _, _ = scored_updates(outcome.run, outcome.evaluation)
    return ExplainedRow(
        track=outcome.job.track.name,
        updates=found.updates,
        left_out=found.left_out,
        credit=credit_row(found.credit, float(np.median(told.matched))),
        degeneracy=found.degeneracy,
        displacement=found.displacement,
    )


def credit_row(credit: Credit, matched: float) -> CreditRow:
    """Medians over updates."""
    parts, budget = credit.parts, credit.budget
    return CreditRow(
        matched=matched,
        count=_median(parts.count),
        noise=_median(parts.noise),
        shape=_median(parts.shape),
        credit=_median(budget.credit),
        prior=_median(budget.prior),
        predicted=_median(budget.predicted),
        posterior=_median(budget.posterior),
        unexplained=_median(budget.unexplained),
        gained=_median(budget.gained),
        lost=_median(budget.lost) if len(budget.lost) else 0.0,
        effective_points=credit.effective_points,
        excess=credit.excess_nats,
    )


def condition_and_nees(outcome: Outcome) -> tuple[Floats, Floats]:
    """Condition number of the matched normals and NEES of every update. (n,), (n,)."""
    told, scans, _ = scored_updates(outcome.run, outcome.evaluation)
    return geometry(told.normals).condition, outcome.evaluation.scored.series["nees"][scans]


def _median(values: Floats) -> float:
    return float(np.median(values))
