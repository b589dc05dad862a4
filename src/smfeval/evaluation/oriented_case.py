"""Matched, aligned tracks as rotation and pose see them: residuals, series and numbers."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from smfeval import words
from smfeval.align.body import move_to_body
from smfeval.align.joint import rotate_blocks
from smfeval.align.projection import bound_covariance
from smfeval.evaluation.claim import AlignedClaim, spaced_scans
from smfeval.evaluation.metrics import FittedFreedoms
from smfeval.evaluation.result import SpaceScores, Turns
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.options import Options
from smfeval.score import Residuals, scores
from smfeval.score.rotation import SIGMA_REFUSED_RAD, SIGMA_WARNED_RAD
from smfeval.score.spaces import PoseSpace, RotationSpace
from smfeval.score.tangent import pose_residuals
from smfeval.summarise.numbers import Numbers
from smfeval.summarise.quantities import Sample
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

REQUIRED_RULES = ("nees", "pit")

OrientedSpace = RotationSpace | PoseSpace


@dataclass(frozen=True)
class OrientedCase:
    """Matched, aligned tracks with the claim of all of them, and the scans left to score."""

    estimate: AnyTrack
    reference: Track
    claim: AlignedClaim
    left: Ints
    fit: FittedFreedoms
    options: Options

    @cached_property
    def scored(self) -> tuple[AnyTrack, Track]:
        """Estimate and reference on the scans left."""
        return self.estimate[self.left], self.reference[self.left]

    @cached_property
    def whole(self) -> Residuals:
        """Errors of whole poses on the scans left, d = 6."""
        covariance = self.claim.pose_covariance
        claimed = None if covariance is None else covariance[self.left]
        return self._residuals(*self.scored, claimed)

    @cached_property
    def bounded(self) -> Residuals:
        """The same on scans that stand for all, under the largest covariance of any correlation."""
        claim, fit, at = self.claim.claim, self.claim.fit, spaced_scans(len(self.reference))
        estimate, reference = self.estimate[at], self.reference[at]
        largest = bound_covariance(fit, claim, space="pose", at=at, fitted=self.claim.fit_bound)
        if self.options.reference_covariance and isinstance(self.reference, GaussianTrack):
            noise = claim.with_covariance(self.reference.covariance)
            largest = largest + bound_covariance(fit, noise, space="pose", at=at)
        return pose_residuals(estimate, reference, reference_covariance=False, claimed=largest)

    def _residuals(self, estimate: AnyTrack, reference: Track, claimed: Floats | None) -> Residuals:
        with_noise = self.options.reference_covariance
        return pose_residuals(estimate, reference, reference_covariance=with_noise, claimed=claimed)

    def turned(self, turns: Turns) -> "OrientedCase":
        """The same beliefs about a body turned against theirs, in a world turned too: W R C."""
        rotation = turns.body
        estimate = move_to_body(self.estimate, (np.zeros(3), rotation), self.estimate.about.body)
        part = "particle_rotation" if isinstance(estimate, ParticleTrack) else "rotation"
        cross = estimate.cross if isinstance(estimate, GaussianTrack) else None
        rows = {part: so3.compose(turns.world, getattr(estimate, part))}
        estimate = estimate.with_arrays(rows, **({} if cross is None else {"cross": cross}))
        claim, joint = self.claim.claim, self.claim.joint
        belief = estimate.moments if isinstance(estimate, ParticleTrack) else estimate
        assert isinstance(belief, GaussianTrack)
        block = joint.block
        if block is not None:
            back = np.broadcast_to(so3.matrix(so3.inverse(rotation)), (len(block), 3, 3))
            block = rotate_blocks(back, block, back)
        same = replace(claim, rotation=belief.rotation, covariance=belief.covariance)
        aligned = replace(self.claim, claim=same, joint=replace(joint, block=block))
        return replace(self, estimate=estimate, claim=aligned)

    def as_reported(self) -> "OrientedCase":
        """The same under the reported covariances, whatever the fit leaves of them."""
        return replace(self, claim=replace(self.claim, how="reported"))


def measure(case: OrientedCase, space: OrientedSpace) -> tuple[SpaceScores | None, tuple[str, ...]]:
    """Series and numbers on the scans that can be scored, and why others cannot."""
    estimate, reference = case.scored
    residuals = space.select(case.whole, estimate.rotation)
    usable, notes = _usable_scans(residuals, space)
    kept = np.flatnonzero(usable)
    if not len(kept):
        return None, notes
    if len(kept) < len(usable):
        residuals = space.select(case.whole[kept], estimate.rotation[kept])
        estimate, reference = estimate[kept], reference[kept]
    options = case.options
    settings = replace(options.settings, seed=options.intervals.seed)
    series = scores(residuals, settings, {*options.chosen_rules, *REQUIRED_RULES})
    sample = Sample(series, residuals, options.settings, options.intervals, space=space)
    singular = len(usable) - len(kept)
    return SpaceScores(
        kept, estimate, reference, residuals, series, singular, space, Numbers(sample)
    ), notes


def _usable_scans(residuals: Residuals, space: OrientedSpace) -> tuple[Bools, tuple[str, ...]]:
    """Scans that can be scored, and why others cannot. (n,)."""
    assert residuals.covariance is not None
    variance = np.stack([residuals.covariance[:, row, row] for row in space.turning])
    sigma = np.sqrt(np.maximum(variance.max(axis=0), 0.0))
    wide = sigma > SIGMA_REFUSED_RAD
    singular = residuals.likelihood_terms.singular & ~wide
    notes = []
    for bad, why in (
        (wide, f"a rotation sigma above {words.exact(SIGMA_REFUSED_RAD)} rad goes around"),
        (singular, "the covariance is singular"),
    ):
        if bad.any():
            count = words.count_of(int(bad.sum()), len(bad), "scan")
            notes.append(f"{space.name} is not scored on {count}: {why}")
    doubtful = (sigma > SIGMA_WARNED_RAD) & ~wide
    if doubtful.any():
        limit = f"sigma is above {words.exact(SIGMA_WARNED_RAD)} rad"
        share = f"in {words.share(float(doubtful.mean()))} of scans"
        notes.append(f"rotation {limit} {share}: a Gaussian is a poor picture of it")
    return ~(wide | singular), tuple(notes)
