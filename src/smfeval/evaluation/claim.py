"""What the estimator claims about its errors after a fit, and the verdict that this allows.

A fit on the track changes the claim: the residuals r = M e have the covariance M J M^T, where J is
the joint covariance of all errors, and not the reported marginals (`align.projection`). J is given
beside the track, implied by how its covariances grow, or unknown.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from smfeval import words
from smfeval.align.extent import Extent
from smfeval.align.fit import Alignment
from smfeval.align.joint import (
    UNKNOWN,
    Claim,
    Joint,
    align_joint,
    given_joint,
    growth,
    is_first_order,
    joint_of,
)
from smfeval.align.projection import (
    FitWeights,
    bound_covariance,
    fit_covariance_bound,
    fit_weights,
    granted_covariance,
    is_determined,
    projected_covariance,
)
from smfeval.associate.reference_noise import independent_noise
from smfeval.choices import AlignmentKind
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats, Ints, median_of, spaced_indices
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.options import JointChoice
from smfeval.score.interval import quantiles
from smfeval.score.ranks import FLAT
from smfeval.score.residuals import Ensemble
from smfeval.score.spaces import PositionSpace
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.judgement import (
    DOUBT,
    Bound,
    Evidence,
    gather,
    gather_rows,
    why_unusable,
)
from smfeval.summarise.relative import RelativeMotion, SeenMotion
from smfeval.summarise.windows import (
    FEWEST_SCANS_APART,
    ends_over,
    overlapping_ends,
    overlapping_ends_over,
    path_length,
    scans_over,
    window_ends,
    window_row,
    windows,
)
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

How = Literal["reported", "projected", "granted", "after a fit"]

LEVEL_WORDS = {
    6: "dead reckoning",
    4: "inertial odometry, whose heading and position drift",
    3: "a random walk of the position",
}
HOW_WORDS: dict[How, str] = {
    "reported": "scores are under the reported covariances",
    "projected": "scores are under what the claim leaves after the fit (M J M^T)",
    "granted": "scores grant the covariance of the fit at the start",
    "after a fit": "scores are under the reported covariances, which knew nothing of the fit",
}
SCATTERS = 10.0  # a constant rotation is this many times what scatters about it; drift is not
ROUNDING_RAD = 1e-6  # what files leave of no rotation
LEAST_ROTATION_RAD = 0.0175  # 1 deg: a smaller constant rotation does little to displacements
FEWEST_FOR_EVIDENCE = 12  # scans: fewer have no windows to speak of
UNFITTED = ("none", "first-pose")
MOST_BOUND_SCANS = 2000  # evenly spaced, that stand for a track where it is bounded


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
    fit
        The alignment as a linear map of the errors.
    claim
        Poses and covariances after alignment, of every matched scan.
    tails
        How much farther than Gaussian tails those of the belief reach, as a factor on the NEES.
    oriented
        Whether the estimate has orientations; without them no motion is seen from its body.
    """

    joint: Joint
    reason: str
    how: How
    covariance: Floats | None
    fit: FitWeights
    claim: Claim
    tails: float = 1.0
    oriented: bool = True

    @cached_property
    def pose_covariance(self) -> Floats | None:
        """That covariance of (e, theta), in world axes (n, 6, 6); None where it is reported."""
        if self.how == "projected":
            return projected_covariance(self.fit, self.joint, self.claim, space="pose")
        if self.how == "granted":
            return granted_covariance(self.fit, self.claim, space="pose")
        return None

    @cached_property
    def fit_bound(self) -> Floats:
        """Upper bound of the covariance of what was fitted, whatever the correlations. (q, q)."""
        return fit_covariance_bound(self.fit, self.claim)

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
        return UNKNOWN, "particles say nothing about how their errors move together"
    if choice == "none":
        return UNKNOWN, "no joint covariance is assumed (asked for)"
    cross = matched.cross if isinstance(matched, GaussianTrack) else None
    if cross is not None and choice != "implied":
        count = words.count(len(cross), "pair")
        reason = f"cross-covariances of {count} of scans are given"
        return given_joint(cross.pairs, cross.block), reason
    if choice == "given":
        return UNKNOWN, "no cross-covariances are given"
    found = growth(Claim(estimate.position, estimate.rotation, estimate.covariance))
    if found.level is None:
        return UNKNOWN, f"cross-covariances are unknown ({found.reason})"
    kind = LEVEL_WORDS[found.level]
    return joint_of(found), f"covariances grow as of {kind}: cross-covariances implied"


