"""Continuous reference: scans meet the motion between the poses, not the nearest pose.

What the interpolation does not know enters as the reference's covariance.
"""

from dataclasses import replace

from smfeval.errors import SmfevalError
from smfeval.evaluation import Evaluation, evaluate
from smfeval.explain.alibis.judgement import as_evaluated
from smfeval.explain.alibis.result import Alibi, Name
from smfeval.track import GaussianTrack, Track

NAME: Name = "continuous reference"
GRANTED = "interpolated motion with its covariance"


def continuous_reference(evaluation: Evaluation) -> Alibi:
    """The verdict with the Gaussian-process reference; the reason in words where there is none."""
    options = evaluation.options
    if options.association == "gp":
        return Alibi(NAME, GRANTED, None, reason="it was scored so already")
    reference = evaluation.reference
    if not options.reference_covariance:
        reference = _exact(reference)
    changed = replace(options, association="gp", reference_covariance=True, rules=(), horizons=())
    try:
        found = as_evaluated(evaluate(evaluation.estimate, reference, options=changed))
    except SmfevalError as error:
        return Alibi(NAME, GRANTED, None, reason=str(error))
    return Alibi(NAME, f"{GRANTED}, {found.scans:,} scans", found)


def _exact(reference: Track) -> Track:
    """The reference without a covariance of its own, which was not to be used."""
    if not isinstance(reference, GaussianTrack):
        return reference
    return Track(
        reference.stamp,
        reference.position,
        reference.rotation,
        about=reference.about,
        provenance=reference.provenance,
    )
