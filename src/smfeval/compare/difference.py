"""The difference of two aligned beliefs, and the covariance that both claim for it.

The alignment minimises sum_t d_t^T (S_A + S_B)_t^-1 d_t, so that scans of which one of the two is
unsure (an outage) do not move the rest. It takes theta = sum_s A_s d_s from the differences, and
leaves r_t = d_t - G_t theta. What A claims about r is M J_A M^T (`align.projection`), likewise B;
if their errors are not opposed, Cov(r) is at most the sum. Where a joint covariance is unknown, the
fit's own covariance is granted on top of the reported one:

    first pose     S_t + G_t S_0 G_t^T
    a fit          S_t + m G_t (sum_s A_s S_s A_s^T) G_t^T,   m = scans / independent scans

with m from the residuals: a fit on errors that remember each other is less certain.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from smfeval.align.fit import Alignment
from smfeval.align.gauge import fit_alignment
from smfeval.align.joint import Claim, Joint, align_joint, is_first_order
from smfeval.align.projection import (
    FitWeights,
    fit_weights,
    granted_covariance,
    is_determined,
    projected_covariance,
)
from smfeval.choices import AlignmentKind
from smfeval.evaluation.claim import UNFITTED, claimed_joint
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.symmetric import chunks
from smfeval.options import Options
from smfeval.score import Residuals
from smfeval.score.spaces import PositionSpace
from smfeval.summarise.number import Intervals
from smfeval.track import AnyTrack, GaussianTrack

Joints = Sequence[tuple[Joint, str]]  # what each of two tracks claims, and why

How = Literal["reported", "projected", "granted"]

STEPS = 30  # Gauss-Newton steps of the weighted fit
CONVERGED = 1e-11  # a step moves positions by less than this part of their residual
TIGHT = 0.1  # share of scans that count as tight
FLOOR = 0.25  # of a tight scan's variance, added to all: no few scans decide the fit alone


@dataclass(frozen=True)
class Difference:
    """Two matched tracks in the world of the second, and what they claim about their difference.

    Attributes
    ----------
    a, b
        The beliefs after alignment, of every matched scan.
    alignment, left
        The fit, and the scans that it leaves to score.
    joints
        Joint covariances that the two claim, each with the reason, in words.
    fits
        The fit as a linear map of the errors of A, and of B.
    """

    a: GaussianTrack
    b: GaussianTrack
    alignment: Alignment
    left: Ints
    joints: tuple[tuple[Joint, str], tuple[Joint, str]]
    fits: tuple[FitWeights, FitWeights]

    @property
    def tracks(self) -> tuple[GaussianTrack, GaussianTrack]:
        """A and B."""
        return self.a, self.b

    @property
    def claims(self) -> tuple[Claim, Claim]:
        """Poses and covariances of A and of B."""
        return claim_of(self.a), claim_of(self.b)

    @property
    def is_fitted(self) -> bool:
        """Whether positions were fitted."""
        return self.alignment.kind not in UNFITTED

    @cached_property
    def how(self) -> How:
        """Which covariance the difference is scored under."""
        if self.alignment.kind == "none":
            return "reported"
        return "projected" if all(map(self.is_known, (0, 1))) else "granted"

    def is_known(self, member: int) -> bool:
        """Whether M J M^T of A (0) or B (1) is known."""
        claim, (joint, _) = self.claims[member], self.joints[member]
        known = is_determined(self.fits[member], joint, len(claim))
        return known and is_first_order(claim.covariance)

    @cached_property
    def claimed(self) -> tuple[Floats, Floats]:
        """Covariances of the difference that A and B claim, world axes. (n, 3, 3) each."""
        reported = self.a.position_covariance, self.b.position_covariance
        if self.how == "reported":
            return reported
        found = zip(self.fits, self.joints, self.claims, strict=True)
        if self.how == "projected":
            first, second = (projected_covariance(fit, j, claim) for fit, (j, _), claim in found)
            return first, second
        if self.alignment.kind == "first-pose" or len(self.left) < len(self.a):
            first, second = (granted_covariance(fit, claim) for fit, _, claim in found)
            return first, second
        spread = self.memory(reported[0] + reported[1])
        first, second = (
            own + spread * fit_part(fit, claim)
            for own, (fit, _, claim) in zip(reported, found, strict=True)
        )
        return first, second

    @cached_property
    def error(self) -> Floats:
        """A minus B, in B's world. (n, 3)."""
        return self.a.position - self.b.position

    def memory(self, covariance: Floats) -> float:
        """Scans per independent scan of the residuals, from those of their NEES.

        Squares of a series that remembers half as well: twice as many scans per independent one.
        """
        good = ~normal.is_singular(covariance)
        if not good.any():
            return 1.0
        nees = normal.nees(self.error[good], covariance[good])
        count = Intervals().of(nees, "mean", "1").n_effective or 1.0
        return max(2 * len(nees) / count, 1.0)

    def residuals(self, space: PositionSpace, scans: Ints) -> Residuals:
        """Differences of some scans with the covariances that A and B claim, on scored axes."""
        index = space.columns
        first, second = (part[scans][:, index][:, :, index] for part in self.claimed)
        return Residuals(self.error[scans][:, index], first, second)


def claim_of(track: GaussianTrack) -> Claim:
    """Poses and covariances of a track."""
    return Claim(track.position, track.rotation, track.covariance)


