"""The difference of two aligned beliefs, and the covariance that both claim for it.

The alignment minimises sum_t d_t^T (S_A + S_B)_t^-1 d_t, so that scans of which one of the two is
unsure (an outage) do not move the rest. It takes theta = sum_s A_s d_s from the differences, and
leaves r_t = d_t - G_t theta. What A claims about r is M J_A M^T where its joint covariance is known
(`evaluation.claim`), likewise B; if their errors are not opposed, Cov(r) is at most the sum.

Relative motion is a test of the pair that no alignment touches. The displacement over a window,
seen from the body at its start, differs between A and B by delta_B - delta_A (`summarise.motion`).
Where both joint covariances are known, of the same degrees of freedom, and the errors of the two
are not opposed, its covariance is at most the sum of what each reports, and twice that whatever the
correlations. B is moved to the body of A that the best-case fit found; lever arm, rotation between
the bodies and time offset are columns of every horizon.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from smfeval.align.body import move_to_body
from smfeval.align.fit import Alignment, fit_alignment
from smfeval.align.joint import Claim, Joint, given_joint
from smfeval.align.nuisance import BodyMotion, Nuisance
from smfeval.align.projection import FitWeights, fit_weights, fitted_freedoms
from smfeval.dataclass import dataclass
from smfeval.evaluation.claim import UNFITTED, AlignedClaim, How, align_claim, claimed_joint
from smfeval.evaluation.motion import RelativeMotion
from smfeval.judge.levels import STEADY
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints, inverse
from smfeval.maths.symmetric import chunks
from smfeval.options import Options
from smfeval.schema import AlignmentKind
from smfeval.score import Residuals
from smfeval.score.spaces import PositionSpace
from smfeval.summarise.motion import FEWEST_FOR_WINDOWS, SeenMotion
from smfeval.track import AnyTrack, GaussianTrack

Joints = Sequence[tuple[Joint, str]]  # what each of two tracks claims, and why

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
    claims
        What A and B claim about the differences.
    """

    a: GaussianTrack
    b: GaussianTrack
    alignment: Alignment
    left: Ints
    claims: tuple[AlignedClaim, AlignedClaim]

    @property
    def how(self) -> How:
        """Which covariance the difference is scored under."""
        first, second = (claim.how for claim in self.claims)
        return first if second == "projected" else second

    @cached_property
    def claimed(self) -> tuple[Floats, Floats]:
        """Covariances of the difference that A and B claim, world axes. (n, 3, 3) each."""
        first, second = (
            track.position_covariance if claim.covariance is None else claim.covariance
            for track, claim in zip((self.a, self.b), self.claims, strict=True)
        )
        return first, second

    @cached_property
    def error(self) -> Floats:
        """A minus B, in B's world. (n, 3)."""
        return self.a.position - self.b.position

    def residuals(self, space: PositionSpace, scans: Ints) -> Residuals:
        """Differences of some scans with the covariances that A and B claim, on scored axes."""
        index = space.columns

        def chosen(part: Floats) -> Floats:
            return part if len(scans) == len(part) else part[scans]

        error, first, second = (chosen(part) for part in (self.error, *self.claimed))
        if not space.is_whole:
            error = error[:, index]
            first, second = (part[:, index][:, :, index] for part in (first, second))
        return Residuals(error, first, second)


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
    weight = None
    if kind not in UNFITTED:
        weight = information(moved.position_covariance + theirs.position_covariance)
    still = replace(alignment, rotation=np.eye(3), translation=np.zeros(3), scale=1.0)
    first = aligned_claim(moved, joints[0], alignment, weight)
    second = aligned_claim(theirs, joints[1], still, weight)
    return Difference(moved, theirs, alignment, left, (first, second))


def aligned_claim(
    track: GaussianTrack, joint: tuple[Joint, str], alignment: Alignment, weight: Floats | None
) -> AlignedClaim:
    """What a track claims after a weighted fit."""
    kind: AlignmentKind = alignment.kind  # type: ignore[assignment]
    found = align_claim(track, joint, alignment, kind, weight=weight)
    assert found is not None
    return found


def fit_weighted(start: Alignment, ours: GaussianTrack, theirs: GaussianTrack) -> Alignment:
    """The alignment of least sum d^T (S_A + S_B)^-1 d, by Gauss and Newton from `start`."""
    found, count = start, start.fitted_scans
    source, target = ours.position[:count], theirs.position[:count]
    own, other = ours.position_covariance[:count], theirs.position_covariance[:count]
    for _ in range(STEPS):
        position = found.aligned_position(source)
        turn = np.broadcast_to(so3.quaternion(found.rotation), (count, 4))
        weight = information(found.scale**2 * so3.rotate_covariance(turn, own) + other)
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
    weight = np.empty_like(covariance)
    for part in chunks(len(weight)):
        weight[part] = inverse(covariance[part] / tight + FLOOR * np.eye(3))
    return weight


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


def compare_motion(
    found: Difference,
    space: PositionSpace,
    motion: BodyMotion | None = None,
    body: Nuisance | None = None,
) -> RelativeMotion:
    """k_pair over horizons where both joint covariances are known.

    `motion` is that of A where body and clock are open, `body` the pose of B's body in A's.
    """
    joints = [claim.joint for claim in found.claims]
    reason = next((each.reason for each in found.claims if each.joint.kind == "unknown"), None)
    if not space.is_whole:
        reason = f"axes {space.axes} alone are scored, and relative motion is seen from the body"
    elif len(found.a) < FEWEST_FOR_WINDOWS:
        reason = "the scans are too few"
    elif not (found.a.about.oriented and found.b.about.oriented):
        reason = "one of the tracks has no orientation"
    elif reason is None and len({joint.level or 6 for joint in joints}) > 1:
        reason = "the two integrate different degrees of freedom"
    if reason is not None:
        return RelativeMotion(reason=reason)
    b, other = found.b if body is None else at_body(found.b, body), joints[1]
    if other.kind == "given" and b.cross is not None:
        other = given_joint(b.cross.pairs, b.cross.block)
    seen = SeenMotion(
        joints[0],
        found.claims[0].fit.gauge,
        found.claims[0].claim,
        (b.position, b.rotation),
        found.a.stamp,
        motion=motion,
        beside=(other, Claim(b.position, b.rotation, b.triangle)),
        steady=STEADY,
    )
    return RelativeMotion(seen.rows())


def at_body(track: GaussianTrack, body: Nuisance) -> GaussianTrack:
    """The belief about the body of which the track's own has the pose that a fit found."""
    moved = move_to_body(track, se3.inverse((body.lever_m, body.body)), track.about.body)
    assert isinstance(moved, GaussianTrack)
    return moved
