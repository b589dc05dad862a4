"""Alibis: what else could explain an overconfident verdict, with numbers.

Alignment, timing and the reference enter every NEES on real data. Each is granted in turn, in the
way that is kindest to the estimate, and the verdict is asked again; and each is asked how much of
it would be needed for k = 1.

::

    case             matched beliefs before alignment: what an alibi changes
    judgement        k, interval and label by the rule of the evaluation, claim after the fit
    gauge            every admissible alignment, and a fit on the start
    clock_offset     a constant error of the clock
    clock_jitter     an error of the clock at every scan
    interpolation    the reference as a continuous motion
    lever_arm        a wrong extrinsic (ball: the search)
    reference_noise  an uncertain reference (crossing: how much)
    constant_rotation  a turned body, which explains errors of the rotation alone
    together         the kindest of the searches at once
    closing          which of them hold, and what remains
"""

from smfeval import words
from smfeval.compare.sensitivity import SWEEP_SCANS
from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation
from smfeval.explain.alibis.case import (
    Alibi,
    AlibiCase,
    AlibiJudgement,
    Alibis,
    ExtrinsicTolerance,
    Need,
    case_of,
    evaluated_judgement,
)
from smfeval.explain.alibis.clock import clock_jitter, clock_offset
from smfeval.explain.alibis.combined import all_at_once, closing_sentence
from smfeval.explain.alibis.constant_rotation import constant_rotations
from smfeval.explain.alibis.gauge import continuous_reference, gauges
from smfeval.explain.alibis.lever_arm import lever_arm
from smfeval.explain.alibis.reference_noise import reference_noise

__all__ = ["Alibi", "AlibiJudgement", "Alibis", "ExtrinsicTolerance", "Need", "alibis"]

SEARCH_SCANS = 5_000  # evenly spaced: a search asks for the median hundreds of times

DOUBTED = "a doubt about the files forbids the verdict; alibis are of what it is as read"
ASSUMPTIONS = (
    "each alibi is granted alone; clock offset and lever arm are searched for the least k, so one "
    "that fails is strong evidence and one that holds is weak",
    "for another clock the estimate moves by its own velocity and acceleration",
)


def alibis(evaluation: Evaluation, *, tolerance: ExtrinsicTolerance | None = None) -> Alibis:
    """What else could explain the verdict of an evaluation; `tolerance` is the extrinsic's."""
    tolerance = tolerance or ExtrinsicTolerance()
    if not evaluation.position.has_belief:
        name = evaluation.estimate.provenance.name
        raise OptionError(f"{name} reports no uncertainty: there is no verdict to find alibis for")
    scored, turned = evaluated_judgement(evaluation), constant_rotations(evaluation)
    if scored.label != "overconfident":
        return Alibis(scored, turned, tolerance, closing_sentence(scored, (), turned))

    whole, notes = case_of(evaluation)
    case = whole.thin(SWEEP_SCANS)
    search = whole.thin(SEARCH_SCANS)
    rows = (
        *gauges(case),
        clock_offset(case, search),
        clock_jitter(case),
        continuous_reference(evaluation),
        lever_arm(case, search, tolerance),
        *reference_noise(case, search),
        all_at_once(case, search, tolerance),
    )
    doubted = () if evaluation.verdict.as_read is None else (DOUBTED,)
    told = (*doubted, *ASSUMPTIONS, *_thinning_notes(whole, case, search), *notes)
    return Alibis(scored, (*rows, *turned), tolerance, closing_sentence(scored, rows, turned), told)


def _thinning_notes(whole: AlibiCase, case: AlibiCase, search: AlibiCase) -> tuple[str, ...]:
    """How many scans the rows and the searches rest on, where not on all."""
    count = len(whole.scored_scans)
    parts = (("judged", len(case.scored_scans)), ("searched", len(search.scored_scans)))
    fewer = [f"{what} on {words.count(used)}" for what, used in parts if used < count]
    return (f"of {words.count(count)} scans, evenly spaced: {', '.join(fewer)}",) if fewer else ()