def align_claim(
    estimate: AnyTrack,
    own: tuple[Joint, str],
    alignment: Alignment,
    kind: AlignmentKind,
) -> AlignedClaim | None:
    """The claim of an aligned, matched track; None where it reports no uncertainty.

    `own` is the joint covariance in the estimator's world and the reason for it.
    """
    belief = estimate.moments if isinstance(estimate, ParticleTrack) else estimate
    if not isinstance(belief, GaussianTrack):
        return None
    claim = Claim(belief.position, belief.rotation, belief.covariance)
    count = alignment.fitted_scans
    fit = fit_weights(kind, claim.position, fitted=count if kind not in UNFITTED else None)
    joint, reason = own
    joint = align_joint(joint, alignment.rotation, alignment.scale)
    under = partial(
        AlignedClaim, joint, reason, fit=fit, claim=claim, oriented=estimate.about.oriented
    )
    if kind == "none":
        return under("reported", None)
    if isinstance(estimate, ParticleTrack):
        return under("after a fit", None, tails=particle_tails(estimate))
    if is_determined(fit, joint, len(claim)) and is_first_order(claim.covariance):
        return under("projected", projected_covariance(fit, joint, claim))
    if kind == "first-pose" or count < len(claim):
        return under("granted", granted_covariance(fit, claim))
    return under("after a fit", None)


