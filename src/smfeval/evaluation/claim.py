"""What the estimator claims about its errors after a fit.

A fit on the track changes the claim: the residuals r = M e have the covariance M J M^T, where J is
the joint covariance of all errors, and not the reported marginals (`align.projection`). J is given
beside the track, implied by how its covariances grow, or unknown.
"""

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from smfeval import words
from smfeval.align.fit import Alignment
from smfeval.align.joint import (
    INCREMENTS,
    UNKNOWN,
    Claim,
    Joint,
    align_joint,
    declared_joint,
    given_joint,
    growth,
    is_first_order,
    joint_of,
)
from smfeval.align.projection import (
    FitWeights,
    fit_weights,
    grant_rotation,
    granted_covariance,
    into_body,
    is_determined,
    project,
)
from smfeval.dataclass import dataclass
from smfeval.judge.levels import LEVEL, TAIL
from smfeval.maths.arrays import Floats, Ints, median_of
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.options import JointChoice
from smfeval.schema import AlignmentKind
from smfeval.score.interval import quantiles
from smfeval.score.ranks import FLAT
from smfeval.score.residuals import Ensemble
from smfeval.summarise.number import Intervals
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack

How = Literal["reported", "projected", "granted", "after a fit"]

HOW_WORDS: dict[How, str] = {
    "reported": "scored under the reported covariance",
    "projected": "scored under the covariance that the alignment leaves (M J M^T)",
    "granted": "scored under the reported covariance plus that of the alignment at the start",
    "after a fit": "scored under the reported covariance, which does not know of the alignment; "
    "rotations with that of the alignment",
}
UNFITTED = ("none", "first-pose")
SQUARED = 2.0  # a squared error forgets twice as fast as the error itself


@dataclass(frozen=True)
class AlignedClaim:
    """What an estimator claims about its residuals.

    Attributes
    ----------
    joint
        The joint covariance in the reference's world.
    reason
        Why it is what it is, in words.
    how
        Which covariance the residuals are scored under.
    covariance
        That covariance of the position in world axes, of every matched scan (n, 3, 3); None where
        it is the reported one.
    poses
        Some scans, and that covariance of their (rho, phi), where it was found with the other.
    fit
        The alignment as a linear map of the errors.
    claim
        Poses and covariances after alignment, of every matched scan.
    tails
        How much farther than Gaussian tails those of the belief reach, as a factor on the NEES.
    oriented
        Whether the estimate has orientations; without them no motion is seen from its body.
    memory
        Scans that are worth one independent scan, for what is granted of the fit's own error.
    particles
        Kish's number of them at every matched scan (n,); None for a belief that is mean and
        covariance. Particles are granted nothing.
    """

    joint: Joint
    reason: str
    how: How
    covariance: Floats | None
    fit: FitWeights
    claim: Claim
    poses: tuple[Ints, Floats] | None = None
    tails: float = 1.0
    oriented: bool = True
    memory: float = 1.0
    particles: Floats | None = None

    def pose_covariance(self, scans: Ints) -> Floats | None:
        """That covariance of (rho, phi) of some scans, in body axes; None where it is reported.

        (m,) -> (m, 6, 6).
        """
        if self.how == "projected":
            if self.poses is not None and np.array_equal(self.poses[0], scans):
                return self.poses[1]
            in_world = project(self.fit, self.joint, self.claim, scans)[1]
            return into_body(in_world, self.claim.rotation[scans])
        if self.how == "granted":
            in_world = granted_covariance(self.fit, self.claim, space="pose", scans=scans)
            return into_body(in_world, self.claim.rotation[scans])
        if self.how == "after a fit" and self.particles is None:
            return grant_rotation(self.fit, self.claim, self.memory, scans)
        return None

    @property
    def is_proper(self) -> bool:
        """Whether scores of the position are least, on average, at the true covariance.

        They are where nothing was fitted, or what was fitted is accounted for.
        """
        return self.how in ("reported", "projected")

    @property
    def sentence(self) -> str:
        """What was assumed, and what it does to the scores."""
        return f"{self.reason}: {HOW_WORDS[self.how]}"

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {
            "kind": self.joint.kind,
            "level": self.joint.level,
            "reason": self.reason,
            "scored_under": self.how,
        }


