"""Where the error comes from: systematic or random, bulk or tail, everywhere or somewhere.

::

    evaluation -> case -> systematic (lever arm, clock, scale, offset), drift
                       -> where (turning, fast, standing, growing, a stretch)
                       -> tails (a few scans, heavy tails, too tight throughout)  -> Diagnoses

Each diagnosis is a test of "this belief is honest, its errors may depend on each other": all of
them together name anything at all for at most one honest belief in twenty (`case.TEST_LEVEL`).
"""

import numpy as np

from smfeval.evaluation import Evaluation
from smfeval.summarise.quantities import ROUNDING
from smfeval.why.causes import Why
from smfeval.why.diagnoses import tables
from smfeval.why.diagnoses.biases import find_biases
from smfeval.why.diagnoses.case import SHORTEST, DiagnosisCase, Untested, case_of
from smfeval.why.diagnoses.regimes import find_regimes
from smfeval.why.diagnoses.regression import independent_scans
from smfeval.why.diagnoses.tables import Diagnoses
from smfeval.why.diagnoses.tails import overall_diagnosis, tail_faults

__all__ = ["Diagnoses", "diagnose"]

SQUARED = 2.0  # a squared error forgets twice as fast as the error itself

NO_BELIEF = Untested(
    "drift, tails and regimes of the belief", "the estimate reports no uncertainty"
)
FITTED_NOTE = (
    "the alignment was fitted on these scans; drift, regimes and tails are those after a fit "
    "weighted by the reported covariance, whose own error is allowed for"
)
BIAS_NOTE = "drift, regimes and tails are those of the error without the named biases"
SLOW_REASON = "slow errors are too few independent ones to have a tail"
SLOW_UNTESTED = (Untested("a few scans", SLOW_REASON), Untested("heavy tails", SLOW_REASON))


def diagnose(evaluation: Evaluation, *, rng: np.random.Generator) -> Diagnoses:
    """Name where the error of an evaluated estimate comes from, as far as the scans can tell.

    `rng` draws the series without a stretch that stretches are compared with. Where chosen numbers
    alone were asked for, there are no tables.
    """
    case, reason = case_of(evaluation), None
    size, extent = np.median(np.abs(case.error).max(axis=1)), np.abs(case.position).max()
    if len(case) < SHORTEST:
        reason = f"too short to diagnose: {len(case)} scans, {SHORTEST} are needed"
    elif size <= ROUNDING * extent:
        reason = "at least half of the errors are zero; is the estimate the reference itself?"
    if reason is not None:
        return Diagnoses((), (), reason=reason)

    biases = find_biases(case)
    found: list[Why] = []
    untested, notes = [NO_BELIEF], list[str]()
    if case.has_belief:
        random = case.with_error(biases.remainder, biases.alignment_covariance)
        found, untested = _diagnose_belief(random, rng)
        notes += [FITTED_NOTE] if case.fitted else []
        notes += [BIAS_NOTE] if biases.found else []
    named = Diagnoses(
        found=(*biases.found, *found),
        untested=(*biases.untested, *untested),
        systematic=biases.share,
        notes=tuple(notes),
    )
    every = evaluation.options.numbers is None
    return tables.with_tables(named, evaluation, case) if every else named


def _diagnose_belief(
    case: DiagnosisCase, rng: np.random.Generator
) -> tuple[list[Why], list[Untested]]:
    """What errors without their biases, and covariances, tell together."""
    most = SQUARED * independent_scans(case.white)
    slow = tables.slow_part(case)
    drifting = slow.proves_drift
    places = find_regimes(case, drifting=drifting, most=most, rng=rng)
    level = overall_diagnosis(case, places.explained, alone=not places.found, most=most)
    if drifting or (level is not None and slow.is_drift):
        return [tables.drift(case, slow), *places.found], [*places.untested, *SLOW_UNTESTED]

    of_tails, untested = tail_faults(case, places.explained, most=most)
    if of_tails:
        level = overall_diagnosis(case, places.explained, alone=False, most=most)
    found = [*places.found, *of_tails, *([] if level is None else [level])]
    return found, [*places.untested, *untested]