def particle_tails(track: ParticleTrack) -> float:
    """Tail of the particles' own NEES over that of a Gaussian; 1 at least.

    Medians are bounded by the probability DOUBT / 2 of one scan, so the quantile is that. A
    mixture of narrow and wide particles reaches farther than a Gaussian of its covariance.
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
    reach = float(median_of(quantiles(own, 1 - DOUBT / 2)))
    return max(1.0, reach / chi_squared_tail_quantile(axes, DOUBT / 2))


def judge_motion(
    claimed: AlignedClaim | None,
    reference: Track,
    space: PositionSpace,
    *,
    horizon: Extent | None = None,
    all_bounds: bool = True,
) -> RelativeMotion | None:
    """Relative motion under the claim, with the bounds that hold after a fit.

    Its scores are over the horizon that is asked for, else over the first that is usable.

    None without a belief, on too few scans, and where nothing was fitted and J is unknown. Without
    `all_bounds` a verdict that does not need them has none.
    """
    if claimed is None or len(reference) < FEWEST_FOR_EVIDENCE:
        return None
    joint, gauge = claimed.joint, claimed.fit.gauge
    if gauge == "none" and joint.kind == "unknown":
        return None
    noise = marginal = None
    if space.reference_covariance and isinstance(reference, GaussianTrack):
        noise, marginal = independent_noise(reference), reference.covariance
    if not space.is_whole:
        bounds = () if gauge == "none" else _axes_bound(claimed, reference, space, marginal)
        bounds = _allow_tails(bounds, claimed.tails)
        alone = f"axes {space.axes} alone are scored, and relative motion is seen from the body"
        return RelativeMotion(Evidence(joint, gauge, (), bounds), reason=alone)

    unseen = _unseen(claimed, reference)
    all_bounds = all_bounds or claimed.tails > 1  # limits that tails move decide afterwards
    evidence = _gather(
        claimed, reference, noise, marginal, oriented=unseen is None, all_bounds=all_bounds
    )
    evidence = replace(evidence, bounds=_allow_tails(evidence.bounds, claimed.tails))
    reason = claimed.reason if joint.kind == "unknown" else unseen
    truth = (reference.position, reference.rotation)
    seen = SeenMotion(claimed.claim, truth, noise) if unseen is None else None
    motion = RelativeMotion(evidence, seen=seen, reason=reason)
    if not evidence.rows:
        return motion
    return _with_scores(motion, claimed, reference, noise, horizon)


def _with_scores(
    motion: RelativeMotion,
    claimed: AlignedClaim,
    reference: Track,
    noise: Floats | None,
    horizon: Extent | None,
) -> RelativeMotion:
    """The windows to score and their row, or why there are none."""
    joint, truth = claimed.joint, (reference.position, reference.rotation)
    if horizon is None:
        scans = 0 if motion.first is None else motion.first.horizon
    else:
        progress = horizon.progress(reference.stamp, reference.position)
        scans = scans_over(joint, progress, horizon.size)
    if not scans:
        few = f"{horizon} are no horizon: no two scans are so far apart, or fewer than "
        few += f"{FEWEST_SCANS_APART} scans lie between"
        return replace(motion, unscored=None if horizon is None else few)
    separate = window_ends(joint, scans, len(reference))
    every = overlapping_ends(joint, scans, len(reference))
    if horizon is not None and joint.kind != "given":
        separate = ends_over(progress, horizon.size)
        every = overlapping_ends_over(progress, horizon.size)
    found, overlapping = (
        windows(
            joint,
            scans,
            claimed.claim,
            truth,
            gauge=claimed.fit.gauge,
            ends=ends,
            reference_covariance=noise,
        )
        for ends in (separate, every)
    )
    row = window_row(found, reference.stamp, path_length(reference.position))
    why = why_unusable(row)
    if row is None or (horizon is not None and why is not None):
        return replace(motion, unscored=f"over {horizon}, {why}")
    return replace(motion, windows=found, overlapping=overlapping, scored=row)


def _allow_tails(bounds: tuple[Bound, ...], tails: float) -> tuple[Bound, ...]:
    """Bounds on medians with the limit of a belief whose tails reach so much farther."""
    return tuple(
        bound if bound.name == "separate windows" else replace(bound, limit=bound.limit * tails)
        for bound in bounds
    )


def _gather(
    claimed: AlignedClaim,
    reference: Track,
    noise: Floats | None,
    marginal: Floats | None,
    *,
    oriented: bool,
    all_bounds: bool,
) -> Evidence:
    """Rows over horizons, and after a fit the bounds too."""
    joint, fit, claim = claimed.joint, claimed.fit, claimed.claim
    truth, stamp = (reference.position, reference.rotation), reference.stamp
    if fit.gauge != "none":
        return gather(
            joint,
            fit,
            claim,
            truth,
            stamp,
            oriented=oriented,
            reference_covariance=noise,
            marginal=marginal,
            fitted=claimed.fit_bound if all_bounds else None,
            all_bounds=all_bounds,
        )
    rows = gather_rows(
        joint, fit.gauge, claim, truth, stamp, oriented=oriented, reference_covariance=noise
    )
    return Evidence(joint, fit.gauge, rows, ())


def _unseen(claimed: AlignedClaim, reference: Track) -> str | None:
    """Why relative motion cannot be seen from the body in both tracks; None where it can."""
    if not claimed.oriented:
        return "the estimate has no orientation"
    if not reference.about.oriented:
        return "the reference has no orientation"
    if has_constant_rotation(claimed.claim, reference):
        return "the axes of the two bodies differ by a constant rotation"
    return None


def has_constant_rotation(claim: Claim, reference: Track) -> bool:
    """Whether the bodies' axes seem to differ by a constant rotation (a missing extrinsic).

    Relative motion is seen from the body, so such a rotation would be taken for an error of it.
    Rotation errors that drift have a mean too, but scatter about it as much as that.
    """
    return (constant_rotation(claim, reference) or 0.0) > LEAST_ROTATION_RAD


def constant_rotation(claim: Claim, reference: Track) -> float | None:
    """The angle of a constant rotation between the bodies' axes; None where none stands out."""
    at = spaced_scans(len(claim))
    between = so3.compose(so3.inverse(reference.rotation[at]), claim.rotation[at])
    mean = so3.mean(np.einsum("ni,nj->ij", between, between))
    scatter = float(median_of(so3.angle_between(np.broadcast_to(mean, between.shape), between)))
    constant = float(so3.angle(mean))
    return constant if constant > max(SCATTERS * scatter, ROUNDING_RAD) else None


def _axes_bound(
    claimed: AlignedClaim, reference: Track, space: PositionSpace, noise: Floats | None
) -> tuple[Bound, ...]:
    """The any-correlation bound on some of the axes."""
    claim, at = claimed.claim, spaced_scans(len(reference))
    largest = bound_covariance(claimed.fit, claim, at=at, fitted=claimed.fit_bound)
    if noise is not None:
        largest = largest + bound_covariance(claimed.fit, claim.with_covariance(noise), at=at)
    largest = largest[:, space.columns][:, :, space.columns]
    error = (claim.position[at] - reference.position[at])[:, space.columns]
    keep = ~normal.is_singular(largest)
    if not keep.any():
        return ()
    median = median_chi_squared(space.dimension)
    k = float(median_of(normal.nees(error[keep], largest[keep]))) / median
    limit = chi_squared_tail_quantile(space.dimension, DOUBT / 2) / median
    return (Bound("fit bound", None, k, limit),)


def spaced_scans(count: int) -> Ints:
    """Scans that stand for a track: evenly spaced, or all."""
    return spaced_indices(count, MOST_BOUND_SCANS)
