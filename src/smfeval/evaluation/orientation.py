"""Rotation and pose of a track: scored where both tracks are oriented, on what is claimed."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from smfeval import words
from smfeval.errors import TrackError
from smfeval.evaluation.claim import AlignedClaim
from smfeval.evaluation.result import SpaceScores
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.options import Options
from smfeval.score import Residuals, scores
from smfeval.score.pose import ROTATION, check_axes
from smfeval.score.rotation import SIGMA_REFUSED_RAD, SIGMA_WARNED_RAD
from smfeval.score.spaces import PoseSpace, RotationSpace
from smfeval.score.tangent import NOT_CLAIMED, ClaimedAxes, find_claimed, pose_residuals
from smfeval.summarise.numbers import Numbers
from smfeval.summarise.quantities import Sample
from smfeval.track import AnyTrack, Track

REQUIRED_RULES = ("nees", "pit")
NOTHING = "the estimate claims no uncertainty of rotation"

OrientedSpace = RotationSpace | PoseSpace


@dataclass(frozen=True)
class Orientation:
    """Rotation and pose of a track; None where they are not scored, and why in the notes."""

    rotation: SpaceScores | None = None
    pose: SpaceScores | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class OrientedCase:
    """Matched, aligned tracks with the claim of all of them, and the scans left to score."""

    estimate: AnyTrack
    reference: Track
    claim: AlignedClaim
    left: Ints
    options: Options

    @cached_property
    def scored(self) -> tuple[AnyTrack, Track]:
        """Estimate and reference on the scans left."""
        return self.estimate[self.left], self.reference[self.left]

    @cached_property
    def whole(self) -> Residuals:
        """Errors of whole poses on the scans left, d = 6."""
        claimed = self.claim.pose_covariance
        if claimed is not None and len(self.left) < len(claimed):
            claimed = claimed[self.left]
        return self._residuals(*self.scored, claimed)

    def _residuals(self, estimate: AnyTrack, reference: Track, claimed: Floats | None) -> Residuals:
        with_noise = self.options.reference_covariance
        return pose_residuals(estimate, reference, reference_covariance=with_noise, claimed=claimed)


def score_orientation(
    estimate: AnyTrack,
    reference: Track,
    claim: AlignedClaim | None,
    left: Ints,
    options: Options,
) -> Orientation:
    """Score rotation and pose of matched, aligned tracks on the scans left."""
    if claim is None:
        return Orientation()
    reason = _not_oriented(estimate, reference)
    if reason is not None:
        return Orientation(notes=(f"position only: {reason}",))
    axes = find_claimed(claim.claim.covariance, claim.claim.rotation)
    if not axes.of_rotation().rows:
        return Orientation(notes=(f"position only: {_why_no_rotation(axes.of_rotation())}",))
    case = OrientedCase(estimate, reference, claim, left, options)
    rotation, notes = _score_space(case, RotationSpace(axes.of_rotation()))
    pose, more = _score_space(case, PoseSpace(_pose_axes(axes, options)))
    return Orientation(rotation, pose, tuple(dict.fromkeys((*notes, *more))))


def _not_oriented(estimate: AnyTrack, reference: Track) -> str | None:
    if not estimate.about.oriented:
        return "the estimate has no orientation"
    return None if reference.about.oriented else "the reference has no orientation"


def _why_no_rotation(axes: ClaimedAxes) -> str:
    """Why none of the three axes is scored."""
    wide = any(why != NOT_CLAIMED for _, why in axes.reasons)
    return f"rotation is not scored on {axes.left_out}" if wide else NOTHING


def _pose_axes(axes: ClaimedAxes, options: Options) -> ClaimedAxes:
    """Positions on some of x, y and z are those of the world."""
    if options.space.is_whole:
        return axes
    return axes.within({*options.space.columns, *ROTATION})


def _score_space(
    case: OrientedCase, space: OrientedSpace
) -> tuple[SpaceScores | None, tuple[str, ...]]:
    """Scores and numbers in one space, and what is to be said about them."""
    try:
        check_axes(space.claimed.rows)
    except TrackError as error:
        return None, (f"{space.name} is not scored: {error}",)
    found, notes = measure(case, space)
    if found is None:
        return None, notes
    if space.claimed.left_out:
        scored = words.join(space.claimed.names)
        notes = (f"{space.name} is scored on {scored}, not on {space.claimed.left_out}", *notes)
    return found, notes


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
