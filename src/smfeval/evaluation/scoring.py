"""Score position, rotation and pose of aligned tracks on the scans that a fit leaves; summarise.

The position is always scored; rotation and pose where both tracks are oriented, on what is claimed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from smfeval import words
from smfeval.errors import PairingError, TrackError
from smfeval.evaluation.claim import AlignedClaim
from smfeval.evaluation.motion import RelativeMotion
from smfeval.evaluation.result import SpaceScores
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.options import Options
from smfeval.schema import POSITION_AXES
from smfeval.score import Residuals, scores
from smfeval.score.pose import ROTATION, check_axes
from smfeval.score.rotation import SIGMA_REFUSED_RAD, SIGMA_WARNED_RAD
from smfeval.score.spaces import PoseSpace, RotationSpace
from smfeval.score.tangent import NOT_CLAIMED, find_claimed, pose_residuals
from smfeval.summarise.numbers import numbers_of
from smfeval.summarise.quantities import Sample, crps_by_axis, k_over_path
from smfeval.track import AnyTrack, Track
from smfeval.why.one_track import scorable_axes

REQUIRED_RULES = ("ape", "nees", "pit")  # rules that the summary and the verdict are made of
NOTHING = "the estimate reports no uncertainty of rotation"

OrientedSpace = RotationSpace | PoseSpace
Who = TypeVar("Who")  # what a caller calls a track


def choose_axes(
    options: Options, estimates: Mapping[Who, AnyTrack], references: Mapping[Who, AnyTrack]
) -> tuple[Options, dict[Who, str]]:
    """Options with the axes that all tracks tell something of, where no others are asked for.

    With what is to be said of the tracks that lack some.
    """
    found = {who: scorable_axes(track) for who, track in estimates.items()}
    told = {who: (each.axes or POSITION_AXES, each.reason) for who, each in found.items()}
    told |= {who: track.provenance.axes or (POSITION_AXES, "") for who, track in references.items()}
    lacking = {who: each for who, each in told.items() if each[0] != POSITION_AXES}
    if options.axes != POSITION_AXES or not lacking:
        return options, {}
    common = set(POSITION_AXES).intersection(*(has for has, _ in lacking.values()))
    axes = "".join(axis for axis in POSITION_AXES if axis in common)
    if not axes:
        each = words.join(f"{has} ({why})" for has, why in lacking.values())
        raise PairingError(f"the tracks have no axis in common: {each}")
    return replace(options, axes=axes), {
        who: f"{'is planar' if has == 'xy' else 'has not all axes'} ({why}): scored on axes {axes}"
        for who, (has, why) in lacking.items()
    }


def score_position(
    estimate: AnyTrack,
    reference: Track,
    claim: AlignedClaim | None,
    left: Ints,
    options: Options,
) -> SpaceScores:
    """Score positions; scans with a singular covariance are refused or left out."""
    space, estimate, reference = options.space, estimate[left], reference[left]
    claimed = None if claim is None or claim.covariance is None else claim.covariance[left]
    residuals = space.residuals(estimate, reference, claimed)
    regular = space.regular_scans(estimate, residuals, options.singular)
    kept = np.flatnonzero(regular)
    if len(kept) < len(regular):
        estimate, reference = estimate[kept], reference[kept]
        claimed = None if claimed is None else claimed[kept]
        residuals = space.residuals(estimate, reference, claimed)
    series = _score(residuals, options)
    singular = len(regular) - len(kept)
    return SpaceScores(kept, estimate, reference, residuals, series, singular, space)


def score_orientation(
    estimate: AnyTrack,
    reference: Track,
    claim: AlignedClaim | None,
    left: Ints,
    options: Options,
    *,
    some: Ints,
) -> tuple[SpaceScores | None, SpaceScores | None, tuple[str, ...]]:
    """Score rotation and pose; None where they are not scored, and why in the notes.

    On `some` of the scans left, unless one of these cannot be scored: then on all.
    """
    if claim is None:
        return None, None, ()
    for name, track in (("estimate", estimate), ("reference", reference)):
        if not track.about.oriented:
            return None, None, (f"position only: the {name} has no orientation",)
    axes = find_claimed(claim.claim.triangle, claim.claim.rotation)
    turning = axes.of_rotation()
    if not turning.rows:
        wide = any(why != NOT_CLAIMED for _, why in turning.reasons)
        why = f"rotation is not scored on {turning.left_out}" if wide else NOTHING
        return None, None, (f"position only: {why}",)
    if not options.space.is_whole:  # positions on some of x, y and z are those of the world
        axes = axes.within({*options.space.columns, *ROTATION})

    scans = left[some]
    tracks = estimate[scans], reference[scans]
    whole = pose_residuals(
        *tracks,
        reference_covariance=options.reference_covariance,
        claimed=claim.pose_covariance(scans),
    )
    rotation, notes = _score_claimed(RotationSpace(turning), whole, tracks, some, options)
    pose, more = _score_claimed(PoseSpace(axes), whole, tracks, some, options)
    if len(some) < len(left) and any(each is None or each.singular for each in (rotation, pose)):
        every = np.arange(len(left))
        return score_orientation(estimate, reference, claim, left, options, some=every)
    return rotation, pose, tuple(dict.fromkeys((*notes, *more)))


def _score_claimed(
    space: OrientedSpace,
    whole: Residuals,
    tracks: tuple[AnyTrack, Track],
    scans: Ints,
    options: Options,
) -> tuple[SpaceScores | None, tuple[str, ...]]:
    """Scores on the scans that can be scored in a space, and what is to be said about them.

    `whole` are the errors of whole poses, d = 6, of these scans.
    """
    try:
        check_axes(space.claimed.rows)
    except TrackError as error:
        return None, (f"{space.name} is not scored: {error}",)
    estimate, reference = tracks
    residuals = space.select(whole, estimate.rotation)
    usable, notes = _usable_scans(residuals, space)
    kept = np.flatnonzero(usable)
    if not len(kept):
        return None, notes
    if len(kept) < len(usable):
        estimate, reference = estimate[kept], reference[kept]
        residuals = space.select(whole[kept], estimate.rotation)
    if space.claimed.left_out:
        named = words.join(space.claimed.names)
        notes = (f"{space.name} is scored on {named}, not on {space.claimed.left_out}", *notes)
    series, singular = _score(residuals, options), len(usable) - len(kept)
    kept = scans[kept]
    return SpaceScores(kept, estimate, reference, residuals, series, singular, space), notes


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
        notes.append(f"rotation {limit} {share}: a Gaussian describes it poorly")
    return ~(wide | singular), tuple(notes)


def _score(residuals: Residuals, options: Options) -> dict[str, Floats]:
    """Every scan by each rule that is asked for, and by those that the verdict needs. (n,) each."""
    settings = replace(options.settings, seed=options.intervals.seed)
    return scores(residuals, settings, {*options.chosen_rules, *REQUIRED_RULES})


def summarise(
    scored: SpaceScores,
    options: Options,
    motion: RelativeMotion | None = None,
    rotation: SpaceScores | None = None,
) -> SpaceScores:
    """The track in numbers, those that were asked for; of positions with relative motion.

    `rotation` is what an alert limit of the attitude is held against.
    """
    sample = Sample(
        scored.series,
        scored.residuals,
        options.settings,
        options.intervals,
        scored.space,
        scored.estimate,
        scored.reference,
        None if motion is None else motion.sample,
    )
    if options.alert_limit is not None and scored.space.name == "position":
        from smfeval.summarise.integrity import measure_integrity  # noqa: PLC0415  if asked for

        attitude = None if rotation is None else (rotation.estimate.stamp, rotation.residuals)
        found = measure_integrity(sample, options.alert_limit, options.risk, attitude)
        sample, scored = replace(sample, integrity=found), replace(scored, integrity=found)
    scored = replace(scored, numbers=numbers_of(sample, options.numbers, options.with_interval))
    if options.numbers is not None or scored.space.name != "position":
        return scored
    return replace(scored, crps_by_axis=crps_by_axis(sample), k_over_path=k_over_path(sample))