def claimed_joint(estimate: AnyTrack, choice: JointChoice, matched: AnyTrack) -> tuple[Joint, str]:
    """The joint covariance that a track claims in its own world, and why, in words.

    How covariances grow is read from the whole track; cross-covariances are those of the matched
    scans.
    """
    if not isinstance(estimate, GaussianTrack):
        return UNKNOWN, "particles have no cross-covariances between scans"
    if choice == "none":
        return UNKNOWN, "no joint covariance is assumed (asked for)"
    cross = matched.cross if isinstance(matched, GaussianTrack) else None
    if cross is not None and choice != "implied":
        count = words.count(len(cross), "pair")
        reason = f"cross-covariances of {count} of scans are given"
        return given_joint(cross.pairs, cross.block), reason
    if choice == "given":
        return UNKNOWN, "no cross-covariances are given"
    claim = Claim(estimate.position, estimate.rotation, estimate.triangle)
    declared = dict(estimate.about.extra).get(INCREMENTS)
    if declared is not None:
        return declared_joint(declared, claim)
    found = growth(claim)
    return joint_of(found), found.reason


def align_claim(
    estimate: AnyTrack,
    own: tuple[Joint, str],
    alignment: Alignment,
    kind: AlignmentKind,
    *,
    weight: Floats | None = None,
    scans: Ints | None = None,
) -> AlignedClaim | None:
    """The claim of an aligned, matched track; None where it reports no uncertainty.

    `own` is the joint covariance in the estimator's world and the reason for it; `weight` (n, 3, 3)
    that of each scan in the fit, where it had any; `scans` those whose rotations are scored.
    """
    belief = estimate.moments if isinstance(estimate, ParticleTrack) else estimate
    if not isinstance(belief, GaussianTrack):
        return None
    claim = Claim(belief.position, belief.rotation, belief.triangle)
    count = alignment.fitted_scans
    fitted = None if kind in UNFITTED else count
    fit = fit_weights(kind, claim.position, fitted=fitted, weight=weight)
    joint, reason = own
    joint = align_joint(joint, alignment.rotation, alignment.scale)
    under = partial(
        AlignedClaim, joint, reason, fit=fit, claim=claim, oriented=estimate.about.oriented
    )
    if isinstance(estimate, ParticleTrack):
        effective = 1 / np.add.reduceat(estimate.probability**2, estimate.offset[:-1])
        under = partial(under, tails=particle_tails(estimate), particles=effective)
    if kind == "none":
        return under("reported", None)
    if isinstance(estimate, ParticleTrack):
        return under("after a fit", None)
    if is_determined(fit, joint, len(claim)) and is_first_order(claim):
        scans = np.arange(0) if scans is None else scans
        position, pose = project(fit, joint, claim, scans)
        pose = into_body(pose, claim.rotation[scans])
        return under("projected", position, poses=(scans, pose))
    if kind == "first-pose" or count < len(claim):
        return under("granted", granted_covariance(fit, claim))
    return under("after a fit", None)


def with_memory(claim: AlignedClaim | None, error: Floats) -> AlignedClaim | None:
    """A claim after a fit with the memory that the residuals of the position show. (n, 3)."""
    if claim is None or claim.how != "after a fit":
        return claim
    square = np.einsum("ni,ni->n", error, error)
    count = Intervals().of(square, "mean", "1").n_effective or 1.0
    return replace(claim, memory=max(1.0, SQUARED * len(error) / count))


def particle_tails(track: ParticleTrack) -> float:
    """Tail of the particles' own NEES over that of a Gaussian; 1 at least.

    By the quantile of the first evidence. A mixture of narrow and wide particles reaches farther
    than a Gaussian of its covariance.
    """
    away = track.particle_position - np.repeat(track.position, track.count, axis=0)
    cloud = Ensemble(track.offset, away, track.probability)
    value, vector = np.linalg.eigh(
        cloud.sum(cloud.probability[:, None, None] * away[:, :, None] * away[:, None, :])
    )
    spread = value > FLAT * value[:, -1:]
    scale = np.where(spread, 1 / np.sqrt(np.where(spread, value, 1.0)), 0.0)
    turned = np.einsum(
        "mi,mij->mj", away, np.repeat(vector * scale[:, None, :], track.count, axis=0)
    )
    own = Ensemble(track.offset, np.sum(turned**2, axis=1)[:, None], track.probability)
    axes = max(1, round(float(median_of(spread.sum(axis=1)))))
    reach = float(median_of(quantiles(own, LEVEL)))
    return max(1.0, reach / chi_squared_tail_quantile(axes, TAIL))
