"""One body, one world: extrinsic and gauge, with everything assumed said in words."""

from typing import TYPE_CHECKING

import numpy as np

from smfeval.align.body import move_to_body
from smfeval.align.fit import FITS, Alignment, fit_first_pose
from smfeval.associate import Pairs, nearest
from smfeval.errors import ConventionError, PairingError
from smfeval.evaluation.options import AlignmentKind, Options
from smfeval.maths.arrays import Ints
from smfeval.track import AnyTrack, Track

GAUGE_ALIGNMENTS: dict[str, AlignmentKind] = {
    "fixed": "none",
    "se3": "se3",
    "gravity_yaw": "yaw",
    "sim3": "sim3",
}


def to_common_body(
    estimate: AnyTrack, reference: AnyTrack, options: Options
) -> tuple[AnyTrack, tuple[str, ...]]:
    """The estimate about the reference's body; raises where two declared bodies differ."""
    ours, theirs = estimate.about.body, reference.about.body
    if options.extrinsic is not None:
        name = theirs or "the reference's body"
        moved = move_to_body(estimate, options.extrinsic, theirs)
        return moved, (f"the estimate was moved from body {ours} to {name} by the extrinsic",)
    if ours and theirs and ours != theirs:
        raise ConventionError(
            f"the estimate is about body {ours}, the reference about {theirs}; an extrinsic (pose "
            f"of {theirs} in {ours}) is needed"
        )
    if not theirs:
        return estimate, (
            f"the reference declares no body; taken as the estimate's ({ours or 'not declared'})",
        )
    return estimate, () if ours else (f"the estimate declares no body; taken as {theirs}",)


def choose_alignment(estimate: AnyTrack, options: Options) -> tuple[AlignmentKind, tuple[str, ...]]:
    """The alignment by option, or by the gauge that the estimate declares, or se3."""
    if options.alignment is not None:
        return options.alignment, ()
    if estimate.about.gauge is None:
        return "se3", ("the estimate declares no gauge; aligned by se3 (assumed)",)
    return GAUGE_ALIGNMENTS[estimate.about.gauge], ()


def fit_alignment(
    estimate: AnyTrack, reference: Track, kind: AlignmentKind, options: Options
) -> tuple[Alignment, Ints]:
    """The alignment of matched tracks, and the scans that are left to score."""
    count = len(estimate)
    fitted = _count_fit_scans(reference, options) if options.fit_on is not None else count
    if kind in ("none", "first-pose") and options.fit_on is not None:
        raise PairingError(f"a fit on the start needs an alignment that is fitted; {kind} is not")
    if kind == "first-pose":
        if count < 2:
            raise PairingError(
                "one matched pose is used up by the alignment; none is left to score"
            )
        return fit_first_pose(estimate, reference), np.arange(1, count)
    alignment = FITS[kind](estimate.position[:fitted], reference.position[:fitted])
    return alignment, np.arange(fitted if options.fit_on is not None else 0, count)


def alignment_notes(scored: int, matched: int) -> tuple[str, ...]:
    """What an alignment on the start does to the errors of the rest."""
    if scored == matched:
        return ()
    return ("the error of the alignment at the start is shared by all scored scans",)


def _count_fit_scans(reference: Track, options: Options) -> int:
    """How many matched scans lie within the extent that the fit may use."""
    assert options.fit_on is not None
    progress = options.fit_on.progress(reference.stamp, reference.position)
    count = int(np.searchsorted(progress, options.fit_on.size))
    if count >= len(progress):
        raise PairingError(
            f"a fit on the first {options.fit_on} leaves none of the {len(progress)} scans to score"
        )
    return count


if TYPE_CHECKING:
    from smfeval.associate.clock import ClockOffset


def nearest_pairs(estimate: AnyTrack, reference: AnyTrack, options: Options) -> Pairs:
    """Nearest stamps, as the options say."""
    return nearest(
        estimate.stamp,
        reference.stamp,
        tolerance_s=options.tolerance_s,
        offset_s=options.given_offset_s,
    )


def pair_scans(
    estimate: AnyTrack, reference: Track, options: Options, clock: "ClockOffset | None" = None
) -> tuple[Pairs, Track, tuple[str, ...]]:
    """Pairs, the reference that they point into, and notes.

    By `gp` the reference is a continuous motion: it is interpolated to the stamps of the estimate,
    and what the interpolation does not know enters as the reference's covariance. `clock` is the
    offset that was found, to be named where the tracks then do not meet.
    """
    if options.association == "nearest":
        return nearest_pairs(estimate, reference, options), reference, ()
    from smfeval.associate.gp import interpolate  # noqa: PLC0415  its optimiser is slow to import

    try:
        found = interpolate(reference, estimate.stamp, offset_s=options.given_offset_s)
    except PairingError as error:
        raise PairingError(f"{clock.sentence}: {error}" if clock else str(error)) from error
    count = len(found.index)
    pairs = Pairs(
        found.index,
        np.arange(count),
        np.zeros(count),
        found.scans,
        len(reference),
        0.0,
        options.given_offset_s,
    )
    how = f"the reference is a continuous motion, white noise on {found.position.prior}"
    return pairs, found.track, (how, *found.notes)