def joints_of(
    tracks: Sequence[AnyTrack], matched: Sequence[GaussianTrack], options: Options
) -> Joints:
    """The joint covariance that each track claims in its own world, and why."""
    return [
        claimed_joint(track, options.joint, met) for track, met in zip(tracks, matched, strict=True)
    ]


def align_pair(
    ours: GaussianTrack,
    theirs: GaussianTrack,
    kind: AlignmentKind,
    joints: Joints,
    options: Options,
) -> Difference:
    """Align matched tracks by the weighted fit, A to B."""
    alignment, left = fit_alignment(ours, theirs, kind, options.fit_on)
    if kind not in UNFITTED:
        alignment = fit_weighted(alignment, ours, theirs)
    moved = alignment(ours)
    assert isinstance(moved, GaussianTrack)
    (first, why), second = joints
    first = align_joint(first, alignment.rotation, alignment.scale)
    fits = fits_of(alignment, moved, theirs)
    return Difference(moved, theirs, alignment, left, ((first, why), second), fits)


def fits_of(
    alignment: Alignment, a: GaussianTrack, b: GaussianTrack
) -> tuple[FitWeights, FitWeights]:
    """The fit as a linear map of the errors of each of the two aligned tracks."""
    kind = alignment.kind
    fitted = None if kind in UNFITTED else alignment.fitted_scans
    weight = None
    if kind not in UNFITTED:
        weight = information(a.position_covariance + b.position_covariance)
    first, second = (
        fit_weights(kind, track.position, fitted=fitted, weight=weight)  # type: ignore[arg-type]
        for track in (a, b)
    )
    return first, second


def fit_weighted(start: Alignment, ours: GaussianTrack, theirs: GaussianTrack) -> Alignment:
    """The alignment of least sum d^T (S_A + S_B)^-1 d, by Gauss and Newton from `start`."""
    found, count = start, start.fitted_scans
    source, target = ours.position[:count], theirs.position[:count]
    own, other = ours.position_covariance[:count], theirs.position_covariance[:count]
    for _ in range(STEPS):
        position = found.aligned_position(source)
        turned = found.scale**2 * found.rotation @ own @ found.rotation.T
        weight = information(turned + other)
        amid = 0.5 * (position + target)  # lever arms of neither, so that B to A is the inverse
        fit = fit_weights(found.kind, amid, weight=weight)  # type: ignore[arg-type]
        step = fitted_freedoms(fit, amid, target - position)
        found = moved_alignment(found, fit, step)
        arm = np.sqrt(np.mean((position - fit.origin) ** 2))
        size = np.linalg.norm(step[:3]) + arm * np.linalg.norm(step[3:])
        residual = np.sqrt(np.mean((target - position) ** 2))
        if size <= CONVERGED * residual + np.finfo(float).eps * arm:
            break
    left = found.aligned_position(source) - target
    return replace(found, residual_m=float(np.sqrt(np.mean(np.sum(left**2, axis=1)))))


def information(covariance: Floats) -> Floats:
    """Weights (S + f I)^-1, in units of a tight scan. (n, 3, 3).

    f is FLOOR of the mean variance of a tight scan: a start that is known exactly, or a covariance
    that is singular in a direction, does not pin the fit.
    """
    variance = np.einsum("nii->n", covariance) / 3
    some = variance[variance > 0]
    tight = float(np.quantile(some, TIGHT)) if len(some) else 1.0
    weight: Floats = np.linalg.inv(covariance / tight + FLOOR * np.eye(3)).astype(np.float64)
    return weight


def fitted_freedoms(fit: FitWeights, position: Floats, error: Floats) -> Floats:
    """theta = sum_s A_s e_s of position errors. (n, 3), (n, 3) -> (q,)."""
    total = np.zeros(())
    for part in chunks(fit.fitted):
        A = fit.weights(position, part)[:, :, :3]
        total = total + np.einsum("nij,nj->i", A, error[part])
    return total


def moved_alignment(start: Alignment | None, fit: FitWeights, step: Floats) -> Alignment:
    """An alignment, if any, followed by a small motion of the world about the fit's origin."""
    alignment = Alignment(fit.gauge, np.eye(3), np.zeros(3)) if start is None else start
    turn = fit.axis * step[3] if fit.gauge == "yaw" else step[3:6]
    E = so3.matrix(so3.exp(turn))
    stretch = 1 + float(step[6]) if fit.gauge == "sim3" else 1.0
    about = stretch * E @ (alignment.translation - fit.origin)
    return replace(
        alignment,
        rotation=E @ alignment.rotation,
        translation=fit.origin + about + step[:3],
        scale=stretch * alignment.scale,
    )


def fit_part(fit: FitWeights, claim: Claim) -> Floats:
    """G_t (sum_s A_s S_s A_s^T) G_t^T: the fit's own covariance, scans independent. (n, 3, 3)."""
    q = fit.jacobian(claim.position[:1]).shape[2]
    total = np.zeros((q, q))
    for part in chunks(fit.fitted):
        A = fit.weights(claim.position, part)
        total += np.einsum("nij,nkj->ik", A @ claim[part].in_world(), A)
    out = np.empty((len(claim), 3, 3))
    for part in chunks(len(claim)):
        G = fit.jacobian(claim.position[part])[:, :3]
        out[part] = G @ total @ np.swapaxes(G, 1, 2)
    return out
